// SPDX-License-Identifier: MIT
// Ways to use the levels of a table, judged on rows that they did not learn from.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "choose/score_table.h"
#include "limen/choose/choice.h"
#include "limen/solve/objective.h"

namespace limen::detail {

/// The rate of positives, or anything that rises with it, that one way learns for every cell of a table; near_rows: of
/// its rows, those near the decision.
using LearnRates = std::function<std::vector<double>(const ScoreTable& table, std::int64_t near_rows)>;

/// What became of one way; gains and lifts are over the first one. As in Candidate.
struct Judgement {
  double value = 0;
  double stop_share = 0;
  double gain = 0;
  double gain_se = 0;
  double lift = 0;
  double lift_se = 0;
  Counts flagged;                  ///< as deployed
  std::vector<double> part_gains;  ///< without each of the parts
  std::vector<double> part_lifts;
};

/// Five folds, `repetitions` times; the first way is the one that the others are compared with. A function of counts
/// and seed alone.
[[nodiscard]] std::vector<Judgement> cross_validate(std::span<const LearnRates> ways, const ScoreTable& table,
                                                    std::int64_t near_rows, const Objective& objective, int repetitions,
                                                    std::uint64_t seed);

/// Whether `a` is better than `b` by so many standard errors of lift, and in gain.
[[nodiscard]] bool is_ahead(const Judgement& a, const Judgement& b, double errors);

/// Whether a way is surely better than the first one (choose.h). information_p: of the likelihood-ratio test.
[[nodiscard]] bool is_sure(const Judgement& judgement, double information_p, const ChooseOptions& options);

/// The figures of a judgement; rows: of the hold-out.
void put(const Judgement& judgement, const Counts& rows, Candidate& candidate);

/// Fills in what to expect of the candidate that was chosen.
void expect(Choice& choice);

[[nodiscard]] std::string two_digits(double value);
/// "p = 0.012", "p < 0.001".
[[nodiscard]] std::string p_text(double p);

/// Rates by isotonic regression in each group of levels.
[[nodiscard]] std::vector<double> isotonic_rates(const ScoreTable& table,
                                                 const std::vector<std::vector<std::size_t>>& groups);

/// The first of `size` levels that the level `merged` of `levels` coarser ones is made of.
[[nodiscard]] inline std::size_t first_of(std::size_t merged, std::size_t levels, std::size_t size) {
  return merged * size / levels;
}

}  // namespace limen::detail
