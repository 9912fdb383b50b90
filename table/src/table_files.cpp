// SPDX-License-Identifier: MIT
#include "limen/table/table_files.h"

#include <fcntl.h>
#include <glob.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <new>
#include <system_error>
#include <utility>

#include "known_file.h"
#include "limen/base/error.h"
#include "limen/base/text.h"

namespace limen::table {
namespace {

bool is_pattern(const std::string& path) {
  struct stat status = {};
  return path.find_first_of("*?[") != std::string::npos && ::lstat(path.c_str(), &status) != 0;
}

// In order of the bytes of the names, which glob(3) leaves to the locale.
std::vector<std::string> matches(const std::string& pattern) {
  ::glob_t found = {};
  const int error = ::glob(pattern.c_str(), GLOB_NOSORT, nullptr, &found);
  std::vector<std::string> paths(found.gl_pathv, found.gl_pathv + found.gl_pathc);
  ::globfree(&found);
  if (error == GLOB_NOSPACE) throw std::bad_alloc();
  if (paths.empty()) throw IoError(IoError::Access::kRead, shown_path(pattern, ""), "matches no file");
  std::ranges::sort(paths);
  return paths;
}

}  // namespace

TableFiles::TableFiles(const std::vector<std::string>& paths) {
  if (paths.empty()) throw InvalidInput("no input file is given");
  for (const std::string& path : paths) {
    for (const std::string& file : is_pattern(path) ? matches(path) : std::vector{path}) {
      files_.push_back(
          std::make_shared<detail::KnownFile>(detail::KnownFile{.path = file, .name = shown_path(file, "<stdin>")}));
    }
  }
}

std::string TableFiles::name() const {
  const std::string& first = files_.front()->name;
  if (files_.size() == 1) return first;
  return first + " and " + std::to_string(files_.size() - 1) + (files_.size() == 2 ? " more file" : " more files");
}

bool TableFiles::has_stdin() const {
  return std::ranges::any_of(files_, [](const auto& file) { return is_stdin(*file); });
}

namespace detail {

std::uint64_t size_of(const KnownFile& file) {
  struct stat status = {};
  if (is_stdin(file) || ::stat(file.path.c_str(), &status) != 0 || !S_ISREG(status.st_mode)) return 0;
  return static_cast<std::uint64_t>(status.st_size);
}

OpenFile::OpenFile(std::shared_ptr<KnownFile> file)
    : known_(std::move(file)),
      descriptor_(is_stdin(*known_) ? STDIN_FILENO : ::open(known_->path.c_str(), O_RDONLY | O_CLOEXEC)) {
  if (descriptor_ < 0) fail(errno);
  try {
    if (std::exchange(known_->was_opened, true) && is_stdin(*known_)) {
      throw InvalidInput(known_->name, "can be read only once; give a file");
    }
    struct stat status = {};
    if (::fstat(descriptor_, &status) != 0) fail(errno);
    if (S_ISDIR(status.st_mode)) fail(EISDIR);
    if (!S_ISREG(status.st_mode)) return;
    size_ = static_cast<std::uint64_t>(status.st_size);
    can_seek_ = !is_stdin(*known_);
    if (!known_->identity) known_->identity = identity();
    require_unchanged();
  } catch (...) {
    if (descriptor_ != STDIN_FILENO) ::close(descriptor_);
    throw;
  }
}

OpenFile::~OpenFile() {
  if (descriptor_ != STDIN_FILENO) ::close(descriptor_);
}

std::optional<FileIdentity> OpenFile::identity() const {
  struct stat status = {};
  if (::fstat(descriptor_, &status) != 0 || !S_ISREG(status.st_mode)) return std::nullopt;
  constexpr std::int64_t kNanoseconds = 1'000'000'000;
  return FileIdentity{.device = status.st_dev,
                      .inode = status.st_ino,
                      .bytes = static_cast<std::uint64_t>(status.st_size),
                      .changed_nanoseconds = status.st_mtim.tv_sec * kNanoseconds + status.st_mtim.tv_nsec};
}

void OpenFile::require_unchanged() const {
  if (known_->identity && identity() != known_->identity) refuse_change("its size, time or place is another one");
}

void OpenFile::end(std::uint64_t rows) {
  require_unchanged();
  if (known_->rows && *known_->rows != rows) {
    refuse_change("it had " + std::to_string(*known_->rows) + " rows and has " + std::to_string(rows));
  }
  known_->rows = rows;
}

void OpenFile::refuse_change(const std::string& what) const {
  throw InvalidInput(known_->name, "changed while it was read: " + what + "; read it when nobody writes to it",
                     Cause::kFileChanged);
}

void OpenFile::fail(int error) const {
  throw IoError(IoError::Access::kRead, known_->name, "cannot be read: " + std::generic_category().message(error));
}

}  // namespace detail
}  // namespace limen::table
