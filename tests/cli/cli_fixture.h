// SPDX-License-Identifier: MIT
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <random>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "run_program.h"

namespace limen::cli::test {

using Json = nlohmann::json;
using Words = std::vector<std::string>;

// Ten rows on two uncertainties. By falling score, label 1 marked *:
//   uncertainty 0.1:  .90*  .80*  .70*  .60   .50       prefixes (flagged, true positives) 1,1  2,2  3,3  4,3  5,3
//   uncertainty 0.9:  .95   .85*  .75   .65   .55*      prefixes 1,0  2,1  3,1  4,1  5,2
//   both together:    .95 .90* .85* .80* .75 .70* .65 .60 .55* .50
// The sums of one prefix of each level are all the boundaries there are: 3,3 then 5,4 then 8,5 are those that no other
// one beats. Single thresholds reach 4,3 then 6,4 then 9,5.
inline constexpr std::string_view kHandTable =
    "score,uncertainty,label\n"
    "0.9,0.1,1\n0.8,0.1,1\n0.7,0.1,1\n0.6,0.1,0\n0.5,0.1,0\n"
    "0.95,0.9,0\n0.85,0.9,1\n0.75,0.9,0\n0.65,0.9,0\n0.55,0.9,1\n";

/// Runs the program inside a folder of its own, so that messages name files by their bare names.
class CliTest : public ::testing::Test {
 protected:
  CliTest() : before_(std::filesystem::current_path()) {
    folder_ = make_folder();
    streams_ = make_folder();
    std::filesystem::current_path(folder_);
  }
  ~CliTest() override {
    std::filesystem::current_path(before_);
    std::filesystem::remove_all(folder_);
    std::filesystem::remove_all(streams_);
  }

  [[nodiscard]] RunResult run(const Words& arguments, std::string_view input = {}) const {
    write_file(streams_ / "in", input);
    const RunningProgram program = start_limen(arguments, streams_ / "in", streams_ / "out", streams_ / "err");
    const int exit_code = program.wait();
    return {exit_code, file_text(streams_ / "out"), file_text(streams_ / "err")};
  }

  /// What a run that must succeed wrote on stdout.
  [[nodiscard]] std::string output_of(const Words& arguments, std::string_view input = {}) const {
    const RunResult result = run(arguments, input);
    EXPECT_EQ(result.exit_code, 0) << command(arguments) << "\n" << result.err;
    return result.out;
  }

  /// The same, read as JSON.
  [[nodiscard]] Json json_of(const Words& arguments, std::string_view input = {}) const {
    return Json::parse(output_of(arguments, input));
  }

  /// Bad input: exit code 2, nothing on stdout, one line on stderr that holds every one of `named`, and every file of
  /// the folder as it was.
  void expect_refused(const Words& arguments, const Words& named, std::string_view input = {},
                      int exit_code = 2) const {
    SCOPED_TRACE(command(arguments));
    const auto before = files();
    const RunResult result = run(arguments, input);
    EXPECT_EQ(result.exit_code, exit_code);
    EXPECT_EQ(result.out, "");
    EXPECT_THAT(result.err, ::testing::StartsWith("limen: "));
    EXPECT_TRUE(std::ranges::count(result.err, '\n') == 1 && result.err.back() == '\n') << result.err;
    for (const std::string& word : named) EXPECT_THAT(result.err, ::testing::HasSubstr(word));
    EXPECT_EQ(files(), before);
  }

  /// The same for an output that cannot be written: exit code 1.
  void expect_not_written(const Words& arguments, const Words& named) const { expect_refused(arguments, named, {}, 1); }

  /// A run that reads t1.csv and t2.csv in several passes must notice that t1.csv is another file than in the first
  /// one. t2.csv is a pipe: while the first pass waits for it, t1.csv has been read once and can be replaced.
  void expect_change_noticed(const Words& arguments, const std::string& rows) const {
    SCOPED_TRACE(command(arguments));
    write_file("t1.csv", rows);
    ASSERT_EQ(::mkfifo("t2.csv", 0600), 0);
    std::atomic<bool> has_ended = false;
    std::thread feeder([&] {
      const auto open_pipe = [] { return ::open("t2.csv", O_WRONLY | O_NONBLOCK | O_CLOEXEC); };
      for (bool is_first = true; !has_ended; std::this_thread::sleep_for(std::chrono::milliseconds(1))) {
        const int pipe = open_pipe();
        if (pipe < 0) continue;  // nobody reads it
        if (std::exchange(is_first, false)) {
          write_file("later.csv", rows + rows.substr(rows.find('\n') + 1));
          std::filesystem::rename("later.csv", "t1.csv");
          EXPECT_EQ(::write(pipe, rows.data(), rows.size()), static_cast<ssize_t>(rows.size()));
        }
        ::close(pipe);
      }
    });
    const RunResult result = run(arguments);
    has_ended = true;
    feeder.join();
    EXPECT_EQ(result.exit_code, 2);
    EXPECT_THAT(result.err, ::testing::StartsWith("limen: t1.csv: changed while it was read: "));
    std::filesystem::remove("t2.csv");
  }

  /// Every file below the folder, hidden ones too, with its content.
  [[nodiscard]] static std::map<std::string, std::string> files() {
    std::map<std::string, std::string> all;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(".")) {
      all[entry.path().string()] = entry.is_regular_file() ? file_text(entry.path()) : "(folder)";
    }
    return all;
  }

  [[nodiscard]] static std::vector<std::string> file_names() {
    std::vector<std::string> names;
    for (const auto& [name, text] : files()) names.push_back(name.substr(2));
    return names;
  }

  [[nodiscard]] static std::string command(const Words& arguments) {
    std::string line = "limen";
    for (const std::string& word : arguments) line += " " + word;
    return line;
  }

  /// Where the program's streams go; not among files().
  [[nodiscard]] const std::filesystem::path& streams() const { return streams_; }

 private:
  static std::filesystem::path make_folder() {
    std::string name = (std::filesystem::temp_directory_path() / "limen-cli-test-XXXXXX").string();
    if (::mkdtemp(name.data()) == nullptr) throw std::system_error(errno, std::generic_category(), name);
    return name;
  }

  std::filesystem::path before_;
  std::filesystem::path folder_;
  std::filesystem::path streams_;
};

/// `text` with every `from` replaced.
inline std::string replaced(std::string_view text, std::string_view from, std::string_view to) {
  std::string result(text);
  for (std::size_t at = result.find(from); at != std::string::npos; at = result.find(from, at + to.size())) {
    result.replace(at, from.size(), to);
  }
  return result;
}

/// A random table with many equal scores and uncertainties, more positives at higher scores and lower uncertainties.
inline std::string tied_table(unsigned seed, int rows, bool weighted = false) {
  std::mt19937 generator(seed);
  const auto below = [&](unsigned limit) { return static_cast<int>(generator() % limit); };
  std::string text = weighted ? "score,uncertainty,label,weight\n" : "score,uncertainty,label\n";
  for (int row = 0; row < rows; ++row) {
    const int score = below(40);
    const int uncertainty = below(13);
    const int label = below(40 * 13) < score * (13 - uncertainty / 2) ? 1 : 0;
    for (const double value : {score / 40.0, 1.0 * uncertainty, 1.0 * label})
      text.append(std::to_string(value)).append(",");
    if (weighted) text.append(std::to_string(below(30) / 10.0)).append(",");
    text.back() = '\n';
  }
  return text;
}

}  // namespace limen::cli::test
