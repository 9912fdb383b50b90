// SPDX-License-Identifier: MIT
//
// One threshold: its order is that of the scores, so that nothing is learnt and every row is tested, at every cut
// between scores from a fixed rank on.
//
// `auto` looks at few rows first, of scores too low for one threshold to reach: unless uncertainty informs there, the
// answer is one threshold, and no row that it flags was looked at.
//
// Two columns:
// 1. Count: rows by cells of score and uncertainty, which no label had a part in (learning_table.h).
// 2. Split: of every cell and label a seeded random number of rows learns.
// 3. Learn: the method's chain of nested boundaries on the learning rows, and of these the steps of the walk. Bounds on
//    precision begin where the predicted test is surest, because the smallest boundaries have too few rows to be
//    tested; the other bounds are monotone along the chain, so that every boundary can be a step.
// 4. Test the steps in order on the other rows, each at the full level, up to the first that is not accepted.
#include "promise/certify_counted.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "count/counting.h"
#include "limen/choose/joint.h"
#include "limen/count/levels.h"
#include "promise/certify_steps.h"
#include "promise/learning_table.h"

namespace limen::detail {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

/// What rows are drawn for.
enum Use : std::uint64_t { kLearn = 1, kLook = 2, kFine = 3 };

bool has_both_classes(const std::vector<Counts>& rows) {
  Counts sum;
  for (const Counts& cell : rows) sum += cell;
  return sum.positives > 0 && sum.positives < sum.rows;
}

std::vector<Counts> rest_of(std::vector<Counts> all, const std::vector<Counts>& part) {
  for (std::size_t cell = 0; cell < all.size(); ++cell) all[cell] -= part[cell];
  return all;
}

/// A score below which one threshold will hardly go: were scores the probabilities that they look like, half as many
/// rows again lie above it as precision allows. By scores alone: no label is looked at. Unset: scores are no
/// probabilities, or there is no such score above the median.
std::optional<double> reach_of(const CountedRows& rows, double bound) {
  if (!(rows.score.low >= 0 && rows.score.high <= 1)) return std::nullopt;
  constexpr std::size_t kBuckets = kMostCuts;
  CountQuery query{.extremes = false};
  for (std::size_t cut = 1; cut < kBuckets; ++cut) {
    query.value_cuts.push_back(static_cast<double>(cut) / static_cast<double>(kBuckets));
  }
  constexpr double kFurther = 1.5;
  double above = 0;
  double positives = 0;
  double keeps = 0;  // rows of the lowest threshold that would keep the bound
  const std::vector<CountCell> cells = ask(rows, query);
  for (auto cell = cells.rbegin(); cell != cells.rend(); ++cell) {
    const auto count = static_cast<double>(cell->counts.rows);
    above += count;
    positives += count * (static_cast<double>(cell->bucket) + 0.5) / kBuckets;
    if (positives >= bound * above) keeps = above;
    if (positives < bound * above && keeps > 0 && above >= kFurther * keeps) {
      const double low = static_cast<double>(cell->bucket) / static_cast<double>(kBuckets);
      return above <= 0.5 * static_cast<double>(rows.total.rows) ? std::optional(low) : std::nullopt;
    }
  }
  return std::nullopt;
}

/// Learns on some of the rows of a table.
class TableLearner {
 public:
  TableLearner(const LearningTable& table, const std::vector<Counts>& rows, const Objective& objective)
      : table_(table), rows_(rows), objective_(objective) {}

  /// Narrow levels of the rows near the decision.
  [[nodiscard]] Grid narrow() const { return table_.grid(rows_, edges(kNarrowLevels, LevelsFrom::kTop)); }

  /// Of the rows near the decision, or of the highest where none is near.
  [[nodiscard]] Information information() const {
    const Grid grid = narrow();
    return test_information(grid, rows_near_decision(grid, score_chain(grid), objective_));
  }

