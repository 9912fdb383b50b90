// SPDX-License-Identifier: MIT
#include "progress.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <memory>

namespace limen::cli {
namespace {

/// "1.2 GB of 3.4 GB, 250 MB/s, 9 s left" on one line of the terminal, a few times a second.
class ProgressLine {
 public:
  explicit ProgressLine(std::string name) : name_(std::move(name)), start_(Clock::now()) {}
  ~ProgressLine() {
    if (shown_) fmt::print(stderr, "\r\033[K");
  }
  ProgressLine(const ProgressLine&) = delete;
  ProgressLine& operator=(const ProgressLine&) = delete;

  void update(std::uint64_t done, std::uint64_t all) {
    const auto now = Clock::now();
    if (now - last_ < std::chrono::milliseconds(250)) return;
    last_ = now;
    const double seconds = std::chrono::duration<double>(now - start_).count();
    const double rate = static_cast<double>(done) / std::max(seconds, 1e-3);
    std::string line = fmt::format("{}: {:.0f} MB", name_, static_cast<double>(done) / 1e6);
    if (all > 0) line += fmt::format(" of {:.0f} MB", static_cast<double>(all) / 1e6);
    line += fmt::format(", {:.0f} MB/s", rate / 1e6);
    if (all > done) line += fmt::format(", {:.0f} s left", static_cast<double>(all - done) / rate);
    fmt::print(stderr, "\r\033[K{}", line);
    std::fflush(stderr);
    shown_ = true;
  }

 private:
  using Clock = std::chrono::steady_clock;
  std::string name_;
  Clock::time_point start_;
  Clock::time_point last_;
  bool shown_ = false;
};

}  // namespace

std::function<void(std::uint64_t, std::uint64_t)> progress_line(const std::string& name) {
  if (isatty(STDERR_FILENO) == 0) return nullptr;
  return
      [line = std::make_shared<ProgressLine>(name)](std::uint64_t done, std::uint64_t all) { line->update(done, all); };
}

}  // namespace limen::cli
