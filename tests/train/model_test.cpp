// SPDX-License-Identifier: MIT
#include "limen/train/model.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cmath>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <random>
#include <set>

#include "limen/uncertainty/beta.h"
#include "predicting.h"
#include "support/frames.h"
#include "support/refusal.h"
#include "support/temporary_folder.h"
#include "support/training_sets.h"

namespace limen::train {
namespace {

using test::message_of;
using test::refusal_of;
using test::small_model;
using test::TemporaryFolder;
using testing::HasSubstr;
using Json = nlohmann::json;

constexpr Head kHeads[] = {Head::kPostnet, Head::kNatpn, Head::kMcDropout, Head::kEnsemble};

Frame random_frame(std::size_t num_rows, unsigned seed) {
  std::mt19937 random(seed);
  std::vector<double> age;
  std::vector<std::string> city;
  std::vector<double> label;
  for (std::size_t row = 0; row < num_rows; ++row) {
    age.push_back(static_cast<double>(random() % 100));
    city.push_back(std::string(1, static_cast<char>('a' + random() % 6)));
    label.push_back(age.back() + (city.back() < "c" ? 40 : 0) + static_cast<double>(random() % 20) > 90 ? 1 : 0);
  }
  return test::frame_of(
      {test::number_column("age", age), test::text_column("city", city), test::number_column("bought", label)});
}

Model make_model(Head head, std::uint64_t seed = 0) {
  const Frame frame = random_frame(400, 1);
  FeatureFitter fitter({.label = "bought"});
  fitter.add(frame);
  FeatureTransform transform = fitter.finish();
  const TrainingSet data = {transform.shape(), transform.encode(frame), transform.encode(random_frame(200, 2))};
  ModelCard card;
  card.model = small_model(head);
  card.training.epochs = 2;
  card.training.batch = 64;
  card.training.seed = seed;
  card.training.num_threads = 2;
  card.split = SplitUse{.options = {.fractions = {0.5, 0.25, 0.25}, .tau = 2, .seed = 9},
                        .time_column = "when",
                        .time_format = DateFormat::kYymmddhh,
                        .cuts = {10.5, 20.25},
                        .validation_from = 8.25,
                        .table = TableFingerprint{400, {"age", "city"}, 0xfedcba9876543210U}};
  card.table = {.separator = ";", .has_header = false, .names = {"age", "city", "bought"}, .missing = {"?", "\xff"}};
  const TrainResult result = train(data, card.model, card.training);
  card.class_counts = {300, 100};
  card.validation_rows = 200;
  card.members = result.members;
  card.average_precision = result.average_precision;
  card.roc_auc = result.roc_auc;
  card.history = result.history;
  return {std::move(transform), std::move(card), result.weights};
}

void expect_same(const Prediction& left, const Prediction& right) {
  EXPECT_EQ(left.score, right.score);
  EXPECT_EQ(left.entropy, right.entropy);
  EXPECT_EQ(left.evidence, right.evidence);
  EXPECT_EQ(left.variance, right.variance);
  EXPECT_EQ(left.mutual_information, right.mutual_information);
}

class ModelFolder : public testing::Test {
 protected:
  static void SetUpTestSuite() { model_ = std::make_unique<Model>(make_model(Head::kPostnet)); }
  static void TearDownTestSuite() { model_.reset(); }
  ModelFolder() { model_->save(path()); }

  [[nodiscard]] std::string path() const { return folder_.path(""); }
  [[nodiscard]] Json json() const { return Json::parse(folder_.read("model.json")); }
  /// The refusal of the folder with this model.json.
  [[nodiscard]] std::string refusal(const Json& changed) const {
    (void)folder_.write("model.json", changed.dump());
    return folder_.without_folder(refusal_of([&] { (void)Model::load(path()); }));
  }