  /// levels_chosen: cross-validation chose them, and made them of the narrow ones that it looked at.
  [[nodiscard]] Walk learn(Method method, std::optional<int> levels, LevelsFrom from,
                           const std::optional<std::vector<double>>& given_edges, double tested_per_learning,
                           bool levels_chosen) const {
    const int wanted = levels.value_or(info_of(method).levels);
    std::vector<double> level_edges;
    if (given_edges) {
      level_edges = *given_edges;
    } else if (method == Method::kJoint) {
      level_edges = joint_edges(narrow(), objective_, wanted);
    } else if (method == Method::kExact && from == LevelsFrom::kTop && levels_chosen) {
      level_edges = coarser_edges(edges(kNarrowLevels, from), wanted);
    } else if (method != Method::kSt) {
      level_edges = edges(wanted, from);
    }
    const Grid grid = table_.grid(rows_, level_edges);
    Walk walk;
    if (method == Method::kSmooth) {
      const SmoothFit smooth(grid, objective_);
      const SmoothCuts cuts(smooth);
      walk = walk_along(grid, smooth.chain(), objective_, tested_per_learning, &cuts);
    } else {
      walk = walk_along(grid, method == Method::kSt ? score_chain(grid) : hull_chain(grid), objective_,
                        tested_per_learning, nullptr);
    }
    // A cell is flagged as a whole: thresholds are the nearest cuts, or the lowest score of all.
    const std::vector<double>& cuts = table_.score_cuts;
    for (auto& thresholds : walk.thresholds) {
      for (double& threshold : thresholds) {
        if (threshold == kInfinity || threshold <= table_.score.low) continue;
        const auto above = std::lower_bound(cuts.begin(), cuts.end(), threshold);
        const double high = above == cuts.end() ? kInfinity : *above;
        const double low = above == cuts.begin() ? table_.score.low : *std::prev(above);
        threshold = threshold - low < high - threshold ? low : high;
      }
    }
    return walk;
  }

 private:
  [[nodiscard]] std::vector<double> edges(int levels, LevelsFrom from) const {
    std::size_t first = 0;  // of the scores that count
    if (from == LevelsFrom::kTop) {
      const Grid all_in_one = table_.grid(rows_, {});
      const std::int64_t near = rows_near_decision(all_in_one, score_chain(all_in_one), objective_);
      std::int64_t above = 0;
      for (first = table_.scores(); first > 0 && above < near;) {
        --first;
        for (std::size_t at = 0; at < table_.uncertainties(); ++at) above += rows_[at * table_.scores() + first].rows;
      }
    }
    std::vector<std::int64_t> below = {0};  // rows below each cut
    for (std::size_t at = 0; at < table_.uncertainties(); ++at) {
      std::int64_t sum = below.back();
      for (std::size_t score = first; score < table_.scores(); ++score) sum += rows_[at * table_.scores() + score].rows;
      below.push_back(sum);
    }
    const std::int64_t size = below.back();
    // The cuts nearest to equal shares, with rows on both sides.
    std::vector<double> found;
    for (int level = 1; level < levels && size > 0; ++level) {
      const double wanted = static_cast<double>(size) * level / levels;
      std::optional<std::size_t> best;
      for (std::size_t cut = 1; cut + 1 < below.size(); ++cut) {
        if (below[cut] == 0 || below[cut] == size) continue;
        const auto distance = [&](std::size_t at) { return std::abs(static_cast<double>(below[at]) - wanted); };
        if (!best || distance(cut) < distance(*best)) best = cut;
      }
      if (!best) break;
      const double edge = table_.uncertainty_cuts[*best - 1];
      if (found.empty() || edge > found.back()) found.push_back(edge);
    }
    return found;
  }

