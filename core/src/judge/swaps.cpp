// SPDX-License-Identifier: MIT
//
// Everything about a row but its columns is one small number, its group: the score bin (the last one for scores that
// are swapped at no level) and whether the first and the second rule flag it. A column is then counted into a table of
// value by group, which stays in the first-level cache whatever the number of rows:
//
//             bin 0                   bin 1                     not swapped
//   value     -   2nd  1st  both      -   2nd  1st  both   ...  -   2nd  1st  both
//   red      12     3    0     7      9     0    4     8        ...
//   blue
//   (other)
//
// Distributions, what is expected of them and tests are sums over this table.
#include "limen/judge/swaps.h"

#include <tbb/blocked_range.h>
#include <tbb/enumerable_thread_specific.h>
#include <tbb/parallel_for.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <map>
#include <numeric>
#include <stdexcept>
#include <unordered_map>

#include "count/strided_sample.h"
#include "limen/base/error.h"
#include "limen/base/text.h"
#include "limen/count/binning.h"
#include "limen/count/levels.h"
#include "limen/judge/stratified_test.h"

namespace limen {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

// Kinds of rows: bit 0 = flagged by the second rule, bit 1 = by the first.
constexpr std::size_t kNumKinds = 4;
constexpr std::size_t kTakenIn = 1;
constexpr std::size_t kLeftOut = 2;

double threshold_of(const std::optional<double>& threshold) { return threshold.value_or(kInfinity); }

/// Scores that are swapped at some level: low <= score < high. None: low = high.
struct ScoreRange {
  double low = kInfinity;
  double high = kInfinity;

  [[nodiscard]] bool has(double score) const { return score >= low && score < high; }
};

ScoreRange swapped_range(const CommonRules& rules) {
  double low = kInfinity;
  double high = -kInfinity;
  for (std::size_t level = 0; level < rules.first.score_thresholds.size(); ++level) {
    const double first = threshold_of(rules.first.score_thresholds[level]);
    const double second = threshold_of(rules.second.score_thresholds[level]);
    if (first == second) continue;
    low = std::min({low, first, second});
    high = std::max({high, first, second});
  }
  return low < high ? ScoreRange{low, high} : ScoreRange{};
}

/// What both rules say of a batch of rows.
struct Decisions {
  std::vector<std::uint8_t> first;
  std::vector<std::uint8_t> second;
  std::vector<std::int32_t> level;
};

Decisions decide_both(const CommonRules& rules, RealSpan score, RealSpan uncertainty) {
  Decisions decisions{std::vector<std::uint8_t>(score.size()), std::vector<std::uint8_t>(score.size()),
                      std::vector<std::int32_t>(score.size())};
  decide(rules.first, score, uncertainty, decisions.first);
  decide(rules.second, score, uncertainty, decisions.second, decisions.level);
  return decisions;
}

std::size_t rows_of(const Column& column) {
  if (const auto* numbers = std::get_if<NumberValues>(&column.values)) return numbers->size();
  return std::get<TextValues>(column.values).code.size();
}

bool is_number(const Column& column) { return std::holds_alternative<NumberValues>(column.values); }

void check_columns(std::span<const Column> columns, const std::vector<SwapPlan::ColumnPlan>& known, std::size_t rows,
                   const char* function) {
  if (columns.size() != known.size()) {
    throw InvalidInput(
        function, std::to_string(columns.size()) + " columns, there were " + std::to_string(known.size()) + " before");
  }
  for (std::size_t at = 0; at < columns.size(); ++at) {
    const Column& column = columns[at];
    if (column.name != known[at].name || is_number(column) != known[at].is_number) {
      throw InvalidInput(function, "column " + quoted(column.name) + " is not the column of " +
                                       (known[at].is_number ? "numbers " : "texts ") + quoted(known[at].name) +
                                       " that was there before");
    }
    if (rows_of(column) != rows) {
      throw InvalidInput(function, "column " + quoted(column.name) + " has " + std::to_string(rows_of(column)) +
                                       " rows, score has " + std::to_string(rows));
    }
    const auto* texts = std::get_if<TextValues>(&column.values);
    if (texts == nullptr) continue;
    const auto end = static_cast<std::int32_t>(texts->distinct.size());
    for (const std::int32_t code : texts->code) {
      if (code >= TextValues::kMissing && code < end) continue;
      throw InvalidInput(function, "column " + quoted(column.name) + " has the code " + std::to_string(code) + " of " +
                                       std::to_string(end) + " texts");
    }
  }
}

// ---- Which values of a text column are common: the summary of Misra and Gries ----

class CommonTexts {
 public:
  explicit CommonTexts(std::size_t most) : most_(most) {}

