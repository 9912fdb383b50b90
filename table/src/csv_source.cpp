// SPDX-License-Identifier: MIT
#include <algorithm>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "csv.h"
#include "csv_pieces.h"
#include "csv_table.h"

namespace limen::table::detail {
namespace {

class CsvSource final : public RowSource {
 public:
  CsvSource(const Input& input, const ReadOptions& options, const CsvLimits& limits)
      : options_(options), pieces_(input, limits), columns_(find_labelled(names(), options.columns)) {}

  bool read(Predictions& into, std::size_t rows) override;
  [[nodiscard]] Predictions empty() const override { return {}; }
  [[nodiscard]] bool has_weight() const override { return columns_.weight.has_value(); }

 private:
  [[nodiscard]] const ColumnNames& names() const { return pieces_.table().names(); }
  void parse(CsvRows& rows, Predictions& into) const;
  void add(const CsvPiece<Predictions>& piece, Predictions& into, bool is_whole_file) const;

  ReadOptions options_;
  CsvPieces<Predictions> pieces_;
  LabelledColumns columns_;
};

bool CsvSource::read(Predictions& into, std::size_t rows) {
  // A batch ends with a run of blocks, not when enough rows are there: where it ends depends on no race.
  const bool is_whole_file = rows == std::numeric_limits<std::size_t>::max();
  const std::size_t blocks = is_whole_file ? rows : CsvLimits().blocks_per_run;
  const std::size_t rows_before = into.label.size();
  bool has_more = true;
  while (has_more && into.label.size() - rows_before < rows) {
    has_more = pieces_.run(
        blocks, [&](CsvRows& records, Predictions& parsed) { parse(records, parsed); },
        [&](CsvPiece<Predictions>& piece) { add(piece, into, is_whole_file); });
  }
  return has_more;
}

void CsvSource::parse(CsvRows& rows, Predictions& into) const {
  CsvValues values(names(), options_.drop_missing);
  std::vector<double> scores;
  std::vector<double> uncertainties;
  while (const CsvRow* row = rows.next()) {
    values.check_length(*row);
    const auto score = values.number(*row, columns_.score);
    const auto uncertainty = values.number(*row, columns_.uncertainty);
    const auto label = values.label(*row, columns_.label);
    const auto weight = columns_.weight ? values.weight(*row, *columns_.weight) : 1.0;
    if (!score || !uncertainty || !label || !weight) {
      ++into.rows_dropped;
      continue;
    }
    scores.push_back(*score);
    uncertainties.push_back(*uncertainty);
    into.label.push_back(*label);
    if (columns_.weight) into.weight.push_back(*weight);
  }
  into.score = std::move(scores);
  into.uncertainty = std::move(uncertainties);
}

void CsvSource::add(const CsvPiece<Predictions>& piece, Predictions& into, bool is_whole_file) const {
  const std::uint64_t size = pieces_.table().file().size();
  if (is_whole_file && into.label.empty() && piece.file_bytes > 0 && piece.file_bytes < size) {
    const double share = static_cast<double>(size) / static_cast<double>(piece.file_bytes);
    const auto rows = static_cast<std::size_t>(1.02 * share * static_cast<double>(piece.result.label.size()));
    into.score.reserve(rows);
    into.uncertainty.reserve(rows);
    into.label.reserve(rows);
    if (columns_.weight) into.weight.reserve(rows);
  }
  append(into, piece.result);
  pieces_.report(options_.progress, piece);
}

}  // namespace

std::unique_ptr<RowSource> open_csv(const Input& input, const ReadOptions& options, const CsvLimits& limits) {
  return std::make_unique<CsvSource>(input, options, limits);
}

std::optional<std::uint64_t> estimate_csv_rows(const Input& input) {
  const std::uint64_t size = file_size(input);
  if (size == 0 && is_stdin(input)) return std::nullopt;
  CsvTable table(input);
  if (table.file().size() == 0) return std::nullopt;
  const CsvBlock block = table.rows().take_block();
  CsvRows rows(input.name, separator_of(input), {}, block, {});
  std::uint64_t count = 0;
  while (rows.next() != nullptr) ++count;
  if (block.is_last) return count;
  const double share = static_cast<double>(table.file().size()) / static_cast<double>(table.file().bytes_read());
  return static_cast<std::uint64_t>(share * static_cast<double>(count));
}

}  // namespace limen::table::detail
