// SPDX-License-Identifier: MIT
#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "arrow_file.h"
#include "arrow_frame.h"
#include "frame_source.h"
#include "ordered_pipeline.h"

namespace limen::table::detail {
namespace {

struct Piece {
  ArrowUnit unit;
  Frame frame = {};
  std::size_t dropped = 0;
};

class ArrowFrames final : public FrameSource {
 public:
  ArrowFrames(const Input& input, const Progress& progress) : progress_(progress), file_(input) {}

  [[nodiscard]] const ColumnNames& names() const override { return file_.names(); }
  [[nodiscard]] std::vector<std::optional<ColumnKind>> kinds() override {
    std::vector<std::optional<ColumnKind>> kinds;
    for (const std::shared_ptr<arrow::Field>& field : file_.schema()->fields())
      kinds.push_back(kind_of(*field->type()));
    return kinds;
  }
  void start(std::span<const FrameColumn> columns, const ValueRules& rules) override {
    columns_.assign(columns.begin(), columns.end());
    rules_ = rules;
    for (const FrameColumn& column : columns_) {
      check_frame_type(file_.names(), column, *file_.schema()->field(static_cast<int>(column.column.index))->type());
    }
    std::vector<Column*> chosen;
    for (FrameColumn& column : columns_) chosen.push_back(&column.column);
    file_.select(chosen);
  }
  bool read(FrameBuilder& into, std::size_t rows, std::size_t& dropped) override;

 private:
  Progress progress_;
  ArrowFile file_;
  std::vector<FrameColumn> columns_;  // with their places in the batches
  ValueRules rules_;
};

bool ArrowFrames::read(FrameBuilder& into, std::size_t rows, std::size_t& dropped) {
  const std::size_t rows_before = into.frame().num_rows;
  bool has_more = true;
  while (has_more && into.frame().num_rows - rows_before < rows) {
    // A batch ends where enough rows were asked for, not where they arrive: where it ends depends on no race.
    std::uint64_t asked = into.frame().num_rows - rows_before;
    run_ordered<Piece>(
        [&]() -> std::unique_ptr<Piece> {
          if (asked >= rows) return nullptr;
          std::optional<ArrowUnit> unit = file_.next_unit();
          has_more = unit.has_value();
          if (!has_more) return nullptr;
          asked += unit->rows;
          return std::make_unique<Piece>(Piece{.unit = *std::move(unit)});
        },
        [&](Piece& piece) {
          FrameBuilder builder(columns_);
          std::uint64_t first_row = piece.unit.first_row;
          file_.decode(piece.unit, [&](const std::shared_ptr<arrow::RecordBatch>& batch) {
            const std::vector<bool> keep = append_frame(*batch, columns_, rules_, file_.names(), first_row, builder);
            piece.dropped += static_cast<std::size_t>(std::ranges::count(keep, false));
            first_row += static_cast<std::uint64_t>(batch->num_rows());
          });
          piece.frame = builder.take();
        },
        [&](Piece& piece) {
          into.append(piece.frame);
          dropped += piece.dropped;
          file_.report(progress_, piece.unit);
        });
  }
  return has_more;
}

}  // namespace

std::unique_ptr<FrameSource> open_arrow_frames(const Input& input, const Progress& progress) {
  return std::make_unique<ArrowFrames>(input, progress);
}

}  // namespace limen::table::detail