  /// rows: of each of the distinct texts.
  void add(const std::vector<std::string>& distinct, const std::vector<std::int64_t>& rows) {
    for (std::size_t at = 0; at < distinct.size(); ++at) {
      if (rows[at] > 0) counts_[distinct[at]] += rows[at];
      // Not only at the end: a batch may have as many distinct texts as rows.
      if (counts_.size() >= 2 * most_) prune();
    }
    prune();
  }

  /// The `most` with most rows, ties by text. What each has is known up to `error` rows.
  [[nodiscard]] std::vector<std::string> most_common(std::size_t most) const {
    std::vector<std::pair<std::int64_t, std::string>> sorted;
    for (const auto& [text, rows] : counts_) sorted.emplace_back(-rows, text);
    std::sort(sorted.begin(), sorted.end());
    std::vector<std::string> texts;
    for (const auto& [rows, text] : sorted) {
      if (texts.size() == most) break;
      texts.push_back(text);
    }
    return texts;
  }
  [[nodiscard]] std::int64_t error() const { return error_; }

 private:
  /// Takes the count of the largest one beyond the `most` away from all, and leaves out what has nothing left (Agarwal
  /// et al. 2012): each time at most as many rows as every one of the most common ones loses.
  void prune() {
    if (counts_.size() <= most_) return;
    std::vector<std::int64_t> rows;
    for (const auto& [text, count] : counts_) rows.push_back(count);
    std::nth_element(rows.begin(), rows.begin() + static_cast<std::ptrdiff_t>(most_), rows.end(), std::greater<>());
    const std::int64_t taken = rows[most_];
    error_ += taken;
    std::erase_if(counts_, [taken](const auto& entry) { return entry.second <= taken; });
    for (auto& [text, count] : counts_) count -= taken;
  }

