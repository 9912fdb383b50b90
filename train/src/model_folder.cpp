// SPDX-License-Identifier: MIT
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <map>

#include "learnt_evidence.h"
#include "limen/base/error.h"
#include "limen/base/random.h"
#include "limen/base/read_file.h"
#include "limen/base/version.h"
#include "limen/train/model.h"
#include "limen/uncertainty/beta.h"
#include "limen/uncertainty/ensemble.h"
#include "model_json.h"
#include "network.h"
#include "predicting.h"
#include "tensors.h"
#include "unseen_values.h"
#include "value_rates.h"

namespace limen::train {
namespace {

constexpr const char* kFormat = "limen-model";
constexpr std::int64_t kVersion = 3;
constexpr const char* kCardFile = "model.json";
constexpr const char* kWeightsFile = "weights.safetensors";
constexpr const char* kLawFile = "evidence.json";
constexpr const char* kRatesFile = "rates.json";
constexpr std::size_t kMostCardBytes = std::size_t{1} << 30U;
constexpr std::int64_t kMostWeightBytes = std::int64_t{1} << 34U;

/// How many numbers a network has at least. Before one is made: a size in model.json that was changed must not ask for
/// all memory there is.
double least_size(const FeatureShape& shape, const ModelOptions& options) {
  const EncoderOptions& encoder = options.encoder;
  const double width = encoder.embedding.value();
  double size = 0;
  for (const std::int32_t tokens : shape.num_tokens) size += tokens * (encoder.kind == EncoderKind::kMlp ? 1 : width);
  double outputs = 1;
  if (has_evidence(options.head.kind)) {
    outputs = options.head.latent;
    size += (options.head.kind == Head::kPostnet ? 2.0 : 1.0) * options.head.flows * outputs;
  }
  if (encoder.kind == EncoderKind::kFtTransformer)
    return size + encoder.blocks.value() * width * width + width * outputs;
  const bool in_layers = encoder.sam == SamVariant::k3A || encoder.sam == SamVariant::k3E;
  if (encoder.kind == EncoderKind::kSam && in_layers) size += encoder.blocks.value() * width * width;
  double inputs = 1;
  for (const int layer : encoder.hidden) {
    size += inputs * layer;
    inputs = layer;
  }
  return size + inputs * outputs;
}

std::string checksum(std::string_view bytes) { return std::to_string(text_hash(bytes)); }

}  // namespace

namespace detail {

NetworkOutput combine(std::span<const NetworkOutput> members) {
  std::vector<RealSpan> scores;
  for (const NetworkOutput& member : members) scores.emplace_back(std::span<const double>(member.score));
  EnsembleMeasures measures = ensemble_measures(scores);
  NetworkOutput together;
  together.score = std::move(measures.mean);
  together.entropy = std::move(measures.entropy);
  together.variance = std::move(measures.variance);
  together.mutual_information = std::move(measures.mutual_information);
  if (members.front().evidence.empty()) return together;
  // Members with evidence of their own: what is between them, and in the mean of each.
  const auto count = static_cast<double>(members.size());
  together.evidence.assign(together.score.size(), 0.0);
  for (const NetworkOutput& member : members) {
    for (std::size_t row = 0; row < together.score.size(); ++row) {
      together.evidence[row] += std::log(member.evidence[row]) / count;
      together.variance[row] += member.variance[row] / count;
      together.mutual_information[row] += member.mutual_information[row] / count;
    }
  }
  for (std::size_t row = 0; row < together.score.size(); ++row) {
    double& evidence = together.evidence[row];
    evidence = std::exp(evidence);
    together.entropy[row] = beta_entropy(evidence * together.score[row], evidence * (1 - together.score[row]));
  }
  return together;
}

}  // namespace detail

const std::vector<double>& Prediction::column(Uncertainty kind) const {
  switch (kind) {
    case Uncertainty::kEntropy:
      return entropy;
    case Uncertainty::kEvidence:
      return evidence;
    case Uncertainty::kVariance:
      return variance;
    case Uncertainty::kMutualInformation:
      return mutual_information;
    case Uncertainty::kLearntEvidence:
      return learnt_evidence;
    default:
      return counted_evidence;
  }
}

bool Prediction::has(Uncertainty kind) const { return score.empty() || !column(kind).empty(); }

std::vector<double> Prediction::uncertainty(Uncertainty kind) const {
  if (!has(kind)) throw InvalidInput("uncertainty", "this model has no " + std::string(to_string(kind)));
  std::vector<double> values = column(kind);
  if (kind == Uncertainty::kEvidence || kind == Uncertainty::kLearntEvidence || kind == Uncertainty::kCountedEvidence) {
    for (double& value : values) value = -std::log(value);
  }
  return values;
}

struct Model::State {
  FeatureTransform features;
  ModelCard card;
  std::string weights;
  std::optional<EvidenceLaw> law = std::nullopt;
  std::shared_ptr<const detail::ValueRates> rates = nullptr;
  std::vector<Network> networks = {};

