// SPDX-License-Identifier: MIT
#include "limen/train/train_table.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <random>

#include "limen/base/error.h"
#include "limen/base/undersampling.h"
#include "limen/train/table_parts.h"
#include "support/customers.h"
#include "support/rank_correlation.h"
#include "support/refusal.h"
#include "support/temporary_folder.h"

namespace limen::train {
namespace {

using test::customers;
using test::numbers_of;
using test::refusal_of;
using testing::ElementsAre;
using testing::StartsWith;

constexpr std::size_t kRows = 600;

/// Small and quick.
TrainTableOptions small_options() {
  TrainTableOptions options;
  options.features.label = "bought";
  options.features.num_threads = 1;
  options.model.encoder.hidden = {8};
  options.model.encoder.dropout = 0;
  options.model.head.kind = Head::kPostnet;
  options.model.head.latent = 2;
  options.model.head.flows = 2;
  options.training = {.epochs = 2, .batch = 64, .learning_rate = 0.01, .num_threads = 1};
  return options;
}

TableSplit by_day() { return {.time_column = "day"}; }

/// The weights, and all that the folder says but the speed.
struct Written {
  std::string weights;
  nlohmann::json card;
  bool operator==(const Written&) const = default;
};

Written written(const TrainTableResult& result) {
  const test::TemporaryFolder folder;
  result.model.value().save(folder.path(""));
  nlohmann::json card = nlohmann::json::parse(folder.read("model.json"));
  for (nlohmann::json& epoch : card["history"]) {
    epoch.erase("seconds");
    epoch.erase("rows_per_second");
  }
  return {folder.read("weights.safetensors"), std::move(card)};
}

TrainTableResult trained(const Frame& frame, const TrainTableOptions& options) {
  return train_table(frame_source("shop", frame), options);
}

std::string weights_of(const Frame& frame, const TrainTableOptions& options) {
  return trained(frame, options).training.weights;
}

/// The table in batches of so many rows, with just the columns that are asked for, in reverse.
FrameSource in_batches(const Frame& frame, std::size_t batch) {
  FrameSource source = frame_source("shop", frame);
  source.read = [frame, batch](std::span<const std::string> columns, const auto& visit) {
    Frame asked{.num_rows = frame.num_rows};
    for (const Column& column : frame.columns) {
      if (std::ranges::find(columns, column.name) != columns.end()) asked.columns.push_back(column);
    }
    std::ranges::reverse(asked.columns);
    for (std::size_t begin = 0; begin < frame.num_rows; begin += batch) {
      visit(test::slice(asked, begin, std::min(begin + batch, frame.num_rows)));
    }
  };
  return source;
}

/// Another value of every feature, in rows of this part or out of it.
Frame with_changed_features(Frame frame, const std::vector<Part>& parts, Part part, bool inside) {
  for (std::size_t row = 0; row < frame.num_rows; ++row) {
    if ((parts[row] == part) != inside) continue;
    numbers_of(frame, "age")[row] = 1e6 + static_cast<double>(row);
    numbers_of(frame, "plan")[row] = 77;
  }
  return frame;
}

TEST(TrainTable, LearnsWhatTheColumnsTell) {
  TrainTableOptions options = small_options();
  options.rows.split = TableSplit{};
  options.training.epochs = 8;
  const Frame frame = customers(2000, 1);
  const TrainTableResult result = trained(frame, options);
  EXPECT_GT(result.training.roc_auc, 0.75);  // 0.5 is that of a score that says nothing
  EXPECT_THAT(result.identifiers, ElementsAre("id"));
  EXPECT_EQ(result.rows.read, 2000U);
  EXPECT_EQ(result.rows.dropped, 0U);
  const std::vector<Part> parts = parts_of_rows(result.model->card().split, frame, 0);
  EXPECT_EQ(result.rows.learned + result.rows.validated,
            static_cast<std::uint64_t>(std::ranges::count(parts, Part::kTrain)));
  // A tenth of about 1,200 rows, within five standard deviations.
  EXPECT_NEAR(static_cast<double>(result.rows.validated), 120, 55);
  // The model is ready: rows that it has not seen are told apart, too.
  const Frame fresh = customers(500, 2);
  const FeatureRows rows = result.model->features().encode(fresh);
  const Prediction prediction = result.model->predict(rows);
  double positive = 0;
  double negative = 0;
  for (std::size_t row = 0; row < 500; ++row) (rows.label[row] == 1 ? positive : negative) += prediction.score[row];
  const auto positives = static_cast<double>(std::ranges::count(rows.label, 1));
  EXPECT_GT(positive / positives, 1.5 * negative / (500 - positives));
}

TEST(TrainTable, BatchesOfAnySizeGiveTheSameModel) {
  for (const bool by_time : {false, true}) {
    SCOPED_TRACE(by_time);
    TrainTableOptions options = small_options();
    options.rows.split = by_time ? by_day() : TableSplit{};
    options.rows.tau = 2;
    options.features.drop = {"id"};
    const Frame frame = customers(kRows, 1);
    const Written whole = written(trained(frame, options));
    for (const std::size_t batch : {std::size_t{1}, std::size_t{7}, std::size_t{256}, kRows}) {
      SCOPED_TRACE(batch);
      const Written other = written(train_table(in_batches(frame, batch), options));
      EXPECT_TRUE(other.weights == whole.weights);
      EXPECT_EQ(other.card["split"], whole.card["split"]);
      EXPECT_EQ(other.card["metrics"], whole.card["metrics"]);
    }
  }
}

// In memory a source may hand over more columns than it was asked for.
TEST(TrainTable, ColumnsThatWereNotAskedForAreNoFeatures) {
  TrainTableOptions options = small_options();
  options.features.drop = {"id", "income", "day"};
  const Frame frame = customers(kRows, 1);
  const TrainTableResult result = trained(frame, options);
  std::vector<std::string> names;
  for (const ColumnUse& column : result.model->features().columns()) names.push_back(column.name);
  EXPECT_THAT(names, ElementsAre("age", "city", "plan"));
  Frame without = frame;
  std::erase_if(without.columns, [&](const Column& column) {
    return std::ranges::find(options.features.drop, column.name) != options.features.drop.end();
  });
  options.features.drop.clear();
  EXPECT_TRUE(weights_of(without, options) == result.training.weights);
  // Not even one whose name is a feature's in a table of its own.
  FrameSource narrow = frame_source("shop", frame);
  narrow.columns = {"age", "city", "plan", "bought"};
  EXPECT_TRUE(train_table(narrow, options).training.weights == result.training.weights);
}

// A dropped column of times still parts the table, and says nothing else.
TEST(TrainTable, SplitByTimeLearnsFromTheEarliestRowsOnly) {
  TrainTableOptions options = small_options();
  options.features.drop = {"id", "day"};
  options.rows.split = by_day();
  options.rows.validation = ValidationShare{0.25};
  const Frame frame = customers(kRows, 1);
  const TrainTableResult result = trained(frame, options);
  const SplitUse& split = result.model->card().split.value();
  const std::vector<double> times = times_of_rows(split, frame, 0);
  const std::vector<Part> parts = split_by_time(times, {.fractions = {0.6, 0.2, 0.2}});
  EXPECT_EQ(parts_of_rows(split, frame, 0), parts);
  const auto before = [&](double end) {
    return static_cast<std::uint64_t>(std::ranges::count_if(times, [&](double time) { return time < end; }));
  };
  EXPECT_EQ(result.rows.learned, before(split.validation_from.value()));
  EXPECT_EQ(result.rows.learned + result.rows.validated, before(split.cuts.holdout_from));
  // Rows of a day stay together: two here, or four.
  EXPECT_NEAR(static_cast<double>(result.rows.validated), 0.25 * 0.6 * kRows, 4);
  const auto same_with = [&](bool inside) {
    return weights_of(with_changed_features(frame, parts, Part::kTrain, inside), options) == result.training.weights;
  };
  EXPECT_TRUE(same_with(false));
  EXPECT_FALSE(same_with(true));
}

TEST(TrainTable, RowsOutsideTheTrainingPartHaveNoBearing) {
  TrainTableOptions options = small_options();
  options.features.drop = {"id"};
  options.rows.split = TableSplit{.fractions = {0.5, 0.5, 0}};
  options.rows.seed = 4;
  const Frame frame = customers(kRows, 1);
  const std::string weights = weights_of(frame, options);
  const std::vector<Part> parts = split_rows(0, kRows, {.fractions = {0.5, 0.5, 0}, .seed = 4});
  EXPECT_TRUE(weights_of(with_changed_features(frame, parts, Part::kHoldout, true), options) == weights);
  EXPECT_FALSE(weights_of(with_changed_features(frame, parts, Part::kHoldout, false), options) == weights);
}

TEST(TrainTable, SeedsOfRowsAndOfTrainingAreApart) {
  TrainTableOptions options = small_options();
  options.rows.split = TableSplit{};
  const Frame frame = customers(kRows, 1);
  const Written first = written(trained(frame, options));
  options.training.seed = 9;
  const Written retrained = written(trained(frame, options));
  EXPECT_FALSE(retrained.weights == first.weights);
  EXPECT_EQ(retrained.card["split"], first.card["split"]);
  EXPECT_EQ(retrained.card["features"], first.card["features"]);
  options.rows.seed = 9;
  EXPECT_NE(written(trained(frame, options)).card["features"], first.card["features"]);
}

TEST(TrainTable, TauKeepsTheNegativesThatUndersamplingKeeps) {
  TrainTableOptions options = small_options();
  options.rows.validation = frame_source("later", customers(200, 3));
  options.rows.tau = 4;
  options.rows.seed = 11;
  Frame frame = customers(kRows, 1);
  const Undersampling undersampling(4, 11);
  std::array<double, 2> kept = {};
  for (std::size_t row = 0; row < kRows; ++row) {
    const bool is_positive = numbers_of(frame, "bought")[row] == 1;
    if (is_positive || undersampling.keeps(row)) kept[is_positive ? 1 : 0] += 1;
  }
  EXPECT_LT(kept[0], 200);  // of about 450
  const TrainTableResult result = trained(frame, options);
  EXPECT_EQ(result.model->card().class_counts, kept);
  EXPECT_EQ(static_cast<double>(result.rows.learned), kept[0] + kept[1]);
  EXPECT_EQ(result.rows.validated, 200U);  // at the natural rate
}

TEST(TrainTable, MissingLabelsAreRefusedOrLeftOut) {
  Frame frame = customers(kRows, 1);
  for (const std::size_t row : {100U, 350U, 599U}) numbers_of(frame, "bought")[row] = std::nan("");
  TrainTableOptions options = small_options();
  options.rows.split = TableSplit{};  // in whatever part
  for (const std::size_t batch : {std::size_t{64}, kRows}) {
    EXPECT_THAT(refusal_of([&] { (void)train_table(in_batches(frame, batch), options); }),
                StartsWith("shop: row 101: column \"bought\": the label is missing, must be "));
  }
  options.rows.split.reset();
  options.rows.drop_missing = true;
  const TrainTableResult result = trained(frame, options);
  EXPECT_EQ(result.rows.read, kRows);
  EXPECT_EQ(result.rows.dropped, 3U);
  EXPECT_EQ(result.rows.learned + result.rows.validated, kRows - 3);
  // What these rows have in other columns is not learned either.
  Frame other = frame;
  for (const std::size_t row : {100U, 350U, 599U}) numbers_of(other, "income")[row] = 1e9;
  EXPECT_TRUE(weights_of(other, options) == result.training.weights);

  Frame later = customers(200, 3);
  numbers_of(later, "bought")[5] = std::nan("");
  options.rows.validation = frame_source("later", later);
  EXPECT_EQ(trained(frame, options).rows.dropped, 4U);
  options.rows.drop_missing = false;
  EXPECT_THAT(refusal_of([&] { (void)trained(customers(kRows, 1), options); }),
              StartsWith("later: row 6: column \"bought\": the label is missing, must be "));
}

TEST(TrainTable, RowsOfAnotherTableMayChooseTheEpoch) {
  TrainTableOptions options = small_options();
  options.features.drop = {"id"};
  const Frame frame = customers(kRows, 1);
  const Frame later = customers(200, 3);
  options.rows.validation = frame_source("later", later);
  const TrainTableResult result = trained(frame, options);
  EXPECT_EQ(result.rows.read, kRows);
  EXPECT_EQ(result.rows.learned, kRows);
  EXPECT_EQ(result.rows.validated, 200U);
  // They are what the epochs were judged by.
  const FeatureTransform& features = result.model->features();
  const TrainingSet set = {features.shape(), features.encode(frame), features.encode(later)};
  const TrainResult direct = train(set, options.model, options.training);
  EXPECT_EQ(direct.average_precision, result.training.average_precision);
  EXPECT_TRUE(direct.weights == result.training.weights);

  options.rows.validation = frame_source("later", test::slice(later, 0, 1));
  EXPECT_THAT(refusal_of([&] { (void)trained(frame, options); }), StartsWith("shop: validation rows: all 1 are "));
  Frame narrow = later;
  std::erase_if(narrow.columns, [](const Column& column) { return column.name == "city"; });
  narrow.columns.push_back(test::text_column("cty", std::vector<std::string>(200, "city1")));
  options.rows.validation = frame_source("later", narrow);
  EXPECT_EQ(refusal_of([&] { (void)trained(frame, options); }), "later: has no column \"city\"; did you mean \"cty\"?");
}

TEST(TrainTable, LabelsOfOneClassAreRefused) {
  Frame frame = customers(kRows, 1);
  std::ranges::fill(numbers_of(frame, "bought"), 0);
  EXPECT_EQ(refusal_of([&] { (void)trained(frame, small_options()); }),
            "shop: column \"bought\": has only negative rows (values \"0\"), two classes were needed");
  // The only positives are among the rows that choose the epoch.
  TrainTableOptions options = small_options();
  options.rows.split = by_day();
  numbers_of(frame, "bought")[355] = 1;
  EXPECT_THAT(refusal_of([&] { (void)trained(frame, options); }), StartsWith("shop: column \"bought\": has only neg"));
}

TEST(TrainTable, ATableWithoutRowsIsRefused) {
  FrameSource source = frame_source("shop", customers(kRows, 1));
  source.read = [](auto, const auto&) {};
  EXPECT_EQ(refusal_of([&] { (void)train_table(source, small_options()); }),
            "shop: there are no training rows, at least one was needed");
}

TEST(TrainTable, ColumnsThatAreNotThereAreRefused) {
  const Frame frame = customers(kRows, 1);
  const auto refusal = [&](const auto& change) {
    TrainTableOptions options = small_options();
    change(options);
    return refusal_of([&] { (void)trained(frame, options); });
  };
  EXPECT_EQ(refusal([](auto& options) { options.features.label = "bougth"; }),
            "shop: has no column \"bougth\"; did you mean \"bought\"?");
  EXPECT_EQ(refusal([](auto& options) { options.features.drop = {"cty"}; }),
            "shop: has no column \"cty\"; did you mean \"city\"?");
  EXPECT_EQ(refusal([](auto& options) { options.rows.split = TableSplit{.time_column = "dya"}; }),
            "shop: has no column \"dya\"; did you mean \"day\"?");
  EXPECT_EQ(refusal([](auto& options) { options.features.numeric = {"aeg"}; }),
            "shop: numeric names column \"aeg\", which is not there; did you mean \"age\"?");
  FrameSource forgetful = frame_source("shop", frame);
  forgetful.read = [&](auto, const auto& visit) {
    visit(test::slice(frame, 0, 10));
    Frame rest = test::slice(frame, 10, kRows);
    rest.columns.pop_back();
    visit(rest);
  };
  EXPECT_EQ(refusal_of([&] { (void)train_table(forgetful, small_options()); }),
            "shop: column \"bought\" is missing from row 11 on");
  Frame uneven = frame;
  numbers_of(uneven, "bought").pop_back();
  EXPECT_EQ(refusal_of([&] { (void)trained(uneven, small_options()); }),
            "shop: column \"bought\": has 599 rows, the frame has 600");
}

// Features that were fitted on other rows than the network is trained on.
TEST(TrainTable, ATableThatChangesBetweenPassesIsRefused) {
  const Frame frame = customers(kRows, 1);
  Frame relabelled = frame;
  for (double& label : numbers_of(relabelled, "bought")) label = 1 - label;
  const auto refusal = [&](const Frame& later, const std::optional<TableSplit>& split) {
    FrameSource source = frame_source("shop", frame);
    int passes = 0;
    source.read = [&](auto, const auto& visit) { visit(passes++ == 0 ? frame : later); };
    TrainTableOptions options = small_options();
    options.rows.split = split;
    try {
      (void)train_table(source, options);
    } catch (const InvalidInput& error) {
      EXPECT_EQ(error.cause(), Cause::kFileChanged);
      return std::string(error.what());
    }
    return std::string("(not refused)");
  };
  const Frame shorter = test::slice(frame, 0, kRows - 1);
  EXPECT_EQ(refusal(shorter, std::nullopt), "shop: has 599 rows, it had 600 when it was first read");
  EXPECT_EQ(refusal(shorter, by_day()), "shop: has 599 rows, it had 600 when it was first read");
  EXPECT_EQ(refusal(relabelled, std::nullopt), "shop: has other labels than when it was first read");
}

TEST(TrainTable, HooksTellFeaturesAndRowsBeforeTheFirstEpoch) {
  std::vector<std::string> told;
  TrainTableHooks hooks;
  hooks.features = [&](const FeatureTransform& features) {
    told.push_back("left out " + features.identifiers().at(0));
  };
  hooks.rows = [&](const RowsUsed& rows) { told.push_back(std::to_string(rows.learned + rows.validated) + " rows"); };
  hooks.training.epoch = [&](const EpochReport& report) { told.push_back("epoch " + std::to_string(report.epoch)); };
  (void)train_table(frame_source("shop", customers(kRows, 1)), small_options(), hooks);
  EXPECT_THAT(told, ElementsAre("left out id", "600 rows", "epoch 1", "epoch 2"));
}

TEST(TrainTable, GoesOnFromACheckpoint) {
  const FrameSource table = frame_source("shop", customers(kRows, 1));
  TrainTableOptions options = small_options();
  options.training.epochs = 4;
  std::vector<std::string> checkpoints;
  TrainTableHooks hooks;
  hooks.training.save = [&](const std::string& checkpoint) { checkpoints.push_back(checkpoint); };
  const TrainTableResult whole = train_table(table, options, hooks);
  ASSERT_EQ(checkpoints.size(), 4U);
  std::vector<int> epochs;
  TrainTableHooks later;
  later.training.epoch = [&](const EpochReport& report) { epochs.push_back(report.epoch); };
  const TrainTableResult resumed = train_table(table, options, later, checkpoints[1]);
  EXPECT_THAT(epochs, ElementsAre(3, 4));
  EXPECT_TRUE(resumed.training.weights == whole.training.weights);
  EXPECT_EQ(written(resumed).card, written(whole).card);
  // The caller knows the checkpoint's name.
  options.training.seed = 1;
  EXPECT_EQ(refusal_of([&] { (void)train_table(table, options, later, checkpoints[1]); }),
            "train: the checkpoint is of other data or other options; start anew, or give the same");
}

TEST(TrainTable, ALossThatIsLostAtOnceGivesNoModel) {
  TrainTableOptions options = small_options();
  options.training.learning_rate = 1e30;
  options.training.clip = 0;
  const TrainTableResult result = trained(customers(kRows, 1), options);
  EXPECT_FALSE(result.model.has_value());
  EXPECT_THAT(result.training.diverged, StartsWith("training stopped in epoch 1"));
}

TEST(TrainTable, OptionsAreChecked) {
  const auto refusal = [](const auto& change) {
    TrainTableOptions options = small_options();
    change(options);
    const std::string message = refusal_of([&] { validate(options); });
    EXPECT_EQ(refusal_of([&] { (void)train_table(frame_source("shop", customers(20, 1)), options); }), message);
    return message;
  };
  EXPECT_EQ(refusal([](auto& options) { options.features.label = ""; }),
            "train_table: features.label is empty, must be the name of the label's column");
  EXPECT_EQ(
      refusal([](auto& options) { options.features.drop = {"bought"}; }),
      "features: column \"bought\" is named twice, must be only one of numeric, categorical, date, drop and label");
  EXPECT_EQ(refusal([](auto& options) { options.features.numeric_knots = 2000; }),
            "features: numeric_knots is 2000, must be 0 to 1,024");
  EXPECT_THAT(refusal([](auto& options) { options.training.epochs = 0; }), testing::HasSubstr("epochs is 0, must be"));
  EXPECT_EQ(refusal([](auto& options) { options.rows.tau = 0.5; }), "train_table: rows.tau is 0.5, must be 1 to 1e9");
  EXPECT_EQ(refusal([](auto& options) {
              options.rows.split = TableSplit{.fractions = {0.5, 0.2, 0}};
            }),
            "split: shares add up to 0.7, must be 1");
  for (const double share : {0.0, 1.0, -0.5, std::nan("")}) {
    EXPECT_THAT(refusal([&](auto& options) { options.rows.validation = ValidationShare{share}; }),
                testing::AllOf(StartsWith("train_table: rows.validation.share is "),
                               testing::EndsWith(", must be above 0 and below 1")));
  }
  EXPECT_EQ(refusal([](auto& options) { options.rows.validation = FrameSource{}; }),
            "train_table: rows.validation.read is empty, must read the rows");
  EXPECT_EQ(refusal_of([] { (void)train_table({}, small_options()); }),
            "train_table: read is empty, must read the rows");
  // A column that is not read may be named as often as one likes.
  TrainTableOptions options = small_options();
  options.features.drop = {"id", "id"};
  EXPECT_EQ(refusal_of([&] { validate(options); }), "(not refused)");
}

/// Shops of few and of many rows: all that a row tells of its label is its shop.
Frame shops(std::size_t num_rows, unsigned seed) {
  constexpr std::size_t kShops = 300;
  std::mt19937 random(seed);
  const auto uniform = [&] { return (static_cast<double>(random()) + 0.5) / 4294967296.0; };
  std::mt19937 rates(7);
  std::vector<double> rate;
  for (std::size_t shop = 0; shop < kShops; ++shop)
    rate.push_back(0.02 + 0.6 * static_cast<double>(rates() % 1000) / 1000);
  TextValues shop;
  for (std::size_t at = 0; at < kShops; ++at) shop.distinct.push_back("shop " + std::to_string(at));
  NumberValues label;
  NumberValues noise;
  for (std::size_t row = 0; row < num_rows; ++row) {
    const double place = uniform();
    const auto of = static_cast<std::size_t>(static_cast<double>(kShops) * place * place * place);
    shop.code.push_back(static_cast<std::int32_t>(of));
    label.push_back(uniform() < rate[of] ? 1 : 0);
    noise.push_back(uniform());
  }
  return {.num_rows = num_rows, .columns = {{"shop", shop}, {"noise", noise}, {"label", label}}};
}

TEST(TrainTable, CountsTheRowsBehindAValueOfMany) {
  TrainTableOptions options = small_options();
  options.features.label = "label";
  options.rows.tau = 2;
  options.training.epochs = 6;
  options.learns_evidence = false;
  const Frame frame = shops(30'000, 1);
  const TrainTableResult result = trained(frame, options);
  EXPECT_THAT(result.model->rated_features(), ElementsAre("shop"));
  const Frame other = shops(4'000, 2);
  const Prediction prediction =
      result.model->predict(result.model->features().encode(other, {.labels = LabelUse::kIgnore}));
  std::map<std::int32_t, double> rows;
  for (const std::int32_t shop : std::get<TextValues>(frame.columns[0].values).code) ++rows[shop];
  // Rank correlation of the evidence with the number of rows of the shop.
  std::vector<double> counted;
  for (const std::int32_t shop : std::get<TextValues>(other.columns[0].values).code) counted.push_back(rows[shop]);
  EXPECT_GT(test::rank_correlation(prediction.counted_evidence, counted), 0.7);
  // Without rates there is no such evidence.
  options.has_rates = false;
  EXPECT_FALSE(trained(frame, options)
                   .model->predict(result.model->features().encode(other, {.labels = LabelUse::kIgnore}))
                   .has(Uncertainty::kCountedEvidence));
}

TEST(TrainTable, AFolderWithRatesReadsBack) {
  TrainTableOptions options = small_options();
  options.features.label = "label";
  const TrainTableResult result = trained(shops(3'000, 1), options);
  const FeatureRows rows = result.model->features().encode(shops(200, 2), {.labels = LabelUse::kIgnore});
  const test::TemporaryFolder folder;
  result.model->save(folder.path(""));
  const Model read = Model::load(folder.path(""));
  EXPECT_EQ(read.predict(rows).score, result.model->predict(rows).score);
  EXPECT_EQ(read.predict(rows).counted_evidence, result.model->predict(rows).counted_evidence);
  EXPECT_EQ(read.predict(rows, Uncertainty::kCountedEvidence).counted_evidence, read.predict(rows).counted_evidence);
  EXPECT_EQ(read.predict(rows, Uncertainty::kEntropy).entropy, read.predict(rows).entropy);
  EXPECT_FALSE(read.predict(rows, Uncertainty::kEntropy).has(Uncertainty::kCountedEvidence));
  EXPECT_EQ(read.uncertainty(), result.model->uncertainty());
  EXPECT_EQ(read.card().uncertainty->why, result.model->card().uncertainty->why);
  std::string rates = folder.read("rates.json");
  rates[rates.find("\"tau\":") + 7] = '2';
  folder.write("rates.json", rates);
  EXPECT_THAT(refusal_of([&] { (void)Model::load(folder.path("")); }), testing::HasSubstr("rates.json"));
}

TEST(TrainTable, ValidationLabelsHaveNoPartInTheRatesThatChooseTheEpoch) {
  // The labels of the validation rows change: the network that is trained stays the same, the rates of the model do
  // not.
  TrainTableOptions options = small_options();
  options.features.label = "label";
  options.training.epochs = 1;
  options.training.warm_up = 0;
  Frame frame = shops(3'000, 1);
  const TrainTableResult before = trained(frame, options);
  const std::vector<Part> parts =
      split_rows(0, frame.num_rows, {.fractions = {0.9, 0.1, 0}, .seed = options.rows.seed + 1});
  NumberValues& labels = numbers_of(frame, "label");
  for (std::size_t row = 0; row < frame.num_rows; ++row) {
    if (parts[row] == Part::kHoldout) labels[row] = row % 2 == 0 ? 1 : 0;
  }
  const TrainTableResult after = trained(frame, options);
  EXPECT_EQ(before.training.weights, after.training.weights);
  const FeatureRows rows = after.model->features().encode(shops(200, 2), {.labels = LabelUse::kIgnore});
  EXPECT_NE(before.model->predict(rows).score, after.model->predict(rows).score);
}

TEST(TrainTable, EvidenceFallsForValuesThatTrainingNeverHad) {
  TrainTableOptions options = small_options();
  options.model.head.kind = Head::kNatpn;
  options.features.drop = {"id"};
  const Frame frame = customers(3000, 1);
  const TrainTableResult result = trained(frame, options);
  const auto evidence_of = [&](const Frame& rows) {
    return result.model->predict(result.model->features().encode(rows, {.labels = LabelUse::kIgnore})).evidence;
  };
  const std::vector<double> known = evidence_of(frame);
  for (const char* name : {"city", "income"}) {
    SCOPED_TRACE(name);
    Frame changed = frame;
    for (Column& column : changed.columns) {
      if (column.name != name) continue;
      if (auto* text = std::get_if<TextValues>(&column.values)) {
        for (std::string& value : text->distinct) value += " never seen";
      } else {
        for (double& value : std::get<NumberValues>(column.values)) value = 1e9;
      }
    }
    const std::vector<double> unknown = evidence_of(changed);
    std::size_t lower = 0;
    for (std::size_t row = 0; row < known.size(); ++row) lower += unknown[row] < known[row] ? 1 : 0;
    EXPECT_GE(static_cast<double>(lower), 0.95 * static_cast<double>(known.size()));
  }
}

}  // namespace
}  // namespace limen::train
