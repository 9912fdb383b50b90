// SPDX-License-Identifier: MIT
#include "limen/table/output_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <system_error>

#include "limen/base/error.h"
#include "limen/base/text.h"

namespace limen::table {
namespace {

constexpr std::size_t kBufferBytes = std::size_t{1} << 18;
constexpr int kMaxTemporaryNames = 10'000;

std::string resolve_links(const std::string& path) {
  std::error_code ignored;
  const std::filesystem::path real = std::filesystem::canonical(path, ignored);
  return ignored ? path : real.string();
}

}  // namespace

OutputFile::OutputFile(const std::string& path) : name_(shown_path(path, "<stdout>")), target_(path) {
  buffer_.reserve(kBufferBytes);
  if (path == "-") {
    std::fflush(stdout);  // What the process printed before comes first.
    descriptor_ = STDOUT_FILENO;
    is_stdout_ = true;
    return;
  }
  struct stat status = {};
  const bool exists = ::stat(path.c_str(), &status) == 0;
  if (!exists && (errno != ENOENT || path.empty())) fail(errno);
  if (exists && S_ISDIR(status.st_mode)) fail(EISDIR);
  if (exists && !S_ISREG(status.st_mode)) {
    descriptor_ = ::open(path.c_str(), O_WRONLY | O_CLOEXEC);
    if (descriptor_ == kClosed) fail(errno);
    return;
  }
  if (exists) target_ = resolve_links(path);
  open_temporary();
  if (exists && ::fchmod(descriptor_, status.st_mode & 07777) != 0) fail(errno);
}

OutputFile::~OutputFile() { discard(); }

void OutputFile::open_temporary() {
  // A file without a name vanishes with the process, however it ends. Not every file system has them.
  const std::string folder = std::filesystem::path(target_).parent_path().string();
  if (::access("/proc/self/fd", X_OK) == 0) {
    descriptor_ = ::open(folder.empty() ? "." : folder.c_str(), O_TMPFILE | O_WRONLY | O_CLOEXEC, 0666);
    is_unnamed_ = descriptor_ != kClosed;
    if (is_unnamed_) return;
  }
  name_temporary([&](const std::string& candidate) {
    descriptor_ = ::open(candidate.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    return descriptor_ != kClosed;
  });
}

void OutputFile::name_temporary(const std::function<bool(const std::string&)>& take) {
  const std::filesystem::path folder = std::filesystem::path(target_).parent_path();
  // Not derived from the target's name, which may already have the greatest length that the file system takes.
  const std::string prefix = ".limen-" + std::to_string(::getpid()) + "-";
  for (int number = 0; number < kMaxTemporaryNames; ++number) {
    const std::string candidate = (folder / (prefix + std::to_string(number) + ".tmp")).string();
    if (take(candidate)) {
      temporary_ = candidate;
      return;
    }
    if (errno != EEXIST) break;
  }
  fail(errno);
}

void OutputFile::write(std::string_view text) {
  if (descriptor_ == kClosed) fail(EBADF);
  if (text.size() > kBufferBytes - buffer_.size()) {
    flush();
    if (text.size() >= kBufferBytes) {
      send(text);
      return;
    }
  }
  buffer_.append(text);
}

void OutputFile::commit() {
  if (descriptor_ == kClosed) fail(EBADF);
  flush();
  if (is_stdout_) {
    descriptor_ = kClosed;
    return;
  }
  // Without this, a power cut after the rename could leave an empty file in the place of the old one.
  const bool replaces = is_unnamed_ || !temporary_.empty();
  if (replaces && ::fsync(descriptor_) != 0 && errno != EINVAL && errno != ENOTSUP) fail(errno);
  if (is_unnamed_) {
    const std::string descriptor_path = "/proc/self/fd/" + std::to_string(descriptor_);
    name_temporary([&](const std::string& candidate) {
      return ::linkat(AT_FDCWD, descriptor_path.c_str(), AT_FDCWD, candidate.c_str(), AT_SYMLINK_FOLLOW) == 0;
    });
  }
  // At once: killed between the two, a process leaves a file of the temporary name behind. A file of such a name was
  // open under it all the time, and has to be closed first, because some file systems report a full disk only then.
  const auto rename_temporary = [this] {
    if (std::rename(temporary_.c_str(), target_.c_str()) != 0) fail(errno);
    temporary_.clear();
  };
  if (is_unnamed_) rename_temporary();
  const int descriptor = descriptor_;
  descriptor_ = kClosed;
  if (::close(descriptor) != 0 && errno != EINTR) fail(errno);
  if (!temporary_.empty()) rename_temporary();
}

void OutputFile::flush() {
  send(buffer_);
  buffer_.clear();
}

void OutputFile::send(std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t sent = ::write(descriptor_, bytes.data(), bytes.size());
    if (sent < 0) {
      if (errno == EINTR) continue;
      fail(errno);
    }
    bytes.remove_prefix(static_cast<std::size_t>(sent));
  }
}

void OutputFile::discard() noexcept {
  if (descriptor_ != kClosed && !is_stdout_) ::close(descriptor_);
  descriptor_ = kClosed;
  if (!temporary_.empty()) ::unlink(temporary_.c_str());
  temporary_.clear();
}

void OutputFile::fail(int error) {
  discard();
  throw IoError(IoError::Access::kWrite, name_, "cannot be written: " + std::generic_category().message(error));
}

}  // namespace limen::table
