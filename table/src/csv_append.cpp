// SPDX-License-Identifier: MIT
#include <charconv>
#include <cstdint>
#include <iterator>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "csv.h"
#include "csv_table.h"
#include "limen/table/output_file.h"
#include "row_source.h"

namespace limen::table::detail {
namespace {

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
  decide({.score = std::span<const double>(rows.score),
          .uncertainty = std::span<const double>(rows.uncertainty),
          .decision = rows.decision,
          .level = rows.level});
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

AppendResult append_csv(const std::vector<Input>& inputs, const std::string& output, const ReadOptions& options,
                        const std::function<void(const DecisionBatch&)>& decide, const CsvLimits& limits) {
  const char separator = separator_of(inputs.front().format);
  AppendResult result;
  PendingRows pending;
  std::optional<OutputFile> out;
  ColumnNames first;
  std::string line_end;
  FileProgress progress(inputs, options);
  for (const Input& input : inputs) {
    CsvTable table(input, progress.options_for(input), limits);
    const Column score_column = table.names().require(options.columns.score, "--score");
    const Column uncertainty_column = table.names().require(options.columns.uncertainty, "--uncertainty");
    if (!out) {
      table.names().require_undecided();
      first = table.names();
      line_end = table.has_crlf() ? "\r\n" : "\n";
      out.emplace(output);
      if (table.rows().has_byte_order_mark()) out->write("\xef\xbb\xbf");
      out->write(std::string(table.header_text()) + separator + "decision" + separator + "level" + line_end);
    }
    require_same_columns(first, table.names());
    while (const CsvRow* row = table.next()) {
      const auto score = table.values().number(*row, score_column);
      const auto uncertainty = table.values().number(*row, uncertainty_column);
      if (!score || !uncertainty) {
        ++result.rows_dropped;
        continue;
      }
      ++result.rows;
      pending.add(row->text, *score, *uncertainty);
      if (pending.size() >= limits.batch_rows || pending.text.size() >= limits.batch_bytes) {
        write_decided(pending, separator, line_end, *out, decide);
      }
    }
  }
  require_rows(inputs, result.rows, result.rows_dropped);
  write_decided(pending, separator, line_end, *out, decide);
  out->commit();
  return result;
}

}  // namespace limen::table::detail
