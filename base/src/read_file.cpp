// SPDX-License-Identifier: MIT
#include "limen/base/read_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "limen/base/error.h"
#include "limen/base/text.h"

namespace limen {
namespace {

class Descriptor {
 public:
  explicit Descriptor(int number) : number_(number) {}
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  ~Descriptor() {
    if (number_ >= 0) ::close(number_);
  }
  [[nodiscard]] int number() const { return number_; }

 private:
  int number_;
};

}  // namespace

std::string read_regular_file(const std::string& path, std::size_t max_bytes) {
  const auto fail = [&](const std::string& problem) { throw IoError(IoError::Access::kRead, path, problem); };
  const auto fail_with = [&](int error) { fail(std::string("cannot be read: ") + std::strerror(error)); };
  // Without O_NONBLOCK, opening a pipe waits until somebody writes into it.
  const Descriptor file(::open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC | O_NOCTTY));
  if (file.number() < 0) fail_with(errno);
  struct stat status = {};
  if (::fstat(file.number(), &status) != 0) fail_with(errno);
  if (S_ISDIR(status.st_mode)) fail("is a folder, a file is needed");
  if (!S_ISREG(status.st_mode)) fail("is not a regular file");
  const auto size = static_cast<std::size_t>(status.st_size);
  if (size > max_bytes) {
    fail("has " + count_text(static_cast<double>(size)) + " bytes, at most " +
         count_text(static_cast<double>(max_bytes)) + " are read");
  }
  std::string bytes(size, '\0');
  std::size_t done = 0;
  while (done < size) {
    const ssize_t got = ::read(file.number(), bytes.data() + done, size - done);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) fail_with(errno);
    if (got == 0) fail("became shorter while it was read");
    done += static_cast<std::size_t>(got);
  }
  return bytes;
}

}  // namespace limen
