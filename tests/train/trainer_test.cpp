// SPDX-License-Identifier: MIT
#include "limen/train/trainer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <map>
#include <random>
#include <tuple>

#include "support/refusal.h"
#include "support/training_sets.h"
#include "tensors.h"

namespace limen::train {
namespace {

using test::random_set;
using test::refusal_of;
using test::small_model;
using testing::HasSubstr;

constexpr Head kHeads[] = {Head::kPostnet, Head::kNatpn, Head::kMcDropout, Head::kEnsemble};

TrainOptions few_epochs(int epochs = 3) {
  TrainOptions options;
  options.epochs = epochs;
  options.batch = 64;
  options.learning_rate = 1e-2;
  options.num_threads = 2;
  return options;
}

/// All checkpoints of a run, and how it ended.
struct Recorded {
  std::vector<std::string> checkpoints = {};
  TrainResult result = {};
};

Recorded record(const TrainingSet& data, const ModelOptions& model, const TrainOptions& options,
                double save_seconds = 0) {
  Recorded recorded;
  TrainHooks hooks;
  hooks.save = [&](const std::string& checkpoint) { recorded.checkpoints.push_back(checkpoint); };
  hooks.save_seconds = save_seconds;
  recorded.result = train(data, model, options, hooks);
  return recorded;
}

/// At the end of epochs only.
Recorded record_epochs(const TrainingSet& data, const ModelOptions& model, const TrainOptions& options) {
  return record(data, model, options, 1e9);
}

/// Everything but how long it took.
void expect_same(const TrainResult& left, const TrainResult& right) {
  EXPECT_TRUE(left.weights == right.weights);
  EXPECT_EQ(left.members, right.members);
  EXPECT_EQ(left.average_precision, right.average_precision);
  EXPECT_EQ(left.roc_auc, right.roc_auc);
  EXPECT_EQ(left.diverged, right.diverged);
  ASSERT_EQ(left.history.size(), right.history.size());
  for (std::size_t at = 0; at < left.history.size(); ++at) {
    const EpochReport& a = left.history[at];
    const EpochReport& b = right.history[at];
    EXPECT_EQ(std::tie(a.member, a.epoch, a.stage, a.loss, a.average_precision, a.roc_auc, a.is_best),
              std::tie(b.member, b.epoch, b.stage, b.loss, b.average_precision, b.roc_auc, b.is_best))
        << at;
  }
}

std::map<std::string, std::vector<float>> arrays_of(const std::string& file, const std::string& prefix) {
  std::map<std::string, std::vector<float>> arrays;
  for (const NamedArray& array : detail::read_tensors(file, "file").arrays) {
    if (array.name.starts_with(prefix)) arrays[array.name.substr(prefix.size())] = array.values;
  }
  return arrays;
}

double positive_share(const FeatureRows& rows) {
  return static_cast<double>(std::ranges::count(rows.label, std::uint8_t{1})) / static_cast<double>(rows.num_rows);
}

TEST(Train, LearnsWithEveryHead) {
  const TrainingSet data = random_set(3000, 1000, 1);
  const double share = positive_share(data.validation);
  ASSERT_GT(share, 0.15);
  ASSERT_LT(share, 0.4);
  for (const Head head : kHeads) {
    SCOPED_TRACE(to_string(head));
    TrainOptions options = few_epochs(8);
    options.warm_up = 0;
    const TrainResult result = train(data, small_model(head), options);
    EXPECT_GT(result.average_precision, 0.85);
    EXPECT_GT(result.roc_auc, 0.9);
    EXPECT_EQ(result.members, head == Head::kEnsemble ? 3 : 1);
    EXPECT_EQ(result.diverged, "");
    EXPECT_LT(result.history[5].loss, result.history[0].loss);
  }
}

TEST(Train, FindsNothingWhereThereIsNothing) {
  const TrainingSet data = random_set(1000, 2000, 2, false);
  const TrainResult result = train(data, small_model(Head::kPostnet), few_epochs());
  // Three tries at a share of 0.3 on 2,000 rows, whose deviation is about 0.015.
  EXPECT_NEAR(result.average_precision, positive_share(data.validation), 0.06);
  EXPECT_NEAR(result.roc_auc, 0.5, 0.06);
}

TEST(Train, KeepsTheWeightsOfTheBestEpoch) {
  // Without signal the average precision goes up and down.
  const TrainingSet data = random_set(400, 300, 3, false);
  for (const Head head : kHeads) {
    SCOPED_TRACE(to_string(head));
    TrainOptions options = few_epochs(6);
    options.patience = 100;
    options.warm_up = 0;
    options.fine_tune = 0;
    const auto [checkpoints, result] = record_epochs(data, small_model(head), options);
    const int members = head == Head::kEnsemble ? 3 : 1;
    ASSERT_EQ(result.history.size(), 6U * static_cast<std::size_t>(members));
    double sum = 0;
    int early = 0;
    for (int member = 0; member < members; ++member) {
      const auto first = result.history.begin() + 6 * member;
      const auto best = std::max_element(first, first + 6, [](const EpochReport& a, const EpochReport& b) {
        return a.average_precision < b.average_precision;
      });
      EXPECT_TRUE(best->is_best);
      EXPECT_EQ(best->member, member);
      EXPECT_TRUE(std::none_of(best + 1, first + 6, [](const EpochReport& report) { return report.is_best; }));
      sum += best->average_precision;
      early += best->epoch < 6 ? 1 : 0;
      // A member begins with a checkpoint of its own, but for the first.
      const auto at = static_cast<std::size_t>(7 * member + best->epoch - 1);
      const auto current = arrays_of(checkpoints.at(at), "current/");
      for (const auto& [name, values] : arrays_of(result.weights, std::to_string(member) + "/")) {
        EXPECT_EQ(current.at(name), values) << name;
      }
    }
    EXPECT_DOUBLE_EQ(result.average_precision, sum / members);
    EXPECT_GT(early, 0);
  }
}

TEST(Train, StopsAfterPatienceEpochsWithoutABetterOne) {
  const TrainingSet data = random_set(300, 200, 4, false);
  for (const int patience : {1, 2, 4}) {
    SCOPED_TRACE(patience);
    TrainOptions options = few_epochs(200);
    options.patience = patience;
    const TrainResult result = train(data, small_model(Head::kPostnet), options);
    ASSERT_LT(result.history.size(), 200U);
    ASSERT_GT(result.history.size(), static_cast<std::size_t>(patience));
    int since = 0;
    for (std::size_t at = 0; at < result.history.size(); ++at) {
      EXPECT_LT(since, patience) << "epoch " << at + 1;
      since = result.history[at].is_best ? 0 : since + 1;
    }
    EXPECT_EQ(since, patience);
  }
}

TEST(Train, SeedAloneDecidesTheWeights) {
  const TrainingSet data = random_set(300, 200, 5);
  for (const Head head : kHeads) {
    SCOPED_TRACE(to_string(head));
    TrainOptions options = few_epochs(2);
    const TrainResult first = train(data, small_model(head), options);
    expect_same(first, train(data, small_model(head), options));
    for (const int threads : {1, 3, 0}) {
      options.num_threads = threads;
      expect_same(first, train(data, small_model(head), options));
    }
    options.seed = 1;
    EXPECT_FALSE(first.weights == train(data, small_model(head), options).weights);
  }
}

TEST(Train, MembersOfAnEnsembleDiffer) {
  const TrainResult result = train(random_set(300, 200, 6), small_model(Head::kEnsemble), few_epochs(1));
  EXPECT_NE(arrays_of(result.weights, "0/"), arrays_of(result.weights, "1/"));
  EXPECT_NE(arrays_of(result.weights, "1/"), arrays_of(result.weights, "2/"));
}

TEST(Train, GoesOnFromEveryCheckpointToTheLastBit) {
  const TrainingSet data = random_set(300, 200, 7);
  for (const Head head : kHeads) {
    SCOPED_TRACE(to_string(head));
    ModelOptions model = small_model(head);
    model.head.batch_norm = true;
    TrainOptions options = few_epochs();
    options.weight_decay = 1e-3;
    options.warm_up = 1;
    options.fine_tune = 2;
    const auto [checkpoints, unbroken] = record(data, model, options);
    // Five batches an epoch, each with a checkpoint; densities have three epochs more, an ensemble three members.
    const std::size_t epochs = has_evidence(head) ? 6 : head == Head::kEnsemble ? 9 : 3;
    EXPECT_EQ(checkpoints.size(), 5 * epochs + (head == Head::kEnsemble ? 2 : 0));
    for (std::size_t at = 0; at < checkpoints.size(); ++at) {
      SCOPED_TRACE(at);
      expect_same(train(data, model, options, {}, checkpoints[at]), unbroken);
    }
  }
}

TEST(Train, MembersWithEvidenceAreNetworksOfTheirOwn) {
  const TrainingSet data = random_set(300, 200, 7);
  ModelOptions model = small_model(Head::kNatpn);
  model.head.members = 2;
  TrainOptions options = few_epochs(2);
  options.warm_up = 1;
  options.fine_tune = 1;
  const auto [checkpoints, unbroken] = record(data, model, options);
  EXPECT_EQ(unbroken.members, 2);
  ASSERT_EQ(unbroken.history.size(), 8U);
  for (int member = 0; member < 2; ++member) {
    const auto stage = [&](int epoch) { return unbroken.history[static_cast<std::size_t>(4 * member + epoch)].stage; };
    EXPECT_EQ(stage(0), Stage::kWarmUp);
    EXPECT_EQ(stage(2), Stage::kTraining);
    EXPECT_EQ(stage(3), Stage::kFineTune);
  }
  EXPECT_NE(unbroken.history[2].loss, unbroken.history[6].loss);
  expect_same(train(data, model, options, {}, checkpoints[checkpoints.size() / 2 + 3]), unbroken);
  model.head.kind = Head::kMcDropout;
  model.encoder.dropout = 0.1;
  EXPECT_EQ(refusal_of([&] { (void)train(data, model, options); }),
            "train: members is 2, but mc-dropout asks one network in passes");
}

TEST(Train, ABrokenRunMaySaveAndBreakAgain) {
  const TrainingSet data = random_set(300, 200, 8);
  const ModelOptions model = small_model(Head::kMcDropout);
  const TrainResult unbroken = train(data, model, few_epochs());
  // Each run goes two checkpoints far.
  std::string checkpoint;
  int runs = 0;
  for (bool done = false; !done && runs < 50; ++runs) {
    int saved = 0;
    TrainHooks hooks;
    hooks.save_seconds = 0;
    hooks.save = [&](const std::string& bytes) {
      if (++saved > 2) throw std::runtime_error("broken");
      checkpoint = bytes;
    };
    const std::string from = checkpoint;
    try {
      expect_same(train(data, model, few_epochs(), hooks, from), unbroken);
      done = true;
    } catch (const std::runtime_error& error) {
      ASSERT_STREQ(error.what(), "broken");
    }
  }
  EXPECT_EQ(runs, 8);  // 15 checkpoints, two at a time
}

TEST(Train, RefusesCheckpointsOfOtherDataOrOptions) {
  const TrainingSet data = random_set(300, 200, 9);
  const ModelOptions model = small_model(Head::kPostnet);
  const TrainOptions options = few_epochs();
  const std::string checkpoint = record(data, model, options).checkpoints.at(7);
  const auto refused = [&](auto change) {
    TrainingSet other_data = data;
    ModelOptions other_model = model;
    TrainOptions other = options;
    change(other_data, other_model, other);
    return refusal_of([&] { (void)train(other_data, other_model, other, {}, checkpoint); });
  };
  const std::string message = "train: the checkpoint is of other data or other options; start anew, or give the same";
  EXPECT_EQ(refused([](auto& d, auto&, auto&) { d.train.numeric[100] += 1; }), message);
  EXPECT_EQ(refused([](auto& d, auto&, auto&) { d.train.categorical[0] ^= 1; }), message);
  EXPECT_EQ(refused([](auto& d, auto&, auto&) { d.train.label[77] ^= 1; }), message);
  EXPECT_EQ(refused([](auto& d, auto&, auto&) { d.validation.label[77] ^= 1; }), message);
  EXPECT_EQ(refused([](auto& d, auto&, auto&) { d.shape.num_tokens[1] = 51; }), message);
  EXPECT_EQ(refused([](auto&, auto& m, auto&) { m.head.regularizer *= 2; }), message);
  EXPECT_EQ(refused([](auto&, auto& m, auto&) { m.encoder.hidden = {16}; }), message);
  EXPECT_EQ(refused([](auto&, auto&, auto& o) { o.seed = 3; }), message);
  EXPECT_EQ(refused([](auto&, auto&, auto& o) { o.epochs = 4; }), message);
  EXPECT_EQ(refused([](auto&, auto&, auto& o) { o.learning_rate = 2e-2; }), message);
  // What does not change the model may differ.
  EXPECT_EQ(refused([](auto&, auto&, auto& o) { o.num_threads = 1; }), "(not refused)");
}

// A flipped bit in the numbers went unseen and ended in other weights; one in the history was a null pointer at the
// end.
TEST(Train, ADamagedCheckpointIsRefused) {
  const TrainingSet data = random_set(150, 100, 10);
  const ModelOptions model = small_model(Head::kEnsemble);
  const auto [checkpoints, unbroken] = record(data, model, few_epochs(2));
  const std::string& good = checkpoints.back();
  const auto refusal = [&](const std::string& bytes) {
    return refusal_of([&] { expect_same(train(data, model, few_epochs(2), {}, bytes), unbroken); });
  };
  EXPECT_EQ(refusal(good), "(not refused)");
  for (std::size_t size = 1; size < good.size(); size += 1 + size / 20) {
    EXPECT_THAT(refusal(good.substr(0, size)), HasSubstr("checkpoint: ")) << size;
  }
  EXPECT_THAT(refusal(detail::write_tensors({})), HasSubstr("the checkpoint is not one of limen"));
  EXPECT_THAT(refusal(unbroken.weights), HasSubstr("the checkpoint is not one of limen"));
  std::mt19937 random(11);
  std::size_t header = 0;
  std::memcpy(&header, good.data(), sizeof header);
  int refused = 0;
  for (int round = 0; round < 600; ++round) {
    std::string bad = good;
    // Half of them in the header, which is the smaller part.
    const std::size_t at = random() % (round % 2 == 0 ? header + 8 : bad.size());
    bad[at] = static_cast<char>(bad[at] ^ static_cast<char>(1U << random() % 8));
    refused += refusal(bad) != "(not refused)" ? 1 : 0;  // else the same result, as expect_same has seen
  }
  EXPECT_GT(refused, 590);
}

TEST(Train, OneClassIsRefused) {
  TrainingSet data = random_set(20, 10, 12);
  const auto refusal = [&] {
    return refusal_of([&] { (void)train(data, small_model(Head::kPostnet), few_epochs()); });
  };
  std::ranges::fill(data.train.label, std::uint8_t{0});
  EXPECT_EQ(refusal(), "train: training rows: all 20 are negative; both classes are needed");
  std::ranges::fill(data.train.label, std::uint8_t{1});
  EXPECT_EQ(refusal(), "train: training rows: all 20 are positive; both classes are needed");
  data = random_set(20, 10, 12);
  std::ranges::fill(data.validation.label, std::uint8_t{0});
  EXPECT_EQ(refusal(), "train: validation rows: all 10 are negative; both classes are needed");
  data.validation = {};
  EXPECT_THAT(refusal(), HasSubstr("train: validation rows: all 0 are negative"));
}

TEST(Train, RefusesWhatDoesNotFit) {
  const TrainingSet good = random_set(50, 50, 13);
  const auto refusal = [&](auto change) {
    TrainingSet data = good;
    ModelOptions model = small_model(Head::kEnsemble);
    TrainOptions options = few_epochs();
    change(data, model, options);
    return refusal_of([&] { (void)train(data, model, options); });
  };
  EXPECT_EQ(refusal([](auto& d, auto&, auto&) { d.train.numeric.pop_back(); }),
            "train: training rows: the arrays do not fit the number of rows");
  EXPECT_EQ(refusal([](auto& d, auto&, auto&) { d.validation.label.pop_back(); }),
            "train: validation rows: the arrays do not fit the number of rows");
  EXPECT_THAT(refusal([](auto& d, auto&, auto&) { d.train.categorical[3] = 50; }), HasSubstr("is 50, must be from 0"));
  EXPECT_EQ(refusal([](auto&, auto& m, auto&) { m.head.members = 0; }), "train: members is 0, must be 1 to 1000");
  EXPECT_EQ(refusal([](auto&, auto&, auto& o) { o.epochs = 0; }), "train: epochs is 0, must be 1 to 100000");
  EXPECT_EQ(refusal([](auto&, auto&, auto& o) { o.batch = 0; }), "train: batch is 0, must be 1 to 16777216");
  EXPECT_EQ(refusal([](auto&, auto&, auto& o) { o.learning_rate = 0; }), "train: learning_rate is 0, must be above 0");
  EXPECT_THAT(refusal([](auto&, auto&, auto& o) { o.learning_rate = std::nan(""); }), HasSubstr("must be above 0"));
  EXPECT_EQ(refusal([](auto&, auto&, auto& o) { o.weight_decay = -1; }),
            "train: weight_decay is -1, must be at least 0");
  EXPECT_EQ(refusal([](auto&, auto&, auto& o) { o.clip = -1; }), "train: clip is -1, must be at least 0");
  EXPECT_EQ(refusal([](auto&, auto&, auto& o) { o.warm_up = -1; }), "train: warm_up is -1, must be 0 to 1000");
  EXPECT_EQ(refusal([](auto&, auto&, auto& o) { o.patience = 0; }), "train: patience is 0, must be at least 1");
  EXPECT_EQ(refusal([](auto&, auto&, auto& o) { o.num_threads = -1; }),
            "train: num_threads is -1, must be 0 (all cores) to 4096");
  EXPECT_THAT(refusal([](auto&, auto&, auto& o) { o.device = "abacus"; }), HasSubstr("train: device \"abacus\""));
  EXPECT_THAT(refusal([](auto&, auto&, auto& o) {
                o.device = "cuda";
                o.network = NetworkKind::kFused;
              }),
              HasSubstr("train: device \"cuda\": the network is fused"));
}

// The networks add up in another order: after the few steps that are left, losses agree to single precision, not bits.
TEST(Train, ACheckpointOfOneNetworkGoesOnWithTheOther) {
  const TrainingSet data = random_set(320, 200, 12);
  for (const Head head : {Head::kPostnet, Head::kNatpn, Head::kEnsemble}) {
    SCOPED_TRACE(to_string(head));
    TrainOptions options[2] = {few_epochs(2), few_epochs(2)};
    options[0].network = NetworkKind::kFused;
    options[1].network = NetworkKind::kPlain;
    const ModelOptions model = small_model(head);
    for (const int first : {0, 1}) {
      const auto [checkpoints, unbroken] = record(data, model, options[first]);
      const TrainResult resumed = train(data, model, options[1 - first], {}, checkpoints.at(checkpoints.size() / 2));
      EXPECT_EQ(resumed.members, unbroken.members);
      EXPECT_NEAR(resumed.average_precision, unbroken.average_precision, 1e-2);
      ASSERT_EQ(resumed.history.size(), unbroken.history.size());
      for (std::size_t at = 0; at < unbroken.history.size(); ++at) {
        const double loss = unbroken.history[at].loss;
        EXPECT_NEAR(resumed.history[at].loss, loss, 1e-3 * std::max(1.0, std::abs(loss))) << at;
      }
      EXPECT_FALSE(resumed.weights == unbroken.weights);  // it was the other network
    }
  }
}

TEST(Train, ALostLossStopsAndSaysWhatToChange) {
  TrainOptions options = few_epochs();
  options.learning_rate = 1e30;
  options.clip = 0;
  for (const Head head : kHeads) {
    SCOPED_TRACE(to_string(head));
    const TrainResult result = train(random_set(300, 200, 14), small_model(head), options);
    EXPECT_THAT(result.diverged, HasSubstr("training stopped in epoch "));
    EXPECT_THAT(result.diverged, HasSubstr("a learning rate of 0.001, gradients clipped at 1"));
    EXPECT_EQ(result.weights.empty(), result.members == 0);
    EXPECT_EQ(result.weights.empty(), result.diverged.find("no epoch was finished") != std::string::npos);
  }
}

TEST(Train, FeaturesThatAreNotFiniteStopItWithoutWeights) {
  for (const float bad : {1e30F, std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity()}) {
    SCOPED_TRACE(bad);
    TrainingSet data = random_set(300, 200, 15);
    for (std::size_t at = 0; at < data.train.numeric.size(); at += 3) data.train.numeric[at] = bad;
    const TrainResult result = train(data, small_model(Head::kPostnet), few_epochs());
    if (std::isfinite(bad) && result.diverged.empty()) continue;  // the gradient was clipped
    EXPECT_THAT(result.diverged,
                HasSubstr("training stopped in epoch 1, batch 1: the loss is not a number; no epoch was"
                          " finished before"));
    EXPECT_TRUE(result.weights.empty());
    EXPECT_TRUE(result.history.empty());
  }
}

TEST(Train, KeepsTheBestWeightsFromBeforeTheLossWasLost) {
  // One step an epoch: the first is taken from weights that are good, and the second sees what it did.
  const TrainingSet data = random_set(300, 200, 16);
  ModelOptions model = small_model(Head::kEnsemble);
  model.head.members = 2;
  TrainOptions options = few_epochs(5);
  options.batch = 300;
  options.learning_rate = 1e4;
  options.clip = 0;
  const TrainResult result = train(data, model, options);
  EXPECT_THAT(result.diverged, HasSubstr("the weights of epoch 1 are kept"));
  EXPECT_EQ(result.members, 1);
  EXPECT_GT(result.average_precision, 0);
  for (const auto& [name, values] : arrays_of(result.weights, "0/")) {
    for (const float value : values) ASSERT_TRUE(std::isfinite(value)) << name;
  }
}

TEST(Train, SchedulesChangeTheRateWhenTheySay) {
  // One step an epoch: the rate of step n is seen in checkpoint n.
  const TrainingSet data = random_set(64, 100, 17);
  const ModelOptions model = small_model(Head::kEnsemble);
  TrainOptions options = few_epochs(10);
  options.patience = 100;
  const auto first_member = [&](Schedule schedule) {
    options.schedule = schedule;
    std::vector<std::map<std::string, std::vector<float>>> steps;
    const Recorded recorded = record_epochs(data, model, options);
    for (std::size_t at = 0; at < 10; ++at) steps.push_back(arrays_of(recorded.checkpoints.at(at), "current/layer."));
    return steps;
  };
  const auto constant = first_member(Schedule::kConstant);
  const auto cosine = first_member(Schedule::kCosine);
  const auto step = first_member(Schedule::kStep);
  EXPECT_EQ(cosine[0], constant[0]);
  for (std::size_t at = 1; at < 10; ++at) EXPECT_NE(cosine[at], constant[at]) << at;
  // Shares 0 to 0.5 are the first six steps; a third from 0.6.
  for (std::size_t at = 0; at < 6; ++at) EXPECT_EQ(step[at], constant[at]) << at;
  EXPECT_NE(step[6], constant[6]);
  // The step that Adam takes is proportional to the rate. Its inputs are the same in step 6 alone.
  const auto& before = constant[5].at("0.bias");
  int moved = 0;
  for (std::size_t at = 0; at < before.size(); ++at) {
    const double whole = static_cast<double>(constant[6].at("0.bias")[at]) - static_cast<double>(before[at]);
    const double third = static_cast<double>(step[6].at("0.bias")[at]) - static_cast<double>(before[at]);
    // Differences of 32-bit numbers below 1: an error of 1e-7 at most.
    EXPECT_NEAR(third, whole / 3, 2e-7);
    moved += std::abs(whole) > 1e-4 ? 1 : 0;
  }
  EXPECT_GT(moved, 0);
}

TEST(Train, WarmUpComesFirstAndCounts) {
  const TrainingSet data = random_set(300, 200, 18);
  TrainOptions options = few_epochs(2);
  options.warm_up = 2;
  std::vector<EpochReport> seen;
  TrainHooks hooks;
  hooks.epoch = [&](const EpochReport& report) { seen.push_back(report); };
  const TrainResult result = train(data, small_model(Head::kPostnet), options, hooks);
  ASSERT_EQ(result.history.size(), 4U);
  ASSERT_EQ(seen.size(), 4U);
  for (std::size_t at = 0; at < 4; ++at) {
    EXPECT_EQ(result.history[at].epoch, static_cast<int>(at) + 1);
    EXPECT_EQ(result.history[at].stage == Stage::kWarmUp, at < 2);
    EXPECT_EQ(result.history[at].average_precision > 0, at >= 2);
    EXPECT_EQ(seen[at].loss, result.history[at].loss);
    EXPECT_GT(seen[at].rows_per_second, 0);
  }
  EXPECT_TRUE(result.history[2].is_best);
  // Unset: one epoch for a wide latent space, none else; and none for heads without densities.
  const auto warm_ups = [&](const ModelOptions& model, std::optional<int> warm_up) {
    TrainOptions other = few_epochs(1);
    other.warm_up = warm_up;
    return std::ranges::count(train(data, model, other).history, Stage::kWarmUp, &EpochReport::stage);
  };
  ModelOptions wide = small_model(Head::kPostnet);
  wide.head.latent = 32;
  EXPECT_EQ(warm_ups(wide, std::nullopt), 1);
  EXPECT_EQ(warm_ups(wide, 0), 0);
  EXPECT_EQ(warm_ups(small_model(Head::kPostnet), std::nullopt), 0);
  EXPECT_EQ(warm_ups(small_model(Head::kMcDropout), 3), 0);
}

TEST(Train, HooksDoNotChangeTheResult) {
  const TrainingSet data = random_set(300, 200, 19);
  const ModelOptions model = small_model(Head::kPostnet);
  TrainHooks hooks;
  hooks.progress = [](const TrainProgress& progress) {
    EXPECT_LE(progress.rows_done, progress.num_rows);
    EXPECT_GE(progress.seconds_left, 0);
  };
  hooks.epoch = [](const EpochReport&) {};
  hooks.save = [](const std::string&) {};
  hooks.save_seconds = 0;
  expect_same(train(data, model, few_epochs(), hooks), train(data, model, few_epochs()));
}

TEST(Train, OneRowBatchesAndBatchesLargerThanTheDataWork) {
  const TrainingSet data = random_set(30, 40, 20);
  for (const int batch : {1, 7, 30, 1000}) {
    TrainOptions options = few_epochs(1);
    options.batch = batch;
    const TrainResult result = train(data, small_model(Head::kPostnet), options);
    EXPECT_EQ(result.history.size(), 1U) << batch;
    EXPECT_FALSE(result.weights.empty()) << batch;
  }
}

std::size_t training_epochs(const TrainResult& result) {
  return static_cast<std::size_t>(std::ranges::count_if(
      result.history, [](const EpochReport& report) { return report.stage == Stage::kTraining; }));
}

TEST(Train, WithoutANumberOfEpochsItGoesOnWhileTheyBringMuch) {
  const TrainingSet data = random_set(2000, 1000, 22);
  TrainOptions six = few_epochs(6);
  TrainOptions unset = six;
  unset.epochs = std::nullopt;
  // Learnt within the first epochs: one round.
  six.learning_rate = unset.learning_rate = 5e-2;
  const TrainResult quick = train(data, small_model(Head::kNatpn), unset);
  expect_same(quick, train(data, small_model(Head::kNatpn), six));
  EXPECT_EQ(training_epochs(quick), 6U);
  // Learnt slowly: the first round is that of six epochs, and two more follow. Each begins at the full learning rate,
  // so that training that was broken in any of them has to know which one it is.
  six.learning_rate = unset.learning_rate = 7e-5;
  const auto [checkpoints, slow] = record_epochs(data, small_model(Head::kNatpn), unset);
  EXPECT_EQ(training_epochs(slow), 42U);
  const TrainResult first = train(data, small_model(Head::kNatpn), six);
  for (std::size_t epoch = 0; epoch < 9; ++epoch) EXPECT_EQ(slow.history[epoch].loss, first.history[epoch].loss);
  EXPECT_GT(slow.average_precision, first.average_precision + 0.1);
  for (const std::size_t at : {8U, 9U, 15U, 30U, 46U}) {
    expect_same(train(data, small_model(Head::kNatpn), unset, {}, checkpoints.at(at)), slow);
  }
  // The figure that is selected by decides.
  unset.selection = Selection::kLogLoss;
  unset.learning_rate = 1e-6;
  EXPECT_EQ(training_epochs(train(data, small_model(Head::kNatpn), unset)), 6U);
}

TEST(Train, BatchesOfFewRowsAreSmaller) {
  EXPECT_EQ(default_batch(1), 256);
  EXPECT_EQ(default_batch(99'999), 256);
  EXPECT_EQ(default_batch(100'000), 1024);
  const TrainingSet data = random_set(700, 100, 22);
  TrainOptions unset = few_epochs(2);
  unset.batch = std::nullopt;
  TrainOptions given = few_epochs(2);
  given.batch = 256;
  TrainOptions other = few_epochs(2);
  other.batch = 1024;
  const TrainResult result = train(data, small_model(Head::kPostnet), unset);
  expect_same(result, train(data, small_model(Head::kPostnet), given));
  EXPECT_NE(result.weights, train(data, small_model(Head::kPostnet), other).weights);
}

TEST(Train, AttentionLearnsInSmallerStepsUnlessToldOtherwise) {
  const TrainingSet data = random_set(300, 100, 23);
  for (const auto& [kind, rate] : {std::pair(EncoderKind::kMlp, 2e-3), std::pair(EncoderKind::kSam, 1e-3),
                                   std::pair(EncoderKind::kFtTransformer, 1e-4)}) {
    EXPECT_EQ(default_learning_rate(kind), rate);
    ModelOptions model = small_model(Head::kPostnet);
    model.encoder.kind = kind;
    TrainOptions unset = few_epochs(1);
    unset.learning_rate = std::nullopt;
    TrainOptions given = few_epochs(1);
    given.learning_rate = rate;
    const TrainResult result = train(data, model, unset);
    expect_same(result, train(data, model, given));
    EXPECT_NE(result.weights, train(data, model, few_epochs(1)).weights);
  }
}

TEST(Train, NumbersOrCategoriesAloneAreEnough) {
  TrainingSet numbers = random_set(100, 100, 21);
  numbers.shape.num_tokens = {};
  TrainingSet categories = random_set(100, 100, 21);
  categories.shape.num_numeric = 0;
  for (FeatureRows* rows : {&numbers.train, &numbers.validation}) rows->categorical.clear();
  for (FeatureRows* rows : {&categories.train, &categories.validation}) rows->numeric.clear();
  for (const TrainingSet* data : {&numbers, &categories}) {
    const auto [checkpoints, result] = record(*data, small_model(Head::kPostnet), few_epochs(1));
    expect_same(train(*data, small_model(Head::kPostnet), few_epochs(1), {}, checkpoints.at(0)), result);
  }
}

}  // namespace
}  // namespace limen::train
