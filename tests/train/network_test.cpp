// SPDX-License-Identifier: MIT
// Whole networks, through the module that the program loads.
#include "network.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <random>
#include <string>

#include "support/refusal.h"

namespace {

using namespace limen::train;
using limen::test::refusal_of;
using testing::HasSubstr;

struct Rows {
  FeatureShape shape = {};
  std::vector<float> numeric = {};
  std::vector<std::int32_t> categorical = {};
  std::vector<float> fraction = {};
  std::vector<std::uint8_t> label = {};

  [[nodiscard]] BatchView view() const { return {label.size(), numeric, categorical, fraction, label}; }
};

// Two numbers and two categories; the label is the exclusive or of a sign and of a category's parity.
Rows small_rows(std::size_t count) {
  Rows rows = {{2, {4, 300}}, {}, {}, {}};
  std::uint64_t state = 12345;
  const auto next = [&state] { return (state = state * 6364136223846793005U + 1442695040888963407U) >> 40U; };
  for (std::size_t row = 0; row < count; ++row) {
    const float first = static_cast<float>(next() % 2000) / 500.0F - 2.0F;
    const auto token = static_cast<std::int32_t>(next() % 4);
    rows.numeric.insert(rows.numeric.end(), {first, static_cast<float>(next() % 2000) / 500.0F - 2.0F});
    rows.categorical.insert(rows.categorical.end(), {token, static_cast<std::int32_t>(next() % 300)});
    rows.label.push_back((first > 0) != (token % 2 == 0) ? 1 : 0);
  }
  return rows;
}

Network make(const Rows& rows, ModelOptions options, std::uint64_t seed = 3, int num_threads = 0,
             std::optional<NetworkKind> kind = std::nullopt) {
  options.encoder = settled(options.encoder, rows.label.size());
  double positives = 0;
  for (const std::uint8_t label : rows.label) positives += label;
  return {rows.shape,  options, {static_cast<double>(rows.label.size()) - positives, positives}, seed, "cpu",
          num_threads, kind};
}

double accuracy(const Network& network, const Rows& rows) {
  const NetworkOutput out = network.predict(rows.view(), 1);
  double right = 0;
  for (std::size_t row = 0; row < rows.label.size(); ++row) right += (out.score[row] > 0.5) == (rows.label[row] == 1);
  return right / static_cast<double>(rows.label.size());
}

bool same(const std::vector<NamedArray>& left, const std::vector<NamedArray>& right) {
  if (left.size() != right.size()) return false;
  for (std::size_t at = 0; at < left.size(); ++at) {
    if (left[at].name != right[at].name || left[at].shape != right[at].shape || left[at].values != right[at].values) {
      return false;
    }
  }
  return true;
}

struct Case {
  const char* name;
  Head head;
  EncoderKind encoder;
  SamVariant sam = SamVariant::k2A;
  GatedUnit gated = GatedUnit::kGeglu;
  bool batch_norm = false;
  NetworkKind kind = NetworkKind::kFused;
};

ModelOptions options_of(const Case& which) {
  ModelOptions options;
  options.encoder.kind = which.encoder;
  options.encoder.sam = which.sam;
  options.encoder.gated = which.gated;
  options.encoder.embedding = 8;
  options.encoder.blocks = 2;
  options.encoder.heads = 4;
  options.encoder.hidden = {32, 16};
  options.encoder.blocks = which.encoder == EncoderKind::kFtTransformer ? 1 : 2;
  options.encoder.dropout = which.head == Head::kMcDropout ? 0.1 : 0.0;
  options.head.kind = which.head;
  options.head.latent = 4;
  options.head.batch_norm = which.batch_norm;
  return options;
}

class EveryNetwork : public testing::TestWithParam<Case> {
 protected:
  static Network make_case(const Rows& rows, std::uint64_t seed = 3, int num_threads = 0) {
    return make(rows, options_of(GetParam()), seed, num_threads, GetParam().kind);
  }
};
INSTANTIATE_TEST_SUITE_P(, EveryNetwork,
                         testing::Values(Case{"postnet_mlp", Head::kPostnet, EncoderKind::kMlp},
                                         Case{"postnet_mlp_norm", Head::kPostnet, EncoderKind::kMlp, SamVariant::k2A,
                                              GatedUnit::kGeglu, true},
                                         Case{"natpn_mlp", Head::kNatpn, EncoderKind::kMlp},
                                         Case{"natpn_mlp_norm", Head::kNatpn, EncoderKind::kMlp, SamVariant::k2A,
                                              GatedUnit::kGeglu, true},
                                         Case{"natpn_ft", Head::kNatpn, EncoderKind::kFtTransformer},
                                         Case{"dropout_mlp", Head::kMcDropout, EncoderKind::kMlp},
                                         Case{"ensemble_mlp", Head::kEnsemble, EncoderKind::kMlp},
                                         Case{"postnet_sam2a", Head::kPostnet, EncoderKind::kSam, SamVariant::k2A},
                                         Case{"postnet_sam2e", Head::kPostnet, EncoderKind::kSam, SamVariant::k2E},
                                         Case{"postnet_sam3a", Head::kPostnet, EncoderKind::kSam, SamVariant::k3A},
                                         Case{"postnet_sam3e", Head::kPostnet, EncoderKind::kSam, SamVariant::k3E},
                                         Case{"dropout_sam", Head::kMcDropout, EncoderKind::kSam},
                                         Case{"postnet_ft_geglu", Head::kPostnet, EncoderKind::kFtTransformer},
                                         Case{"ensemble_ft_reglu", Head::kEnsemble, EncoderKind::kFtTransformer,
                                              SamVariant::k2A, GatedUnit::kReglu},
                                         Case{"dropout_ft", Head::kMcDropout, EncoderKind::kFtTransformer},
                                         Case{"plain_natpn_mlp", Head::kNatpn, EncoderKind::kMlp, SamVariant::k2A,
                                              GatedUnit::kGeglu, false, NetworkKind::kPlain},
                                         Case{"plain_postnet_mlp_norm", Head::kPostnet, EncoderKind::kMlp,
                                              SamVariant::k2A, GatedUnit::kGeglu, true, NetworkKind::kPlain},
                                         Case{"plain_postnet_sam3a", Head::kPostnet, EncoderKind::kSam, SamVariant::k3A,
                                              GatedUnit::kGeglu, false, NetworkKind::kPlain},
                                         Case{"plain_ensemble_sam2e", Head::kEnsemble, EncoderKind::kSam,
                                              SamVariant::k2E, GatedUnit::kGeglu, false, NetworkKind::kPlain},
                                         Case{"plain_dropout_ft", Head::kMcDropout, EncoderKind::kFtTransformer,
                                              SamVariant::k2A, GatedUnit::kGeglu, false, NetworkKind::kPlain}),
                         [](const auto& param) { return std::string(param.param.name); });

TEST_P(EveryNetwork, LearnsASmallSet) {
  const Rows rows = small_rows(300);
  Network network = make_case(rows);
  const double first = network.train_step(rows.view(), {});
  double loss = first;
  for (std::uint64_t step = 1; step < 250; ++step) {
    loss = network.train_step(rows.view(), {.learning_rate = 1e-2, .seed = step});
  }
  EXPECT_LT(loss, 0.3 * first);
  EXPECT_GT(accuracy(network, rows), 0.93);
}

TEST_P(EveryNetwork, ContinuesFromItsStateToTheLastBit) {
  const Rows rows = small_rows(200);
  Network network = make_case(rows);
  for (std::uint64_t step = 0; step < 3; ++step) (void)network.train_step(rows.view(), {.seed = step});
  Network other = make_case(rows, 4);
  EXPECT_FALSE(same(network.state(true), other.state(true)));
  other.load_state(network.state(true), true);
  for (std::uint64_t step = 3; step < 6; ++step) {
    const StepOptions options = {.weight_decay = 0.01, .seed = step};
    EXPECT_EQ(network.train_step(rows.view(), options), other.train_step(rows.view(), options));
  }
  EXPECT_TRUE(same(network.state(true), other.state(true)));
  EXPECT_EQ(network.predict(rows.view(), 5).score, other.predict(rows.view(), 5).score);
}

// The size of a batch chose the kernel of a matrix product, and with it the order of its sums: a row's score depended
// on how many rows were in the file.
TEST_P(EveryNetwork, PredictsARowTheSameAloneAndAmongOthers) {
  const Rows rows = small_rows(1100);
  Network network = make_case(rows);
  for (std::uint64_t step = 0; step < 3; ++step) (void)network.train_step(rows.view(), {.seed = step});
  const NetworkOutput whole = network.predict(rows.view(), 5);
  // Predicts the rows of `order`, `size` at a time.
  const auto expect_same = [&](const std::vector<std::size_t>& order, std::size_t size) {
    const std::size_t numeric = rows.shape.num_numeric;
    const std::size_t categorical = rows.shape.num_categorical();
    for (std::size_t begin = 0; begin < order.size(); begin += size) {
      const std::size_t end = std::min(begin + size, order.size());
      std::vector<float> numbers;
      std::vector<std::int32_t> tokens;
      for (std::size_t at = begin; at < end; ++at) {
        for (std::size_t one = 0; one < numeric; ++one) numbers.push_back(rows.numeric[order[at] * numeric + one]);
        for (std::size_t one = 0; one < categorical; ++one) {
          tokens.push_back(rows.categorical[order[at] * categorical + one]);
        }
      }
      const NetworkOutput part = network.predict({end - begin, numbers, tokens, {}}, 5);
      for (std::size_t at = begin; at < end; ++at) {
        ASSERT_EQ(part.score[at - begin], whole.score[order[at]]) << "row " << order[at] << " in batches of " << size;
        ASSERT_EQ(part.entropy[at - begin], whole.entropy[order[at]]) << order[at];
        ASSERT_EQ(part.variance[at - begin], whole.variance[order[at]]) << order[at];
        ASSERT_EQ(part.mutual_information[at - begin], whole.mutual_information[order[at]]) << order[at];
      }
    }
  };
  std::vector<std::size_t> order(1100);
  std::iota(order.begin(), order.end(), std::size_t{0});
  expect_same(order, 1000);
  expect_same({order.begin() + 200, order.begin() + 300}, 7);
  expect_same({order.begin() + 500, order.begin() + 510}, 1);
  std::shuffle(order.begin(), order.end(), std::mt19937(4));
  expect_same(order, 1100);
  expect_same({order.begin(), order.begin() + 600}, 300);
}

TEST_P(EveryNetwork, DoesNotDependOnTheNumberOfThreads) {
  const Rows rows = small_rows(700);
  std::vector<std::vector<NamedArray>> states;
  std::vector<std::vector<double>> scores;
  for (const int threads : {1, 2, 3}) {
    Network network = make_case(rows, 3, threads);
    for (std::uint64_t step = 0; step < 3; ++step) (void)network.train_step(rows.view(), {.seed = step});
    states.push_back(network.state(true));
    scores.push_back(network.predict(rows.view(), 1).score);
  }
  EXPECT_TRUE(same(states[0], states[1]));
  EXPECT_TRUE(same(states[0], states[2]));
  EXPECT_EQ(scores[0], scores[1]);
}

TEST_P(EveryNetwork, ABatchThatIsNotFiniteChangesNothing) {
  Rows rows = small_rows(150);
  Network network = make_case(rows);
  (void)network.train_step(rows.view(), {});
  const std::vector<NamedArray> before = network.state(true);
  for (const float bad : {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity()}) {
    rows.numeric[77] = bad;
    EXPECT_TRUE(std::isnan(network.train_step(rows.view(), {})));
    EXPECT_TRUE(same(before, network.state(true)));
  }
}

TEST(Network, SeedDecidesTheWeights) {
  const Rows rows = small_rows(10);
  const ModelOptions options;
  EXPECT_TRUE(same(make(rows, options, 1).state(true), make(rows, options, 1).state(true)));
  EXPECT_FALSE(same(make(rows, options, 1).state(true), make(rows, options, 2).state(true)));
}

TEST(Network, DropoutFollowsTheSeedOfTheStep) {
  const Rows rows = small_rows(50);
  ModelOptions options;
  options.encoder.dropout = 0.5;
  const auto loss = [&](std::uint64_t seed) { return make(rows, options).train_step(rows.view(), {.seed = seed}); };
  EXPECT_EQ(loss(1), loss(1));
  EXPECT_NE(loss(1), loss(2));
}

TEST(Network, UncertaintyRisesAwayFromTheData) {
  // Two clusters; far away the evidence falls to the prior's 2 and the score to 1/2.
  Rows rows = {{2, {}}, {}, {}, {}};
  for (int row = 0; row < 400; ++row) {
    const float sign = row % 2 == 0 ? -1.0F : 1.0F;
    const float angle = static_cast<float>(row) * 0.7F;
    rows.numeric.insert(rows.numeric.end(), {sign + 0.2F * std::cos(angle), 0.2F * std::sin(angle)});
    rows.label.push_back(row % 2 == 0 ? 0 : 1);
  }
  ModelOptions options;
  options.head.kind = Head::kPostnet;
  options.head.latent = 4;
  Network network = make(rows, options);
  for (std::uint64_t step = 0; step < 300; ++step) (void)network.train_step(rows.view(), {.learning_rate = 5e-3});
  const NetworkOutput inside = network.predict(rows.view(), 0);
  const std::vector<float> far = {60.0F, 60.0F, -50.0F, 70.0F};
  const NetworkOutput outside = network.predict({2, far, {}, {}}, 0);
  for (std::size_t at = 0; at < 2; ++at) {
    EXPECT_LT(outside.evidence[at], 2.01);
    EXPECT_GT(outside.entropy[at], inside.entropy[at] + 1);
    EXPECT_NEAR(outside.score[at], 0.5, 0.01);
    EXPECT_GT(outside.variance[at], inside.variance[at]);
    EXPECT_GT(outside.mutual_information[at], inside.mutual_information[at]);
  }
}

TEST(Network, PosteriorOutputsAreThoseOfTheBeta) {
  const Rows rows = small_rows(100);
  Network network = make(rows, options_of({"", Head::kPostnet, EncoderKind::kMlp}));
  for (int step = 0; step < 20; ++step) (void)network.train_step(rows.view(), {});
  const NetworkOutput out = network.predict(rows.view(), 0);
  for (std::size_t row = 0; row < rows.label.size(); ++row) {
    EXPECT_GE(out.evidence[row], 2);
    EXPECT_LE(out.entropy[row], 1e-12);
    EXPECT_NEAR(out.variance[row], out.score[row] * (1 - out.score[row]) / (out.evidence[row] + 1), 1e-15);
    EXPECT_GT(out.mutual_information[row], 0);
    EXPECT_LT(out.mutual_information[row], std::log(2.0));
  }
}

TEST(Network, DensitiesCanLearnAlone) {
  for (const Head head : {Head::kPostnet, Head::kNatpn}) {
    const Rows rows = small_rows(300);
    ModelOptions options;
    options.head.kind = head;
    options.head.latent = 32;
    Network network = make(rows, options);
    const std::vector<NamedArray> before = network.state(false);
    const double first = network.train_step(rows.view(), {.densities_only = true});
    double last = first;
    for (int step = 0; step < 50; ++step)
      last = network.train_step(rows.view(), {.learning_rate = 1e-2, .densities_only = true});
    EXPECT_LT(last, first - 1);
    const std::vector<NamedArray> after = network.state(false);
    for (std::size_t at = 0; at < before.size(); ++at) {
      const bool flow = before[at].name.rfind("flow.", 0) == 0;
      EXPECT_EQ(before[at].values != after[at].values, flow) << before[at].name;
    }
  }
}

TEST(Network, OnlyTokensOfTheBatchMove) {
  Rows rows = small_rows(64);
  for (std::size_t row = 0; row < 64; ++row) rows.categorical[2 * row + 1] = static_cast<std::int32_t>(row % 7);
  Network network = make(rows, {});
  const auto table = [&] {
    for (const NamedArray& array : network.state(true)) {
      if (array.name == "embedding.1") return array;
    }
    return NamedArray();
  };
  const NamedArray before = table();
  (void)network.train_step(rows.view(), {});
  const NamedArray after = table();
  ASSERT_EQ(before.shape[0], 300);
  const auto width = static_cast<std::size_t>(before.shape[1]);
  for (std::size_t token = 0; token < 300; ++token) {
    EXPECT_EQ(before.values[token * width] != after.values[token * width], token < 7) << token;
  }
}

TEST(Network, DropoutPassesSpread) {
  const Rows rows = small_rows(100);
  ModelOptions options = options_of({"", Head::kMcDropout, EncoderKind::kMlp});
  options.encoder.dropout = 0.3;
  const Network network = make(rows, options);
  const NetworkOutput out = network.predict(rows.view(), 7);
  EXPECT_EQ(out.score, network.predict(rows.view(), 7).score);
  EXPECT_NE(out.score, network.predict(rows.view(), 8).score);
  EXPECT_TRUE(out.evidence.empty());
  for (std::size_t row = 0; row < 100; ++row) {
    EXPECT_GT(out.variance[row], 0);
    EXPECT_GT(out.mutual_information[row], 0);
    const double p = out.score[row];
    EXPECT_NEAR(out.entropy[row], -p * std::log(p) - (1 - p) * std::log(1 - p), 1e-12);
  }
}

TEST(Network, PredictsNothingFromNothing) {
  const Rows rows = small_rows(5);
  const NetworkOutput out = make(rows, {}).predict({}, 0);
  EXPECT_TRUE(out.score.empty());
}

TEST(Network, RefusesWhatItCannotBe) {
  const Rows rows = small_rows(5);
  const auto refused = [&](auto change) {
    ModelOptions options;
    change(options);
    return refusal_of([&] { (void)make(rows, options); });
  };
  EXPECT_EQ(refused([](auto& o) { o.head.latent = 0; }), "Network: latent is 0, must be from 1 to 65536");
  EXPECT_EQ(refused([](auto& o) { o.head.prior[1] = 0; }), "Network: prior[1] is 0, must be > 0 and finite");
  EXPECT_EQ(refused([](auto& o) { o.encoder.dropout = 1; }), "Network: dropout is 1, must be in [0, 1)");
  EXPECT_EQ(refused([](auto& o) {
              o.head.kind = Head::kMcDropout;
              o.encoder.dropout = 0;
            }),
            "Network: dropout is 0, must be > 0 for mc-dropout");
  EXPECT_EQ(refused([](auto& o) {
              o.encoder.kind = EncoderKind::kFtTransformer;
              o.encoder.embedding = 8;
              o.encoder.heads = 3;
            }),
            "Network: heads is 3, must divide embedding, 8");
  EXPECT_EQ(refusal_of([&] {
              Network(rows.shape, {}, {1, 1}, 0, "cpu");
            }),
            "Network: embedding is 0, must be from 1 to 65536");  // not settled
  EXPECT_EQ(refusal_of([] { Network({}, {}, {1, 1}, 0, "cpu"); }), "Network: there are no features");
  const ModelOptions sized = {.encoder = settled({}, 5)};
  const auto refused_knots = [&](std::vector<KnotInput> knots) {
    return refusal_of([&] {
      Network({.num_numeric = 2, .num_tokens = {3, 5}, .knots = knots}, sized, {1, 1}, 0, "cpu");
    });
  };
  EXPECT_EQ(refused_knots({{0, 0}, {1, 1}}), "(not refused)");
  EXPECT_EQ(refused_knots({{2, 0}}),
            "Network: knots[0] is input 2 and feature 0, must be of the 2 inputs and 2 features, in their order");
  EXPECT_THAT(refused_knots({{0, 2}}), HasSubstr("knots[0] is input 0 and feature 2"));
  EXPECT_THAT(refused_knots({{0, 1}, {1, 0}}), HasSubstr("knots[1] is input 1 and feature 0"));
}

TEST(Network, IsComputedWhereItCanBe) {
  const Rows rows = small_rows(5);
  const auto refused = [&](const char* device, std::optional<NetworkKind> kind) {
    return refusal_of([&] { Network(rows.shape, {.encoder = settled({}, 5)}, {1, 1}, 0, device, 0, kind); });
  };
  for (const std::optional<NetworkKind> kind :
       {std::optional<NetworkKind>(), std::optional(NetworkKind::kFused), std::optional(NetworkKind::kPlain)}) {
    EXPECT_EQ(device_error("cpu", kind), "");
    EXPECT_EQ(refused("cpu", kind), "(not refused)");
    EXPECT_EQ(refused("abacus", kind), "Network: device is \"abacus\", must be cpu or cuda");
  }
  EXPECT_EQ(
      refused("cuda", NetworkKind::kFused),
      "Network: the network is fused, which computes on the processor alone: must be plain on cuda, or device cpu");
  // Where there is CUDA nothing is refused.
  if (device_error("cuda", std::nullopt).empty()) GTEST_SKIP() << "there is a CUDA device";
  EXPECT_THAT(refused("cuda", std::nullopt), HasSubstr("compute on cpu"));
  EXPECT_EQ(refused("cuda", NetworkKind::kPlain), refused("cuda", std::nullopt));
}

TEST(Network, RefusesBatchesThatDoNotFit) {
  Rows rows = small_rows(5);
  Network network = make(rows, {});
  BatchView view = rows.view();
  view.numeric = view.numeric.first(3);
  EXPECT_EQ(refusal_of([&] { (void)network.predict(view, 0); }), "predict: numeric has 3 values, must have 10");
  rows.categorical[2] = 4;
  EXPECT_EQ(refusal_of([&] { (void)network.train_step(rows.view(), {}); }),
            "train_step: token of feature 0 in row 1 is 4, must be from 0 to 3");
  rows.categorical[2] = 0;
  rows.label[2] = 2;
  EXPECT_EQ(refusal_of([&] { (void)network.train_step(rows.view(), {}); }),
            "train_step: label[2] is 2, must be 0 or 1");
  EXPECT_EQ(refusal_of([&] { (void)network.train_step({}, {}); }), "train_step: the batch has no rows");
}

TEST(Network, RefusesStatesOfOtherNetworksAndStaysAsItIs) {
  const Rows rows = small_rows(5);
  Network network = make(rows, {});
  const std::vector<NamedArray> good = network.state(true);
  const auto refused = [&](auto change) {
    std::vector<NamedArray> bad = good;
    for (NamedArray& array : bad) {
      for (float& value : array.values) value += 1;
    }
    change(bad);
    const std::string message = refusal_of([&] { network.load_state(bad, true); });
    EXPECT_TRUE(same(good, network.state(true)));
    return message;
  };
  EXPECT_EQ(refused([](auto& bad) { bad.erase(bad.begin()); }), "load_state: array \"layer.0.weight\" is missing");
  EXPECT_EQ(refused([](auto& bad) {
              bad.push_back({"extra", {1}, {0.0F}});
            }),
            "load_state: array \"extra\" is not of this network");
  EXPECT_EQ(refused([](auto& bad) { bad.push_back(bad[0]); }), "load_state: array \"layer.0.weight\" is there twice");
  EXPECT_THAT(refused([](auto& bad) {
                bad[1].shape = {1, 128};
              }),
              HasSubstr("\"layer.0.bias\" is 1 x 128 with 128 values, must be 128"));
  EXPECT_THAT(refused([](auto& bad) { bad[1].values.pop_back(); }), HasSubstr("with 127 values"));
  EXPECT_EQ(refused([](auto& bad) { bad[1].values[2] = std::nanf(""); }),
            "load_state: array \"layer.0.bias\"[2] is nan, must be finite");
  EXPECT_THAT(refused([](auto& bad) {
                for (NamedArray& array : bad) {
                  if (array.name == "adam.second.layer.0.bias") array.values[0] = -1;
                }
              }),
              HasSubstr("must be finite and >= 0"));
  EXPECT_THAT(refused([](auto& bad) { bad.back().values[0] = 0.5F; }), HasSubstr("must hold whole numbers"));
  EXPECT_EQ(refusal_of([&] { network.load_state(network.state(false), true); }).find("load_state: array \"adam."), 0U);
}

}  // namespace
