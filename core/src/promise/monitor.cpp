// SPDX-License-Identifier: MIT
#include "limen/promise/monitor.h"

#include <algorithm>
#include <bit>
#include <boost/math/special_functions/beta.hpp>
#include <cmath>
#include <numeric>
#include <utility>

#include "limen/base/error.h"
#include "limen/base/label_column.h"
#include "limen/base/random.h"
#include "limen/base/text.h"

namespace limen {
namespace {

constexpr std::size_t kMostTables = 4096;

bool bounds_from_below(Goal goal) { return goal == Goal::kPrecision || goal == Goal::kRecall; }

/// The rate of bad rows that the bound allows, as a fraction before it is rounded: 1 - 0.9 is 0.1.
double bad_bound_of(const Objective& objective) {
  const Rational& bound = objective.bound;
  return bounds_from_below(objective.goal) ? Rational{bound.den - bound.num, bound.den}.to_double() : bound.to_double();
}

double tolerance_of(const Objective& objective, const MonitorOptions& options) {
  constexpr double kUsual = 0.05;
  if (options.tolerance) return *options.tolerance;
  const double bound = objective.bound.to_double();
  return bound == 0 ? kUsual : std::min(kUsual, bound / 2);
}

std::uint64_t hash_of(const Rule& rule, const Objective& objective) {
  std::string text = describe(objective) + " " + to_string(objective.bound);
  for (const double edge : rule.uncertainty_edges) text += " " + number_text(edge);
  for (const auto& threshold : rule.score_thresholds) text += threshold ? "/" + number_text(*threshold) : "/none";
  return text_hash(text);
}

std::string text_at(const Column* column, std::size_t row) {
  if (column == nullptr) return {};
  if (const auto* numbers = std::get_if<NumberValues>(&column->values)) {
    return std::isnan((*numbers)[row]) ? std::string() : number_text((*numbers)[row]);
  }
  const auto& texts = std::get<TextValues>(column->values);
  const std::int32_t code = texts.code[row];
  return code == TextValues::kMissing ? std::string() : texts.distinct[static_cast<std::size_t>(code)];
}

std::size_t size_of(const Column& column) {
  if (const auto* numbers = std::get_if<NumberValues>(&column.values)) return numbers->size();
  return std::get<TextValues>(column.values).code.size();
}

/// A hash of each row's value; 0 where it is missing.
std::vector<std::uint64_t> hashes_of(const Column& column) {
  std::vector<std::uint64_t> hashes;
  hashes.reserve(size_of(column));
  if (const auto* numbers = std::get_if<NumberValues>(&column.values)) {
    for (const double number : *numbers) hashes.push_back(std::isnan(number) ? 0 : text_hash(number_text(number)));
    return hashes;
  }
  const auto& texts = std::get<TextValues>(column.values);
  std::vector<std::uint64_t> of_code;
  for (const std::string& text : texts.distinct) of_code.push_back(text_hash(text));
  for (const std::int32_t code : texts.code) {
    hashes.push_back(code == TextValues::kMissing ? 0 : of_code[static_cast<std::size_t>(code)]);
  }
  return hashes;
}

/// Whether labels come more often for flagged rows than for others, or the other way round: by 2 points and 5 standard
/// errors.
bool labels_are_uneven(double flagged, double labelled_flagged, double others, double labelled_others) {
  if (flagged == 0 || others == 0) return false;
  const double both = (labelled_flagged + labelled_others) / (flagged + others);
  const double error = std::sqrt(both * (1 - both) * (1 / flagged + 1 / others));
  return std::abs(labelled_flagged / flagged - labelled_others / others) > std::max(0.02, 5 * error);
}

[[noreturn]] void refuse_row(const char* column, std::size_t row, const std::string& problem) {
  throw InvalidInput(Where{.place = "row " + std::to_string(row + 1), .column = column, .function = "monitor"},
                     problem);
}

}  // namespace

void validate(const MonitorOptions& options) {
  const auto refuse = [](const char* field, const std::string& value, const char* wanted) {
    throw InvalidInput(Where{.function = "monitor", .field = field}, "is " + value + ", must be " + wanted);
  };
  const auto is_share = [](double value) { return value > 0 && value < 1; };
  if (!is_share(options.alpha)) refuse("alpha", number_text(options.alpha), "above 0 and below 1");
  if (options.tolerance && !is_share(*options.tolerance)) {
    refuse("tolerance", number_text(*options.tolerance), "above 0 and below 1");
  }
  if (options.max_weight && !(*options.max_weight > 0 && *options.max_weight <= 1e290)) {
    refuse("max_weight", number_text(*options.max_weight), "above 0 and at most 1e290");
  }
  if (options.remember < 2 || options.remember > 100'000'000) {
    refuse("remember", std::to_string(options.remember), "2 to 100,000,000");
  }
}

void check(const MonitorRows& rows, const MonitorOptions& options) {
  const auto check_size = [&](const char* name, std::size_t size, bool may_be_empty = true) {
    if (size == rows.size() || (size == 0 && may_be_empty)) return;
    throw InvalidInput("monitor", std::string(name) + " has " + std::to_string(size) + " values, score has " +
                                      std::to_string(rows.size()));
  };
  check_size("uncertainty", rows.uncertainty.size(), false);
  check_size("label", rows.label.size());
  check_size("weight", rows.weight.size(), !options.max_weight);
  if (rows.id != nullptr) check_size("id", size_of(*rows.id), false);
  if (rows.time != nullptr) check_size("time", size_of(*rows.time), false);
  for (std::size_t row = 0; row < rows.label.size(); ++row) {
    if (rows.label[row] <= kMissingLabel) continue;
    refuse_row("label", row, "is " + std::to_string(rows.label[row]) + ", must be 0, 1 or missing");
  }
  if (!rows.weight.empty() && !options.max_weight) {
    throw InvalidInput("monitor", "rows have weights, but max_weight, the largest that can come, is not set");
  }
  for (std::size_t row = 0; row < rows.weight.size(); ++row) {
    if (rows.weight[row] >= 0 && rows.weight[row] <= *options.max_weight) continue;
    refuse_row("weight", row,
               "is " + number_text(rows.weight[row]) + ", must be 0 to max_weight, which is " +
                   number_text(*options.max_weight));
  }
}

std::string_view to_string(Verdict verdict) {
  return verdict == Verdict::kHolds ? "holds so far" : verdict == Verdict::kBroken ? "broken" : "not enough yet";
}

void RowsFingerprint::add(const MonitorRows& rows) {
  const auto hashes = [](const Column* column) {
    return column == nullptr ? std::vector<std::uint64_t>() : hashes_of(*column);
  };
  const std::vector<std::uint64_t> ids = hashes(rows.id);
  const std::vector<std::uint64_t> times = hashes(rows.time);
  const auto bits = [](double value) { return std::bit_cast<std::uint64_t>(value + 0.0); };  // -0 is 0
  for (std::size_t row = 0; row < rows.size(); ++row) {
    std::uint64_t word = bits(rows.score[row]) * kGoldenRatio + std::rotl(bits(rows.uncertainty[row]), 31);
    if (!rows.label.empty()) word += (rows.label[row] + 1U) * 0xbf58476d1ce4e5b9U;
    if (!rows.weight.empty()) word += std::rotl(bits(rows.weight[row]) * kGoldenRatio, 17);
    if (!ids.empty()) word += ids[row];
    if (!times.empty()) word += std::rotl(times[row], 7);
    hash_ = mix(hash_ * kGoldenRatio + word + 1);
  }
  rows_ += rows.size();
}

std::uint64_t RowsFingerprint::value() const { return mix(hash_ ^ mix(rows_ + kGoldenRatio)); }

namespace detail {

std::uint64_t* IdMemory::find(Table& table, std::uint64_t id) {
  if (table.slots.empty()) return nullptr;
  const std::size_t mask = table.slots.size() - 1;
  for (std::size_t at = (id >> 1) & mask; table.slots[at] != 0; at = (at + 1) & mask) {
    if ((table.slots[at] | 1) == (id | 1)) return &table.slots[at];
  }
  return nullptr;
}

void IdMemory::insert(Table& table, std::uint64_t id) {
  if (2 * (table.size + 1) > table.slots.size()) {
    std::vector<std::uint64_t> old(std::max<std::size_t>(16, 2 * table.slots.size()));
    old.swap(table.slots);
    table.size = 0;
    for (const std::uint64_t other : old) {
      if (other != 0) insert(table, other);
    }
  }
  const std::size_t mask = table.slots.size() - 1;
  std::size_t at = (id >> 1) & mask;
  while (table.slots[at] != 0) at = (at + 1) & mask;
  table.slots[at] = id;
  ++table.size;
}

IdMemory::Known IdMemory::add(std::uint64_t id, bool with_label) {
  // 0 marks a free slot, and the lowest bit the label.
  id = std::max<std::uint64_t>(id & ~std::uint64_t{1}, 2);
  for (Table* table : {&newer_, &older_}) {
    if (std::uint64_t* slot = find(*table, id)) {
      const Known known = {.row = true, .label = (*slot & 1) != 0};
      if (with_label) *slot |= 1;
      return known;
    }
  }
  if (newer_.size >= most_) older_ = std::exchange(newer_, {});
  insert(newer_, id | (with_label ? 1 : 0));
  return {};
}

std::vector<std::uint64_t> IdMemory::sorted(bool newer) const {
  std::vector<std::uint64_t> ids;
  for (const std::uint64_t id : (newer ? newer_ : older_).slots) {
    if (id != 0) ids.push_back(id);
  }
  std::ranges::sort(ids);
  return ids;
}

void IdMemory::restore(std::span<const std::uint64_t> ids, bool newer) {
  for (const std::uint64_t id : ids) insert(newer ? newer_ : older_, id);
}

DriftWatch::DriftWatch(std::size_t kinds, double alpha) : alpha_(alpha) {
  for (auto* counts : {&state_.reference, &state_.counts, &state_.block}) counts->resize(kinds);
}

DriftWatch::DriftWatch(const State& state, double alpha) : DriftWatch(state.reference.size(), alpha) {
  if (state.has_reference) set_reference(state.reference);
  state_ = state;
  block_rows_ = std::reduce(state.block.begin(), state.block.end());
  reference_rows_ = std::reduce(state.reference.begin(), state.reference.end());
  for (std::size_t kind = 0; kind < detectors_.size(); ++kind) detectors_[kind].restore(state.detectors[kind]);
}

DriftWatch::State DriftWatch::state() const {
  State state = state_;
  state.detectors.clear();
  for (const BreakDetector& detector : detectors_) state.detectors.push_back(detector.state());
  return state;
}

/// The tests are against Clopper-Pearson limits from above, which all hold with probability 1 - alpha / 2.
void DriftWatch::set_reference(std::vector<std::int64_t> rows_of_kind) {
  state_.reference = std::move(rows_of_kind);
  reference_rows_ = std::reduce(state_.reference.begin(), state_.reference.end());
  state_.has_reference = true;
  state_.before.assign(state_.reference.size(), {});
  detectors_.clear();
  const double alpha = alpha_ / 2 / static_cast<double>(state_.reference.size());
  for (const std::int64_t count : state_.reference) {
    const auto others = static_cast<double>(reference_rows_ - count);
    detectors_.emplace_back(others == 0 ? 1 : boost::math::ibetac_inv(static_cast<double>(count) + 1, others, alpha));
  }
}

void DriftWatch::add(std::size_t kind) {
  if (!state_.has_reference) {
    ++state_.rows_before;
    ++state_.reference[kind];
    if (++reference_rows_ == kReferenceRows) set_reference(std::move(state_.reference));
    return;
  }
  ++state_.counts[kind];
  ++state_.block[kind];
  if (++block_rows_ == kBlock) end_block();
}

void DriftWatch::end_block() {
  if (state_.largest < 2 / alpha_) {
    // The mean of e-values is one: no correction for looking at several kinds.
    double sum = 0;
    for (std::size_t kind = 0; kind < detectors_.size(); ++kind) {
      BreakDetector& detector = detectors_[kind];
      const std::int64_t rows = detector.state().rows;
      detector.add_block(state_.block[kind], block_rows_);
      for (std::size_t bet = 0; bet < BreakDetector::kBets; ++bet) {
        if (detector.state().run_start[bet] == rows) {
          state_.before[kind][bet] = state_.counts[kind] - state_.block[kind];
        }
      }
      sum += detector.e_value();
    }
    state_.largest = std::max(state_.largest, sum / static_cast<double>(detectors_.size()));
  }
  std::ranges::fill(state_.block, 0);
  block_rows_ = 0;
}

DriftReport DriftWatch::report() const {
  DriftReport report;
  const auto shares = [](const std::vector<std::int64_t>& counts, std::int64_t rows) {
    std::vector<double> result;
    for (const std::int64_t count : counts) {
      result.push_back(rows == 0 ? 0 : static_cast<double>(count) / static_cast<double>(rows));
    }
    return result;
  };
  report.reference_rows = reference_rows_;
  report.has_reference = state_.has_reference;
  report.reference_shares = shares(state_.reference, reference_rows_);
  report.rows = std::reduce(state_.counts.begin(), state_.counts.end());
  report.shares = shares(state_.counts, report.rows);
  report.e_value = state_.largest;
  if (state_.largest < 2 / alpha_) return report;
  DriftReport::Drift drift;
  double most = -1;
  for (std::size_t kind = 0; kind < detectors_.size(); ++kind) {
    const BreakDetector& detector = detectors_[kind];
    if (detector.e_value() <= most) continue;
    most = detector.e_value();
    const std::size_t bet = detector.best_bet();
    const std::int64_t start = detector.state().run_start[bet];
    drift = {.kind = kind,
             .since_row = state_.rows_before + start + 1,
             .share = static_cast<double>(state_.counts[kind] - state_.before[kind][bet]) /
                      static_cast<double>(report.rows - start)};
  }
  report.drift = drift;
  return report;
}

}  // namespace detail

/// Rows that bear on the constraint, out of some batch.
struct Monitor::Tested {
  std::vector<double> gain = {};  ///< see BreakDetector::add
  std::vector<std::uint8_t> is_bad = {};
  std::vector<double> weight = {};        ///< at most 1
  std::vector<std::size_t> row = {};      ///< in the batch
  std::vector<std::int64_t> number = {};  ///< rows counted up to and with it
};

Monitor::Monitor(const Boundary& boundary, const MonitorOptions& options)
    : rule_((refuse_segments(boundary, "monitor"), boundary.rule)),
      objective_(boundary.objective),
      options_(options),
      detector_(1),
      flag_drift_(2, options.alpha),
      level_drift_(boundary.rule.score_thresholds.size(), options.alpha),
      ids_(options.remember) {
  validate(options);
  validate(rule_);
  validate(objective_);
  if (objective_.goal == Goal::kCost || objective_.goal == Goal::kFBeta) {
    throw InvalidInput("monitor", "the boundary's objective is \"" + describe(objective_) +
                                      "\", which promises nothing that could be broken; fit with a bound on "
                                      "precision, recall, false-positive rate or flag rate");
  }
  boundary_ = hash_of(rule_, objective_);
  bad_bound_ = bad_bound_of(objective_);
  tolerance_ = tolerance_of(objective_, options);
  detector_ = BreakDetector(bad_bound_);
  const HoldoutSummary& holdout = boundary.holdout;
  if (!holdout.weighted && holdout.rows > 0) {
    const auto flagged = static_cast<std::int64_t>(holdout.flagged);
    flag_drift_.set_reference({flagged, holdout.rows - flagged});
  }
}

void Monitor::add_reference(RealSpan score, RealSpan uncertainty) {
  if (counts_.rows > 0) {
    throw InvalidInput("monitor", "a reference has to come before the first row, " +
                                      count_text(static_cast<double>(counts_.rows)) + " have been counted");
  }
  std::vector<std::uint8_t> decision(score.size());
  std::vector<std::int32_t> level(score.size());
  decide(rule_, score, uncertainty, decision, level);
  const std::size_t kinds = rule_.score_thresholds.size();
  std::vector<std::int64_t> flags(2);
  std::vector<std::int64_t> levels(kinds);
  if (has_reference_table_) {
    flags = flag_drift_.state().reference;
    levels = level_drift_.state().reference;
  }
  for (std::size_t row = 0; row < decision.size(); ++row) {
    ++flags[decision[row] != 0 ? 0 : 1];
    ++levels[static_cast<std::size_t>(level[row])];
  }
  if (decision.empty() && !has_reference_table_) return;
  flag_drift_.set_reference(std::move(flags));
  level_drift_.set_reference(std::move(levels));
  has_reference_table_ = true;
}

void Monitor::update(const MonitorRows& rows) {
  check(rows, options_);
  std::vector<std::uint64_t> ids;
  if (rows.id != nullptr) {
    ids = hashes_of(*rows.id);
    const auto missing = std::ranges::find(ids, 0U);
    if (missing != ids.end()) refuse_row("id", static_cast<std::size_t>(missing - ids.begin()), "is missing");
  }
  std::vector<std::uint8_t> decision(rows.size());
  std::vector<std::int32_t> level(rows.size());
  decide(rule_, rows.score, rows.uncertainty, decision, level);  // the last thing that can throw

  Tested tested;
  for (std::size_t row = 0; row < rows.size(); ++row) {
    const bool flagged = decision[row] != 0;
    std::uint8_t label = rows.label.empty() ? kMissingLabel : rows.label[row];
    detail::IdMemory::Known known;
    if (!ids.empty()) known = ids_.add(ids[row], label != kMissingLabel);
    if (known.label) label = kMissingLabel;
    if (!known.row) {
      ++counts_.rows;
      counts_.flagged += flagged ? 1 : 0;
      flag_drift_.add(flagged ? 0 : 1);
      level_drift_.add(static_cast<std::size_t>(level[row]));
    } else if (label == kMissingLabel) {
      ++counts_.repeated;
    }
    if (label != kMissingLabel) {
      ++counts_.labelled;
      counts_.labelled_flagged += flagged ? 1 : 0;
      counts_.positives += label;
    }
    bool bears = label != kMissingLabel;
    bool is_bad = flagged;
    switch (objective_.goal) {
      case Goal::kPrecision:
        bears = bears && flagged;
        is_bad = label == 0;
        break;
      case Goal::kRecall:
        bears = label == 1;
        is_bad = !flagged;
        break;
      case Goal::kFalsePositiveRate:
        bears = label == 0;
        break;
      default:  // the flag rate, which needs no label
        bears = !known.row;
        break;
    }
    if (!bears) continue;
    double gain = (is_bad ? 1 : 0) - bad_bound_;
    if (options_.max_weight) {
      tested.weight.push_back(rows.weight[row] / *options_.max_weight);
      gain *= tested.weight.back();
    }
    tested.gain.push_back(gain);
    tested.is_bad.push_back(is_bad ? 1 : 0);
    tested.row.push_back(row);
    tested.number.push_back(counts_.rows);
  }
  test(tested, rows.time);
}

void Monitor::test(const Tested& tested, const Column* time) {
  const auto moment = [&](std::size_t at) {
    return MonitorMoment{.row = tested.number[at], .time = text_at(time, tested.row[at])};
  };
  const auto count = [&](std::size_t at, WeightedCounts& counts) {
    const double weight = tested.weight.empty() ? 1 : tested.weight[at];
    counts.rows += 1;
    counts.weight += weight;
    counts.bad += tested.is_bad[at] != 0 ? weight : 0;
  };
  if (!broken_) {
    const std::int64_t first = detector_.state().rows;
    const std::size_t taken = detector_.add(tested.gain, 1 / options_.alpha);
    for (std::size_t bet = 0; bet < BreakDetector::kBets; ++bet) {
      const std::int64_t start = detector_.state().run_start[bet] - first;
      if (start < 0 || taken == 0) continue;  // it started before these rows
      starts_[bet] = {.at = moment(static_cast<std::size_t>(start)), .before = tested_};
      for (std::size_t at = 0; at < static_cast<std::size_t>(start); ++at) count(at, starts_[bet].before);
    }
    if (detector_.largest() >= 1 / options_.alpha) {
      broken_ = Broken{.noticed = moment(taken - 1), .since = starts_[detector_.best_bet()]};
    }
  }
  for (std::size_t at = 0; at < tested.gain.size(); ++at) count(at, tested_);
}

bool Monitor::has_counted(std::uint64_t fingerprint) const {
  return std::ranges::find(counted_, fingerprint) != counted_.end();
}

void Monitor::mark_counted(std::uint64_t fingerprint) {
  counted_.push_back(fingerprint);
  if (counted_.size() > kMostTables) counted_.erase(counted_.begin());
}

double Monitor::figure_of(const WeightedCounts& counts) const {
  const double bad = counts.weight > 0 ? counts.bad / counts.weight : 0;
  return bounds_from_below(objective_.goal) ? 1 - bad : bad;
}

bool Monitor::holds(const WeightedCounts& counts) const {
  return upper_limit_at_all_times(counts, options_.alpha / 2) <= bad_bound_ + tolerance_;
}

/// Rows that just keep the bound make the counts hold from some number on.
std::optional<std::int64_t> Monitor::more_needed() const {
  const double mean_weight = tested_.weight > 0 ? tested_.weight / tested_.rows : 1;
  const auto would_hold = [&](std::int64_t more) {
    const auto rows = static_cast<double>(more);
    return holds({.rows = tested_.rows + rows,
                  .weight = tested_.weight + rows * mean_weight,
                  .bad = tested_.bad + rows * mean_weight * bad_bound_});
  };
  std::int64_t high = 1;
  while (!would_hold(high)) {
    high *= 2;
    if (high > 1'000'000'000'000) return std::nullopt;
  }
  std::int64_t low = high / 2;  // does not hold
  while (high - low > 1) {
    const std::int64_t middle = (low + high) / 2;
    (would_hold(middle) ? high : low) = middle;
  }
  return high;
}

MonitorReport Monitor::report() const {
  MonitorReport report;
  switch (objective_.goal) {
    case Goal::kPrecision:
      report.constraint = "precision";
      report.unit = "labelled flagged row";
      break;
    case Goal::kRecall:
      report.constraint = "recall";
      report.unit = "labelled positive";
      break;
    case Goal::kFalsePositiveRate:
      report.constraint = "false-positive rate";
      report.unit = "labelled negative";
      break;
    default:
      report.constraint = "flag rate";
      report.unit = "row";
      break;
  }
  report.bound = objective_.bound.to_double();
  report.alpha = options_.alpha;
  report.tolerance = tolerance_;
  report.rows = counts_.rows;
  report.flagged = counts_.flagged;
  report.labelled = counts_.labelled;
  report.labelled_flagged = counts_.labelled_flagged;
  report.repeated = counts_.repeated;
  report.tested = static_cast<std::int64_t>(tested_.rows);
  if (tested_.weight > 0) report.figure = figure_of(tested_);
  const double low = lower_limit_at_all_times(tested_, options_.alpha / 2);
  const double high = upper_limit_at_all_times(tested_, options_.alpha / 2);
  report.figure_low = bounds_from_below(objective_.goal) ? 1 - high : low;
  report.figure_high = bounds_from_below(objective_.goal) ? 1 - low : high;
  report.e_value = detector_.largest();
  report.p_value = std::min(1.0, 1 / report.e_value);
  if (objective_.goal == Goal::kRecall || objective_.goal == Goal::kFalsePositiveRate) {
    report.uneven_labels =
        labels_are_uneven(static_cast<double>(counts_.flagged), static_cast<double>(counts_.labelled_flagged),
                          static_cast<double>(counts_.rows - counts_.flagged),
                          static_cast<double>(counts_.labelled - counts_.labelled_flagged));
  }
  report.flag_rate = flag_drift_.report();
  report.levels = level_drift_.report();
  if (broken_) {
    report.verdict = Verdict::kBroken;
    const WeightedCounts& before = broken_->since.before;
    const WeightedCounts since = {
        .rows = tested_.rows - before.rows, .weight = tested_.weight - before.weight, .bad = tested_.bad - before.bad};
    report.broken = MonitorReport::Break{.noticed = broken_->noticed,
                                         .since = broken_->since.at,
                                         .tested = static_cast<std::int64_t>(since.rows),
                                         .figure = figure_of(since)};
    if (before.weight > 0) report.broken->figure_before = figure_of(before);
  } else if (holds(tested_)) {
    report.verdict = Verdict::kHolds;
  } else {
    report.more_needed = more_needed();
  }
  return report;
}

}  // namespace limen
