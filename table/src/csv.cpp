// SPDX-License-Identifier: MIT
#include "csv.h"

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "fields.h"
#include "limen/error.h"
#include "limen/table/output_file.h"

namespace limen::table::detail {
namespace {

constexpr std::string_view kDropHint = "(drop such rows with --drop-missing)";

struct Column {
  std::string name;
  std::size_t index = 0;
};

// The header, and the rows under it with their values checked. An empty optional stands for a value whose row
// drop_missing leaves out; the caller reads all values of a row before it leaves one out, so that text in a number
// column is refused in any case.
class Table {
 public:
  Table(InputFile& file, char separator, const ReadOptions& options, const CsvLimits& limits)
      : rows_(file, separator, limits, options.progress), drop_missing_(options.drop_missing) {
    const CsvRow* header = rows_.next();
    if (header == nullptr) refuse("is empty");
    std::string scratch;
    for (const std::string_view field : header->fields) names_.emplace_back(trimmed(unquoted(field, scratch)));
    header_text_ = header->text;
    has_crlf_ = rows_.ended_with_crlf();
  }

  // Null after the last row.
  const CsvRow* next() {
    const CsvRow* row = rows_.next();
    if (row != nullptr && row->fields.size() != names_.size()) {
      refuse("line " + std::to_string(row->line) + " has " + std::to_string(row->fields.size()) +
             (row->fields.size() == 1 ? " field" : " fields") + ", the header has " + std::to_string(names_.size()));
    }
    return row;
  }

  [[nodiscard]] bool has(std::string_view name) const { return std::ranges::find(names_, name) != names_.end(); }

  // Empty when there is no such column.
  [[nodiscard]] std::optional<Column> find(std::string_view name) const {
    name = trimmed(name);
    const auto found = std::ranges::find(names_, name);
    if (found == names_.end()) return std::nullopt;
    const auto count = std::ranges::count(names_, name);
    if (count > 1) refuse("has " + std::to_string(count) + " columns " + quoted(name) + " (rename all but one)");
    return Column{std::string(name), static_cast<std::size_t>(found - names_.begin())};
  }

  [[nodiscard]] Column require(std::string_view name, std::string_view option) const {
    std::optional<Column> column = find(name);
    if (!column) refuse_absent(name, option);
    return *std::move(column);
  }

  [[nodiscard]] std::optional<double> number(const CsvRow& row, const Column& column) {
    const std::string_view text = unquoted(row.fields[column.index], scratch_);
    const NumberField field = parse_number(text);
    if (field.status == FieldStatus::kOk) return field.value;
    if (field.status == FieldStatus::kBad) refuse_value(row, column, quoted(text) + " is not a number");
    return refuse_or_drop(row, column, text, field.status);
  }

  [[nodiscard]] std::optional<double> weight(const CsvRow& row, const Column& column) {
    const std::optional<double> value = number(row, column);
    if (!value || *value >= 0) return value;
    if (drop_missing_) return std::nullopt;
    const std::string_view text = unquoted(row.fields[column.index], scratch_);
    refuse_value(row, column, quoted(text) + " is negative, a weight is at least 0 " + std::string(kDropHint));
  }

  [[nodiscard]] std::optional<std::uint8_t> label(const CsvRow& row, const Column& column) {
    const std::string_view text = unquoted(row.fields[column.index], scratch_);
    const LabelField field = parse_label(text);
    if (field.status == FieldStatus::kOk) return field.value;
    if (field.status == FieldStatus::kBad && !drop_missing_) {
      refuse_value(row, column,
                   quoted(text) +
                       " is neither 0/1 nor true/false (rename the column with --label, or drop such rows "
                       "with --drop-missing)");
    }
    return refuse_or_drop(row, column, text, field.status);
  }

  // To be called after the last row.
  void require_rows(std::size_t rows_kept, std::size_t rows_dropped) const {
    if (rows_kept > 0) return;
    if (rows_dropped == 0) refuse("has a header but no rows");
    refuse("no rows are left: all " + std::to_string(rows_dropped) + " have a missing or bad value");
  }

  [[noreturn]] void refuse(const std::string& what) const { throw InvalidInput(rows_.file().name() + ": " + what); }

  [[nodiscard]] std::string_view header_text() const { return header_text_; }
  [[nodiscard]] bool has_crlf() const { return has_crlf_; }
  [[nodiscard]] const CsvRows& rows() const { return rows_; }

 private:
  std::nullopt_t refuse_or_drop(const CsvRow& row, const Column& column, std::string_view text,
                                FieldStatus status) const {
    if (drop_missing_) return std::nullopt;
    std::string what = status == FieldStatus::kNotFinite ? quoted(text) + " is not finite "
                       : trimmed(text).empty()           ? "the value is missing "
                                                         : quoted(text) + " is a missing value ";
    refuse_value(row, column, what.append(kDropHint));
  }

  [[noreturn]] void refuse_value(const CsvRow& row, const Column& column, const std::string& what) const {
    const char* const field = row.fields[column.index].data();
    const auto line = row.line + static_cast<std::uint64_t>(std::count(row.text.data(), field, '\n'));
    refuse("line " + std::to_string(line) + ", column " + quoted(column.name) + ": " + what);
  }

