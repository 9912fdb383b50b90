// SPDX-License-Identifier: MIT
#include "limen/table/predictions.h"

#include <algorithm>
#include <future>
#include <limits>
#include <memory>
#include <optional>
#include <type_traits>

#include "append.h"
#include "arrow_tables.h"
#include "csv.h"
#include "input.h"
#include "limen/base/error.h"
#include "limen/base/text.h"
#include "row_source.h"

namespace limen::table {
namespace {

using detail::Input;
using detail::RowSource;

constexpr std::size_t kBatchRows = 1'000'000;
constexpr std::size_t kAllRows = std::numeric_limits<std::size_t>::max();

std::unique_ptr<RowSource> open_rows(const Input& input, const ReadOptions& options) {
  return detail::is_text(input.format) ? detail::open_csv(input, options) : detail::open_arrow(input, options);
}

// The rows of several files, one after the other.
class RowStream {
 public:
  RowStream(const std::vector<std::string>& paths, const ReadOptions& options)
      : inputs_(detail::resolve_inputs(paths, options.format)), options_(options) {
    options_.progress = nullptr;
    progress_.emplace(inputs_, options.progress);
    if (inputs_.size() > 1) find_precision();
  }

  // The next rows, at least `rows` unless the files end; unset after the last ones. Refuses files without any rows.
  std::optional<Predictions> next(std::size_t rows) {
    std::optional<Predictions> batch = empty_;
    while (next_input_ < inputs_.size() || source_) {
      if (!source_) open_next();
      if (!batch) batch = source_->empty();
      const std::size_t rows_so_far = batch->label.size();
      const bool has_more = source_->read(*batch, rows == kAllRows ? rows : rows - rows_so_far);
      if (!has_more) source_.reset();
      if (batch->label.size() >= rows) break;
    }
    if (!batch) return std::nullopt;
    rows_kept_ += batch->label.size();
    rows_dropped_ += batch->rows_dropped;
    if (batch->label.empty()) {
      if (next_input_ == inputs_.size() && !source_) detail::require_rows(inputs_, rows_kept_, rows_dropped_);
      if (batch->rows_dropped == 0) return std::nullopt;
    }
    return batch;
  }

 private:
  // Single precision only when all files have it. Stdin, which cannot be read twice, counts as double.
  void find_precision() {
    bool score_is_single = true;
    bool uncertainty_is_single = true;
    for (const Input& input : inputs_) {
      const Predictions rows = is_stdin(input) ? Predictions{} : open_rows(input, options_)->empty();
      score_is_single = score_is_single && rows.score.is_single();
      uncertainty_is_single = uncertainty_is_single && rows.uncertainty.is_single();
      if (!score_is_single && !uncertainty_is_single) break;
    }
    empty_.emplace();
    if (score_is_single) empty_->score = std::vector<float>();
    if (uncertainty_is_single) empty_->uncertainty = std::vector<float>();
  }

  void open_next() {
    const Input& input = inputs_[next_input_++];
    options_.progress = progress_->next(input);
    source_ = open_rows(input, options_);
    if (!has_weight_) has_weight_ = source_->has_weight();
    if (*has_weight_ == source_->has_weight()) return;
    throw InvalidInput(input.name + (*has_weight_ ? ": has no column " : ": has a column ") +
                       quoted(options_.columns.weight) + ", unlike " + inputs_.front().name);
  }

  std::vector<Input> inputs_;
  ReadOptions options_;  // with the progress of the file at hand
  std::optional<detail::FileProgress> progress_;
  std::optional<Predictions> empty_;  // unset: that of the only source
  std::size_t next_input_ = 0;
  std::unique_ptr<RowSource> source_;
  std::optional<bool> has_weight_;
  std::size_t rows_kept_ = 0;
  std::size_t rows_dropped_ = 0;
};

}  // namespace

std::size_t RealColumn::size() const {
  return std::visit([](const auto& values) { return values.size(); }, values_);
}

RealSpan RealColumn::span() const {
  return std::visit([](const auto& values) { return RealSpan(std::span(values)); }, values_);
}

void RealColumn::reserve(std::size_t rows) {
  std::visit([rows](auto& values) { values.reserve(rows); }, values_);
}

void RealColumn::append(RealSpan more) {
  more.visit([this](auto span) {
    using Value = std::remove_cv_t<typename decltype(span)::element_type>;
    if (Vector<Value>* values = std::get_if<Vector<Value>>(&values_)) {
      values->insert(values->end(), span.begin(), span.end());
      return;
    }
    if (is_single()) {
      const auto& values = std::get<Vector<float>>(values_);
      values_ = Vector<double>(values.begin(), values.end());
    }
    auto& values = std::get<Vector<double>>(values_);
    values.insert(values.end(), span.begin(), span.end());
  });
}

Predictions read_predictions(const std::vector<std::string>& paths, const ReadOptions& options) {
  return RowStream(paths, options).next(kAllRows).value();
}

Predictions read_predictions(const std::string& path, const ReadOptions& options) {
  return read_predictions(std::vector{path}, options);
}

void for_each_batch(const std::vector<std::string>& paths, const ReadOptions& options,
                    const std::function<void(const Predictions&)>& visit) {
  RowStream stream(paths, options);
  // A future of std::async waits in its destructor: no thread is left behind when `visit` throws.
  const auto read_ahead = [&stream] {
    return std::async(std::launch::async, [&stream] { return stream.next(kBatchRows); });
  };
  std::future<std::optional<Predictions>> ahead = read_ahead();
  while (const std::optional<Predictions> batch = ahead.get()) {
    ahead = read_ahead();
    visit(*batch);
  }
}

std::optional<std::uint64_t> estimate_rows(const std::vector<std::string>& paths, const ReadOptions& options) {
  std::uint64_t rows = 0;
  for (const Input& input : detail::resolve_inputs(paths, options.format)) {
    if (is_stdin(input)) return std::nullopt;
    const auto count =
        detail::is_text(input.format) ? detail::estimate_csv_rows(input) : detail::estimate_arrow_rows(input);
    if (!count) return std::nullopt;
    rows += *count;
  }
  return rows;
}

AppendResult append_decisions(const std::vector<std::string>& inputs, const std::string& output,
                              const AppendOptions& options, const std::function<void(const DecisionBatch&)>& decide) {
  const ReadOptions& read = options.read;
  const detail::AppendPlan plan = {.wanted = {{.name = read.columns.score, .option = "--score"},
                                              {.name = read.columns.uncertainty, .option = "--uncertainty"}},
                                   .rules = {.rule = read.drop_missing ? MissingRule::kDrop : MissingRule::kRefuse},
                                   .added = {{"decision", AddedType::kUint8}, {"level", AddedType::kInt32}},
                                   .progress = read.progress};
  return detail::append(detail::resolve_inputs(inputs, read.format), output, options.output_format, plan,
                        [&decide](const Frame& frame, std::span<AddedValues> added, std::span<std::uint8_t>) {
                          decide({.score = std::span(std::get<NumberValues>(frame.columns[0].values)),
                                  .uncertainty = std::span(std::get<NumberValues>(frame.columns[1].values)),
                                  .decision = std::get<std::vector<std::uint8_t>>(added[0]),
                                  .level = std::get<std::vector<std::int32_t>>(added[1])});
                        });
}

AppendResult append_decisions(const std::string& input, const std::string& output, const ReadOptions& options,
                              const std::function<void(const DecisionBatch&)>& decide) {
  return append_decisions(std::vector{input}, output, {.read = options}, decide);
}

}  // namespace limen::table
