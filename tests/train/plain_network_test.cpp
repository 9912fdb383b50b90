// SPDX-License-Identifier: MIT
// The fused network against the plain one: the same batches from the same state, over encoders, heads and options.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <ostream>
#include <string>

#include "limen/base/random.h"
#include "network.h"

namespace {

using namespace limen::train;
using limen::CounterRandom;
using State = std::map<std::string, NamedArray>;

// Two full chunks of 128 rows and a part of one: masks of dropout come by chunks.
constexpr std::size_t kRows = 300;

struct Case {
  std::string name = {};
  ModelOptions model = {};
  StepOptions step = {};
  FeatureShape shape = {3, {4, 60, 9, 7}, {{1, 2}}};  // the third category has the knots of the second number
};

struct Rows {
  std::vector<float> numeric = {};
  std::vector<std::int32_t> categorical = {};
  std::vector<float> fraction = {};
  std::vector<std::uint8_t> label = {};

  Rows(const FeatureShape& shape, std::uint64_t seed) {
    CounterRandom random(seed, 0);
    for (std::size_t row = 0; row < kRows; ++row) {
      double sum = 0;
      for (std::size_t at = 0; at < shape.num_numeric; ++at) {
        numeric.push_back(static_cast<float>(random.normal()));
        sum += static_cast<double>(numeric.back());
      }
      const std::size_t first = categorical.size();
      for (const std::int32_t tokens : shape.num_tokens) {
        categorical.push_back(static_cast<std::int32_t>(random.below(static_cast<std::uint64_t>(tokens))));
        sum += categorical.back() % 2;
      }
      for (const KnotInput& knots : shape.knots) {
        const bool last = categorical[first + knots.categorical] + 1 == shape.num_tokens[knots.categorical];
        // Also beyond the ends, and exactly at a knot, where the next one is not touched.
        fraction.push_back(last || row % 5 == 0 ? 0.0F : static_cast<float>(3 * random.uniform() - 1));
      }
      label.push_back(sum + random.normal() > 1 ? 1 : 0);
    }
  }
  [[nodiscard]] BatchView view() const { return {kRows, numeric, categorical, fraction, label}; }
};

std::vector<Case> cases() {
  std::vector<Case> all;
  ModelOptions base;
  base.encoder.embedding = 8;
  base.encoder.blocks = 2;
  base.encoder.heads = 4;
  base.encoder.hidden = {24, 12};
  base.encoder.dropout = 0.2;
  base.head.latent = 5;
  base.head.flows = 4;
  base.head.prior = {1.5, 0.5};
  base.head.regularizer = 1e-2;
  base.head.passes = 4;
  struct Kind {
    const char* name;
    EncoderKind encoder;
    SamVariant sam = SamVariant::k2A;
    bool residual = true;
    GatedUnit gated = GatedUnit::kReglu;
  };
  const std::vector<Kind> kinds = {{"mlp", EncoderKind::kMlp},
                                   {"sam2a", EncoderKind::kSam, SamVariant::k2A},
                                   {"sam2e", EncoderKind::kSam, SamVariant::k2E, false},
                                   {"sam3a", EncoderKind::kSam, SamVariant::k3A},
                                   {"sam3e", EncoderKind::kSam, SamVariant::k3E, false},
                                   {"ft_reglu", EncoderKind::kFtTransformer},
                                   {"ft_geglu", EncoderKind::kFtTransformer, SamVariant::k2A, true, GatedUnit::kGeglu}};
  const std::vector<std::pair<const char*, Head>> heads = {
      {"postnet", Head::kPostnet}, {"natpn", Head::kNatpn}, {"dropout", Head::kMcDropout}, {"member", Head::kEnsemble}};
  // Everything at once: clipped, decayed, tokens dropped.
  const StepOptions rich = {.learning_rate = 3e-3,
                            .weight_decay = 0.1,
                            .clip = 0.5,
                            .token_dropout = 0.1,
                            .embedding_rate = 3,
                            .embedding_l2 = 0.02};
  const auto add = [&](const std::string& name, const Kind& kind, Head head) -> Case& {
    all.push_back({name, base, rich});
    EncoderOptions& encoder = all.back().model.encoder;
    encoder.kind = kind.encoder;
    encoder.sam = kind.sam;
    encoder.residual = kind.residual;
    encoder.gated = kind.gated;
    all.back().model.head.kind = head;
    return all.back();
  };
  for (const Kind& kind : kinds) {
    for (const auto& [head_name, head] : heads) add(std::string(kind.name) + "_" + head_name, kind, head);
  }
  for (const auto& [head_name, head] : heads) {
    const std::string name = head_name;
    Case& bare = add("bare_" + name, kinds[0], head);  // nothing but Adam
    bare.step = {.clip = 0};
    bare.model.encoder.dropout = head == Head::kMcDropout ? 0.1 : 0;
    add("numbers_" + name, kinds[0], head).shape = {4, {}};
    add("categories_" + name, kinds[5], head).shape = {0, {5, 40}};
    if (!has_evidence(head)) continue;
    add("norm_" + name, kinds[0], head).model.head.batch_norm = true;
    add("norm_ft_" + name, kinds[5], head).model.head.batch_norm = true;
    add("densities_" + name, kinds[0], head).step.densities_only = true;
    Case& both = add("norm_densities_" + name, kinds[1], head);
    both.step.densities_only = true;
    both.model.head.batch_norm = true;
    add("line_" + name, kinds[0], head).model.head.latent = 1;
    add("no_entropy_" + name, kinds[0], head).model.head.regularizer = 0;
  }
  for (const Budget budget : {Budget::kConstant, Budget::kExpHalf, Budget::kExp}) {
    add("budget_" + std::to_string(static_cast<int>(budget)), kinds[0], Head::kNatpn).model.head.budget = budget;
  }
  return all;
}

void PrintTo(const Case& which, std::ostream* out) { *out << which.name; }

class EveryCase : public testing::TestWithParam<Case> {
 protected:
  static Network make(NetworkKind kind, std::uint64_t seed = 3) {
    return {GetParam().shape, GetParam().model, {180, 120}, seed, "cpu", 2, kind};
  }
};
INSTANTIATE_TEST_SUITE_P(, EveryCase, testing::ValuesIn(cases()), [](const auto& param) { return param.param.name; });

State by_name(const std::vector<NamedArray>& arrays) {
  State state;
  for (const NamedArray& array : arrays) state[array.name] = array;
  return state;
}

double largest(const NamedArray& array) {
  double most = 0;
  for (const float value : array.values) most = std::max(most, std::abs(static_cast<double>(value)));
  return most;
}

void expect_same(const std::vector<NamedArray>& left, const std::vector<NamedArray>& right) {
  ASSERT_EQ(left.size(), right.size());
  for (std::size_t at = 0; at < left.size(); ++at) {
    EXPECT_EQ(left[at].name, right[at].name);
    EXPECT_EQ(left[at].shape, right[at].shape) << left[at].name;
    EXPECT_EQ(left[at].values, right[at].values) << left[at].name;
  }
}

/// How many numbers were compared, and for how many of them rounding leaves the step open.
struct Compared {
  std::size_t numbers = 0;
  std::size_t open = 0;
};

// Both computed one step of Adam from one state. The networks add up in another order. A sum of n numbers in single
// precision is off by at most n 2^-24 of the sum of their sizes; sums here are of up to 300 rows and 300 inputs, most
// errors cancel, and a few layers follow each other: gradients are off by at most delta = 100 2^-24 = 6e-6 of the
// largest of their array. (A bias before a batch norm has no gradient but for rounding: there delta is 1e-6 of the
// largest of all.) So first moments, m' = 0.9 m + 0.1 g, are within 0.1 delta. A weight moves by rate m / (sqrt(v) +
// 1e-8), bias corrections aside, which are at most those of the gradient's share: m and sqrt(v) are of one order, each
// off by at most delta, so that the move is within rate 4 delta / (sqrt(v) + 1e-8), and within 20 rates in any case.
// Where the gradient is smaller than its rounding that leaves the move open: such numbers are counted. A number that
// never had a gradient moves by its decay alone.
Compared expect_step(const State& fused, const State& plain, const StepOptions& step, bool norm) {
  Compared compared;
  double most = 0;
  for (const auto& [name, array] : fused) {
    if (name.starts_with("adam.first.")) most = std::max(most, 10 * largest(array));
  }
  const auto clocks = fused.at("adam.steps").values;
  for (const auto& [name, array] : fused) {
    const std::vector<float>& other = plain.at(name).values;
    if (name.starts_with("adam.steps")) {
      EXPECT_EQ(array.values, other) << name;
      continue;
    }
    const auto size = [&](std::size_t at) { return std::abs(static_cast<double>(array.values[at])); };
    const auto difference = [&](std::size_t at) {
      return std::abs(static_cast<double>(array.values[at]) - static_cast<double>(other[at]));
    };
    if (name.starts_with("adam.second.")) continue;  // has its share in the move
    if (name == "norm.mean" || name == "norm.variance") {
      for (std::size_t at = 0; at < other.size(); ++at)
        EXPECT_LE(difference(at), 2e-6 * std::max(1.0, size(at))) << name;
      continue;
    }
    const bool moment = name.starts_with("adam.first.");
    const NamedArray& first = moment ? array : fused.at("adam.first." + name);
    const double delta = 6e-6 * 10 * largest(first) + (norm ? 1e-6 * most : 0.0);
    for (std::size_t at = 0; at < other.size(); ++at) {
      if (moment) {
        EXPECT_LE(difference(at), 0.1 * delta) << name << "[" << at << "]";
        continue;
      }
      const bool token = name.starts_with("embedding.");
      const bool head =
          name.starts_with("flow.") || name.starts_with("logit.") || name == "norm.scale" || name == "norm.shift";
      double steps = static_cast<double>(clocks[head ? 3 : 1]);
      if (token) {
        const NamedArray& counts = fused.at("adam.steps." + name);
        steps = static_cast<double>(counts.values[at / static_cast<std::size_t>(array.shape[1])]);
      }
      if (steps == 0) {
        EXPECT_EQ(array.values[at], other[at]) << name << "[" << at << "]";
        continue;
      }
      const double second = static_cast<double>(fused.at("adam.second." + name).values[at]);
      if (second == 0) {
        EXPECT_LE(difference(at), 2e-7 * std::max(1.0, size(at))) << name << "[" << at << "]";
        continue;
      }
      const double root = std::sqrt(second / (1 - std::pow(0.999, steps))) + 1e-8;
      const double rate = step.learning_rate * (token ? step.embedding_rate : 1);
      const double relative = 4 * delta / root;
      EXPECT_LE(difference(at), rate * std::min(20.0, relative) + 2e-7 * std::max(1.0, size(at)))
          << name << "[" << at << "] of root " << root;
      ++compared.numbers;
      if (relative > 0.1) ++compared.open;
    }
  }
  return compared;
}

// A latent number is off by some 1e-6, and so is the logit of a score. The logarithm of a density is steeper than its
// place: a few units for each number of the latent space. Entropies follow the logarithm of the evidence; variance and
// mutual information are compared relative to their size, which goes with 1 / evidence.
void expect_predictions(const NetworkOutput& fused, const NetworkOutput& plain, double tolerance) {
  ASSERT_EQ(fused.score.size(), plain.score.size());
  ASSERT_EQ(fused.evidence.size(), plain.evidence.size());
  for (std::size_t row = 0; row < fused.score.size(); ++row) {
    EXPECT_NEAR(fused.score[row], plain.score[row], tolerance) << row;
    EXPECT_NEAR(fused.entropy[row], plain.entropy[row], tolerance) << row;
    if (!fused.evidence.empty()) {
      EXPECT_NEAR(std::log(fused.evidence[row]), std::log(plain.evidence[row]), tolerance) << row;
    }
    EXPECT_NEAR(fused.variance[row], plain.variance[row], tolerance * std::max(fused.variance[row], 1e-4)) << row;
    EXPECT_NEAR(fused.mutual_information[row], plain.mutual_information[row],
                tolerance * std::max(fused.mutual_information[row], 1e-4))
        << row;
  }
}

TEST_P(EveryCase, StartsAtTheSameWeights) {
  expect_same(make(NetworkKind::kFused).state(true), make(NetworkKind::kPlain).state(true));
}

TEST_P(EveryCase, TakesTheSameSteps) {
  Network fused = make(NetworkKind::kFused);
  Network plain = make(NetworkKind::kPlain, 4);
  StepOptions step = GetParam().step;
  Compared compared;
  for (std::uint64_t at = 0; at < 5; ++at) {
    SCOPED_TRACE("step " + std::to_string(at));
    const Rows rows(GetParam().shape, at);
    const std::vector<NamedArray> before = fused.state(true);
    plain.load_state(before, true);
    step.seed = 10 + at;
    const double loss = fused.train_step(rows.view(), step);
    EXPECT_NEAR(plain.train_step(rows.view(), step), loss, 1e-5 * std::max(1.0, std::abs(loss)));
    const Compared some =
        expect_step(by_name(fused.state(true)), by_name(plain.state(true)), step, GetParam().model.head.batch_norm);
    compared.numbers += some.numbers;
    compared.open += some.open;
    if (HasFailure()) break;
  }
  EXPECT_GT(compared.numbers, 100U);
  // 2e and 3e are products of three small vectors and more: their gradients are of many sizes.
  EXPECT_LT(static_cast<double>(compared.open), 0.5 * static_cast<double>(compared.numbers));
  plain.load_state(fused.state(true), true);
  const Rows rows(GetParam().shape, 99);
  expect_predictions(fused.predict(rows.view(), 5), plain.predict(rows.view(), 5), 2e-5);
}

// Each on its own: what rounding does to one step, the next ones do not blow up.
TEST_P(EveryCase, TrainsToTheSameNetwork) {
  Network fused = make(NetworkKind::kFused);
  Network plain = make(NetworkKind::kPlain);
  StepOptions step = GetParam().step;
  double loss[2] = {};
  for (std::uint64_t at = 0; at < 12; ++at) {
    const Rows rows(GetParam().shape, at % 4);
    step.seed = at;
    loss[0] = fused.train_step(rows.view(), step);
    loss[1] = plain.train_step(rows.view(), step);
  }
  EXPECT_NEAR(loss[0], loss[1], 1e-3 * std::max(1.0, std::abs(loss[0])));
  // A bias before a batch norm is moved by rounding alone, and the mean over past batches follows it late.
  if (GetParam().model.head.batch_norm) return;
  const Rows rows(GetParam().shape, 99);
  expect_predictions(fused.predict(rows.view(), 5), plain.predict(rows.view(), 5), 5e-3);
}

}  // namespace
