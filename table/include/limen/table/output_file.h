// SPDX-License-Identifier: MIT
#pragma once

#include <functional>
#include <string>
#include <string_view>

namespace limen::table {

/// A file that appears whole or not at all: it is written under a temporary name in the target's folder and takes the
/// target's place on commit(). Without commit(), or after any failure, the temporary is removed and the target keeps
/// its old content. Where the file system can, the temporary has no name before commit(): a killed run leaves nothing.
///
/// Path "-" is stdout. Stdout and other targets that are not regular files (/dev/null, a named pipe) are written in
/// place: what was flushed before a failure has gone out. A symbolic link stays one: the file behind it is replaced.
/// A replaced file keeps its permission bits; a new one gets the process's default.
///
/// Buffered. Every failure throws IoError that names the path and the system's reason; afterwards write() and commit()
/// keep throwing. Not for use by two threads at once.
class OutputFile {
 public:
  explicit OutputFile(const std::string& path);
  ~OutputFile();
  OutputFile(const OutputFile&) = delete;
  OutputFile& operator=(const OutputFile&) = delete;

  void write(std::string_view text);

  /// Puts the content on disk and the file in its place. To be called once, after the last write().
  void commit();

 private:
  void open_temporary();
  void name_temporary(const std::function<bool(const std::string&)>& take);
  void flush();
  void send(std::string_view bytes);
  void discard() noexcept;
  [[noreturn]] void fail(int error);

  std::string name_;       // the path as messages show it
  std::string target_;     // what the temporary is renamed to
  std::string temporary_;  // empty when the target is written in place, or the temporary has no name yet
  bool is_unnamed_ = false;
  std::string buffer_;
  int descriptor_ = kClosed;
  bool is_stdout_ = false;  // not told by descriptor_: a process without stdout gets its number for another file

  static constexpr int kClosed = -1;
};

}  // namespace limen::table