  static std::unique_ptr<Model> model_;
  TemporaryFolder folder_;
};
std::unique_ptr<Model> ModelFolder::model_;

TEST(Model, PredictsTheSameAfterSaveAndLoad) {
  for (const Head head : kHeads) {
    SCOPED_TRACE(to_string(head));
    const Model model = make_model(head);
    const TemporaryFolder folder;
    model.save(folder.path(""));
    EXPECT_THAT(folder.names(), testing::UnorderedElementsAre("model.json", "weights.safetensors"));
    const Model loaded = Model::load(folder.path(""));
    const Frame frame = random_frame(700, 3);
    const Prediction prediction = model.predict(model.features().encode(frame));
    ASSERT_EQ(prediction.score.size(), 700U);
    expect_same(loaded.predict(loaded.features().encode(frame)), prediction);
    for (const double score : prediction.score) {
      EXPECT_GE(score, 0);
      EXPECT_LE(score, 1);
    }
    EXPECT_EQ(prediction.evidence.empty(), !has_evidence(head));
    // A second time: the same files.
    const TemporaryFolder again;
    loaded.save(again.path(""));
    EXPECT_EQ(again.read("model.json"), folder.read("model.json"));
    EXPECT_TRUE(again.read("weights.safetensors") == folder.read("weights.safetensors"));
  }
}

TEST_F(ModelFolder, KeepsItsCard) {
  const ModelCard card = Model::load(path()).card();
  EXPECT_EQ(card.model.encoder.hidden, (std::vector<int>{16, 8}));
  EXPECT_EQ(card.model.head.latent, 3);
  EXPECT_EQ(card.training.batch, 64);
  EXPECT_EQ(card.training.warm_up, std::nullopt);
  EXPECT_EQ(card.table.separator, ";");
  EXPECT_FALSE(card.table.has_header);
  EXPECT_EQ(card.table.names, (std::vector<std::string>{"age", "city", "bought"}));
  EXPECT_EQ(card.table.missing, (std::vector<std::string>{"?", "\xff"}));
  ASSERT_TRUE(card.split);
  EXPECT_EQ(card.split->options.fractions, (std::array{0.5, 0.25, 0.25}));
  EXPECT_EQ(card.split->options.tau, 2);
  EXPECT_EQ(card.split->options.seed, 9U);
  EXPECT_EQ(card.split->time_column, "when");
  EXPECT_EQ(card.split->time_format, DateFormat::kYymmddhh);
  EXPECT_EQ(card.split->validation_from, 8.25);
  EXPECT_EQ(card.split->table, model_->card().split->table);
  EXPECT_EQ(card.split->cuts.holdout_from, 10.5);
  EXPECT_EQ(card.split->cuts.test_from, 20.25);
  EXPECT_EQ(card.class_counts, (std::array{300.0, 100.0}));
  EXPECT_EQ(card.validation_rows, 200U);
  EXPECT_EQ(card.average_precision, model_->card().average_precision);
  ASSERT_EQ(card.history.size(), 2U);
  EXPECT_EQ(card.history[1].loss, model_->card().history[1].loss);
}

TEST(Model, PredictsTheSameWithEitherNetwork) {
  for (const Head head : kHeads) {
    SCOPED_TRACE(to_string(head));
    const Model model = make_model(head);
    const TemporaryFolder folder;
    model.save(folder.path(""));
    const Model plain = Model::load(folder.path(""), "cpu", 1, NetworkKind::kPlain);
    EXPECT_EQ(plain.card().training.network, NetworkKind::kPlain);
    const FeatureRows rows = model.features().encode(random_frame(700, 3));
    const Prediction fused = model.predict(rows);
    const Prediction other = plain.predict(rows);
    EXPECT_NE(fused.entropy, other.entropy);  // to the last bit, which shows that it is another network
    // Single precision in the encoder, and a density that is a few times steeper than its place.
    for (std::size_t row = 0; row < 700; ++row) {
      EXPECT_NEAR(fused.score[row], other.score[row], 1e-5);
      EXPECT_NEAR(fused.entropy[row], other.entropy[row], 2e-5);
    }
  }
}

// Models of before there was a choice say nothing of it.
TEST_F(ModelFolder, NeedNotSayWhichNetwork) {
  Json changed = json();
  changed["training"].erase("network");
  EXPECT_EQ(refusal(changed), "(not refused)");
  changed["training"]["network"] = "abacus";
  EXPECT_THAT(refusal(changed), HasSubstr("\"training.network\" \"abacus\" is no network"));
}

TEST_F(ModelFolder, SaysEverythingInModelJson) {
  const Json all = json();
  EXPECT_EQ(all["format"], "limen-model");
  EXPECT_EQ(all["version"], 3);
  EXPECT_EQ(all["model"]["head"], "postnet");
  EXPECT_EQ(all["model"]["encoder"], "mlp");
  EXPECT_EQ(all["model"]["hidden"], Json({16, 8}));
  for (const char* name : {"embedding", "dropout", "sam", "residual", "blocks", "attention_heads", "gated", "latent",
                           "flows", "batch_norm", "prior", "regularizer", "passes", "members", "budget",
                           "attention_dropout", "feed_forward_dropout"}) {
    EXPECT_TRUE(all["model"].contains(name)) << name;
  }
  for (const char* name :
       {"epochs", "batch", "learning_rate", "schedule", "weight_decay", "clip", "warm_up", "patience", "seed",
        "threads", "device", "network", "token_dropout", "embedding_l2", "fine_tune", "selection"}) {
    EXPECT_TRUE(all["training"].contains(name)) << name;
  }
  EXPECT_EQ(all["split"]["time_column"], "when");
  EXPECT_EQ(all["metrics"]["training_positives"], 100);
  EXPECT_EQ(all["metrics"]["average_precision"], model_->card().average_precision);
  EXPECT_EQ(all["history"].size(), 2U);
  EXPECT_EQ(all["weights"]["file"], "weights.safetensors");
  EXPECT_EQ(all["weights"]["bytes"], folder_.read("weights.safetensors").size());
  EXPECT_TRUE(all["features"].is_object());
  EXPECT_TRUE(all["limen"].is_string());
  EXPECT_THAT(folder_.read("model.json"), HasSubstr("\n \"model\": {\n"));  // a line per member
}

TEST_F(ModelFolder, MissingFilesAreNamed) {
  std::filesystem::remove(folder_.path("weights.safetensors"));
  const auto message = [&] { return message_of<IoError>([&] { (void)Model::load(path()); }); };
  EXPECT_EQ(folder_.without_folder(message()), "weights.safetensors: cannot be read: No such file or directory");
  std::filesystem::remove(folder_.path("model.json"));
  EXPECT_EQ(folder_.without_folder(message()), "model.json: cannot be read: No such file or directory");
}

// A link to a device took all memory, and a pipe made loading wait for ever.
TEST_F(ModelFolder, OnlyRegularFilesOfTheRightSizeAreRead) {
  const auto message = [&] { return folder_.without_folder(message_of<IoError>([&] { (void)Model::load(path()); })); };
  for (const std::string name : {"weights.safetensors", "model.json"}) {
    SCOPED_TRACE(name);
    const std::string file = folder_.path(name);
    const std::string bytes = folder_.read(name);
    std::filesystem::remove(file);
    std::filesystem::create_symlink("/dev/zero", file);
    EXPECT_EQ(message(), name + ": is not a regular file");
    std::filesystem::remove(file);
    ASSERT_EQ(::mkfifo(file.c_str(), 0600), 0);
    EXPECT_EQ(message(), name + ": is not a regular file");
    std::filesystem::remove(file);
    std::filesystem::create_directory(file);
    EXPECT_EQ(message(), name + ": is a folder, a file is needed");
    std::filesystem::remove(file);
    (void)folder_.write(name, bytes);
    // A hole of a terabyte.
    std::filesystem::resize_file(file, std::uintmax_t{1} << 40U);
    EXPECT_THAT(message(), testing::StartsWith(name + ": has 1,099,511,627,776 bytes, at most "));
    // A link to a regular file is as good as the file.
    (void)folder_.write(name + ".elsewhere", bytes);
    std::filesystem::remove(file);
    std::filesystem::create_symlink(folder_.path(name + ".elsewhere"), file);
    expect_same(Model::load(path()).predict(model_->features().encode(random_frame(5, 3))),
                model_->predict(model_->features().encode(random_frame(5, 3))));
  }
}

TEST_F(ModelFolder, WeightsThatAreNotItsOwnAreRefused) {
  const std::string good = folder_.read("weights.safetensors");
  const std::string message = ": weights.safetensors: does not belong to this model.json, or is damaged";
  const auto refusal_of_weights = [&](const std::string& bytes) {
    (void)folder_.write("weights.safetensors", bytes);
    return refusal_of([&] { (void)Model::load(path()); });
  };
  for (const std::size_t size : {std::size_t{0}, std::size_t{7}, good.size() / 2, good.size() - 1}) {
    EXPECT_THAT(refusal_of_weights(good.substr(0, size)), HasSubstr(message)) << size;
  }
  std::string flipped = good;
  flipped[good.size() - 20] ^= 1;
  EXPECT_THAT(refusal_of_weights(flipped), HasSubstr(message));
  const TemporaryFolder other;
  make_model(Head::kPostnet, 5).save(other.path(""));
  EXPECT_THAT(refusal_of_weights(other.read("weights.safetensors")), HasSubstr(message));
}

TEST_F(ModelFolder, ChangedMembersAreRefusedByName) {
  const Json good = json();
  const auto changed = [&](const char* pointer, const Json& value) {
    Json bad = good;
    bad[Json::json_pointer(pointer)] = value;
    return refusal(bad);
  };
  EXPECT_THAT(changed("/format", "limen-boundary"), HasSubstr("\"format\" is not limen-model"));
  EXPECT_THAT(changed("/version", 4), HasSubstr("\"version\" is 4, this limen reads 3"));
  EXPECT_THAT(changed("/version", 1), HasSubstr("\"version\" is 1, this limen reads 3: train anew"));
  EXPECT_THAT(changed("/version", "1"), HasSubstr("\"version\" is not a whole number"));
  EXPECT_THAT(changed("/model/head", "oracle"), HasSubstr("\"model.head\""));
  EXPECT_THAT(changed("/model/latent", 0), HasSubstr("\"model.latent\" is 0, must be 1 to 65536"));
  EXPECT_THAT(changed("/model/hidden", {0}), HasSubstr("\"model.hidden\" is no list of widths"));
  EXPECT_THAT(changed("/model/prior", {1}), HasSubstr("\"model.prior\" has 1 numbers"));
  EXPECT_THAT(changed("/model/dropout", 1.5), HasSubstr("dropout is 1.5, must be in [0, 1)"));
  EXPECT_THAT(changed("/training/seed", "x"), HasSubstr("\"training.seed\" is no number in text"));
  EXPECT_THAT(changed("/training/threads", -1), HasSubstr("\"training.threads\" is -1"));
  EXPECT_THAT(changed("/table/separator", ";;"), HasSubstr("\"table.separator\" is more than one character"));
  EXPECT_THAT(changed("/split/time_format", "x"), HasSubstr("\"split.time_format\" is neither"));
  EXPECT_THAT(changed("/split/fractions", {1, 1, 1}), HasSubstr("split: shares add up to 3, must be 1"));
  EXPECT_THAT(changed("/history", {1}), HasSubstr("\"history\" is no list of objects"));
  EXPECT_THAT(changed("/weights/file", "../../etc/passwd"), HasSubstr("\"weights.file\" is not weights.safetensors"));
  EXPECT_THAT(changed("/metrics/networks", 2), HasSubstr("holds 1 networks, model.json says 2"));
  EXPECT_THAT(changed("/metrics/networks", 0), HasSubstr("\"metrics.networks\" is 0"));
  // Sizes that are sound but not those of the weights.
  EXPECT_THAT(changed("/model/hidden", {16, 4}), HasSubstr("load_state: array"));
  EXPECT_THAT(changed("/model/latent", 2), HasSubstr("load_state: array"));
  EXPECT_THAT(changed("/model/encoder", "sam"), HasSubstr("load_state: array"));
  for (const auto& [name, value] : good.items()) {
    if (name == "limen") continue;  // which program wrote it is for people
    Json bad = good;
    bad.erase(name);
    EXPECT_THAT(refusal(bad), HasSubstr(name)) << name;
  }
}

// Sizes were believed before they were compared with the weights: two numbers in model.json took 17 GB.
TEST_F(ModelFolder, SizesThatDoNotFitTheWeightsTakeNoMemory) {
  const Json good = json();
  const auto changed = [&](const char* key, const Json& value, const char* encoder = "mlp") {
    Json bad = good;
    bad["model"]["encoder"] = encoder;
    bad["model"]["sam"] = "3a";
    bad["model"][key] = value;
    return refusal(bad);
  };
  const std::string message = "weights.safetensors: is too small for the network in model.json";
  EXPECT_THAT(changed("hidden", {65'536, 65'536}), HasSubstr(message));
  EXPECT_THAT(changed("latent", 65'536), HasSubstr(message));
  EXPECT_THAT(changed("flows", 65'536), HasSubstr(message));
  EXPECT_THAT(changed("embedding", 65'536, "ft-transformer"), HasSubstr(message));
  EXPECT_THAT(changed("embedding", 65'536, "sam"), HasSubstr(message));
  EXPECT_THAT(changed("blocks", 65'536, "sam"), HasSubstr(message));
}

TEST_F(ModelFolder, NoDamageOfModelJsonCrashes) {
  const std::string good = folder_.read("model.json");
  std::mt19937 random(77);
  const auto load = [&](const std::string& text) {
    (void)folder_.write("model.json", text);
    try {
      const Model model = Model::load(path());
      (void)model.predict(model.features().encode(random_frame(5, 1)));
    } catch (const InvalidInput&) {
      return true;
    } catch (const IoError&) {
      return true;
    }
    return false;
  };
  EXPECT_FALSE(load(good));
  for (std::size_t size = 0; size + 1 < good.size(); size += 1 + good.size() / 100) {
    EXPECT_TRUE(load(good.substr(0, size))) << size;
  }
  int refused = 0;
  constexpr std::string_view kLikely = "0123456789-.e[]{}\",:x \\\n";
  for (int round = 0; round < 1500; ++round) {
    std::string bad = good;
    for (int change = 0; change <= round % 2; ++change) {
      const std::size_t at = random() % bad.size();
      const char c = round % 5 == 0 ? static_cast<char>(random()) : kLikely[random() % kLikely.size()];
      switch (random() % 3) {
        case 0:
          bad[at] = c;
          break;
        case 1:
          bad.insert(at, 1, c);
          break;
        default:
          bad.erase(at, 1 + random() % 4);
      }
    }
    refused += load(bad) ? 1 : 0;
  }
  EXPECT_GT(refused, 700);
}

TEST_F(ModelFolder, DeepNestingIsRefused) {
  EXPECT_THAT(refusal(Json::object()), HasSubstr("\"format\" is missing"));
  (void)folder_.write("model.json", "{\"a\":" + std::string(200'000, '['));
  EXPECT_THAT(refusal_of([&] { (void)Model::load(path()); }), HasSubstr("nested too deeply"));
}

TEST_F(ModelFolder, SavingWhereItCannotBeWrittenNamesTheFile) {
  EXPECT_EQ(folder_.without_folder(message_of<IoError>([&] { model_->save(folder_.path("not there")); })),
            "not there/weights.safetensors: cannot be written: No such file or directory");
  EXPECT_THAT(refusal_of([&] { (void)Model::load(path(), "abacus"); }), HasSubstr("device abacus"));
}

TEST(Model, RefusesRowsOfOtherFeatures) {
  const Model model = make_model(Head::kPostnet);
  FeatureRows rows = model.features().encode(random_frame(4, 1));
  rows.numeric.pop_back();
  EXPECT_EQ(refusal_of([&] { (void)model.predict(rows); }), "predict: the rows are not of this model's features");
  rows = model.features().encode(random_frame(4, 1));
  rows.categorical[3] = 1000;
  EXPECT_THAT(refusal_of([&] { (void)model.predict(rows); }), HasSubstr("in row 1 is 1000, must be from 0 to"));
  EXPECT_TRUE(model.predict({}).score.empty());
  EXPECT_TRUE(model.predict({}).uncertainty(Uncertainty::kEntropy).empty());
}

// The passes of mc-dropout went by the row's number, and sums by the size of the batch: a row's score depended on the
// file that it came in.
TEST(Model, PredictsARowTheSameInAnyTable) {
  const std::size_t num_rows = 3'000;
  const Frame frame = random_frame(num_rows, 4);
  for (const Head head : kHeads) {
    SCOPED_TRACE(to_string(head));
    const Model model = make_model(head);
    const Prediction whole = model.predict(model.features().encode(frame));
    expect_same(model.predict(model.features().encode(frame)), whole);
    const std::size_t cuts[] = {0, 1, 8, 300, 1'300, 2'999, 3'000};
    for (std::size_t at = 0; at + 1 < std::size(cuts); ++at) {
      const Prediction part = model.predict(model.features().encode(test::slice(frame, cuts[at], cuts[at + 1])));
      const auto slice = [&](const std::vector<double>& from) {
        if (from.empty()) return from;
        return std::vector<double>(from.begin() + static_cast<std::ptrdiff_t>(cuts[at]),
                                   from.begin() + static_cast<std::ptrdiff_t>(cuts[at + 1]));
      };
      expect_same(part, {slice(whole.score), slice(whole.entropy), slice(whole.evidence), slice(whole.variance),
                         slice(whole.mutual_information)});
    }
  }
}

TEST(Combine, IsTheHandComputedMean) {
  NetworkOutput low, high;
  low.score = {0.2, 0.5, 0.0};
  high.score = {0.6, 0.5, 1.0};
  const NetworkOutput members[] = {low, high};
  const NetworkOutput together = detail::combine(members);
  const auto entropy = [](double p) { return -p * std::log(p) - (1 - p) * std::log(1 - p); };
  EXPECT_DOUBLE_EQ(together.score[0], 0.4);
  EXPECT_DOUBLE_EQ(together.variance[0], 0.04);  // 0.2 squared, on both sides
  EXPECT_DOUBLE_EQ(together.entropy[0], entropy(0.4));
  EXPECT_NEAR(together.mutual_information[0], entropy(0.4) - (entropy(0.2) + entropy(0.6)) / 2, 1e-15);
  // Agreement: no variance, all entropy is the label's.
  EXPECT_EQ(together.score[1], 0.5);
  EXPECT_EQ(together.variance[1], 0);
  EXPECT_DOUBLE_EQ(together.entropy[1], std::log(2.0));
  EXPECT_EQ(together.mutual_information[1], 0);
  // Each sure of the opposite: all entropy is disagreement.
  EXPECT_EQ(together.score[2], 0.5);
  EXPECT_EQ(together.variance[2], 0.25);
  EXPECT_DOUBLE_EQ(together.mutual_information[2], std::log(2.0));
  EXPECT_TRUE(together.evidence.empty());
}

TEST(Combine, AddsTheEvidenceThatMembersHave) {
  NetworkOutput sure, unsure;
  sure.score = {0.2};
  sure.evidence = {400};
  sure.entropy = {-9};
  sure.variance = {0.01};
  sure.mutual_information = {0.02};
  unsure.score = {0.6};
  unsure.evidence = {4};
  unsure.entropy = {-1};
  unsure.variance = {0.05};
  unsure.mutual_information = {0.04};
  const NetworkOutput members[] = {sure, unsure};
  const NetworkOutput together = detail::combine(members);
  const auto entropy = [](double p) { return -p * std::log(p) - (1 - p) * std::log(1 - p); };
  EXPECT_NEAR(together.evidence[0], 40, 1e-12);           // the root of 400 times 4
  EXPECT_NEAR(together.variance[0], 0.04 + 0.03, 1e-15);  // between the members, and the mean of their own
  EXPECT_NEAR(together.mutual_information[0], entropy(0.4) - (entropy(0.2) + entropy(0.6)) / 2 + 0.03, 1e-15);
  EXPECT_NEAR(together.entropy[0], beta_entropy(16, 24), 1e-12);
}

TEST(Prediction, UncertaintyIsLargerWhereItIsLessCertain) {
  Prediction prediction;
  prediction.score = {0.5, 0.6};
  prediction.entropy = {-1, -2};
  prediction.evidence = {2, 100};
  prediction.variance = {0.1, 0.2};
  EXPECT_EQ(prediction.uncertainty(Uncertainty::kEntropy), prediction.entropy);
  EXPECT_EQ(prediction.uncertainty(Uncertainty::kVariance), prediction.variance);
  EXPECT_EQ(prediction.uncertainty(Uncertainty::kEvidence), (std::vector{-std::log(2.0), -std::log(100.0)}));
  EXPECT_EQ(refusal_of([&] { (void)prediction.uncertainty(Uncertainty::kMutualInformation); }),
            "uncertainty: this model has no mutual-information");
}

TEST(Options, SizesFitTheTableUnlessTheyAreGiven) {
  EncoderOptions options;
  EXPECT_EQ(settled(options, 1'000'000).embedding, 8);
  options.kind = EncoderKind::kFtTransformer;
  const auto sizes = [&](std::size_t rows) {
    const EncoderOptions of = settled(options, rows);
    return std::array{*of.embedding, *of.blocks, *of.heads};
  };
  EXPECT_EQ(sizes(200'000), (std::array{192, 3, 8}));  // its reference's
  EXPECT_EQ(sizes(199'999), (std::array{96, 3, 8}));
  EXPECT_EQ(sizes(19'999), (std::array{48, 2, 4}));
  options.embedding = 16;
  EXPECT_EQ(sizes(1'000'000), (std::array{16, 3, 8}));
  EXPECT_EQ(default_weight_decay(EncoderKind::kFtTransformer), 1e-5);
  EXPECT_EQ(default_weight_decay(EncoderKind::kMlp), 0);
}

TEST(Options, NamesReadBack) {
  for (const std::string& name : names_of<Head>()) EXPECT_EQ(to_string(parse<Head>(name)), name);
  for (const std::string& name : names_of<EncoderKind>()) EXPECT_EQ(to_string(parse<EncoderKind>(name)), name);
  for (const std::string& name : names_of<SamVariant>()) EXPECT_EQ(to_string(parse<SamVariant>(name)), name);
  for (const std::string& name : names_of<GatedUnit>()) EXPECT_EQ(to_string(parse<GatedUnit>(name)), name);
  for (const std::string& name : names_of<Uncertainty>()) EXPECT_EQ(to_string(parse<Uncertainty>(name)), name);
  for (const std::string& name : names_of<Budget>()) EXPECT_EQ(to_string(parse<Budget>(name)), name);
  for (const std::string& name : names_of<Selection>()) EXPECT_EQ(to_string(parse<Selection>(name)), name);
  for (const std::string& name : names_of<Schedule>()) EXPECT_EQ(to_string(parse<Schedule>(name)), name);
  EXPECT_EQ(refusal_of([] { (void)parse<Head>("oracle"); }),
            "\"oracle\" is no model; there are postnet, natpn, mc-dropout, ensemble");
  EXPECT_EQ(default_uncertainty(Head::kPostnet), Uncertainty::kEntropy);
  EXPECT_EQ(default_uncertainty(Head::kEnsemble), Uncertainty::kVariance);
}

}  // namespace
}  // namespace limen::train
