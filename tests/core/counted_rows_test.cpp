// SPDX-License-Identifier: MIT
#include "limen/count/counted_rows.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <numeric>
#include <tuple>

#include "limen/base/error.h"
#include "limen/base/random.h"
#include "limen/fit.h"
#include "limen/promise/certify.h"

namespace limen {
namespace {

struct Rows {
  std::vector<double> score;
  std::vector<double> uncertainty;
  std::vector<std::uint8_t> label;

  [[nodiscard]] Samples samples() const { return {std::span(score), std::span(uncertainty), label, {}}; }
};

enum class Shape { kSmooth, kTied, kMagnitudes, kConstantUncertainty, kTwoUncertainties, kSingle, kTiny, kCrowded };
constexpr Shape kShapes[] = {Shape::kSmooth,           Shape::kTied,   Shape::kMagnitudes, Shape::kConstantUncertainty,
                             Shape::kTwoUncertainties, Shape::kSingle, Shape::kTiny,       Shape::kCrowded};

/// Positivity is s where u < 1/2 and s^3 elsewhere, for a hidden s in (0, 1) that the score is a function of.
Rows make_rows(Shape shape, std::size_t size, std::uint64_t seed) {
  Rows rows;
  CounterRandom random(seed, 7);
  for (std::size_t row = 0; row < size; ++row) {
    const double s = random.uniform();
    const double u = random.uniform();
    rows.label.push_back(random.uniform() < (u < 0.5 ? s : s * s * s) ? 1 : 0);
    double score = s;
    double uncertainty = u;
    switch (shape) {
      case Shape::kTied:
        score = std::round(s * 50) / 50 - 0.5;  // with -0 and 0
        uncertainty = std::round(u * 20) / 20;
        if (score == 0 && row % 2 == 0) score = -0.0;
        break;
      case Shape::kMagnitudes:
        score = std::copysign(std::exp(600 * std::abs(s - 0.5)) * 1e-200, s - 0.5);
        uncertainty = -std::exp(-500 * u);
        break;
      case Shape::kConstantUncertainty:
        uncertainty = 3;
        break;
      case Shape::kTwoUncertainties:
        uncertainty = u < 0.3 ? 1 : 2;
        break;
      case Shape::kSingle:
        score = static_cast<float>(s);
        uncertainty = static_cast<float>(u);
        break;
      case Shape::kTiny:
        score = s * 5e-324 * 1e6;  // below the smallest normal number
        break;
      case Shape::kCrowded:  // nearly all scores are within a few units in the last place
        score = s < 0.99 ? 1 + std::floor(s * 4000) * std::numeric_limits<double>::epsilon() : 1 + s;
        break;
      default:
        break;
    }
    rows.score.push_back(score);
    rows.uncertainty.push_back(uncertainty);
  }
  return rows;
}

/// What a question means, row by row.
std::vector<CountCell> obvious_answer(const Rows& rows, const CountQuery& query) {
  std::map<std::tuple<std::size_t, std::size_t, double>, CountCell> cells;
  const bool by_score = query.value == CountedColumn::kScore;
  for (std::size_t row = 0; row < rows.score.size(); ++row) {
    const double value = by_score ? rows.score[row] : rows.uncertainty[row];
    const double other = by_score ? rows.uncertainty[row] : rows.score[row];
    const auto num_below = [](const std::vector<double>& cuts, double number) {
      return static_cast<std::size_t>(std::ranges::count_if(cuts, [&](double cut) { return cut <= number; }));
    };
    const std::size_t group = num_below(query.group_cuts, other);
    const std::size_t bucket = num_below(query.value_cuts, value);
    const bool distinct = !query.spans.empty();
    if (distinct && std::ranges::none_of(query.spans, [&](const CountQuery::Span& span) {
          return span.group == group && span.low <= value && value <= span.high;
        })) {
      continue;
    }
    const auto [found, is_new] =
        cells.try_emplace({group, bucket, distinct ? value : 0}, CountCell{group, bucket, {}, value, value});
    found->second.counts += {1, rows.label[row]};
    found->second.least = std::min(found->second.least, value);
    found->second.greatest = std::max(found->second.greatest, value);
  }
  std::vector<CountCell> answer;
  for (const auto& [key, cell] : cells) answer.push_back(cell);
  return answer;
}

TEST(CountedRows, InMemoryAndInBatchesAnswerAsTheRowsDo) {
  for (const Shape shape : kShapes) {
    const Rows rows = make_rows(shape, 3000, 5);
    const SampleBatches batches = [&](const std::function<void(const Samples&)>& visit) {
      for (std::size_t begin = 0; begin < 3000; begin += 700) {
        const std::size_t size = std::min<std::size_t>(700, 3000 - begin);
        visit({std::span(rows.score).subspan(begin, size),
               std::span(rows.uncertainty).subspan(begin, size),
               std::span(rows.label).subspan(begin, size),
               {}});
      }
    };
    const std::vector<double>& s = rows.score;
    std::vector<CountQuery> queries = {
        {}, {.value = CountedColumn::kUncertainty, .group_cuts = {s[0]}, .value_cuts = {rows.uncertainty[1]}}};
    std::vector<double> cuts(s.begin(), s.begin() + 40);
    std::ranges::sort(cuts);
    cuts.erase(std::unique(cuts.begin(), cuts.end()), cuts.end());
    queries.push_back({.group_cuts = {rows.uncertainty[0]}, .value_cuts = cuts});
    queries.push_back({.group_cuts = {rows.uncertainty[0]}, .spans = {{0, cuts[2], cuts[9]}, {1, cuts[0], cuts[1]}}});
    for (const CountQuery& query : queries) {
      const std::vector<CountCell> expected = obvious_answer(rows, query);
      for (const CountedRows& counted_rows : {counted(rows.samples()), counted(batches)}) {
        std::vector<CountCell> answer = counted_rows.count(query);
        std::ranges::sort(answer, [](const CountCell& a, const CountCell& b) {
          return std::tie(a.group, a.bucket, a.least) < std::tie(b.group, b.bucket, b.least);
        });
        ASSERT_EQ(answer.size(), expected.size());
        for (std::size_t at = 0; at < answer.size(); ++at) {
          EXPECT_EQ(answer[at].group, expected[at].group);
          EXPECT_EQ(answer[at].bucket, expected[at].bucket);
          EXPECT_EQ(answer[at].counts, expected[at].counts);
          EXPECT_EQ(answer[at].least, expected[at].least);
          EXPECT_EQ(answer[at].greatest, expected[at].greatest);
        }
      }
    }
  }
}

/// Counts what was asked and what came back.
struct Traffic {
  std::size_t questions = 0;
  std::size_t most_cells = 0;
  std::size_t most_cuts = 0;
};

CountedRows watched(const Rows& rows, Traffic& traffic) {
  CountedRows inner = counted(rows.samples());
  CountedRows outer = inner;
  outer.count = [inner, &traffic](const CountQuery& query) {
    std::vector<CountCell> cells = inner.count(query);
    ++traffic.questions;
    traffic.most_cells = std::max(traffic.most_cells, cells.size());
    traffic.most_cuts = std::max({traffic.most_cuts, query.value_cuts.size(), query.group_cuts.size()});
    std::ranges::reverse(cells);  // any order will do
    return cells;
  };
  return outer;
}

std::string answer_of(const FitResult& result) {
  return result.boundary ? to_json(*result.boundary) : std::string("infeasible");
}

TEST(CountedRows, AreFittedAsRowsInMemory) {
  const std::vector<Objective> objectives = {
      max_recall_at_precision(parse_rational("0.8")), max_precision_at_recall(parse_rational("0.5")),
      max_recall_at_flag_rate(parse_rational("0.1")), min_cost(parse_rational("1"), parse_rational("3")),
      max_f_beta(parse_rational("1"))};
  std::map<Method, int> chosen;
  for (const std::size_t size : {std::size_t{60}, std::size_t{3000}, std::size_t{150'000}}) {
    for (const Shape shape : kShapes) {
      const Rows rows = make_rows(shape, size, size + static_cast<std::size_t>(shape));
      for (const Objective& objective : objectives) {
        for (const Method method : {Method::kSt, Method::kExact, Method::kAuto}) {
          if (size > 100'000 && method == Method::kAuto && objective.goal != Goal::kPrecision) continue;
          SCOPED_TRACE(testing::Message() << "size " << size << ", shape " << static_cast<int>(shape) << ", "
                                          << describe(objective) << ", " << to_string(method));
          for (const LevelsFrom from : {LevelsFrom::kAll, LevelsFrom::kTop}) {
            if (from == LevelsFrom::kTop && method != Method::kExact) continue;
            const FitOptions options{.method = method, .levels_from = from};
            Traffic traffic;
            const FitResult there = fit_boundary(watched(rows, traffic), objective, options);
            const FitResult here = fit_boundary(rows.samples(), objective, options);
            ASSERT_EQ(answer_of(there), answer_of(here));
            EXPECT_LE(traffic.most_cells, 100'000U);
            EXPECT_LE(traffic.most_cuts, 4200U);
            EXPECT_LE(traffic.questions, 40U);
            if (there.choice) ++chosen[there.choice->best().method];
          }
        }
      }
    }
  }
  EXPECT_GE(chosen[Method::kSt], 5);
  EXPECT_GE(chosen[Method::kSmooth] + chosen[Method::kJoint] + chosen[Method::kExact], 5);
}

TEST(CountedRows, AreCertifiedAsRowsInMemory) {
  int certified = 0;
  for (const std::size_t size : {std::size_t{60}, std::size_t{5000}, std::size_t{150'000}}) {
    for (const Shape shape : kShapes) {
      const Rows rows = make_rows(shape, size, size + static_cast<std::size_t>(shape));
      for (const Objective& objective :
           {max_recall_at_precision(parse_rational("0.8")), max_recall_at_flag_rate(parse_rational("0.1"))}) {
        for (const Method method : {Method::kSt, Method::kExact, Method::kSmooth, Method::kAuto}) {
          SCOPED_TRACE(testing::Message() << "size " << size << ", shape " << static_cast<int>(shape) << ", "
                                          << describe(objective) << ", " << to_string(method));
          const CertifyOptions options{.method = method};
          Traffic traffic;
          const Certification there = certify(watched(rows, traffic), objective, options);
          const Certification here = certify(rows.samples(), objective, options);
          ASSERT_EQ(there.boundary.has_value(), here.boundary.has_value());
          EXPECT_EQ(there.tested, here.tested);
          EXPECT_LE(traffic.most_cells, 200'000U);
          EXPECT_LE(traffic.questions, 40U);
          if (!there.boundary) continue;
          ++certified;
          ASSERT_EQ(to_json(*there.boundary), to_json(*here.boundary));
          // What is said of the hold-out is what the rule decides there.
          const Confusion decided = evaluate(there.boundary->rule, rows.samples()).total;
          EXPECT_EQ(decided.flagged, there.boundary->holdout.flagged);
          EXPECT_EQ(decided.true_positives, there.boundary->holdout.true_positives);
        }
      }
    }
  }
  EXPECT_GE(certified, 80);
}

TEST(CountedRows, TheOrderOfRowsDoesNotMatter) {
  const Rows rows = make_rows(Shape::kSmooth, 400'000, 3);
  Rows reversed = rows;
  std::ranges::reverse(reversed.score);
  std::ranges::reverse(reversed.uncertainty);
  std::ranges::reverse(reversed.label);
  const Objective objective = max_recall_at_precision(parse_rational("0.8"));
  EXPECT_EQ(answer_of(fit_boundary(rows.samples(), objective, {.method = Method::kAuto})),
            answer_of(fit_boundary(reversed.samples(), objective, {.method = Method::kAuto})));
}

TEST(CountedRows, RefusesAnswersThatContradictEachOther) {
  const Rows rows = make_rows(Shape::kSmooth, 30'000, 4);
  const Objective objective = max_recall_at_precision(parse_rational("0.8"));
  const std::vector<std::function<void(std::vector<CountCell>&)>> damages = {
      [](auto& cells) { cells.pop_back(); },
      [](auto& cells) { cells.push_back(cells.front()); },
      [](auto& cells) { cells.front().counts.positives = -1; },
      [](auto& cells) { cells.front().counts.rows += 1; },
      [](auto& cells) { cells.back().bucket += 1'000'000; },
      [](auto& cells) { cells.back().group += 3; },
      [](auto& cells) { cells.front().greatest = 1e9; },
      [](auto& cells) { cells.front().least = std::nan(""); },
      [](auto& cells) { cells.clear(); }};
  for (std::size_t damage = 0; damage < damages.size(); ++damage) {
    for (int damaged_question = 1; damaged_question <= 4; ++damaged_question) {
      CountedRows inner = counted(rows.samples());
      CountedRows outer = inner;
      int question = 0;
      outer.count = [&](const CountQuery& query) {
        std::vector<CountCell> cells = inner.count(query);
        if (++question == damaged_question) damages[damage](cells);
        return cells;
      };
      EXPECT_THROW((void)fit_boundary(outer, objective, {.method = Method::kAuto}), InvalidInput)
          << damage << " " << damaged_question;
    }
  }
}

}  // namespace
}  // namespace limen
