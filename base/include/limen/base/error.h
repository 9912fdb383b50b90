// SPDX-License-Identifier: MIT
#pragma once

#include <stdexcept>
#include <string>

namespace limen {

/// What kind of trouble it is, for whoever knows the user's flags and can add what to do about it.
enum class Cause {
  kOther,
  kNoSuchColumn,      ///< a wanted column is not in the table
  kSeparator,         ///< the table has one column only, and it looks as if another separator was meant
  kMissingValue,      ///< a value is missing or not finite
  kBadLabel,          ///< a label is of neither class
  kPositiveNotFound,  ///< the value that was said to be positive does not occur
  kNotANumber,        ///< a value of a column of numbers is none
  kUnknownFormat,     ///< a name whose extension says no format
  kWrongFormat,       ///< a file's content is of another format than was said
  kNoRows,            ///< a table without any row, where one is needed
  kFileChanged,       ///< a file is not what it was when it was first read
  kOneClass,          ///< all rows are of one class
  kTooLittleMemory,   ///< more rows have to be kept than was allowed
  kColumnExists,      ///< a table has a column of the name of one that is to be added
};

/// Where something is wrong. What does not apply is empty.
struct Where {
  std::string source = {};    ///< the name of a file
  std::string place = {};     ///< in the file: "line 3", "row 17"
  std::string column = {};    ///< as the file names it
  std::string function = {};  ///< where no file is known: the function that was called, or a flag
  std::string field = {};     ///< of the function's options; the problem goes on from its name: "is -1, must be > 0"
};

namespace detail {
/// "source: place: column "name": problem", without what is empty; the function where there is no source.
/// A field goes before the problem.
[[nodiscard]] std::string error_message(const Where& where, const std::string& problem);
}  // namespace detail

/// Bad input. The message says where, what is wrong, its value and what was needed; the parts can be had one by one,
/// so that nobody needs to take a message to pieces.
class InvalidInput : public std::invalid_argument {
 public:
  explicit InvalidInput(const std::string& problem) : InvalidInput(Where{}, problem) {}
  /// A literal names a function or a flag, a string the user's file.
  InvalidInput(const char* function, const std::string& problem, Cause cause = Cause::kOther)
      : InvalidInput(Where{.function = function}, problem, cause) {}
  InvalidInput(std::string source, const std::string& problem, Cause cause = Cause::kOther)
      : InvalidInput(Where{.source = std::move(source)}, problem, cause) {}
  InvalidInput(Where where, const std::string& problem, Cause cause = Cause::kOther)
      : std::invalid_argument(detail::error_message(where, problem)),
        where_(std::move(where)),
        problem_(problem),
        cause_(cause) {}

  [[nodiscard]] const Where& where() const { return where_; }
  [[nodiscard]] const std::string& problem() const { return problem_; }
  [[nodiscard]] Cause cause() const { return cause_; }

 private:
  Where where_;
  std::string problem_;
  Cause cause_;
};

/// File trouble: a path that cannot be read, or cannot be written.
class IoError : public std::runtime_error {
 public:
  enum class Access { kRead, kWrite };

  IoError(Access access, std::string path, const std::string& problem)
      : std::runtime_error(detail::error_message(Where{.source = path}, problem)),
        access_(access),
        path_(std::move(path)) {}

  [[nodiscard]] Access access() const { return access_; }
  [[nodiscard]] const std::string& path() const { return path_; }

 private:
  Access access_;
  std::string path_;
};

}  // namespace limen