  const LearningTable& table_;
  const std::vector<Counts>& rows_;
  const Objective& objective_;
};

/// The rows of a table by the first step of a walk that flags them.
WalkCounts count_cells(const Walk& walk, const LearningTable& table, const std::vector<Counts>& rows) {
  WalkCounts counts(walk);
  for (std::size_t at = 0; at < table.uncertainties(); ++at) {
    const std::size_t level = at == 0 ? 0 : level_of(walk.edges, table.uncertainty_cuts[at - 1]);
    for (std::size_t score = 0; score < table.scores(); ++score) {
      counts.at(level, first_step(walk, level, table.low_score(score))) += rows[at * table.scores() + score];
    }
  }
  return counts;
}

class CountedCertification {
 public:
  CountedCertification(const CountedRows& rows, const Objective& objective, const CertifyOptions& options)
      : rows_(rows),
        objective_(objective),
        options_(options),
        size_(static_cast<std::uint64_t>(rows.total.rows)),
        share_(options.learning_share.value_or(learning_share(size_))) {}

  [[nodiscard]] Certification run() {
    if (options_.method == Method::kSt) {
      test_one_threshold(nullptr, nullptr);
    } else if (options_.method == Method::kAuto) {
      choose_and_test();
    } else {
      const LearningTable table = make_table(std::nullopt);
      const std::vector<Counts> learning = table.draw(table.cells, share_, options_.seed, kLearn);
      found_.method = options_.method;
      if (has_both_classes(learning)) {
        test_two_columns(table, learning, options_.method, options_.levels, options_.levels_from, false);
      } else {
        found_.method = Method::kSt;
      }
    }
    return std::move(found_);
  }

 private:
  [[nodiscard]] LearningTable make_table(std::optional<double> cut) const {
    return learning_table(rows_, cut ? std::vector{*cut} : std::vector<double>{},
                          options_.edges.value_or(std::vector<double>{}));
  }

  void choose_and_test() {
    // A few rows tell whether uncertainty may inform at all; only then more of them are given up for its order. If it
    // can be, they are rows that one threshold does not flag, so that it loses nothing by them. Of many rows it hardly
    // loses anything by any: they are taken near the decision too, where uncertainty tells more.
    constexpr std::uint64_t kMany = 100'000;
    const double look_share = std::min(share_, gate_share(size_));
    const bool spares_rows = !is_monotone(objective_.goal) && size_ <= kMany;
    const std::optional<double> reach = spares_rows ? reach_of(rows_, objective_.bound.to_double()) : std::nullopt;
    const LearningTable table = make_table(reach);
    const std::vector<Counts> learning = table.draw(table.cells, share_, options_.seed, kLearn);
    const std::vector<Counts> set_aside = table.draw(learning, look_share / share_, options_.seed, kLook);
    std::vector<Counts> look = set_aside;
    if (reach) {
      for (std::size_t cell = 0; cell < look.size(); ++cell) {
        if (table.low_score(cell % table.scores()) >= *reach) look[cell] = {};
      }
    }
    Information information;
    information.testable = has_both_classes(look);
    if (information.testable) information = TableLearner(table, look, objective_).information();
    if (!information.testable || information.p() >= kMayInform) {
      found_.choice = settle_for_one(information);
      // Below `reach` rows are tested that were not set aside, above it too: else they would be too many of those.
      test_one_threshold(&table, &set_aside, reach);
      return;
    }
    if (!has_both_classes(learning)) {
      information.testable = false;
      found_.choice = settle_for_one(information);
      test_one_threshold(&table, &learning);
      return;
    }
    ChooseOptions choosing;
    if (share_ == look_share && !reach) choosing.information = information;  // these are the rows that learn
    found_.choice = choose(TableLearner(table, learning, objective_).narrow(), objective_, choosing);
    drop_unless_worth_learning(*found_.choice);
    const Candidate best = found_.choice->best();
    if (best.method == Method::kSt) {
      test_one_threshold(&table, &learning);
    } else {
      test_two_columns(table, learning, best.method, best.levels, LevelsFrom::kTop, true);
    }
  }

