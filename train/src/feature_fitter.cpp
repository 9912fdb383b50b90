// SPDX-License-Identifier: MIT
#include <tbb/info.h>
#include <tbb/parallel_for.h>
#include <tbb/task_arena.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <unordered_map>
#include <utility>

#include "detail/column_fitter.h"
#include "detail/label_counter.h"
#include "limen/base/error.h"
#include "limen/base/label_column.h"
#include "limen/base/parallel.h"
#include "limen/base/random.h"
#include "limen/base/text.h"
#include "limen/train/features.h"

namespace limen::train {

struct FeatureFitter::State {
  FeatureOptions options;
  RowHash sample_hash;
  tbb::task_arena arena;
  bool started = false;
  std::vector<std::string> names;  ///< all columns of the first frame
  std::vector<std::string> feature_names;
  std::vector<detail::ColumnFitter> columns;  ///< of feature_names
  detail::LabelCounter labels;
  std::size_t rows_seen = 0;
  std::int64_t rows = 0;

  explicit State(FeatureOptions chosen)
      : options(std::move(chosen)),
        sample_hash(options.seed, RowUse::kQuantiles),
        arena(limen::detail::arena_size(options.num_threads)),
        labels(options.label, options.label_rule) {}

  void start(const Frame& frame);
  void add_labels(const Column& column, const detail::RowBatch& batch);
};

void FeatureFitter::State::start(const Frame& frame) {
  for (const Column& column : frame.columns) {
    names.push_back(column.name);
    if (!trimmed(column.name).empty()) continue;
    throw InvalidInput("features", "column " + std::to_string(names.size()) + " has no name, every column needs one");
  }
  std::map<std::string_view, std::optional<ColumnKind>> declared;
  std::set<std::string_view> unused;
  const auto check_there = [&](const std::string& name, const char* list) {
    if (std::find(names.begin(), names.end(), name) != names.end()) return;
    throw InvalidInput("features", std::string(list) + " names column " + quoted(name) + ", which is not there" +
                                       did_you_mean(name, names));
  };
  const auto declare = [&](const std::string& name, const char* list, std::optional<ColumnKind> kind) {
    check_there(name, list);
    if (kind) {
      declared.emplace(name, kind);
    } else {
      unused.insert(name);
    }
  };
  for (const std::string& name : options.numeric) declare(name, "numeric", ColumnKind::kNumeric);
  for (const std::string& name : options.categorical) declare(name, "categorical", ColumnKind::kCategorical);
  for (const auto& [name, format] : options.date) declare(name, "date", ColumnKind::kDate);
  for (const std::string& name : options.drop) declare(name, "drop", std::nullopt);
  for (const auto& [name, scaling] : options.scaling_of) check_there(name, "scaling_of");
  if (!options.label.empty()) declare(options.label, "label", std::nullopt);
  for (const std::string& name : names) {
    if (unused.count(name) != 0) continue;
    const auto kind = declared.find(name);
    columns.emplace_back(name, kind == declared.end() ? std::nullopt : kind->second, options);
    feature_names.push_back(name);
  }
  std::sort(names.begin(), names.end());
  started = true;
}

void FeatureFitter::State::add_labels(const Column& column, const detail::RowBatch& batch) {
  // Each different value is looked at once, in the order of first rows.
  struct Met {
    std::string value;
    std::size_t row;
    std::int64_t count;
  };
  std::vector<Met> met;
  if (const auto* numbers = std::get_if<NumberValues>(&column.values)) {
    std::unordered_map<double, std::size_t> number_of;
    batch.for_each([&](std::size_t row) {
      const double value = (*numbers)[row];
      if (!std::isfinite(value))
        refuse_missing_label(Where{.function = "features"}, column.name, batch.first_row + row, labels.rule());
      const auto [found, is_new] = number_of.emplace(value, met.size());
      if (is_new) met.push_back({number_text(value), row, 0});
      ++met[found->second].count;
    });
  } else {
    const auto& text = std::get<TextValues>(column.values);
    constexpr std::size_t kNotMet = static_cast<std::size_t>(-1);
    std::vector<std::size_t> number_of(text.distinct.size(), kNotMet);
    batch.for_each([&](std::size_t row) {
      const auto code = static_cast<std::size_t>(text.code[row]);
      if (text.code[row] == TextValues::kMissing || is_missing(trimmed(text.distinct[code]))) {
        refuse_missing_label(Where{.function = "features"}, column.name, batch.first_row + row, labels.rule());
      }
      if (number_of[code] == kNotMet) {
        number_of[code] = met.size();
        met.push_back({label_value(text.distinct[code]), row, 0});
      }
      ++met[number_of[code]].count;
    });
  }
  for (const Met& value : met) labels.add(value.value, batch.first_row + value.row, value.count);
}

FeatureFitter::FeatureFitter(FeatureOptions options) {
  validate(options);
  state_ = std::make_unique<State>(std::move(options));
}
FeatureFitter::FeatureFitter(FeatureFitter&&) noexcept = default;
FeatureFitter& FeatureFitter::operator=(FeatureFitter&&) noexcept = default;
FeatureFitter::~FeatureFitter() = default;

void FeatureFitter::add(const Frame& frame, std::span<const std::uint8_t> selected) {
  State& state = *state_;
  if (!selected.empty() && selected.size() != frame.num_rows) {
    throw InvalidInput("features", "selected has " + std::to_string(selected.size()) + " rows, the frame has " +
                                       std::to_string(frame.num_rows));
  }
  const auto columns = detail::columns_by_name(frame, "features");
  if (!state.started) state.start(frame);
  for (const std::string& name : state.names) {
    if (columns.count(name) == 0) {
      throw InvalidInput("features", "column " + quoted(name) + " is missing from row " +
                                         std::to_string(state.rows_seen + 1) + " on, must be in every batch");
    }
  }
  for (const auto& [name, column] : columns) {
    if (!std::binary_search(state.names.begin(), state.names.end(), name)) {
      throw InvalidInput("features", "column " + quoted(name) + " is new from row " +
                                         std::to_string(state.rows_seen + 1) + " on, must be in every batch");
    }
  }

  std::vector<std::uint32_t> sample_hash(frame.num_rows);
  detail::RowBatch batch{.num_rows = frame.num_rows, .first_row = state.rows_seen, .selected = selected};
  batch.for_each([&](std::size_t row) {
    sample_hash[row] = static_cast<std::uint32_t>(state.sample_hash(static_cast<std::uint64_t>(state.rows++)) >> 32);
  });
  batch.sample_hash = sample_hash;
  state.rows_seen += frame.num_rows;

  if (!state.options.label.empty()) state.add_labels(*columns.at(state.options.label), batch);
  // Each column on one thread. Of several errors the one of the first column is reported.
  std::vector<std::optional<InvalidInput>> errors(state.columns.size());
  state.arena.execute([&] {
    tbb::parallel_for(std::size_t{0}, state.columns.size(), [&](std::size_t at) {
      try {
        state.columns[at].add(*columns.at(state.feature_names[at]), batch);
      } catch (const InvalidInput& error) {
        errors[at] = error;
      }
    });
  });
  for (const std::optional<InvalidInput>& error : errors) {
    if (error) throw InvalidInput(*error);
  }
}

FeatureTransform FeatureFitter::finish() {
  State& state = *state_;
  if (state.rows == 0) throw InvalidInput("features", "there are no training rows, at least one was needed");
  auto data = std::make_shared<detail::TransformData>();
  data->rows = state.rows;
  data->clip = state.options.clip;
  if (!state.options.label.empty()) {
    data->label = state.options.label;
    data->label_rule = state.labels.finish();
    data->positives = state.labels.num_positive();
  }
  data->columns.resize(state.columns.size());
  state.arena.execute([&] {
    tbb::parallel_for(std::size_t{0}, state.columns.size(),
                      [&](std::size_t at) { data->columns[at] = state.columns[at].finish(state.rows); });
  });
  data->shape = data->shape_of_columns();
  if (data->shape.num_numeric == 0 && data->shape.num_categorical() == 0) {
    std::string why;
    for (const detail::ColumnData& column : data->columns) {
      if (!column.notes.empty() && why.size() < 300) why += "; " + quoted(column.name) + " " + column.notes.back();
    }
    throw InvalidInput("features", "no column can be used, at least one was needed" + why);
  }
  return FeatureTransform(std::move(data));
}

}  // namespace limen::train
