// SPDX-License-Identifier: MIT
//
// The gains that the theory predicts, on simulated data with an ideal Bayesian model: where the model's prior is weaker
// than the true one, uncertainty adds recall, the more the higher the bound; where both are equally strong it adds
// nothing. Known figures (relative gain in matched recall of the 2-D boundary over a single threshold, three levels):
//   true prior (1, 3), tau 3:        0 at 50%, +1.2% at 60%, +4.6% at 70%
//   true prior (1.5, 8.5), tau 5:    +0.5% at 30%, +20% at 40%;  tau 1: +3% and +39%
//   true prior (0.5, 1.5), tau 3:    about 0, +2.4% at 90%
// They come from another evidence law than ours, so the bands are wider than the noise of this test, which is
// deterministic: the mean over eight seeds of a million rows each.
#include <gtest/gtest.h>

#include "limen/fit.h"
#include "limen/judge/frontier.h"
#include "limen/solve/chain.h"
#include "limen/theory/simulate.h"

namespace limen {
namespace {

struct Table {
  std::vector<double> score;
  std::vector<double> uncertainty;
  std::vector<std::uint8_t> label;
  [[nodiscard]] Samples samples() const { return {std::span(score), std::span(uncertainty), label, {}}; }
};

Table make_table(const Simulation& simulation, const SimulatedRows& rows) {
  Table table;
  for (std::size_t row = 0; row < rows.label.size(); ++row) {
    const Region& region = simulation.regions[static_cast<std::size_t>(rows.region[row])];
    table.score.push_back(region.score);
    table.uncertainty.push_back(region.uncertainty);
    table.label.push_back(rows.label[row]);
  }
  return table;
}

struct Band {
  const char* bound;
  double low;  ///< percent
  double high;
};

struct Case {
  const char* name;
  double prior_positive;
  double prior_negative;
  double tau;
  std::vector<Band> bands;
};

class MatchedGain : public testing::TestWithParam<Case> {};

TEST_P(MatchedGain, IsWhatTheTheoryPredicts) {
  const Case& setting = GetParam();
  constexpr int kSeeds = 8;
  std::vector<double> st_recall(setting.bands.size(), 0);
  std::vector<double> hull_recall(setting.bands.size(), 0);
  for (int seed = 1; seed <= kSeeds; ++seed) {
    SimulationOptions options;
    options.prior_positive = setting.prior_positive;
    options.prior_negative = setting.prior_negative;
    options.tau = setting.tau;
    options.regions = 200'000;
    options.holdout_rows = 1'000'000;
    options.test_rows = 1'000'000;
    options.seed = static_cast<std::uint64_t>(seed);
    const Simulation simulation = simulate(options);
    const Table holdout = make_table(simulation, simulation.holdout);
    const Table test = make_table(simulation, simulation.test);
    for (const Method method : {Method::kSt, Method::kExact}) {
      FitOptions fit;
      fit.method = method;
      fit.bins = BinCount::all();
      const Grid grid = make_holdout_grid(holdout.samples(), max_recall_at_precision({1, 2}), fit);
      const Grid counted = count_into(grid, test.samples());
      const Chain chain = recount(chain_of(method, grid), counted);
      auto& recall = method == Method::kSt ? st_recall : hull_recall;
      for (std::size_t band = 0; band < setting.bands.size(); ++band) {
        recall[band] +=
            matched_recall(chain, totals_of(counted).positives_low, parse_rational(setting.bands[band].bound));
      }
    }
  }
  for (std::size_t band = 0; band < setting.bands.size(); ++band) {
    const double gain = 100 * (hull_recall[band] / st_recall[band] - 1);
    EXPECT_GE(gain, setting.bands[band].low) << "at precision " << setting.bands[band].bound;
    EXPECT_LE(gain, setting.bands[band].high) << "at precision " << setting.bands[band].bound;
    RecordProperty(std::string("gain_at_") + setting.bands[band].bound, std::to_string(gain));
  }
}

INSTANTIATE_TEST_SUITE_P(
    Priors, MatchedGain,
    testing::Values(
        Case{"weak_model_prior_tau_3", 1, 3, 3, {{"0.5", -0.5, 0.5}, {"0.6", -0.5, 1.5}, {"0.7", 1, 7}}},
        Case{"strong_true_prior_tau_5", 1.5, 8.5, 5, {{"0.3", -1.5, 1.5}, {"0.4", 8, 25}}},
        Case{"strong_true_prior_tau_1", 1.5, 8.5, 1, {{"0.3", 1, 9}, {"0.4", 15, 50}}},
        Case{"equally_strong_priors", 0.5, 1.5, 3, {{"0.5", -0.5, 0.5}, {"0.7", -0.5, 0.5}, {"0.9", -3, 5}}}),
    [](const testing::TestParamInfo<Case>& setting) { return setting.param.name; });

}  // namespace
}  // namespace limen
