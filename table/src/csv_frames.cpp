// SPDX-License-Identifier: MIT
#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "csv_frame.h"
#include "csv_pieces.h"
#include "frame_source.h"

namespace limen::table::detail {
namespace {

struct ParsedFrame {
  Frame frame;
  std::size_t dropped = 0;
};

class CsvFrames final : public FrameSource {
 public:
  CsvFrames(const Input& input, const ValueRules& rules, const Progress& progress, const CsvLimits& limits)
      : rules_(rules), progress_(progress), blocks_per_run_(limits.blocks_per_run), pieces_(input, limits) {}

  [[nodiscard]] const ColumnNames& names() const override { return pieces_.table().names(); }
  [[nodiscard]] std::vector<std::optional<ColumnKind>> kinds() override;
  void start(std::span<const FrameColumn> columns, const ValueRules& rules) override {
    columns_ = columns;
    rules_ = rules;
  }
  bool read(FrameBuilder& into, std::size_t rows, std::size_t& dropped) override;

 private:
  ValueRules rules_;
  Progress progress_;
  std::size_t blocks_per_run_;
  CsvPieces<ParsedFrame> pieces_;
  std::span<const FrameColumn> columns_;
};

std::vector<std::optional<ColumnKind>> CsvFrames::kinds() {
  constexpr std::size_t kLookBytes = std::size_t{1} << 20;
  std::vector<SeenKind> seen(names().names.size());
  std::string scratch;
  pieces_.look_ahead(kLookBytes, [&](CsvRows& rows) {
    while (const CsvRow* row = rows.next()) {
      if (row->fields.size() != seen.size()) return;
      for (std::size_t column = 0; column < seen.size(); ++column) {
        seen[column].add(row->fields[column], rules_, scratch);
      }
    }
  });
  std::vector<std::optional<ColumnKind>> kinds;
  for (const SeenKind& column : seen) {
    kinds.push_back(column.has_values ? std::optional(column.has_text ? ColumnKind::kText : ColumnKind::kNumber)
                                      : std::nullopt);
  }
  return kinds;
}

bool CsvFrames::read(FrameBuilder& into, std::size_t rows, std::size_t& dropped) {
  // A batch ends with a run of blocks, not when enough rows are there: where it ends depends on no race.
  const std::size_t rows_before = into.frame().num_rows;
  bool has_more = true;
  while (has_more && into.frame().num_rows - rows_before < rows) {
    has_more = pieces_.run(
        blocks_per_run_,
        [&](CsvRows& records, ParsedFrame& parsed) {
          CsvFrameParser parser(names(), columns_, rules_);
          FrameBuilder builder(columns_);
          while (const CsvRow* row = records.next()) {
            if (!parser.add(*row, builder)) ++parsed.dropped;
          }
          parsed.frame = builder.take();
        },
        [&](CsvPiece<ParsedFrame>& piece) {
          into.append(piece.result.frame);
          dropped += piece.result.dropped;
          pieces_.report(progress_, piece);
        });
  }
  return has_more;
}

}  // namespace

std::unique_ptr<FrameSource> open_csv_frames(const Input& input, const ValueRules& rules, const Progress& progress,
                                             const CsvLimits& limits) {
  return std::make_unique<CsvFrames>(input, rules, progress, limits);
}

}  // namespace limen::table::detail
