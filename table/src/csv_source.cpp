// SPDX-License-Identifier: MIT
#include <algorithm>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "csv.h"
#include "csv_table.h"
#include "limen/error.h"
#include "ordered_pipeline.h"

namespace limen::table::detail {
namespace {

// A block on its way from the file into the result.
struct Piece {
  CsvBlock block;
  std::uint64_t file_bytes = 0;  // of the file read up to the end of the block
  Predictions rows;
  CsvPlace end;           // behind the block
  bool is_clean = false;  // parsed, and the place where it starts has no bearing on the result
};

class CsvSource final : public RowSource {
 public:
  CsvSource(const Input& input, const ReadOptions& options, const CsvLimits& limits)
      : options_(options),
        limits_(limits),
        separator_(separator_of(input.format)),
        table_(input, without_progress(options), limits),
        columns_(find_labelled(table_.names(), options.columns)),
        place_(table_.rows().place()) {}

  bool read(Predictions& into, std::size_t rows) override;
  [[nodiscard]] Predictions empty() const override { return {}; }
  [[nodiscard]] bool has_weight() const override { return columns_.weight.has_value(); }

 private:
  static ReadOptions without_progress(ReadOptions options) {
    options.progress = nullptr;
    return options;
  }

  std::unique_ptr<Piece> next_piece();
  void parse(Piece& piece, const CsvPlace& place) const;
  void parse_ahead(Piece& piece) const;
  void add(Piece& piece, Predictions& into, bool is_whole_file);

  ReadOptions options_;
  CsvLimits limits_;
  char separator_;
  CsvTable table_;
  LabelledColumns columns_;
  CsvPlace place_;  // of the next piece to add
  bool took_first_block_ = false;
  bool at_end_ = false;
};

bool CsvSource::read(Predictions& into, std::size_t rows) {
  // A batch ends with a run of blocks, not when enough rows are there: where it ends depends on no race.
  constexpr std::size_t kBlocksPerRun = 64;
  const bool is_whole_file = rows == std::numeric_limits<std::size_t>::max();
  const std::size_t rows_before = into.label.size();
  while (!at_end_ && into.label.size() - rows_before < rows) {
    std::size_t blocks = 0;
    run_ordered<Piece>(
        [&]() -> std::unique_ptr<Piece> {
          if (!is_whole_file && ++blocks > kBlocksPerRun) return nullptr;
          return next_piece();
        },
        [&](Piece& piece) { parse_ahead(piece); }, [&](Piece& piece) { add(piece, into, is_whole_file); });
  }
  return !at_end_;
}

// Null after the last one.
std::unique_ptr<Piece> CsvSource::next_piece() {
  auto piece = std::make_unique<Piece>();
  if (!std::exchange(took_first_block_, true)) {
    piece->block = table_.rows().take_block();
  } else {
    std::optional<CsvBlock> block = table_.rows().blocks().next();
    if (!block) {
      at_end_ = true;
      return nullptr;
    }
    piece->block = *std::move(block);
  }
  piece->file_bytes = table_.file().bytes_read();
  return piece;
}

void CsvSource::parse(Piece& piece, const CsvPlace& place) const {
  CsvRows rows(table_.names().table, separator_, limits_, piece.block, place);
  CsvValues values(table_.names(), options_.drop_missing);
  std::vector<double> scores;
  std::vector<double> uncertainties;
  piece.rows = {};
  while (const CsvRow* row = rows.next()) {
    values.check_length(*row);
    const auto score = values.number(*row, columns_.score);
    const auto uncertainty = values.number(*row, columns_.uncertainty);
    const auto label = values.label(*row, columns_.label);
    const auto weight = columns_.weight ? values.weight(*row, *columns_.weight) : 1.0;
    if (!score || !uncertainty || !label || !weight) {
      ++piece.rows.rows_dropped;
      continue;
    }
    scores.push_back(*score);
    uncertainties.push_back(*uncertainty);
    piece.rows.label.push_back(*label);
    if (columns_.weight) piece.rows.weight.push_back(*weight);
  }
  piece.rows.score = std::move(scores);
  piece.rows.uncertainty = std::move(uncertainties);
  piece.end = rows.place();
}

// As if the block were the first of the file. Blank lines and refusals are left to add(), which knows the place.
void CsvSource::parse_ahead(Piece& piece) const {
  try {
    parse(piece, {});
    piece.is_clean = piece.end.blank_line == 0;
  } catch (const InvalidInput&) {
  }
}

void CsvSource::add(Piece& piece, Predictions& into, bool is_whole_file) {
  if (piece.is_clean && place_.blank_line == 0) {
    place_.line += piece.end.line - 1;
  } else {
    parse(piece, place_);
    place_ = piece.end;
  }
  const std::uint64_t size = table_.file().size();
  if (is_whole_file && into.label.empty() && piece.file_bytes > 0 && piece.file_bytes < size) {
    const double share = static_cast<double>(size) / static_cast<double>(piece.file_bytes);
    const auto rows = static_cast<std::size_t>(1.02 * share * static_cast<double>(piece.rows.label.size()));
    into.score.reserve(rows);
    into.uncertainty.reserve(rows);
    into.label.reserve(rows);
    if (columns_.weight) into.weight.reserve(rows);
  }
  append(into, piece.rows);
  if (options_.progress) options_.progress(piece.file_bytes, size == 0 ? 0 : std::max(size, piece.file_bytes));
}

}  // namespace

std::unique_ptr<RowSource> open_csv(const Input& input, const ReadOptions& options, const CsvLimits& limits) {
  return std::make_unique<CsvSource>(input, options, limits);
}

std::optional<std::uint64_t> estimate_csv_rows(const Input& input, const ReadOptions& options) {
  const std::uint64_t size = file_size(input);
  if (size == 0 && is_stdin(input)) return std::nullopt;
  CsvTable table(input, {.columns = options.columns}, {});
  if (table.file().size() == 0) return std::nullopt;
  const CsvBlock block = table.rows().take_block();
  CsvRows rows(input.name, separator_of(input.format), {}, block, {});
  std::uint64_t count = 0;
  while (rows.next() != nullptr) ++count;
  if (block.is_last) return count;
  const double share = static_cast<double>(table.file().size()) / static_cast<double>(table.file().bytes_read());
  return static_cast<std::uint64_t>(share * static_cast<double>(count));
}

}  // namespace limen::table::detail
