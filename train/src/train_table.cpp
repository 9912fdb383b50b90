// SPDX-License-Identifier: MIT
#include "limen/train/train_table.h"

#include <algorithm>
#include <memory>
#include <set>
#include <utility>

#include "detail/transform_data.h"
#include "learnt_evidence.h"
#include "limen/base/dates.h"
#include "limen/base/error.h"
#include "limen/base/in_table.h"
#include "limen/base/label_column.h"
#include "limen/base/text.h"
#include "limen/base/undersampling.h"
#include "limen/train/fingerprint.h"
#include "limen/train/table_parts.h"
#include "uncertainty_choice.h"
#include "unseen_values.h"
#include "value_rates.h"

namespace limen::train {
namespace {

using Columns = std::vector<std::string>;
using Visit = std::function<void(const Frame& frame, std::uint64_t first_row)>;

/// What a row of the table is for.
enum class RowRole : std::uint8_t { kNone, kLearning, kValidation };

bool contains(const Columns& names, const std::string& name) { return std::ranges::find(names, name) != names.end(); }

SplitOptions split_options(const RowOptions& rows) {
  return {.fractions = rows.split->fractions, .tau = rows.tau, .seed = rows.seed};
}

/// Empty when the table is not split by time.
std::string time_column(const RowOptions& rows) { return rows.split ? rows.split->time_column : ""; }

/// Null when a share of the training rows chooses the epoch.
const FrameSource* validation_table(const RowOptions& rows) { return std::get_if<FrameSource>(&rows.validation); }

/// Training and validation as the first two parts of a split of the training rows.
SplitOptions validation_split(const RowOptions& rows) {
  const double share = std::get<ValidationShare>(rows.validation).share;
  return {.fractions = {1 - share, share, 0}, .seed = rows.seed + 1};
}

void require_column(const FrameSource& table, const std::string& name) {
  if (contains(table.columns, name)) return;
  throw InvalidInput(table.name, "has no column " + quoted(name) + did_you_mean(name, table.columns),
                     Cause::kNoSuchColumn);
}

/// One pass over a table; returns its number of rows. Errors of `visit` get the table's name.
std::uint64_t for_each_frame(const FrameSource& table, const Columns& columns, const Visit& visit) {
  std::uint64_t first_row = 0;
  table.read(columns, [&](const Frame& frame) {
    in_table(table.name, [&] {
      const auto there = detail::columns_by_name(frame, "train_table");
      for (const std::string& name : columns) {
        if (there.contains(name)) continue;
        throw InvalidInput("train_table",
                           "column " + quoted(name) + " is missing from row " + std::to_string(first_row + 1) + " on",
                           Cause::kNoSuchColumn);
      }
      visit(frame, first_row);
    });
    first_row += frame.num_rows;
  });
  return first_row;
}

/// The columns in this order, and any others behind them.
Frame in_order(Frame frame, const Columns& columns) {
  const auto place = [&](const Column& column) { return std::ranges::find(columns, column.name) - columns.begin(); };
  std::ranges::stable_sort(frame.columns, std::less<>(), place);
  return frame;
}

/// The passes over the table that is trained from.
class TablePasses {
 public:
  TablePasses(const FrameSource& table, const TrainTableOptions& options);

  /// Where the parts begin; one pass over the times when they go by time.
  void find_split();
  /// The pass that learns what the network sees of a row.
  [[nodiscard]] FeatureTransform fit_features();
  /// The pass that encodes the rows to learn from and to validate.
  [[nodiscard]] TrainingSet encode(const FeatureTransform& transform);
  /// Adds the rates of values to encoded rows: training rows have those of the other folds.
  void add_rates(TrainingSet& set);
  /// Rates by all training rows, those that validate too; null: there are none.
  [[nodiscard]] std::shared_ptr<const detail::ValueRates> rates() const { return shared_rates(validation_rates_); }
  /// Rates that no validation row has a part in.
  [[nodiscard]] std::shared_ptr<const detail::ValueRates> learning_rates() const {
    return shared_rates(learning_rates_);
  }

  [[nodiscard]] const std::optional<SplitUse>& split() const { return split_; }
  [[nodiscard]] const RowsUsed& rows() const { return rows_; }