  std::size_t most_;
  std::int64_t error_ = 0;
  std::unordered_map<std::string, std::int64_t> counts_;
};

// ---- From counts to distributions and tests ----

using ValueCounts = std::vector<std::int64_t>;  // value by group, value by value

/// How a set is distributed over values, and what is expected of rows of its scores.
struct SetFigures {
  std::vector<std::int64_t> rows;
  std::vector<double> expected_shares;
  SwapTest test;
};

SetFigures figures_of(const ValueCounts& counts, std::size_t num_values, std::size_t num_bins, std::size_t kind) {
  const std::size_t num_groups = kNumKinds * (num_bins + 1);
  SetFigures figures{std::vector<std::int64_t>(num_values, 0), std::vector<double>(num_values, 0), {}};
  std::vector<Stratum> strata;
  std::vector<double> expected(num_values, 0);
  std::int64_t set_rows = 0;
  for (std::size_t bin = 0; bin < num_bins; ++bin) {
    Stratum stratum{std::vector<std::int64_t>(num_values, 0), std::vector<std::int64_t>(num_values, 0)};
    for (std::size_t value = 0; value < num_values; ++value) {
      const std::int64_t* const group = &counts[value * num_groups + kNumKinds * bin];
      stratum.all[value] = std::accumulate(group, group + kNumKinds, std::int64_t{0});
      stratum.in_set[value] = group[kind];
      figures.rows[value] += group[kind];
    }
    const std::int64_t all = std::accumulate(stratum.all.begin(), stratum.all.end(), std::int64_t{0});
    const std::int64_t inside = std::accumulate(stratum.in_set.begin(), stratum.in_set.end(), std::int64_t{0});
    set_rows += inside;
    if (inside == 0) continue;
    const double share = static_cast<double>(inside) / static_cast<double>(all);
    for (std::size_t value = 0; value < num_values; ++value) {
      expected[value] += share * static_cast<double>(stratum.all[value]);
    }
    strata.push_back(std::move(stratum));
  }
  if (set_rows == 0) return figures;
  for (std::size_t value = 0; value < num_values; ++value) {
    figures.expected_shares[value] = expected[value] / static_cast<double>(set_rows);
    const double share = static_cast<double>(figures.rows[value]) / static_cast<double>(set_rows);
    figures.test.divergence += std::abs(share - figures.expected_shares[value]) / 2;
  }
  if (const auto test = stratified_test(strata)) {
    figures.test.statistic = test->statistic;
    figures.test.degrees = test->degrees;
    figures.test.p_value = test->p_value;
  }
  return figures;
}

/// All values that a column can have, the missing ones last.
std::vector<SwapValue> values_of(const SwapPlan::ColumnPlan& plan) {
  std::vector<SwapValue> values;
  if (plan.is_number) {
    for (std::size_t at = 0; at <= plan.cuts.size(); ++at) {
      SwapValue range{.kind = SwapValue::Kind::kRange};
      if (at > 0) range.low = plan.cuts[at - 1];
      if (at < plan.cuts.size()) range.high = plan.cuts[at];
      values.push_back(range);
    }
  } else {
    for (const std::string& text : plan.values) values.push_back({.kind = SwapValue::Kind::kText, .text = text});
    values.push_back({.kind = SwapValue::Kind::kOther});
  }
  values.push_back({.kind = SwapValue::Kind::kMissing});
  return values;
}

SwapColumn column_of(const SwapPlan::ColumnPlan& plan, const ValueCounts& counts, std::size_t num_bins) {
  const std::size_t num_groups = kNumKinds * (num_bins + 1);
  SwapColumn column;
  column.name = plan.name;
  column.is_number = plan.is_number;
  column.values = values_of(plan);
  column.rows_overlooked = plan.rows_overlooked;
  // The rests are left out where no row has them.
  ValueCounts kept_counts;
  std::vector<SwapValue> kept;
  for (std::size_t value = 0; value < column.values.size(); ++value) {
    const auto begin = counts.begin() + static_cast<std::ptrdiff_t>(value * num_groups);
    const auto end = begin + static_cast<std::ptrdiff_t>(num_groups);
    const std::int64_t rows = std::accumulate(begin, end, std::int64_t{0});
    const SwapValue::Kind kind = column.values[value].kind;
    if (rows == 0 && (kind == SwapValue::Kind::kOther || kind == SwapValue::Kind::kMissing)) continue;
    kept.push_back(column.values[value]);
    kept_counts.insert(kept_counts.end(), begin, end);
    column.population.push_back(rows);
    std::int64_t flagged = 0;
    for (auto group = begin; group < end; group += 2) flagged += *(group + 1);  // odd kinds: flagged by the second
    column.flagged.push_back(flagged);
  }
  column.values = std::move(kept);
  SetFigures taken_in = figures_of(kept_counts, column.values.size(), num_bins, kTakenIn);
  SetFigures left_out = figures_of(kept_counts, column.values.size(), num_bins, kLeftOut);
  column.taken_in = std::move(taken_in.rows);
  column.taken_in_bins = std::move(taken_in.expected_shares);
  column.taken_in_test = taken_in.test;
  column.left_out = std::move(left_out.rows);
  column.left_out_bins = std::move(left_out.expected_shares);
  column.left_out_test = left_out.test;
  return column;
}

void adjust_and_rank(std::vector<SwapColumn>& columns) {
  std::vector<double> p_values;
  std::vector<SwapTest*> tests;
  for (SwapColumn& column : columns) {
    for (SwapTest* test : {&column.taken_in_test, &column.left_out_test}) {
      if (!test->p_value) continue;
      tests.push_back(test);
      p_values.push_back(*test->p_value);
    }
  }
  const std::vector<double> adjusted = holm_adjusted(p_values);
  for (std::size_t at = 0; at < tests.size(); ++at) tests[at]->adjusted_p = adjusted[at];
  constexpr double kSignificant = 0.05;
  std::ranges::stable_sort(columns, [](const SwapColumn& a, const SwapColumn& b) {
    const bool first = a.adjusted_p() < kSignificant;
    const bool second = b.adjusted_p() < kSignificant;
    return first != second ? first : a.divergence() > b.divergence();
  });
}

}  // namespace

void validate(const SwapOptions& options) {
  const auto check = [](const char* field, int value, int low, int high) {
    if (value >= low && value <= high) return;
    throw InvalidInput("find_swaps", std::string(field) + " is " + std::to_string(value) + ", must be " +
                                         std::to_string(low) + " to " + std::to_string(high));
  };
  check("score_bins", options.score_bins, 1, 100);
  check("values", options.values, 2, 50);
  check("candidates", options.candidates, 64, 1 << 20);
}

