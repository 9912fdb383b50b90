// SPDX-License-Identifier: MIT
// Files that are written to, replaced or cut off while they are read.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>

#include "limen/base/error.h"
#include "limen/table/append.h"
#include "limen/table/frames.h"
#include "limen/table/predictions.h"
#include "temporary_folder.h"

namespace limen::table {
namespace {

class FileChange : public ::testing::Test {
 protected:
  static std::string rows(int num_rows, const std::string& score) {
    std::string text = "score,uncertainty,label\n";
    for (int row = 0; row < num_rows; ++row) text += score + ",0.25," + (row % 2 == 0 ? "1\n" : "0\n");
    return text;
  }

  // The table in the format of the name.
  std::string write(const std::string& name, int num_rows, const std::string& score) {
    const std::string csv = folder_.write("source.csv", rows(num_rows, score));
    append_columns(csv, folder_.path(name), {}, {}, [](const Frame&, auto, auto) {});
    return folder_.path(name);
  }

  // One pass in small batches; `act` is called after the first.
  static void pass(const TableFiles& files, const std::function<void()>& act = nullptr) {
    bool is_first = true;
    for_each_batch(files, small_, [&](const Predictions&) {
      if (std::exchange(is_first, false) && act) act();
    });
  }

  static void expect_changed(const std::function<void()>& action) {
    try {
      action();
      ADD_FAILURE() << "nothing was thrown";
    } catch (const InvalidInput& error) {
      EXPECT_EQ(error.cause(), Cause::kFileChanged) << error.what();
      EXPECT_THAT(error.what(), ::testing::HasSubstr(": changed while it was read: "));
    }
  }

  static inline const PredictionOptions small_ = {.read = {.max_bytes = 1 << 20}};
  test::TemporaryFolder folder_;
};

constexpr const char* kNames[] = {"t.csv", "t.csv.gz", "t.parquet", "t.arrow"};
constexpr int kRows = 600'000;

TEST_F(FileChange, ReplacedBetweenPasses) {
  for (const std::string name : kNames) {
    SCOPED_TRACE(name);
    const std::string path = write(name, 1000, "0.5");
    const TableFiles files(path);
    pass(files);
    pass(files);
    std::filesystem::rename(write("other-" + name, 2000, "0.75"), path);
    expect_changed([&] { pass(files); });
    expect_changed([&] { (void)read_predictions(files); });
    expect_changed([&] { (void)describe_columns(files); });
    pass(TableFiles(path));
  }
}

TEST_F(FileChange, ReplacedDuringAPassIsReadToItsEndAndNoticedByTheNext) {
  for (const std::string name : kNames) {
    SCOPED_TRACE(name);
    const std::string path = write(name, kRows, "0.5");
    const std::string other = write("other-" + name, 1000, "0.75");
    const TableFiles files(path);
    pass(files, [&] { std::filesystem::rename(other, path); });
    expect_changed([&] { pass(files); });
  }
}

// Cut off to nothing, or to a part: the rest of the pass finds no rows, or damaged ones. Nothing is mapped, so that
// nothing ends the process.
TEST_F(FileChange, TruncatedDuringAPass) {
  for (const std::string name : kNames) {
    for (const std::uint64_t part : {0, 3, 7}) {
      SCOPED_TRACE(name + ", " + std::to_string(part) + " eighths");
      const std::string path = write(name, kRows, "0.5");
      const TableFiles files(path);
      expect_changed([&] {
        pass(files, [&] { std::filesystem::resize_file(path, part * std::filesystem::file_size(path) / 8); });
      });
    }
  }
}

TEST_F(FileChange, WrittenToDuringAPass) {
  const std::string path = write("t.csv", kRows, "0.5");
  expect_changed([&] { pass(path, [&] { folder_.write("t.csv", rows(kRows, "0.7")); }); });
  expect_changed([&] {
    for_each_frame(path, {.read = small_.read}, [&](const Frame&) { folder_.write("t.csv", rows(kRows, "0.25")); });
  });
}

}  // namespace
}  // namespace limen::table
