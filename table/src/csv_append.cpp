// SPDX-License-Identifier: MIT
#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "append.h"
#include "csv_frame.h"
#include "csv_pieces.h"
#include "limen/base/error.h"
#include "limen/table/output_file.h"
#include "row_source.h"

namespace limen::table::detail {
namespace {

// Rows with the fields to copy: `text` holds those of one row after the other.
struct Rows {
  Frame frame = {};
  std::string text = {};
  std::vector<std::size_t> text_end = {};
  std::size_t dropped = 0;
};

// Puts the fields that are copied between separators of the output.
class FieldCopier {
 public:
  FieldCopier(const Input& input, char separator, const AppendPlan& plan, const ColumnNames& names)
      : separator_(separator),
        copies_all_(!plan.keep && separator_of(input) == separator),
        kept_(plan.kept_in(names)) {}

  void copy(const CsvRow& row, std::string& into) const {
    if (copies_all_) {
      into += row.text;
      return;
    }
    for (std::size_t field = 0; field < kept_.size(); ++field) {
      if (field > 0) into += separator_;
      add_field(row.fields[kept_[field]], into);
    }
  }

  // A field as written, or a name.
  void add_field(std::string_view field, std::string& into) const {
    const bool is_plain = field.starts_with('"') || field.find(separator_) == std::string_view::npos;
    if (is_plain) {
      into += field;
      return;
    }
    into += '"';
    for (const char c : field) into.append(c == '"' ? 2 : 1, c);
    into += '"';
  }

 private:
  char separator_;
  bool copies_all_;
  std::vector<std::size_t> kept_;
};

template <typename Value>
void write_number(std::string& line, Value value) {
  if constexpr (std::is_floating_point_v<Value>) {
    if (std::isnan(value)) return;
  }
  std::array<char, 32> digits;
  const auto [end, error] = std::to_chars(digits.begin(), digits.end(), value);
  line.append(digits.begin(), end);
}

// Writes all rows of one input after the other.
class TextAppender {
 public:
  TextAppender(const std::string& output, char separator, const AppendPlan& plan, const FillColumns& fill,
               const CsvLimits& limits)
      : output_(output), separator_(separator), plan_(plan), fill_(fill), limits_(limits) {}

  void append(const Input& input, const Progress& progress) {
    CsvPieces<Rows> pieces(input, limits_);
    const ColumnNames& names = pieces.table().names();
    const std::vector<FrameColumn> columns = plan_.wanted_in(names);
    const FieldCopier copier(input, separator_, plan_, names);
    start_input(pieces.table(), copier);
    if (!builder_) builder_.emplace(columns);
    const auto parse = [&](CsvRows& records, Rows& parsed) {
      CsvFrameParser parser(names, columns, plan_.rules);
      FrameBuilder builder(columns);
      while (const CsvRow* row = records.next()) {
        if (!parser.add(*row, builder)) {
          ++parsed.dropped;
          continue;
        }
        copier.copy(*row, parsed.text);
        parsed.text_end.push_back(parsed.text.size());
      }
      parsed.frame = builder.take();
    };
    const auto use = [&](CsvPiece<Rows>& piece) {
      add(piece.result);
      pieces.report(progress, piece);
    };
    // Parsed on all cores, a run of blocks at a time, then filled and written by the caller's thread; also what comes
    // before a row that is refused.
    try {
      while (pieces.run(limits_.blocks_per_run, parse, use)) write_ready();
    } catch (const InvalidInput&) {
      end_batch();
      write_ready();
      throw;
    }
    write_ready();
  }

  AppendResult finish(const std::vector<Input>& inputs) {
    end_batch();
    require_rows(inputs, result_.rows, result_.rows_dropped);
    write_ready();
    out_->commit();
    return result_;
  }

 private:
  void start_input(const CsvTable& table, const FieldCopier& copier) {
    const ColumnNames kept = plan_.kept_names(table.names());
    if (!out_) {
      first_ = kept;
      line_end_ = table.has_crlf() ? "\r\n" : "\n";
      out_.emplace(output_);
      if (table.has_byte_order_mark()) out_->write("\xef\xbb\xbf");
      write_header(table, copier);
    }
    require_same_columns(first_, kept);
  }

  void write_header(const CsvTable& table, const FieldCopier& copier) {
    std::string line;
    if (table.header_fields().empty()) {
      for (std::size_t name = 0; name < first_.names.size(); ++name) {
        if (name > 0) line += separator_;
        copier.add_field(first_.names[name], line);
      }
    } else {
      copier.copy({.text = table.header_text(), .line = 1, .fields = table.header_fields()}, line);
    }
    for (const AddedColumn& column : plan_.added) {
      if (!line.empty()) line += separator_;
      copier.add_field(column.name, line);
    }
    out_->write(line + line_end_);
  }

  void add(const Rows& rows) {
    result_.rows += rows.frame.num_rows;
    result_.rows_dropped += rows.dropped;
    std::size_t begin = 0;
    std::size_t text_begin = 0;
    while (begin < rows.text_end.size()) {
      const std::size_t end = std::min(rows.text_end.size(), begin + limits_.batch_rows - pending_.text_end.size());
      builder_->append(rows.frame, begin, end);
      const std::size_t before = pending_.text.size();
      pending_.text.append(rows.text, text_begin, rows.text_end[end - 1] - text_begin);
      for (std::size_t row = begin; row < end; ++row) {
        pending_.text_end.push_back(before + rows.text_end[row] - text_begin);
      }
      begin = end;
      text_begin = rows.text_end[end - 1];
      if (pending_.text_end.size() == limits_.batch_rows || pending_.text.size() >= limits_.batch_bytes) end_batch();
    }
  }

  void end_batch() {
    if (pending_.text_end.empty()) return;
    pending_.frame = builder_->take();
    ready_.push_back(std::exchange(pending_, {}));
  }

  void write_ready() {
    for (const Rows& rows : std::exchange(ready_, {})) write(rows);
  }

  void write(const Rows& rows) {
    const auto [values, keep] = filled_rows(plan_, rows.frame, fill_);
    result_.rows -= static_cast<std::size_t>(std::ranges::count(keep, std::uint8_t{0}));
    std::string line;
    std::size_t begin = 0;
    for (std::size_t row = 0; row < rows.text_end.size(); ++row) {
      line.assign(rows.text, begin, rows.text_end[row] - begin);
      begin = rows.text_end[row];
      if (keep[row] == 0) continue;
      bool is_first = first_.names.empty();
      for (const AddedValues& column : values) {
        if (!std::exchange(is_first, false)) line += separator_;
        std::visit([&](const auto& numbers) { write_number(line, numbers[row]); }, column);
      }
      line += line_end_;
      out_->write(line);
    }
  }

  const std::string& output_;
  char separator_;
  const AppendPlan& plan_;
  const FillColumns& fill_;
  CsvLimits limits_;
  std::optional<OutputFile> out_;
  ColumnNames first_;
  std::string line_end_;
  std::optional<FrameBuilder> builder_;  // of the frame of pending_
  Rows pending_;
  std::vector<Rows> ready_;  // whole batches
  AppendResult result_;
};

}  // namespace

AppendResult append_csv(const std::vector<Input>& inputs, const std::string& output, char separator,
                        const AppendPlan& plan, const FillColumns& fill, const CsvLimits& limits) {
  TextAppender appender(output, separator, plan, fill, limits);
  FileProgress progress(inputs, plan.progress);
  for (const Input& input : inputs) appender.append(input, progress.next(input));
  return appender.finish(inputs);
}

}  // namespace limen::table::detail
