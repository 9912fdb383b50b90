// SPDX-License-Identifier: MIT
// Files that are written to, replaced or cut off while they are read.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <exception>
#include <filesystem>
#include <functional>
#include <random>
#include <string>
#include <thread>

#include "limen/base/error.h"
#include "limen/fit.h"
#include "limen/table/append.h"
#include "limen/table/frames.h"
#include "limen/table/predictions.h"
#include "read_limits.h"
#include "support/temporary_folder.h"

namespace limen::table {
namespace {

class FileChange : public ::testing::Test {
 protected:
  static std::string rows(int num_rows, const std::string& score) {
    std::string text = "score,uncertainty,label\n";
    for (int row = 0; row < num_rows; ++row) text += score + ",0.25," + (row % 2 == 0 ? "1\n" : "0\n");
    return text;
  }

  // The table in the format of the name, written an hour ago: file systems tell times apart only by milliseconds.
  std::string write(const std::string& name, int num_rows, const std::string& score) {
    const std::string csv = folder_.write("source.csv", rows(num_rows, score));
    append_columns(csv, folder_.path(name), {}, {}, [](const Frame&, auto, auto) {});
    using std::chrono::file_clock;
    std::filesystem::last_write_time(folder_.path(name), file_clock::now() - std::chrono::hours(1));
    return folder_.path(name);
  }

  // One pass in small batches; `act` is called after the first.
  static void pass(const TableFiles& files, const std::function<void()>& act = nullptr) {
    bool is_first = true;
    detail::for_each_batch(files, {}, small_, [&](const Predictions&) {
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

  static constexpr detail::Limits small_ = {
      .chunk_bytes = 1 << 14, .chunks_per_run = 2, .unit_values = 1 << 14, .batch_rows = 1 << 12};
  test::TemporaryFolder folder_;
};

constexpr const char* kNames[] = {"t.csv", "t.csv.gz", "t.parquet", "t.arrow"};
constexpr int kRows = 60'000;

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
  // Frames come in larger batches.
  const std::string large = folder_.write("large.csv", rows(10 * kRows, "0.5"));
  expect_changed([&] {
    for_each_frame(large, {.read = {.max_bytes = 1 << 20}},
                   [&](const Frame&) { folder_.write("large.csv", "score\n"); });
  });
}

// The size of the counters came from the first pass over the file: memory was corrupted, or the figures fitted neither
// file, when another file was moved in its place or when it was cut off.
TEST_F(FileChange, AtAnyMomentOfAFitIsRefusedOrLeavesTheFitOfOneFile) {
#ifdef __SANITIZE_THREAD__
  constexpr std::int64_t kChanges = 20;
#else
  constexpr std::int64_t kChanges = 100;
#endif
  std::mt19937_64 random(1);
  const auto random_rows = [&](int num_rows, double scale) {
    std::string text = "score,uncertainty,label\n";
    for (int row = 0; row < num_rows; ++row) {
      const double score = scale * static_cast<double>(random() % 100'000);
      const bool label = static_cast<double>(random() % 100'000) * scale < score;
      text += std::to_string(score) + "," + std::to_string(random() % 1000) + (label ? ",1\n" : ",0\n");
    }
    return text;
  };
  const std::string text = random_rows(20'000, 1e-5);
  const std::string larger = random_rows(30'000, 10);
  const std::string part = text.substr(0, text.find('\n', text.size() / 2) + 1);
  const std::string path = folder_.path("t.csv");

  // Chunks read so far, in all passes of a fit.
  std::atomic<std::int64_t> chunks = 0;
  const auto fit = [&] {
    const TableFiles files(path);
    PredictionOptions options;
    options.read.progress = [&](auto, auto) {
      ++chunks;
      chunks.notify_all();
    };
    const SampleBatches batches = [&](const std::function<void(const Samples&)>& visit) {
      detail::for_each_batch(files, options, small_, [&](const Predictions& rows) { visit(rows.samples()); });
    };
    return fit_boundary(batches, max_recall_at_precision({3, 5}), {.most_rows_kept = 1000}).boundary;
  };
  const auto fit_of = [&](const std::string& content) {
    chunks = 0;
    folder_.write("t.csv", content);
    return fit();
  };
  const auto of_larger = fit_of(larger);
  const auto of_part = fit_of(part);
  const auto of_whole = fit_of(text);
  ASSERT_TRUE(of_whole && of_larger && of_part);
  const std::int64_t num_moments = chunks;

  int num_refused = 0;
  for (std::int64_t change = 0; change < kChanges; ++change) {
    const bool is_cut = change % 2 == 0;
    const std::int64_t moment = static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(num_moments));
    SCOPED_TRACE((is_cut ? "cut off at chunk " : "replaced at chunk ") + std::to_string(moment));
    folder_.write("t.csv", text);
    const std::string other = folder_.write("other.csv", larger);
    chunks = 0;
    std::jthread changer([&] {
      for (std::int64_t now = chunks; now < moment; now = chunks) chunks.wait(now);
      is_cut ? std::filesystem::resize_file(path, part.size()) : std::filesystem::rename(other, path);
    });
    try {
      const auto boundary = fit();
      EXPECT_TRUE(boundary == of_whole || boundary == (is_cut ? of_part : of_larger));
    } catch (const InvalidInput& error) {
      EXPECT_EQ(error.cause(), Cause::kFileChanged) << error.what();
      EXPECT_THAT(error.what(), ::testing::HasSubstr(": changed while it was read: "));
      ++num_refused;
    } catch (const std::exception& error) {
      ADD_FAILURE() << error.what();
    }
    chunks = num_moments;
    chunks.notify_all();
  }
  EXPECT_GT(num_refused, kChanges / 4);
}

}  // namespace
}  // namespace limen::table
