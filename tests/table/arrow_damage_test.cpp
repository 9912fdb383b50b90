// SPDX-License-Identifier: MIT
// Files that are cut off, changed or named wrongly are refused in one line that names the file, or read; never more.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "arrow_files.h"
#include "limen/base/error.h"
#include "limen/table/append.h"
#include "limen/table/predictions.h"
#include "support/temporary_folder.h"

namespace limen::table {
namespace {

using test::array;
using ::testing::HasSubstr;
using ::testing::StartsWith;

class ArrowDamage : public ::testing::Test {
 protected:
  ArrowDamage() {
    std::string scores = "[0.5";
    std::string labels = "[\"1\"";
    for (int row = 1; row < 300; ++row) {
      scores += ',';
      scores += row % 50 == 0 ? "null" : std::to_string(row % 17).append(".25");
      labels += row % 3 == 0 ? ",\"0\"" : ",\"1\"";
    }
    table_ = test::table({{"score", array(arrow::float32(), scores + "]")},
                          {"uncertainty", array(arrow::dictionary(arrow::int8(), arrow::float64()), scores + "]")},
                          {"label", array(arrow::utf8(), labels + "]")},
                          {"note", array(arrow::large_utf8(), labels + "]")}});
  }

  // Reads and copies the file in every way; true when it was refused.
  bool is_refused(const std::string& name) {
    const std::string path = folder_.path(name);
    bool refused = false;
    const auto attempt = [&](auto&& action) {
      try {
        action();
      } catch (const InvalidInput& error) {
        refused = true;
        EXPECT_THAT(error.what(), StartsWith(path + ": "));
        EXPECT_EQ(std::string(error.what()).find('\n'), std::string::npos) << error.what();
      }
    };
    attempt([&] { (void)read_predictions(path, {.drop_missing = true}); });
    attempt([&] { (void)estimate_rows({path}); });
    attempt([&] {
      append_decisions({path}, folder_.path("out.csv"), {.drop_missing = true}, [](const DecisionBatch&) {});
    });
    return refused;
  }

  void damage(const std::string& name, int num_flips) {
    const std::string whole = folder_.read(name);
    int refused = 0;
    int cuts = 0;
    const std::size_t step = std::max<std::size_t>(whole.size() / 150, 1);
    for (std::size_t length = 0; length < whole.size(); length += step, ++cuts) {
      folder_.write(name, whole.substr(0, length));
      EXPECT_TRUE(is_refused(name)) << name << " cut to " << length;
    }
    std::mt19937 random(1);
    for (int trial = 0; trial < num_flips; ++trial) {
      std::string changed = whole;
      // Half of the flips go into the last quarter, where the metadata is.
      const std::size_t first = trial % 2 == 0 ? 0 : whole.size() * 3 / 4;
      for (int flips = 1 + trial % 3; flips > 0; --flips) {
        changed[first + random() % (whole.size() - first)] ^= static_cast<char>(1u << (random() % 8));
      }
      folder_.write(name, changed);
      refused += is_refused(name) ? 1 : 0;
    }
    EXPECT_GT(refused, num_flips / 20) << name;
    folder_.write(name, whole);
    EXPECT_FALSE(is_refused(name));
  }

  test::TemporaryFolder folder_;
  std::shared_ptr<arrow::Table> table_;
};

TEST_F(ArrowDamage, ParquetNeverCrashes) {
  test::write_parquet(folder_.path("plain.parquet"), *table_, {.chunk_rows = 100});
  damage("plain.parquet", 400);
  test::write_parquet(folder_.path("packed.parquet"), *table_,
                      {.chunk_rows = 1000, .compression = arrow::Compression::ZSTD, .has_checksums = true});
  damage("packed.parquet", 400);
}

TEST_F(ArrowDamage, ArrowFilesNeverCrash) {
  test::write_ipc(folder_.path("plain.arrow"), *table_, {.chunk_rows = 100});
  damage("plain.arrow", 400);
  test::write_ipc(folder_.path("packed.arrow"), *table_,
                  {.chunk_rows = 1000, .compression = arrow::Compression::LZ4_FRAME});
  damage("packed.arrow", 400);
}

TEST_F(ArrowDamage, SaysWhatIsWrong) {
  test::write_parquet(folder_.path("t.parquet"), *table_);
  test::write_ipc(folder_.path("t.arrow"), *table_);
  const std::string parquet = folder_.read("t.parquet");
  const std::string arrow = folder_.read("t.arrow");
  const auto refusal = [&](const std::string& name, const std::string& content) {
    const std::string path = folder_.write(name, content);
    return folder_.without_folder(test::message_of<InvalidInput>([&] { (void)read_predictions(path); }));
  };
  const std::string csv = "score,uncertainty,label\n1,2,1\n";
  EXPECT_EQ(refusal("a.parquet", csv), "a.parquet: is not a Parquet file");
  EXPECT_EQ(refusal("a.arrow", csv), "a.arrow: is not an Arrow IPC file");
  EXPECT_EQ(refusal("a.parquet", arrow), "a.parquet: is not a Parquet file");
  EXPECT_EQ(refusal("a.csv", parquet), "a.csv: looks like a Parquet file, not text");
  EXPECT_EQ(refusal("a.tsv", arrow), "a.tsv: looks like an Arrow IPC file, not text");
  EXPECT_EQ(refusal("a.parquet", ""), "a.parquet: is empty");
  EXPECT_EQ(refusal("a.arrow", ""), "a.arrow: is empty");
  EXPECT_EQ(refusal("a.feather", "FEA1xxxx"),
            "a.feather: is a Feather file of version 1 (write it again as Arrow or Parquet)");
  EXPECT_EQ(refusal("a.parquet", parquet.substr(0, parquet.size() - 10)),
            "a.parquet: is cut off or damaged: it does not end like a Parquet file");
  EXPECT_THAT(refusal("a.arrow", arrow.substr(0, arrow.size() - 10)),
              StartsWith("a.arrow: cannot be read as Arrow IPC: "));
  std::string flipped = parquet;
  flipped[parquet.size() - 12] ^= 0x40;
  EXPECT_THAT(refusal("a.parquet", flipped), HasSubstr("a.parquet: "));
  const auto io_error = [&](const std::string& name) {
    return folder_.without_folder(test::message_of<IoError>([&] { (void)read_predictions(folder_.path(name)); }));
  };
  EXPECT_EQ(io_error("none.parquet"), "none.parquet: cannot be read: No such file or directory");
  EXPECT_EQ(io_error("none.feather"), "none.feather: cannot be read: No such file or directory");
}

}  // namespace
}  // namespace limen::table