  /// Of rows as the network sees them. unseen: of unseen_log_odds, or none.
  [[nodiscard]] NetworkOutput output(const FeatureRows& rows, const std::vector<double>& unseen = {}) const {
    const std::uint64_t seed = mix(card.training.seed + kGoldenRatio);
    std::vector<NetworkOutput> outputs;
    for (const Network& network : networks) {
      outputs.push_back(detail::predict_rows(network, rows, seed));
      detail::lower_evidence(card.model.head, unseen, outputs.back());
    }
    return card.model.head.kind == Head::kEnsemble || outputs.size() > 1 ? detail::combine(outputs)
                                                                         : std::move(outputs.front());
  }
};

Model::Model(FeatureTransform features, ModelCard card, std::string weights, int num_threads,
             std::optional<EvidenceLaw> law, std::shared_ptr<const detail::ValueRates> rates)
    : state_(new State{std::move(features), std::move(card), std::move(weights)}) {
  state_->rates = std::move(rates);
  const FeatureShape shape =
      state_->rates != nullptr ? state_->rates->widened(state_->features.shape()) : state_->features.shape();
  if (law && !law->is_silent()) state_->law = std::move(law);
  const std::vector<double>& unseen = state_->card.unseen_rows;
  if (!unseen.empty() && unseen.size() != state_->features.shape().num_categorical()) {
    throw InvalidInput("model.json", "\"metrics.unseen_rows\" has " + std::to_string(unseen.size()) +
                                         " counts, there are " +
                                         std::to_string(state_->features.shape().num_categorical()) + " features");
  }
  if (state_->law && state_->law->num_columns != state_->features.shape().num_categorical()) {
    throw InvalidInput(kLawFile, "is a law of " + std::to_string(state_->law->num_columns) +
                                     " columns, the model has " +
                                     std::to_string(state_->features.shape().num_categorical()));
  }
  detail::TensorFile file = detail::read_tensors(state_->weights, kWeightsFile);
  std::map<std::string, std::vector<NamedArray>> members;
  for (NamedArray& array : file.arrays) {
    const std::size_t slash = array.name.find('/');
    const std::string member = array.name.substr(0, slash);
    array.name = slash == std::string::npos ? "" : array.name.substr(slash + 1);
    members[member].push_back(std::move(array));
  }
  const ModelCard& made = state_->card;
  if (members.size() != static_cast<std::size_t>(made.members)) {
    throw InvalidInput(kWeightsFile, "holds " + std::to_string(members.size()) + " networks, model.json says " +
                                         std::to_string(made.members));
  }
  const double least = least_size(shape, made.model) * made.members * sizeof(float);
  if (least > static_cast<double>(state_->weights.size())) {
    throw InvalidInput(kWeightsFile, "is too small for the network in model.json");
  }
  for (int member = 0; member < made.members; ++member) {
    Network network(shape, made.model, made.class_counts, 0, made.training.device, num_threads, made.training.network);
    network.load_state(members[std::to_string(member)], false);
    state_->networks.push_back(std::move(network));
  }
}

Model::Model(Model&&) noexcept = default;
Model& Model::operator=(Model&&) noexcept = default;
Model::~Model() = default;

const FeatureTransform& Model::features() const { return state_->features; }
const ModelCard& Model::card() const { return state_->card; }
const EvidenceLaw* Model::law() const { return state_->law ? &*state_->law : nullptr; }
std::vector<std::string> Model::rated_features() const {
  std::vector<std::string> names;
  if (state_->rates == nullptr) return names;
  const std::vector<std::string> all = state_->features.categorical_names();
  for (const detail::TokenCounts& counts : state_->rates->features) names.push_back(all[counts.feature]);
  return names;
}
Uncertainty Model::uncertainty() const {
  const ModelCard& card = state_->card;
  return card.uncertainty ? card.uncertainty->kind : default_uncertainty(card.model.head.kind);
}

Prediction Model::predict(const FeatureRows& rows, std::optional<Uncertainty> wanted) const {
  const FeatureShape& shape = state_->features.shape();
  if (rows.numeric.size() != rows.num_rows * shape.num_numeric ||
      rows.categorical.size() != rows.num_rows * shape.num_categorical() ||
      rows.fraction.size() != rows.num_rows * shape.knots.size()) {
    throw InvalidInput("predict", "the rows are not of this model's features");
  }
  const detail::ValueRates* rates = state_->rates.get();
  std::vector<double> unseen;
  const ModelCard& card = state_->card;
  if (has_evidence(card.model.head.kind) && !card.unseen_rows.empty()) {
    unseen = detail::unseen_log_odds(shape, rows, card.unseen_rows, card.class_counts[0] + card.class_counts[1]);
  }
  NetworkOutput output = state_->output(rates != nullptr ? rates->widened(shape, rows) : rows, unseen);
  Prediction prediction = {.score = std::move(output.score),
                           .entropy = std::move(output.entropy),
                           .evidence = std::move(output.evidence),
                           .variance = std::move(output.variance),
                           .mutual_information = std::move(output.mutual_information)};
  if (rates != nullptr && wanted.value_or(Uncertainty::kCountedEvidence) == Uncertainty::kCountedEvidence) {
    using More = detail::ValueRates::More;
    const std::vector<double> more = rates->step(shape, rows);
    prediction.counted_evidence =
        rates->evidence(more, state_->output(rates->widened(shape, rows, more, More::kPositives)).score,
                        state_->output(rates->widened(shape, rows, more, More::kNegatives)).score);
  }
  if (state_->law) {
    const CodeRows codes = detail::evidence_codes(shape, rows, detail::RowsOf::kOthers);
    prediction.law_score = state_->law->probability(prediction.score, codes);
    prediction.learnt_evidence = detail::learnt_evidence(*state_->law, codes);
  }
  return prediction;
}

void Model::save(const std::string& folder) const {
  const std::filesystem::path path(folder);
  nlohmann::ordered_json json;
  json["format"] = kFormat;
  json["version"] = kVersion;
  const nlohmann::ordered_json card = to_json(state_->card);
  for (const auto& [key, value] : card.items()) json[key] = value;
  json["weights"] = {
      {"file", kWeightsFile}, {"bytes", state_->weights.size()}, {"checksum", checksum(state_->weights)}};
  std::string law;
  if (state_->law) {
    law = to_json(*state_->law) + "\n";
    json["evidence"] = {{"file", kLawFile}, {"bytes", law.size()}, {"checksum", checksum(law)}};
  }
  std::string rates;
  if (state_->rates != nullptr) {
    rates = to_json(*state_->rates) + "\n";
    json["rates"] = {{"file", kRatesFile}, {"bytes", rates.size()}, {"checksum", checksum(rates)}};
  }
  json["features"] = nlohmann::ordered_json::parse(state_->features.to_json());
  json["limen"] = kLimenVersion;
  write_whole((path / kWeightsFile).string(), state_->weights);
  if (state_->law) write_whole((path / kLawFile).string(), law);
  if (state_->rates != nullptr) write_whole((path / kRatesFile).string(), rates);
  write_whole((path / kCardFile).string(), json.dump(1) + "\n");
}

namespace {

/// model.json of this format and version.
nlohmann::json read_card_json(const std::string& folder) {
  const std::string name = (std::filesystem::path(folder) / kCardFile).string();
  nlohmann::json json = detail::JsonFields::parse(read_regular_file(name, kMostCardBytes), "model.json");
  const detail::JsonFields fields(json, "model.json", "");
  if (fields.text("format") != kFormat) fields.refuse("format", "is not limen-model");
  const std::int64_t version = fields.integer("version", 1, std::numeric_limits<std::int32_t>::max());
  if (version != kVersion) {
    fields.refuse("version", "is " + std::to_string(version) + ", this limen reads " + std::to_string(kVersion) +
                                 (version > kVersion ? "" : ": train anew"));
  }
  return json;
}

}  // namespace

ModelCard load_card(const std::string& folder) {
  try {
    const nlohmann::json json = read_card_json(folder);
    return read_card(detail::JsonFields(json, "model.json", ""));
  } catch (const InvalidInput& error) {
    throw InvalidInput(folder, error.what());
  }
}

Model Model::load(const std::string& folder, const std::string& device, int num_threads,
                  std::optional<NetworkKind> network) {
  const std::filesystem::path path(folder);
  try {
    const nlohmann::json json = read_card_json(folder);
    const detail::JsonFields fields(json, "model.json", "");
    ModelCard card = read_card(fields);
    if (const std::string error = device_error(device, network); !error.empty()) {
      throw InvalidInput("device " + device, error);
    }
    card.training.device = device;
    card.training.network = network;
    FeatureTransform features = FeatureTransform::from_json(json.at("features").dump());
    const auto read_part = [&](const char* member, const char* file) {
      const detail::JsonFields part = fields.object(member);
      if (part.text("file") != file) part.refuse("file", std::string("is not ") + file);
      const auto size = static_cast<std::size_t>(part.integer("bytes", 0, kMostWeightBytes));
      std::string bytes = read_regular_file((path / file).string(), size);
      if (part.text("checksum") != checksum(bytes)) {
        throw InvalidInput(file, "does not belong to this model.json, or is damaged");
      }
      return bytes;
    };
    std::string weights = read_part("weights", kWeightsFile);
    std::optional<EvidenceLaw> law;
    if (fields.has("evidence")) law = evidence_law_from_json(read_part("evidence", kLawFile));
    std::shared_ptr<const detail::ValueRates> rates;
    if (fields.has("rates")) {
      rates = std::make_shared<const detail::ValueRates>(
          detail::rates_from_json(read_part("rates", kRatesFile), features.shape()));
    }
    return {std::move(features), std::move(card), std::move(weights), num_threads, std::move(law), std::move(rates)};
  } catch (const InvalidInput& error) {
    throw InvalidInput(folder, error.what());
  } catch (const nlohmann::json::exception&) {
    throw InvalidInput(folder, "model.json has no member features");
  }
}

void write_whole(const std::string& path, std::string_view bytes) {
  const std::string temporary = path + ".part" + std::to_string(::getpid());
  const auto fail = [&](int error) {
    ::unlink(temporary.c_str());
    throw IoError(IoError::Access::kWrite, path, std::string("cannot be written: ") + std::strerror(error));
  };
  const int descriptor = ::open(temporary.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
  if (descriptor < 0) fail(errno);
  int error = 0;
  while (!bytes.empty() && error == 0) {
    const ssize_t written = ::write(descriptor, bytes.data(), std::min<std::size_t>(bytes.size(), 1 << 30));
    if (written < 0 && errno != EINTR) error = errno;
    if (written > 0) bytes.remove_prefix(static_cast<std::size_t>(written));
  }
  if (error == 0 && ::fsync(descriptor) != 0) error = errno;
  if (::close(descriptor) != 0 && error == 0) error = errno;
  if (error == 0 && ::rename(temporary.c_str(), path.c_str()) != 0) error = errno;
  if (error != 0) fail(error);
}

}  // namespace limen::train