std::string to_string(const SwapValue& value) {
  switch (value.kind) {
    case SwapValue::Kind::kText:
      return value.text;
    case SwapValue::Kind::kOther:
      return "(other)";
    case SwapValue::Kind::kMissing:
      return "(missing)";
    default:
      break;
  }
  if (!value.low && !value.high) return "(all)";
  if (!value.low) return "< " + number_text(*value.high);
  if (!value.high) return ">= " + number_text(*value.low);
  return number_text(*value.low) + " .. " + number_text(*value.high);
}

double SwapColumn::divergence() const { return std::max(taken_in_test.divergence, left_out_test.divergence); }

double SwapColumn::adjusted_p() const {
  return std::min(taken_in_test.adjusted_p.value_or(1), left_out_test.adjusted_p.value_or(1));
}

CommonRules common_rules(const Rule& first, const Rule& second) {
  validate(first);
  validate(second);
  std::vector<double> edges = first.uncertainty_edges;
  edges.insert(edges.end(), second.uncertainty_edges.begin(), second.uncertainty_edges.end());
  std::sort(edges.begin(), edges.end());
  edges.erase(std::unique(edges.begin(), edges.end()), edges.end());
  const auto on_edges = [&edges](const Rule& rule) {
    Rule wider{edges, {}};
    for (std::size_t level = 0; level <= edges.size(); ++level) {
      // The lowest uncertainty of the level; that of the lowest level is below every edge.
      const std::size_t old = level == 0 ? 0 : level_of(rule.uncertainty_edges, edges[level - 1]);
      wider.score_thresholds.push_back(rule.score_thresholds[old]);
    }
    return wider;
  };
  return {on_edges(first), on_edges(second)};
}

// ---- First pass ----

struct SwapSurvey::State {
  SwapOptions options;
  CommonRules rules;
  ScoreRange range;
  bool has_columns = false;
  std::vector<SwapPlan::ColumnPlan> columns;
  detail::StridedSample<double> scores;  // of swapped rows
  std::vector<detail::StridedSample<double>> numbers;
  std::vector<CommonTexts> texts;
};

SwapSurvey::SwapSurvey(const Rule& first, const Rule& second, const SwapOptions& options)
    : state_(std::make_unique<State>()) {
  validate(options);
  state_->options = options;
  state_->rules = common_rules(first, second);
  state_->range = swapped_range(state_->rules);
}
SwapSurvey::~SwapSurvey() = default;
SwapSurvey::SwapSurvey(SwapSurvey&&) noexcept = default;
SwapSurvey& SwapSurvey::operator=(SwapSurvey&&) noexcept = default;

void SwapSurvey::add(RealSpan score, RealSpan uncertainty, std::span<const Column> columns) {
  State& state = *state_;
  if (!state.has_columns) {
    state.has_columns = true;
    for (const Column& column : columns) {
      state.columns.push_back({.name = column.name, .is_number = is_number(column), .cuts = {}, .values = {}});
      state.numbers.emplace_back();
      state.texts.emplace_back(static_cast<std::size_t>(state.options.candidates));
    }
  }
  check_columns(columns, state.columns, score.size(), "find_swaps");
  const Decisions decisions = decide_both(state.rules, score, uncertainty);
  std::vector<std::size_t> near;
  std::vector<double> swapped;
  score.visit([&](auto values) {
    for (std::size_t row = 0; row < values.size(); ++row) {
      const auto value = static_cast<double>(values[row]);
      if (!state.range.has(value)) continue;
      near.push_back(row);
      if (decisions.first[row] != decisions.second[row]) swapped.push_back(value);
    }
  });
  state.scores.add(swapped.size(), [&](std::size_t at) { return swapped[at]; });
  tbb::parallel_for(std::size_t{0}, columns.size(), [&](std::size_t at) {
    if (const auto* numbers = std::get_if<NumberValues>(&columns[at].values)) {
      std::vector<double> present;
      for (const std::size_t row : near) {
        if (std::isfinite((*numbers)[row])) present.push_back((*numbers)[row]);
      }
      state.numbers[at].add(present.size(), [&](std::size_t row) { return present[row]; });
    } else {
      const auto& texts = std::get<TextValues>(columns[at].values);
      std::vector<std::int64_t> rows(texts.distinct.size(), 0);
      for (const std::size_t row : near) {
        if (texts.code[row] != TextValues::kMissing) ++rows[static_cast<std::size_t>(texts.code[row])];
      }
      state.texts[at].add(texts.distinct, rows);
    }
  });
}

