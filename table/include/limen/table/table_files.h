// SPDX-License-Identifier: MIT
#pragma once

#include <initializer_list>
#include <memory>
#include <string>
#include <vector>

namespace limen::table {
namespace detail {
struct KnownFile;
}  // namespace detail

/// The files of a table, found once: a path with *, ? or [ that is not the name of a file is a pattern and stands for
/// the files that match it, in order of their names; "-" is stdin.
///
/// Remembers of each file what it was when it was first opened (device, inode, size, time of change) and how many rows
/// it had. A later reading that finds anything else throws InvalidInput (Cause::kFileChanged), and so does one during
/// which the file changes: whoever reads in several passes keeps one TableFiles for all of them. Copies share what they
/// remember; for use by one thread at a time.
///
/// Throws IoError for a pattern without a match, InvalidInput for an empty list.
class TableFiles {
 public:
  TableFiles(const std::vector<std::string>& paths);  // NOLINT(google-explicit-constructor)
  TableFiles(std::initializer_list<std::string> paths) : TableFiles(std::vector(paths)) {}
  TableFiles(const std::string& path) : TableFiles(std::vector{path}) {}  // NOLINT(google-explicit-constructor)
  TableFiles(const char* path) : TableFiles(std::string(path)) {}         // NOLINT(google-explicit-constructor)

  /// "a.csv", "<stdin>", "a.csv and 2 more files": as messages show them.
  [[nodiscard]] std::string name() const;
  [[nodiscard]] bool has_stdin() const;

  [[nodiscard]] const std::vector<std::shared_ptr<detail::KnownFile>>& files() const { return files_; }

 private:
  std::vector<std::shared_ptr<detail::KnownFile>> files_;
};

}  // namespace limen::table