 private:
  [[nodiscard]] std::vector<RowRole> roles_of(const Frame& frame, std::uint64_t first_row) const;
  [[nodiscard]] FeatureOptions feature_options(const Frame& frame) const;
  [[nodiscard]] FeatureRows encode_rows(const FeatureTransform& transform, const Frame& frame, std::uint64_t first_row);
  [[nodiscard]] Columns fingerprint_columns(const FeatureTransform& transform) const;
  [[nodiscard]] std::shared_ptr<const detail::ValueRates> shared_rates(
      const std::optional<detail::RateCounter>& counter) const;
  void require_same_rows(std::uint64_t before, std::uint64_t now) const;

  const FrameSource& table_;
  const TrainTableOptions& options_;
  Columns columns_;  // all but those that are dropped
  std::optional<SplitUse> split_;
  std::optional<std::uint64_t> rows_by_time_;  // that find_split found
  TableFingerprint labels_;                    // that fit_features found
  RowsUsed rows_;
  std::optional<detail::RateCounter> learning_rates_;    // by rows that are learned from, before undersampling
  std::optional<detail::RateCounter> validation_rates_;  // and by those that validate, too
  std::vector<std::uint8_t> folds_;                      // of the rows that are learned from
  double rate_scale_ = 1;
};

TablePasses::TablePasses(const FrameSource& table, const TrainTableOptions& options)
    : table_(table), options_(options) {
  const std::string time = time_column(options.rows);
  require_column(table, options.features.label);
  for (const std::string& name : options.features.drop) require_column(table, name);
  if (!time.empty()) require_column(table, time);
  for (const std::string& name : table.columns) {
    if (!contains(options.features.drop, name) || name == time) columns_.push_back(name);
  }
  if (const FrameSource* validation = validation_table(options.rows)) {
    for (const std::string& name : columns_) require_column(*validation, name);
  }
}

void TablePasses::find_split() {
  if (!options_.rows.split) return;
  SplitUse& use = split_.emplace();
  use.options = split_options(options_.rows);
  use.time_column = time_column(options_.rows);
  if (use.time_column.empty()) return;
  const auto format = options_.features.date.find(use.time_column);
  if (format != options_.features.date.end()) use.time_format = format->second;
  std::vector<double> times;
  rows_by_time_ = for_each_frame(table_, {use.time_column}, [&](const Frame& frame, std::uint64_t first_row) {
    const std::vector<double> batch = times_of_rows(use, frame, first_row);
    times.insert(times.end(), batch.begin(), batch.end());
  });
  in_table(table_.name, [&] {
    use.cuts = time_cuts(times, use.options);
    if (validation_table(options_.rows) != nullptr) return;
    std::erase_if(times, [&](double time) { return use.cuts.part(time) != Part::kTrain; });
    use.validation_from = time_cuts(times, validation_split(options_.rows)).holdout_from;
  });
}

std::vector<RowRole> TablePasses::roles_of(const Frame& frame, std::uint64_t first_row) const {
  std::vector<RowRole> roles;
  for (const Part part : parts_of_rows(split_, frame, first_row)) {
    roles.push_back(part == Part::kTrain ? RowRole::kLearning : RowRole::kNone);
  }
  if (validation_table(options_.rows) != nullptr) return roles;
  const auto keep_aside = [&](std::size_t row, bool is_aside) {
    if (is_aside && roles[row] == RowRole::kLearning) roles[row] = RowRole::kValidation;
  };
  if (split_ && split_->validation_from) {
    const std::vector<double> times = times_of_rows(*split_, frame, first_row);
    for (std::size_t row = 0; row < roles.size(); ++row) keep_aside(row, times[row] >= *split_->validation_from);
    return roles;
  }
  const std::vector<Part> parts = split_rows(first_row, roles.size(), validation_split(options_.rows));
  for (std::size_t row = 0; row < roles.size(); ++row) keep_aside(row, parts[row] == Part::kHoldout);
  return roles;
}

/// For frames with these columns: those that were not asked for are dropped, too.
FeatureOptions TablePasses::feature_options(const Frame& frame) const {
  const std::set<std::string_view> asked(columns_.begin(), columns_.end());
  FeatureOptions features = options_.features;
  features.drop.clear();
  for (const Column& column : frame.columns) {
    if (!asked.contains(column.name) || contains(options_.features.drop, column.name)) {
      features.drop.push_back(column.name);
    }
  }
  return features;
}

FeatureTransform TablePasses::fit_features() {
  std::optional<FeatureFitter> fitter;
  FingerprintTaker labels({options_.features.label});
  const Undersampling undersampling(options_.rows.tau, options_.rows.seed);
  LabelsSeen seen;
  rows_.read = for_each_frame(table_, columns_, [&](const Frame& frame, std::uint64_t first_row) {
    const std::vector<RowRole> roles = roles_of(frame, first_row);
    const std::string& label = options_.features.label;
    const Column& column = *std::ranges::find(frame.columns, label, &Column::name);
    const std::vector<std::uint8_t> missing = missing_labels(column);
    std::vector<std::uint8_t> chosen(frame.num_rows);
    for (std::size_t row = 0; row < frame.num_rows; ++row) {
      if (missing[row] != 0 && !options_.rows.drop_missing) {
        refuse_missing_label(Where{.source = table_.name}, label, first_row + row, options_.features.label_rule);
      }
      chosen[row] = roles[row] == RowRole::kLearning && missing[row] == 0 ? 1 : 0;
    }
    // What is rare is rare among the rows that are learned from: negatives that are not kept do not count.
    if (options_.rows.tau > 1) {
      const std::vector<std::uint8_t> labels_here =
          read_labels(column, options_.features.label_rule, Where{.function = "features"}, first_row, seen);
      for (std::size_t row = 0; row < frame.num_rows; ++row) {
        if (labels_here[row] == 0 && !undersampling.keeps(first_row + row)) chosen[row] = 0;
      }
    }
    if (!fitter) {
      // The first rows say in which order the features are: that of the table, however its columns come.
      fitter.emplace(feature_options(frame));
      fitter->add(in_order(frame, columns_), chosen);
    } else {
      fitter->add(frame, chosen);
    }
    labels.add(frame);
  });
  if (rows_by_time_) require_same_rows(*rows_by_time_, rows_.read);
  labels_ = labels.fingerprint();
  return in_table(table_.name, [&] {
    if (!fitter) fitter.emplace(FeatureOptions{});  // which refuses a table without rows
    return fitter->finish();
  });
}

FeatureRows TablePasses::encode_rows(const FeatureTransform& transform, const Frame& frame, std::uint64_t first_row) {
  EncodeOptions options = {
      .labels = LabelUse::kRequired, .first_row = first_row, .num_threads = options_.training.num_threads};
  if (options_.rows.drop_missing) options.missing_labels = MissingLabels::kMark;
  FeatureRows rows = transform.encode(frame, options);
  rows_.dropped += static_cast<std::uint64_t>(std::ranges::count(rows.label, kMissingLabel));
  return rows;
}

/// The label, the column of times and a few features.
Columns TablePasses::fingerprint_columns(const FeatureTransform& transform) const {
  constexpr std::size_t kMostFeatures = 4;
  const std::string time = time_column(options_.rows);
  Columns columns = {options_.features.label};
  if (!time.empty()) columns.push_back(time);
  std::size_t features = 0;
  for (const ColumnUse& column : transform.columns()) {
    if (features++ == kMostFeatures) break;
    if (column.name != time) columns.push_back(column.name);
  }
  return columns;
}

TrainingSet TablePasses::encode(const FeatureTransform& transform) {
  TrainingSet set = {.shape = transform.shape()};
  FingerprintTaker fingerprint(fingerprint_columns(transform));
  FingerprintTaker labels({options_.features.label});
  const Undersampling undersampling(options_.rows.tau, options_.rows.seed);
  const RowHash fold_hash(options_.rows.seed, RowUse::kRateFolds);
  constexpr std::uint8_t kFolds = detail::RateCounter::kFolds;
  if (options_.has_rates) learning_rates_.emplace(set.shape);
  if (learning_rates_ && learning_rates_->empty()) learning_rates_.reset();
  if (learning_rates_) validation_rates_.emplace(set.shape);
  for_each_frame(table_, columns_, [&](const Frame& frame, std::uint64_t first_row) {
    const std::vector<RowRole> roles = roles_of(frame, first_row);
    const FeatureRows rows = encode_rows(transform, frame, first_row);
    labels.add(frame);
    if (split_) fingerprint.add(frame);
    std::vector<std::uint8_t> learned(frame.num_rows, 0);
    std::vector<std::uint8_t> validated(frame.num_rows, 0);  // at the natural rate
    for (std::size_t row = 0; row < frame.num_rows; ++row) {
      if (rows.label[row] == kMissingLabel) continue;
      validated[row] = roles[row] == RowRole::kValidation ? 1 : 0;
      const bool is_kept = rows.label[row] == 1 || undersampling.keeps(first_row + row);
      learned[row] = roles[row] == RowRole::kLearning && is_kept ? 1 : 0;
    }
    add_rows(set.shape, rows, learned, set.train);
    add_rows(set.shape, rows, validated, set.validation);
    if (!learning_rates_) return;
    std::vector<std::uint8_t> fold(frame.num_rows, kFolds);
    std::vector<std::uint8_t> aside(frame.num_rows, kFolds);
    for (std::size_t row = 0; row < frame.num_rows; ++row) {
      if (rows.label[row] == kMissingLabel || roles[row] == RowRole::kNone) continue;
      const auto own = static_cast<std::uint8_t>(fold_hash(first_row + row) % kFolds);
      (roles[row] == RowRole::kLearning ? fold : aside)[row] = own;
      if (learned[row] != 0) folds_.push_back(own);
    }
    learning_rates_->add(rows, fold);
    validation_rates_->add(rows, fold);
    validation_rates_->add(rows, aside);
  });
  require_same_rows(labels_.rows, labels.fingerprint().rows);
  if (labels.fingerprint() != labels_) {
    throw InvalidInput(table_.name, "has other labels than when it was first read", Cause::kFileChanged);
  }
  if (split_) split_->table = fingerprint.fingerprint();
  if (const FrameSource* validation = validation_table(options_.rows)) {
    for_each_frame(*validation, columns_, [&](const Frame& frame, std::uint64_t first_row) {
      const FeatureRows rows = encode_rows(transform, frame, first_row);
      std::vector<std::uint8_t> validated(frame.num_rows);
      for (std::size_t row = 0; row < frame.num_rows; ++row) validated[row] = rows.label[row] != kMissingLabel ? 1 : 0;
      add_rows(set.shape, rows, validated, set.validation);
    });
  }
  rows_.learned = set.train.num_rows;
  rows_.validated = set.validation.num_rows;
  return set;
}

void TablePasses::add_rates(TrainingSet& set) {
  if (!learning_rates_) return;
  detail::ValueRates rates = learning_rates_->rates(options_.rows.tau);
  set.train = learning_rates_->out_of_fold(set.shape, set.train, folds_, rates);
  set.validation = rates.widened(set.shape, set.validation);
  set.shape = rates.widened(set.shape);
  rate_scale_ = rates.scale;
}

std::shared_ptr<const detail::ValueRates> TablePasses::shared_rates(
    const std::optional<detail::RateCounter>& counter) const {
  if (!counter) return nullptr;
  return std::make_shared<const detail::ValueRates>(counter->rates(options_.rows.tau, rate_scale_));
}

void TablePasses::require_same_rows(std::uint64_t before, std::uint64_t now) const {
  if (before == now) return;
  throw InvalidInput(table_.name,
                     "has " + count_text(static_cast<double>(now)) + " rows, it had " +
                         count_text(static_cast<double>(before)) + " when it was first read",
                     Cause::kFileChanged);
}

ModelCard make_card(const TrainTableOptions& options, const std::optional<SplitUse>& split, const TrainingSet& set,
                    const TrainResult& result) {
  const auto positives = static_cast<double>(std::ranges::count(set.train.label, std::uint8_t{1}));
  ModelCard card = {.model = options.model, .training = options.training, .table = options.table, .split = split};
  card.training.batch = options.training.batch.value_or(default_batch(set.train.num_rows));
  card.training.learning_rate =
      options.training.learning_rate.value_or(default_learning_rate(options.model.encoder.kind));
  card.training.weight_decay = options.training.weight_decay.value_or(default_weight_decay(options.model.encoder.kind));
  card.model.encoder = settled(options.model.encoder, set.train.num_rows);
  card.class_counts = {static_cast<double>(set.train.num_rows) - positives, positives};
  card.unseen_rows = detail::unseen_rows(set.shape, set.train);
  card.validation_rows = set.validation.num_rows;
  card.members = result.members;
  card.average_precision = result.average_precision;
  card.roc_auc = result.roc_auc;
  card.history = result.history;
  return card;
}

}  // namespace

FrameSource frame_source(std::string name, Frame frame) {
  FrameSource source = {.name = std::move(name)};
  for (const Column& column : frame.columns) source.columns.push_back(column.name);
  source.read = [rows = std::make_shared<const Frame>(std::move(frame))](auto, const auto& visit) { visit(*rows); };
  return source;
}

void validate(const TrainTableOptions& options) {
  const auto refuse = [](const char* field, const std::string& problem) {
    throw InvalidInput(Where{.function = "train_table", .field = field}, problem);
  };
  if (options.features.label.empty()) refuse("features.label", "is empty, must be the name of the label's column");
  // A column that is not read may be dropped twice.
  FeatureOptions features = options.features;
  std::erase_if(features.drop,
                [&](const std::string& name) { return name != features.label && name != time_column(options.rows); });
  validate(features);
  validate(options.training);
  if (!(options.rows.tau >= 1 && options.rows.tau <= 1e9)) {
    refuse("rows.tau", "is " + number_text(options.rows.tau) + ", must be 1 to 1e9");
  }
  if (options.rows.split) validate(split_options(options.rows));
  if (const auto* validation = std::get_if<ValidationShare>(&options.rows.validation)) {
    if (!(validation->share > 0 && validation->share < 1)) {
      refuse("rows.validation.share", "is " + number_text(validation->share) + ", must be above 0 and below 1");
    }
  } else if (!validation_table(options.rows)->read) {
    refuse("rows.validation.read", "is empty, must read the rows");
  }
}

TrainTableResult train_table(const FrameSource& table, const TrainTableOptions& options, const TrainTableHooks& hooks,
                             std::string_view checkpoint) {
  validate(options);
  if (!table.read)
    throw InvalidInput(Where{.function = "train_table", .field = "read"}, "is empty, must read the rows");
  TablePasses passes(table, options);
  passes.find_split();
  const FeatureTransform transform = passes.fit_features();
  if (hooks.features) hooks.features(transform);
  TrainingSet set = passes.encode(transform);
  const FeatureRows validation = set.validation;
  passes.add_rates(set);
  if (hooks.rows) hooks.rows(passes.rows());

  const auto train_networks = [&] { return train(set, options.model, options.training, hooks.training, checkpoint); };
  TrainTableResult result;
  result.training = checkpoint.empty() ? in_table(table.name, train_networks) : train_networks();
  result.rows = passes.rows();
  result.identifiers = transform.identifiers();
  if (result.training.weights.empty()) return result;
  ModelCard card = make_card(options, passes.split(), set, result.training);
  const int threads = options.training.num_threads;
  // What the validation rows tell must not rest on their own labels: rates of the rows that were learned from.
  const Model network(transform, card, result.training.weights, threads, std::nullopt, passes.learning_rates());
  Prediction prediction = network.predict(validation);
  std::optional<EvidenceLaw> law;
  if (options.learns_evidence && set.shape.num_categorical() > 0) {
    const CodeRows codes = detail::evidence_codes(set.shape, validation, detail::RowsOf::kOthers);
    law = fit_evidence_law(detail::evidence_codes(set.shape, set.train, detail::RowsOf::kTraining), codes,
                           prediction.score, validation.label, {.seed = options.training.seed, .num_threads = threads});
    card.law = law->describe(transform.categorical_names());
    if (!law->is_silent()) prediction.learnt_evidence = detail::learnt_evidence(*law, codes);
  }
  card.uncertainty =
      detail::choose_uncertainty(prediction, validation.label,
                                 !prediction.learnt_evidence.empty()    ? Uncertainty::kLearntEvidence
                                 : !prediction.counted_evidence.empty() ? Uncertainty::kCountedEvidence
                                                                        : default_uncertainty(options.model.head.kind),
                                 threads);
  result.model.emplace(transform, std::move(card), result.training.weights, threads, std::move(law), passes.rates());
  return result;
}

}  // namespace limen::train
