// SPDX-License-Identifier: MIT
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstring>
#include <limits>
#include <map>
#include <numbers>
#include <optional>

#include "limen/base/error.h"
#include "limen/base/random.h"
#include "limen/base/text.h"
#include "limen/judge/metrics.h"
#include "limen/train/trainer.h"
#include "model_json.h"
#include "network.h"
#include "predicting.h"
#include "tensors.h"
#include "training_batches.h"

namespace limen::train {
namespace {

using Clock = std::chrono::steady_clock;
using detail::JsonFields;
using Json = nlohmann::ordered_json;

double seconds_since(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

/// A hash of bytes, eight at a time: the rows may be gigabytes.
class BytesHash {
 public:
  explicit BytesHash(std::string_view text) : hash_(text_hash(text)) {}

  void add(const void* bytes, std::size_t size) {
    const auto* at = static_cast<const char*>(bytes);
    std::uint64_t word = 0;
    for (; size >= sizeof word; size -= sizeof word, at += sizeof word) {
      std::memcpy(&word, at, sizeof word);
      hash_ = (hash_ ^ word) * kGoldenRatio;
      hash_ ^= hash_ >> 29;
    }
    word = size;
    if (size > 0) std::memcpy(&word, at, size);
    hash_ = mix(hash_ ^ word);
  }

  [[nodiscard]] std::uint64_t value() const { return mix(hash_); }

 private:
  std::uint64_t hash_;
};

/// Of data and options: a checkpoint goes on only with what it was made from.
std::string fingerprint(const TrainingSet& data, const ModelOptions& model, const TrainOptions& options) {
  BytesHash hash(to_json(model).dump() + to_json(options, false).dump());
  for (const std::int32_t tokens : data.shape.num_tokens) hash.add(&tokens, sizeof tokens);
  for (const FeatureRows* rows : {&data.train, &data.validation}) {
    hash.add(rows->numeric.data(), rows->numeric.size() * sizeof(float));
    hash.add(rows->categorical.data(), rows->categorical.size() * sizeof(std::int32_t));
    hash.add(rows->fraction.data(), rows->fraction.size() * sizeof(float));
    hash.add(rows->label.data(), rows->label.size());
  }
  return std::to_string(hash.value());
}

/// Of a checkpoint's position and arrays, in whatever order they come.
std::string checksum(const std::string& position, const std::vector<NamedArray>& arrays) {
  std::uint64_t sum = BytesHash(position).value();
  for (const NamedArray& array : arrays) {
    BytesHash hash(array.name);
    hash.add(array.shape.data(), array.shape.size() * sizeof(std::int64_t));
    hash.add(array.values.data(), array.values.size() * sizeof(float));
    sum += hash.value();
  }
  return std::to_string(sum);
}

std::array<double, 2> class_counts(const FeatureRows& rows) {
  const auto positives = static_cast<double>(std::ranges::count(rows.label, std::uint8_t{1}));
  return {static_cast<double>(rows.num_rows) - positives, positives};
}

void check_rows(const FeatureRows& rows, const FeatureShape& shape, const char* name) {
  const auto refuse = [&](const std::string& what) { throw InvalidInput("train", std::string() + name + what); };
  if (rows.label.size() != rows.num_rows || rows.numeric.size() != rows.num_rows * shape.num_numeric ||
      rows.categorical.size() != rows.num_rows * shape.num_categorical() ||
      rows.fraction.size() != rows.num_rows * shape.knots.size()) {
    refuse(" rows: the arrays do not fit the number of rows");
  }
  if (rows.num_rows > std::numeric_limits<std::uint32_t>::max()) refuse(" rows: there are more than 2^32");
  const auto [negatives, positives] = class_counts(rows);
  if (negatives == 0 || positives == 0) {
    refuse(std::string(" rows: all ") + count_text(static_cast<double>(rows.num_rows)) + " are " +
           (positives == 0 ? "negative" : "positive") + "; both classes are needed");
  }
}

/// Where training is. Everything in it, with the state of the network, is in a checkpoint.
struct Position {
  int member = 0;
  int epoch = 1;          ///< the one being trained
  std::size_t batch = 0;  ///< the next one in it
  double loss_sum = 0;    ///< over the rows of this epoch so far
  double seconds = 0;     ///< spent on this epoch so far
  int since_best = 0;
  std::optional<EpochReport> best = std::nullopt;  ///< of this member
  std::vector<EpochReport> history = {};
};

constexpr int kFirstRound = 6;  // epochs
constexpr int kMostRounds = 3;
constexpr std::int64_t kMost = std::numeric_limits<std::int32_t>::max();

/// Arrays under a name of their own, such as best/encoder.weight.
void add_arrays(std::vector<NamedArray>& all, const std::string& prefix, std::vector<NamedArray> arrays) {
  for (NamedArray& array : arrays) {
    array.name = prefix + array.name;
    all.push_back(std::move(array));
  }
}

class Trainer {
 public:
  Trainer(const TrainingSet& data, const ModelOptions& model, const TrainOptions& options, const TrainHooks& hooks)
      : data_(data), model_(model), options_(options), hooks_(hooks) {
    model_.encoder = settled(model.encoder, data.train.num_rows);
    num_members_ = num_members(model.head);
    if (has_evidence(model.head.kind)) {
      const bool natural = model.head.kind == Head::kNatpn;
      const int default_warm_up = natural ? 3 : model.head.latent >= 32 ? 1 : 0;
      warm_up_ = options.warm_up.value_or(default_warm_up);
      fine_tune_ = options.fine_tune.value_or(natural ? 5 : 0);
    }
    learning_rate_ = options.learning_rate.value_or(default_learning_rate(model.encoder.kind));
    batch_ = static_cast<std::size_t>(options.batch.value_or(default_batch(data.train.num_rows)));
    num_batches_ = (data.train.num_rows + batch_ - 1) / batch_;
    if (hooks.save) fingerprint_ = fingerprint(data, model_, options);
  }

  TrainResult run(std::string_view checkpoint) {
    if (const std::string error = device_error(options_.device, options_.network); !error.empty()) {
      throw InvalidInput("train", "device " + limen::quoted(options_.device) + ": " + error);
    }
    start_member();
    if (!checkpoint.empty()) restore(checkpoint);
    last_saved_ = Clock::now();
    while (at_.member < num_members_) {
      train_member();
      if (best_weights_.empty()) break;
      finished_.push_back(std::exchange(best_weights_, {}));
      if (!result_.diverged.empty()) break;
      ++at_.member;
      at_.epoch = 1;
      at_.since_best = 0;
      at_.best.reset();
      if (at_.member < num_members_) {
        start_member();
        save();
      }
    }
    return finish();
  }

 private:
  [[nodiscard]] std::uint64_t seed_of(std::uint64_t use, std::uint64_t number) const {
    const std::uint64_t member = static_cast<std::uint64_t>(at_.member);
    return mix(mix(options_.seed + 0x51ed270b * (member + 1)) + kGoldenRatio * (2 * number + use));
  }

  void start_member() {
    network_.emplace(data_.shape, model_, class_counts(data_.train), seed_of(0, 0), options_.device,
                     options_.num_threads, options_.network);
  }

  [[nodiscard]] int num_epochs() const { return warm_up_ + epochs_ + fine_tune_; }
  [[nodiscard]] Stage stage() const {
    return at_.epoch <= warm_up_             ? Stage::kWarmUp
           : at_.epoch <= warm_up_ + epochs_ ? Stage::kTraining
                                             : Stage::kFineTune;
  }

  [[nodiscard]] double learning_rate(int epoch, std::size_t batch) const {
    if (stage() != Stage::kTraining) return learning_rate_;
    const double step = static_cast<double>(epoch - warm_up_ - 1 - round_begin_) * static_cast<double>(num_batches_) +
                        static_cast<double>(batch);
    const double share = step / (static_cast<double>(epochs_ - round_begin_) * static_cast<double>(num_batches_));
    switch (options_.schedule) {
      case Schedule::kCosine:
        return learning_rate_ * (0.01 + 0.99 * 0.5 * (1 + std::cos(std::numbers::pi * share)));
      case Schedule::kPlateau:
        return std::max(learning_rate_ * std::pow(0.1, epochs_without_better()), 1e-6);
      case Schedule::kStep:
        return learning_rate_ / (share < 0.6 ? 1 : share < 0.85 ? 3 : 9);
      default:
        return learning_rate_;
    }
  }

  /// Which round of epochs it is: a function of the history.
  void find_round() {
    round_begin_ = 0;
    epochs_ = options_.epochs.value_or(kFirstRound);
    if (options_.epochs) return;
    for (int round = 1; round < kMostRounds && still_rises(round_begin_, epochs_); ++round) {
      const int length = epochs_ - round_begin_;
      round_begin_ = epochs_;
      epochs_ += 2 * length;
    }
  }

  /// Whether the second half of a finished round is better than the first by more than a fiftieth.
  [[nodiscard]] bool still_rises(int begin, int end) const {
    const int middle = (begin + end) / 2;
    double first = std::numeric_limits<double>::infinity();  // the least of what should be small
    double second = first;
    bool finished = false;
    for (const EpochReport& report : at_.history) {
      if (report.member != at_.member || report.stage != Stage::kTraining) continue;
      const int epoch = report.epoch - warm_up_;
      const double badness = options_.selection == Selection::kLogLoss  ? report.log_loss
                             : options_.selection == Selection::kRocAuc ? 1 - report.roc_auc
                                                                        : 1 / report.average_precision;
      if (epoch > begin && epoch <= middle) first = std::min(first, badness);
      if (epoch > middle && epoch <= end) second = std::min(second, badness);
      finished = finished || epoch == end;
    }
    return finished && 1.02 * second < first;
  }

  void train_member() {
    find_round();
    while (at_.epoch <= num_epochs()) {
      if (!train_epoch()) return;
      end_epoch();
      if (!result_.diverged.empty()) return;
      if (stage() == Stage::kTraining && at_.since_best >= options_.patience) {
        at_.epoch = warm_up_ + epochs_ + 1;
      } else if (at_.epoch == warm_up_ + epochs_ + 1) {
        find_round();
        if (stage() == Stage::kTraining) at_.since_best = 0;
      }
      if (at_.epoch == warm_up_ + epochs_ + 1 && fine_tune_ > 0) start_fine_tuning();
      save();
    }
  }

  /// The best epoch's network, and an optimiser that has seen nothing.
  void start_fine_tuning() {
    if (best_weights_.empty()) {
      at_.epoch = num_epochs() + 1;
      return;
    }
    start_member();
    network_->load_state(best_weights_, false);
  }

  /// Whether the loss stayed finite.
  bool train_epoch() {
    const auto start = Clock::now();
    const double seconds_before = at_.seconds;
    const std::size_t rows_before = at_.batch * batch_;
    std::size_t rows_done = rows_before;
    detail::TrainingBatches batches(
        data_.shape, data_.train,
        detail::shuffled_rows(data_.train.num_rows, seed_of(1, static_cast<std::uint64_t>(at_.epoch))), batch_,
        at_.batch);
    auto last_report = start;
    while (const detail::TrainingBatch* batch = batches.next()) {
      const std::uint64_t step = static_cast<std::uint64_t>(at_.epoch) * num_batches_ + at_.batch;
      const double loss = network_->train_step(
          batch->view(), {.learning_rate = learning_rate(at_.epoch, at_.batch),
                          .weight_decay = options_.weight_decay.value_or(default_weight_decay(model_.encoder.kind)),
                          .clip = options_.clip,
                          .token_dropout = options_.token_dropout,
                          .embedding_rate = options_.embedding_rate,
                          .embedding_l2 = options_.embedding_l2,
                          .seed = mix(seed_of(0, 1) + step),
                          .densities_only = stage() != Stage::kTraining});
      if (!std::isfinite(loss)) {
        report_divergence("the loss is not a number");
        return false;
      }
      ++at_.batch;
      rows_done += batch->label.size();
      at_.loss_sum += loss * static_cast<double>(batch->label.size());
      at_.seconds = seconds_before + seconds_since(start);
      if (hooks_.progress && seconds_since(last_report) > 0.2) {
        last_report = Clock::now();
        report_progress(rows_done, static_cast<double>(rows_done - rows_before) / seconds_since(start));
      }
      if (hooks_.save && at_.batch < num_batches_ && seconds_since(last_saved_) > hooks_.save_seconds) save();
    }
    return true;
  }

  void end_epoch() {
    EpochReport report;
    report.member = at_.member;
    report.epoch = at_.epoch;
    report.stage = stage();
    report.loss = at_.loss_sum / static_cast<double>(data_.train.num_rows);
    report.seconds = at_.seconds;
    report.rows_per_second = static_cast<double>(data_.train.num_rows) / at_.seconds;
    if (report.stage != Stage::kWarmUp) {
      const NetworkOutput output = detail::predict_rows(*network_, data_.validation, seed_of(1, 0));
      if (std::ranges::any_of(output.score, [](double score) { return !std::isfinite(score); })) {
        report_divergence("a score is not a number");
        return;
      }
      report.average_precision = average_precision(output.score, data_.validation.label);
      report.roc_auc = roc_auc(output.score, data_.validation.label);
      report.log_loss = log_loss(output.score, data_.validation.label);
      report.is_best = is_better(report);
      const double first_loss = at_.best ? at_.best->loss : report.loss;
      if (report.is_best) {
        best_weights_ = network_->state(false);
        at_.best = report;
        at_.since_best = 0;
      } else {
        ++at_.since_best;
        if (report.stage == Stage::kTraining && report.loss > 5 * std::abs(first_loss) + 1) {
          report_divergence("the loss rose from " + number_text(first_loss) + " to " + number_text(report.loss));
        }
      }
    }
    at_.history.push_back(report);
    at_.epoch += 1;
    at_.batch = 0;
    at_.loss_sum = 0;
    at_.seconds = 0;
    if (hooks_.epoch) hooks_.epoch(report);
  }

  [[nodiscard]] bool is_better(const EpochReport& report) const {
    if (!at_.best) return true;
    // What fine-tuning is for is the evidence: it may cost a little.
    if (report.stage == Stage::kFineTune) {
      double before = 0;
      for (const EpochReport& past : at_.history) {
        if (past.member == at_.member && past.stage == Stage::kTraining && past.is_best)
          before = past.average_precision;
      }
      return report.average_precision >= 0.99 * before;
    }
    switch (options_.selection) {
      case Selection::kLogLoss:
        return report.log_loss < at_.best->log_loss;
      case Selection::kRocAuc:
        return report.roc_auc > at_.best->roc_auc;
      default:
        return report.average_precision > at_.best->average_precision;
    }
  }

  /// Of this member, in all.
  [[nodiscard]] int epochs_without_better() const {
    return static_cast<int>(std::ranges::count_if(at_.history, [&](const EpochReport& report) {
      return report.member == at_.member && report.stage == Stage::kTraining && !report.is_best;
    }));
  }

  void report_divergence(const std::string& what) {
    const std::string best = at_.best ? "the weights of epoch " + std::to_string(at_.best->epoch) + " are kept"
                                      : std::string("no epoch was finished before");
    result_.diverged = "training stopped in epoch " + std::to_string(at_.epoch) + ", batch " +
                       std::to_string(at_.batch + 1) + ": " + what + "; " + best + ". Try a learning rate of " +
                       number_text(std::min(learning_rate_ / 4, 1e-3)) +
                       (options_.clip == 0 || options_.clip > 1 ? ", gradients clipped at 1" : "") +
                       (has_evidence(model_.head.kind) && warm_up_ == 0 ? ", or one warm-up epoch" : "");
  }

  void report_progress(std::size_t rows_done, double rows_per_second) const {
    TrainProgress progress;
    progress.member = at_.member;
    progress.num_members = num_members_;
    progress.epoch = at_.epoch;
    progress.num_epochs = num_epochs();
    progress.rows_done = rows_done;
    progress.num_rows = data_.train.num_rows;
    progress.loss = at_.loss_sum / static_cast<double>(rows_done);
    progress.rows_per_second = rows_per_second;
    const double epochs_left = static_cast<double>(num_epochs() - at_.epoch) +
                               static_cast<double>(num_members_ - at_.member - 1) * static_cast<double>(num_epochs());
    progress.seconds_left = (epochs_left * static_cast<double>(data_.train.num_rows) +
                             static_cast<double>(data_.train.num_rows - rows_done)) /
                            rows_per_second;
    hooks_.progress(progress);
  }

  void save() {
    if (!hooks_.save) return;
    Json position = {{"fingerprint", fingerprint_}, {"member", at_.member},     {"epoch", at_.epoch},
                     {"batch", at_.batch},          {"loss_sum", at_.loss_sum}, {"seconds", at_.seconds},
                     {"since_best", at_.since_best}};
    position["best"] = at_.best ? to_json(*at_.best) : Json();
    position["history"] = Json::array();
    for (const EpochReport& report : at_.history) position["history"].push_back(to_json(report));
    detail::TensorFile file;
    file.notes["limen-checkpoint"] = position.dump();
    add_arrays(file.arrays, "current/", network_->state(true));
    add_arrays(file.arrays, "best/", best_weights_);
    for (std::size_t member = 0; member < finished_.size(); ++member) {
      add_arrays(file.arrays, std::to_string(member) + "/", finished_[member]);
    }
    file.notes["limen-checksum"] = checksum(file.notes["limen-checkpoint"], file.arrays);
    hooks_.save(detail::write_tensors(file));
    last_saved_ = Clock::now();
  }

  void restore(std::string_view checkpoint) {
    const std::string name = "checkpoint";
    detail::TensorFile file = detail::read_tensors(checkpoint, name);
    const auto note = file.notes.find("limen-checkpoint");
    if (note == file.notes.end()) throw InvalidInput("train", "the checkpoint is not one of limen");
    if (file.notes["limen-checksum"] != checksum(note->second, file.arrays)) {
      throw InvalidInput("train", "the checkpoint is damaged; start anew");
    }
    const nlohmann::json json = JsonFields::parse(note->second, name);
    const JsonFields fields(json, name, "");
    if (fields.text("fingerprint") != fingerprint(data_, model_, options_)) {
      throw InvalidInput("train", "the checkpoint is of other data or other options; start anew, or give the same");
    }
    at_.member = static_cast<int>(fields.integer("member", 0, num_members_ - 1));
    for (const nlohmann::json& report : fields.list("history")) {
      if (!report.is_object()) fields.refuse("history", "is no list of objects");
      at_.history.push_back(read_epoch_report(JsonFields(report, name, "history.")));
    }
    find_round();
    at_.epoch = static_cast<int>(fields.integer("epoch", 1, num_epochs() + 1));
    at_.batch = static_cast<std::size_t>(fields.integer("batch", 0, static_cast<std::int64_t>(num_batches_)));
    at_.loss_sum = fields.number("loss_sum");
    at_.seconds = fields.number("seconds");
    at_.since_best = static_cast<int>(fields.integer("since_best", 0, kMost));
    if (!fields.is_null("best")) at_.best = read_epoch_report(fields.object("best"));
    std::map<std::string, std::vector<NamedArray>> parts;
    for (NamedArray& array : file.arrays) {
      const std::size_t slash = array.name.find('/');
      const std::string part = array.name.substr(0, slash);
      array.name = slash == std::string::npos ? "" : array.name.substr(slash + 1);
      parts[part].push_back(std::move(array));
    }
    start_member();
    // The weights that are kept must be of this network, too: each is tried in it.
    const auto take = [&](const std::string& part, int member) {
      if (best_report(member) == nullptr) fields.refuse("history", "does not have the best epoch of every member");
      network_->load_state(parts[part], false);
      return std::move(parts[part]);
    };
    for (int member = 0; member < at_.member; ++member) finished_.push_back(take(std::to_string(member), member));
    if (at_.best) best_weights_ = take("best", at_.member);
    network_->load_state(parts["current"], true);
  }

  /// The best epoch of a member so far, or null.
  [[nodiscard]] const EpochReport* best_report(int member) const {
    const EpochReport* best = nullptr;
    for (const EpochReport& report : at_.history) {
      if (report.member == member && report.is_best) best = &report;
    }
    return best;
  }

  TrainResult finish() {
    result_.history = at_.history;
    std::vector<NamedArray> all;
    for (std::size_t member = 0; member < finished_.size(); ++member) {
      add_arrays(all, std::to_string(member) + "/", std::move(finished_[member]));
    }
    if (finished_.empty()) return std::move(result_);
    for (int member = 0; member < static_cast<int>(finished_.size()); ++member) {
      const EpochReport* best = best_report(member);
      result_.average_precision += best->average_precision / static_cast<double>(finished_.size());
      result_.roc_auc += best->roc_auc / static_cast<double>(finished_.size());
    }
    result_.members = static_cast<int>(finished_.size());
    result_.weights = detail::write_tensors({.arrays = std::move(all)});
    return std::move(result_);
  }

  const TrainingSet& data_;
  ModelOptions model_;
  const TrainOptions& options_;
  const TrainHooks& hooks_;
  int num_members_ = 1;
  int round_begin_ = 0;  // epochs of training proper before this round
  int epochs_ = 0;       // and with it
  int warm_up_ = 0;      // epochs
  int fine_tune_ = 0;    // the same
  double learning_rate_ = 0;
  std::size_t batch_ = 0;  // rows
  std::size_t num_batches_ = 0;
  std::string fingerprint_;
  Position at_;
  std::optional<Network> network_;
  std::vector<NamedArray> best_weights_;
  std::vector<std::vector<NamedArray>> finished_;  // the best weights of the members before
  Clock::time_point last_saved_;
  TrainResult result_;
};

}  // namespace

TrainResult train(const TrainingSet& data, const ModelOptions& model, const TrainOptions& options,
                  const TrainHooks& hooks, std::string_view checkpoint) {
  validate(options);
  check_rows(data.train, data.shape, "training");
  check_rows(data.validation, data.shape, "validation");
  if (const int members = num_members(model.head); members < 1 || members > 1000) {
    throw InvalidInput("train", "members is " + std::to_string(members) + ", must be 1 to 1000");
  } else if (members > 1 && model.head.kind == Head::kMcDropout) {
    throw InvalidInput("train",
                       "members is " + std::to_string(members) + ", but mc-dropout asks one network in passes");
  }
  return Trainer(data, model, options, hooks).run(checkpoint);
}

}  // namespace limen::train