SwapPlan SwapSurvey::plan() const {
  const State& state = *state_;
  SwapPlan plan{state.rules, {}, state.columns};
  const auto edges = [](const std::vector<double>& values, int parts) {
    return values.empty() ? std::vector<double>() : uncertainty_edges(std::span(values), parts);
  };
  plan.score_edges = edges(state.scores.values(), state.options.score_bins);
  for (std::size_t at = 0; at < plan.columns.size(); ++at) {
    SwapPlan::ColumnPlan& column = plan.columns[at];
    if (column.is_number) {
      column.cuts = edges(state.numbers[at].values(), state.options.values);
    } else {
      column.values = state.texts[at].most_common(static_cast<std::size_t>(state.options.values));
      column.rows_overlooked = state.texts[at].error();
    }
  }
  return plan;
}

// ---- Second pass ----

struct SwapCounter::State {
  SwapPlan plan;
  ScoreRange range;
  std::optional<bool> labelled;
  std::size_t num_bins = 1;
  Counts first;  // what the rules flag, counted apart from the sets
  Counts second;
  std::vector<std::array<Counts, kNumKinds>> cells;  // level by bin, the last one for scores that are not swapped
  std::vector<std::map<std::string, std::size_t>> value_of_text;
  std::vector<ValueCounts> columns;

  [[nodiscard]] std::size_t num_groups() const { return kNumKinds * (num_bins + 1); }
  [[nodiscard]] std::size_t bin_of(double score) const {
    return range.has(score) ? level_of(plan.score_edges, score) : num_bins;
  }
};

SwapCounter::SwapCounter(SwapPlan plan) : state_(std::make_unique<State>()) {
  State& state = *state_;
  state.plan = std::move(plan);
  state.range = swapped_range(state.plan.rules);
  state.num_bins = state.plan.score_edges.size() + 1;
  state.cells.resize(state.plan.rules.first.score_thresholds.size() * (state.num_bins + 1));
  for (const SwapPlan::ColumnPlan& column : state.plan.columns) {
    state.value_of_text.emplace_back();
    for (const std::string& text : column.values) {
      state.value_of_text.back().emplace(text, state.value_of_text.back().size());
    }
    state.columns.emplace_back(values_of(column).size() * state.num_groups(), 0);
  }
}
SwapCounter::~SwapCounter() = default;
SwapCounter::SwapCounter(SwapCounter&&) noexcept = default;
SwapCounter& SwapCounter::operator=(SwapCounter&&) noexcept = default;

void SwapCounter::add(RealSpan score, RealSpan uncertainty, std::span<const std::uint8_t> label,
                      std::span<const Column> columns) {
  State& state = *state_;
  const std::size_t rows = score.size();
  check_columns(columns, state.plan.columns, rows, "find_swaps");
  if (rows == 0) return;
  if (state.labelled.value_or(!label.empty()) != !label.empty() || (!label.empty() && label.size() != rows)) {
    throw InvalidInput("find_swaps", std::to_string(label.size()) + " labels for " + std::to_string(rows) + " rows");
  }
  state.labelled = !label.empty();
  for (std::size_t row = 0; row < label.size(); ++row) {
    if (label[row] > 1) {
      throw InvalidInput("find_swaps",
                         "label[" + std::to_string(row) + "] is " + std::to_string(label[row]) + ", must be 0 or 1");
    }
  }
  const Decisions decisions = decide_both(state.plan.rules, score, uncertainty);

  std::vector<std::uint16_t> group(rows);
  struct Sums {
    Counts first;
    Counts second;
    std::vector<std::array<Counts, kNumKinds>> cells;
  };
  const Sums zeros{{}, {}, std::vector<std::array<Counts, kNumKinds>>(state.cells.size())};
  tbb::enumerable_thread_specific<Sums> parts(zeros);
  score.visit([&](auto values) {
    tbb::parallel_for(tbb::blocked_range<std::size_t>(0, rows, std::size_t{1} << 16), [&](const auto& block) {
      Sums& sums = parts.local();
      for (std::size_t row = block.begin(); row < block.end(); ++row) {
        const std::size_t bin = state.bin_of(static_cast<double>(values[row]));
        const std::size_t kind = 2U * decisions.first[row] + decisions.second[row];
        group[row] = static_cast<std::uint16_t>(kNumKinds * bin + kind);
        const Counts counts{1, label.empty() ? 0 : label[row]};
        sums.cells[static_cast<std::size_t>(decisions.level[row]) * (state.num_bins + 1) + bin][kind] += counts;
        if (decisions.first[row] != 0) sums.first += counts;
        if (decisions.second[row] != 0) sums.second += counts;
      }
    });
  });
  for (const Sums& sums : parts) {
    state.first += sums.first;
    state.second += sums.second;
    for (std::size_t cell = 0; cell < state.cells.size(); ++cell) {
      for (std::size_t kind = 0; kind < kNumKinds; ++kind) state.cells[cell][kind] += sums.cells[cell][kind];
    }
  }

  tbb::parallel_for(std::size_t{0}, columns.size(), [&](std::size_t at) {
    ValueCounts& counts = state.columns[at];
    const std::size_t num_groups = state.num_groups();
    const SwapPlan::ColumnPlan& plan = state.plan.columns[at];
    const std::size_t missing = counts.size() / num_groups - 1;
    if (const auto* numbers = std::get_if<NumberValues>(&columns[at].values)) {
      for (std::size_t row = 0; row < rows; ++row) {
        const double number = (*numbers)[row];
        // Few cuts: comparing with all of them takes no branch.
        std::size_t value = 0;
        for (const double cut : plan.cuts) value += number >= cut ? 1 : 0;
        if (std::isnan(number)) value = missing;
        ++counts[value * num_groups + group[row]];
      }
    } else {
      const auto& texts = std::get<TextValues>(columns[at].values);
      const std::size_t other = plan.values.size();
      std::vector<std::size_t> first_count = {missing * num_groups};  // by code + 1
      for (const std::string& text : texts.distinct) {
        const auto found = state.value_of_text[at].find(text);
        first_count.push_back((found == state.value_of_text[at].end() ? other : found->second) * num_groups);
      }
      for (std::size_t row = 0; row < rows; ++row) {
        ++counts[first_count[static_cast<std::size_t>(texts.code[row] + 1)] + group[row]];
      }
    }
  });
}