  [[noreturn]] void refuse_absent(std::string_view name, std::string_view option) const {
    constexpr std::size_t kMaxNames = 20;
    constexpr std::size_t kMaxCharacters = 40;
    std::string list;
    for (std::size_t index = 0; index < std::min(kMaxNames, names_.size()); ++index) {
      if (index > 0) list += ", ";
      list += escaped(names_[index], kMaxCharacters);
    }
    if (names_.size() > kMaxNames) list += " and " + std::to_string(names_.size() - kMaxNames) + " more";
    std::string hint = "name yours with " + std::string(option);
    if (names_.size() == 1 && rows_.separator() == ',') {
      if (names_[0].find('\t') != std::string::npos) hint = "tabs separate them: name the file .tsv";
      if (names_[0].find(';') != std::string::npos) hint = "semicolons separate them: save it with commas";
    }
    refuse("no column " + quoted(name) + "; the columns are: " + list + " (" + hint + ")");
  }

  CsvRows rows_;
  bool drop_missing_;
  std::vector<std::string> names_;
  std::string header_text_;
  bool has_crlf_ = false;
  std::string scratch_;
};

// Rows read and not yet decided on. `text` holds their records one after the other.
struct PendingRows {
  std::string text;
  std::vector<std::size_t> text_end;
  std::vector<double> score;
  std::vector<double> uncertainty;
  std::vector<std::uint8_t> decision;
  std::vector<std::int32_t> level;

  [[nodiscard]] std::size_t size() const { return score.size(); }

  void add(std::string_view record, double row_score, double row_uncertainty) {
    text += record;
    text_end.push_back(text.size());
    score.push_back(row_score);
    uncertainty.push_back(row_uncertainty);
  }

  void clear() {
    text.clear();
    text_end.clear();
    score.clear();
    uncertainty.clear();
  }
};

void write_number(std::string& line, int value) {
  char digits[16];
  const auto [end, error] = std::to_chars(std::begin(digits), std::end(digits), value);
  line.append(std::begin(digits), end);
}

void write_decided(PendingRows& rows, char separator, std::string_view line_end, OutputFile& output,
                   const std::function<void(const DecisionBatch&)>& decide) {
  if (rows.size() == 0) return;
  rows.decision.assign(rows.size(), 0);
  rows.level.assign(rows.size(), 0);
  decide({.score = rows.score, .uncertainty = rows.uncertainty, .decision = rows.decision, .level = rows.level});
  std::string suffix;
  std::size_t begin = 0;
  for (std::size_t row = 0; row < rows.size(); ++row) {
    output.write(std::string_view(rows.text).substr(begin, rows.text_end[row] - begin));
    begin = rows.text_end[row];
    suffix.assign(1, separator);
    write_number(suffix, rows.decision[row]);
    suffix += separator;
    write_number(suffix, rows.level[row]);
    suffix += line_end;
    output.write(suffix);
  }
  rows.clear();
}

}  // namespace

Predictions read_csv(const std::string& path, char separator, const ReadOptions& options, const CsvLimits& limits) {
  InputFile file(path);
  Table table(file, separator, options, limits);
  const Column score_column = table.require(options.columns.score, "--score");
  const Column uncertainty_column = table.require(options.columns.uncertainty, "--uncertainty");
  const Column label_column = table.require(options.columns.label, "--label");
  const std::optional<Column> weight_column = options.columns.weight_required
                                                  ? table.require(options.columns.weight, "--weight")
                                                  : table.find(options.columns.weight);
  Predictions predictions;
  while (const CsvRow* row = table.next()) {
    const auto score = table.number(*row, score_column);
    const auto uncertainty = table.number(*row, uncertainty_column);
    const auto label = table.label(*row, label_column);
    const auto weight = weight_column ? table.weight(*row, *weight_column) : 1.0;
    if (!score || !uncertainty || !label || !weight) {
      ++predictions.rows_dropped;
      continue;
    }
    predictions.score.push_back(*score);
    predictions.uncertainty.push_back(*uncertainty);
    predictions.label.push_back(*label);
    if (weight_column) predictions.weight.push_back(*weight);
  }
  table.require_rows(predictions.score.size(), predictions.rows_dropped);
  return predictions;
}

AppendResult append_csv(const std::string& input, const std::string& output, char separator, const ReadOptions& options,
                        const std::function<void(const DecisionBatch&)>& decide, const CsvLimits& limits) {
  InputFile file(input);
  Table table(file, separator, options, limits);
  const Column score_column = table.require(options.columns.score, "--score");
  const Column uncertainty_column = table.require(options.columns.uncertainty, "--uncertainty");
  for (const std::string_view name : {"decision", "level"}) {
    if (table.has(name)) table.refuse("already has a column " + quoted(name) + " (rename it or leave it out)");
  }
  const std::string_view line_end = table.has_crlf() ? "\r\n" : "\n";
  const std::string appended = std::string(1, separator) + "decision" + separator + "level";

  OutputFile out(output);
  if (table.rows().has_byte_order_mark()) out.write("\xef\xbb\xbf");
  out.write(std::string(table.header_text()) + appended + std::string(line_end));
  AppendResult result;
  PendingRows pending;
  while (const CsvRow* row = table.next()) {
    const auto score = table.number(*row, score_column);
    const auto uncertainty = table.number(*row, uncertainty_column);
    if (!score || !uncertainty) {
      ++result.rows_dropped;
      continue;
    }
    ++result.rows;
    pending.add(row->text, *score, *uncertainty);
    if (pending.size() >= limits.batch_rows || pending.text.size() >= limits.batch_bytes) {
      write_decided(pending, separator, line_end, out, decide);
    }
  }
  table.require_rows(result.rows, result.rows_dropped);
  write_decided(pending, separator, line_end, out, decide);
  out.commit();
  return result;
}

}  // namespace limen::table::detail