  void test_two_columns(const LearningTable& table, const std::vector<Counts>& learning, Method method,
                        std::optional<int> levels, LevelsFrom from, bool levels_chosen) {
    found_.method = method;
    found_.walk = TableLearner(table, learning, objective_)
                      .learn(method, levels, from, options_.edges, (1 - share_) / share_, levels_chosen);
    if (found_.walk.num_steps() == 0) return;
    conclude(
        found_,
        {count_cells(found_.walk, table, learning), count_cells(found_.walk, table, rest_of(table.cells, learning))},
        std::nullopt, std::nullopt, objective_, options_, false);
  }

  /// One threshold, tested on every row that was not set aside; thresholds from `untouched_from` on are tested on all.
  void test_one_threshold(const LearningTable* table, const std::vector<Counts>* set_aside,
                          std::optional<double> untouched_from = std::nullopt) {
    found_.method = Method::kSt;
    const ScoreCounts scores = fine_scores(rows_, table != nullptr ? table->score_cuts : std::vector<double>{});
    std::vector<Counts> learning(scores.counts.size());
    if (table != nullptr) {
      learning = among_fine(*table, *set_aside, scores);
    } else if (options_.learning_share) {
      learning = LearningTable::draw(scores.counts, share_, options_.seed, kLearn);
    }
    const bool from_first = is_monotone(objective_.goal);
    const double rank = from_first ? 1 : first_rank(size_, objective_.bound.to_double(), 1 - options_.confidence);
    found_.walk = {{}, {{}}};
    std::int64_t above = 0;
    for (std::size_t at = scores.counts.size(); at-- > 0;) {
      above += scores.counts[at].rows;
      if (scores.counts[at].rows == 0 || static_cast<double>(above) < rank) continue;
      found_.walk.thresholds[0].push_back(at == 0 ? rows_.score.low : scores.cuts[at - 1]);
    }
    if (found_.walk.num_steps() == 0) return;
    SplitCounts counts{WalkCounts(found_.walk), WalkCounts(found_.walk)};
    for (std::size_t at = 0; at < scores.counts.size(); ++at) {
      const std::size_t first = first_step(found_.walk, 0, at == 0 ? rows_.score.low : scores.cuts[at - 1]);
      counts.learning.at(0, first) += learning[at];
      counts.tested.at(0, first) += scores.counts[at] - learning[at];
    }
    conclude(found_, counts, untouched_from, std::nullopt, objective_, options_, false);
  }

  /// The rows that were set aside, cell by cell, in the finer cells of one threshold, of which several make up one of
  /// the table: any of their rows may be these.
  [[nodiscard]] std::vector<Counts> among_fine(const LearningTable& table, const std::vector<Counts>& set_aside,
                                               const ScoreCounts& scores) const {
    std::vector<Counts> coarse(table.scores());
    std::vector<Counts> left(table.scores());
    for (std::size_t cell = 0; cell < set_aside.size(); ++cell) {
      coarse[cell % table.scores()] += set_aside[cell];
      left[cell % table.scores()] += table.cells[cell];
    }
    std::vector<Counts> fine(scores.counts.size());
    for (std::size_t at = 0; at < fine.size(); ++at) {
      const std::size_t in = at == 0 ? 0 : level_of(table.score_cuts, scores.cuts[at - 1]);
      CounterRandom random(mix(options_.seed) + kFine, at);
      const Counts& here = scores.counts[at];
      const Counts negatives{left[in].rows - left[in].positives, coarse[in].rows - coarse[in].positives};
      const std::int64_t positives =
          draw_hypergeometric(here.positives, left[in].positives, coarse[in].positives, random);
      fine[at] = {
          positives + draw_hypergeometric(here.rows - here.positives, negatives.rows, negatives.positives, random),
          positives};
      left[in] -= here;
      coarse[in] -= fine[at];
    }
    return fine;
  }

  const CountedRows& rows_;
  const Objective& objective_;
  const CertifyOptions& options_;
  std::uint64_t size_;
  double share_;
  Certification found_;
};

}  // namespace

Certification certify_counted(const CountedRows& rows, const Objective& objective, const CertifyOptions& options) {
  return CountedCertification(rows, objective, options).run();
}

}  // namespace limen::detail