Swaps SwapCounter::finish() const {
  const State& state = *state_;
  const CommonRules& rules = state.plan.rules;
  Swaps swaps;
  swaps.labelled = state.labelled.value_or(false);
  swaps.score_edges = state.plan.score_edges;
  swaps.score_low = std::isfinite(state.range.low) ? state.range.low : 0;
  if (std::isfinite(state.range.high)) swaps.score_high = state.range.high;
  for (std::size_t level = 0; level < rules.first.score_thresholds.size(); ++level) {
    SwapLevel sums{.lower_edge = level == 0 ? std::nullopt : std::optional(rules.first.uncertainty_edges[level - 1]),
                   .first_threshold = rules.first.score_thresholds[level],
                   .second_threshold = rules.second.score_thresholds[level],
                   .all = {},
                   .taken_in = {},
                   .left_out = {}};
    for (std::size_t bin = 0; bin <= state.num_bins; ++bin) {
      const auto& kinds = state.cells[level * (state.num_bins + 1) + bin];
      const Counts all = std::accumulate(kinds.begin(), kinds.end(), Counts{});
      swaps.counts.neither += kinds[0];
      swaps.counts.second_only += kinds[kTakenIn];
      swaps.counts.first_only += kinds[kLeftOut];
      swaps.counts.both += kinds[3];
      sums.all += all;
      sums.taken_in += kinds[kTakenIn];
      sums.left_out += kinds[kLeftOut];
      if (kinds[kTakenIn].rows + kinds[kLeftOut].rows > 0) {
        swaps.cells.push_back({level, bin, all, kinds[kTakenIn], kinds[kLeftOut]});
      }
    }
    swaps.levels.push_back(sums);
  }
  if (swaps.second() != state.second || swaps.first() != state.first ||
      state.first - swaps.left_out() + swaps.taken_in() != state.second) {
    throw std::logic_error("find_swaps: the swap sets do not add up");
  }
  for (std::size_t at = 0; at < state.columns.size(); ++at) {
    swaps.columns.push_back(column_of(state.plan.columns[at], state.columns[at], state.num_bins));
  }
  adjust_and_rank(swaps.columns);
  return swaps;
}

Swaps find_swaps(const Rule& first, const Rule& second, RealSpan score, RealSpan uncertainty,
                 std::span<const std::uint8_t> label, std::span<const Column> columns, const SwapOptions& options) {
  SwapSurvey survey(first, second, options);
  survey.add(score, uncertainty, columns);
  SwapCounter counter(survey.plan());
  counter.add(score, uncertainty, label, columns);
  return counter.finish();
}

}  // namespace limen
