// SPDX-License-Identifier: MIT
#include "input_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <system_error>

#include "limen/base/error.h"
#include "limen/base/text.h"

namespace limen::table::detail {

InputFile::InputFile(const std::string& path)
    : name_(shown_path(path, "<stdin>")),
      descriptor_(path == "-" ? STDIN_FILENO : ::open(path.c_str(), O_RDONLY | O_CLOEXEC)) {
  if (descriptor_ < 0) fail(errno);
  try {
    struct stat status = {};
    if (::fstat(descriptor_, &status) == 0 && S_ISREG(status.st_mode)) {
      size_ = static_cast<std::uint64_t>(status.st_size);
    }
    constexpr std::string_view kGzip = "\x1f\x8b";
    std::string start(kGzip.size(), '\0');
    start.resize(read_packed(start));
    start_ = start;
    if (start == kGzip) gzip_ = open_gzip(name_, [this](std::span<char> buffer) { return read_packed(buffer); });
  } catch (...) {
    if (descriptor_ != STDIN_FILENO) ::close(descriptor_);
    throw;
  }
}

InputFile::~InputFile() {
  if (descriptor_ != STDIN_FILENO) ::close(descriptor_);
}

std::size_t InputFile::read(std::span<char> buffer) { return gzip_ ? gzip_->read(buffer) : read_packed(buffer); }

std::size_t InputFile::read_packed(std::span<char> buffer) {
  std::size_t filled = std::min(start_.size(), buffer.size());
  std::copy_n(start_.begin(), filled, buffer.begin());
  start_.erase(0, filled);
  while (filled < buffer.size()) {
    const ssize_t got = ::read(descriptor_, buffer.data() + filled, buffer.size() - filled);
    if (got == 0) break;
    if (got < 0) {
      if (errno == EINTR) continue;
      fail(errno);
    }
    filled += static_cast<std::size_t>(got);
    bytes_read_ += static_cast<std::uint64_t>(got);
  }
  return filled;
}

void InputFile::fail(int error) const {
  throw IoError(IoError::Access::kRead, name_, "cannot be read: " + std::generic_category().message(error));
}

}  // namespace limen::table::detail
