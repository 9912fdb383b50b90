// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

namespace limen::table::detail {

/// Tells whether a regular file is still what it was.
struct FileIdentity {
  std::uint64_t device = 0;
  std::uint64_t inode = 0;
  std::uint64_t bytes = 0;
  std::int64_t changed_nanoseconds = 0;
  bool operator==(const FileIdentity&) const = default;
};

/// What is known of a file from the times it was read before; see TableFiles.
struct KnownFile {
  std::string path;
  std::string name;                                     ///< the path as messages show it
  std::optional<FileIdentity> identity = std::nullopt;  ///< unset: not opened yet, or not a regular file
  std::optional<std::uint64_t> rows = std::nullopt;     ///< unset: not read to its end yet
  bool was_opened = false;
};

[[nodiscard]] inline bool is_stdin(const KnownFile& file) { return file.path == "-"; }

/// Bytes of a regular file, 0 for anything else and when it is not there.
[[nodiscard]] std::uint64_t size_of(const KnownFile& file);

/// A file that is open for reading and compared with what is known of it. Throws IoError when it cannot be opened or
/// is a folder, InvalidInput (Cause::kFileChanged) when it is not what it was, InvalidInput for stdin a second time.
class OpenFile {
 public:
  explicit OpenFile(std::shared_ptr<KnownFile> file);
  ~OpenFile();
  OpenFile(const OpenFile&) = delete;
  OpenFile& operator=(const OpenFile&) = delete;

  [[nodiscard]] int descriptor() const { return descriptor_; }
  [[nodiscard]] const std::string& name() const { return known_->name; }
  /// A regular file that is not stdin.
  [[nodiscard]] bool can_seek() const { return can_seek_; }
  /// Bytes of a regular file, 0 for anything else.
  [[nodiscard]] std::uint64_t size() const { return size_; }

  /// Throws when the file has changed since it was opened.
  void require_unchanged() const;
  /// require_unchanged() at the end of the file, which must have had as many rows before.
  void end(std::uint64_t rows);

  [[noreturn]] void fail(int error) const;

 private:
  [[nodiscard]] std::optional<FileIdentity> identity() const;
  [[noreturn]] void refuse_change(const std::string& what) const;

  std::shared_ptr<KnownFile> known_;
  int descriptor_;
  bool can_seek_ = false;
  std::uint64_t size_ = 0;
};

}  // namespace limen::table::detail
