// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <utility>

#include "csv_table.h"
#include "limen/base/error.h"
#include "ordered_pipeline.h"

namespace limen::table::detail {

/// What was made of a block of a file.
template <typename Result>
struct CsvPiece {
  CsvBlock block;
  std::uint64_t file_bytes = 0;  ///< of the file read up to the end of the block
  Result result = {};
  CsvPlace end = {};      ///< behind the block
  bool is_clean = false;  ///< parsed, and the place where it starts has no bearing on the result
};

/// Parses the blocks of a file on all cores and hands over the results in their order.
template <typename Result>
class CsvPieces {
 public:
  CsvPieces(const Input& input, const CsvLimits& limits)
      : separator_(separator_of(input)), limits_(limits), table_(input, limits), place_(table_.rows().place()) {}

  [[nodiscard]] const CsvTable& table() const { return table_; }

  /// Reads about `bytes` ahead, to look at: calls look(CsvRows&) with the records of each block. To be called once,
  /// before run(), from whose results nothing is missing. What is malformed is left to run().
  template <typename Look>
  void look_ahead(std::size_t bytes, Look&& look) {
    for (std::size_t seen = 0; seen < bytes;) {
      std::optional<CsvBlock> block = next_block();
      if (!block) return;
      seen += std::max<std::size_t>(block->bytes.size(), 1);
      ahead_.push_back({*std::move(block), table_.file().bytes_read()});
      try {
        CsvRows rows(table_.names().table, separator_, limits_, ahead_.back().block, {});
        look(rows);
      } catch (const InvalidInput&) {
        return;
      }
    }
  }

  /// Takes at most `max_blocks` blocks. parse(CsvRows&, Result&) is called on any thread, for a few blocks twice; then
  /// use(CsvPiece<Result>&) in order, one at a time. Returns whether there are more.
  template <typename Parse, typename Use>
  bool run(std::size_t max_blocks, Parse&& parse, Use&& use) {
    const auto parse_at = [&](CsvPiece<Result>& piece, const CsvPlace& place) {
      CsvRows rows(table_.names().table, separator_, limits_, piece.block, place);
      piece.result = {};
      parse(rows, piece.result);
      piece.end = rows.place();
    };
    std::size_t blocks = 0;
    run_ordered<CsvPiece<Result>>(
        [&]() -> std::unique_ptr<CsvPiece<Result>> {
          if (blocks++ == max_blocks) return nullptr;
          return next_piece();
        },
        // As if the block were the first of the file: blank lines and refusals wait until the place is known.
        [&](CsvPiece<Result>& piece) {
          try {
            parse_at(piece, {});
            piece.is_clean = piece.end.blank_line == 0;
          } catch (const InvalidInput&) {
          }
        },
        [&](CsvPiece<Result>& piece) {
          if (piece.is_clean && place_.blank_line == 0) {
            place_.line += piece.end.line - 1;
          } else {
            parse_at(piece, place_);
            place_ = piece.end;
          }
          use(piece);
        });
    return !at_end_;
  }

  /// Tells how far a piece brings the reading of the file.
  void report(const Progress& progress, const CsvPiece<Result>& piece) const {
    const std::uint64_t size = table_.file().size();
    if (progress) progress(piece.file_bytes, size == 0 ? 0 : std::max(size, piece.file_bytes));
  }

 private:
  struct BlockAhead {
    CsvBlock block;
    std::uint64_t file_bytes;
  };

  std::optional<CsvBlock> next_block() {
    if (!std::exchange(took_first_block_, true)) return table_.rows().take_block();
    return table_.rows().blocks().next();
  }

  // Null after the last one.
  std::unique_ptr<CsvPiece<Result>> next_piece() {
    auto piece = std::make_unique<CsvPiece<Result>>();
    if (!ahead_.empty()) {
      piece->block = std::move(ahead_.front().block);
      piece->file_bytes = ahead_.front().file_bytes;
      ahead_.pop_front();
      return piece;
    }
    std::optional<CsvBlock> block = next_block();
    at_end_ = !block;
    if (at_end_) return nullptr;
    piece->block = *std::move(block);
    piece->file_bytes = table_.file().bytes_read();
    return piece;
  }

  char separator_;
  CsvLimits limits_;
  CsvTable table_;
  CsvPlace place_;                // of the next piece to use
  std::deque<BlockAhead> ahead_;  // read by look_ahead()
  bool took_first_block_ = false;
  bool at_end_ = false;
};

}  // namespace limen::table::detail
