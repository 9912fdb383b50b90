// SPDX-License-Identifier: MIT
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "limen/train/feature_rows.h"
#include "limen/train/options.h"

namespace limen::train {

struct TrainingSet {
  FeatureShape shape = {};
  FeatureRows train = {};       ///< with labels of both classes
  FeatureRows validation = {};  ///< the same; chooses the epoch
};

/// One epoch of one network.
struct EpochReport {
  int member = 0;  ///< of an ensemble, from 0
  int epoch = 0;   ///< from 1; epochs of all stages count
  Stage stage = Stage::kTraining;
  double loss = 0;               ///< mean over the training rows while they were learned from
  double average_precision = 0;  ///< on the validation rows; 0 in warm-up, as the next two
  double roc_auc = 0;
  double log_loss = 0;
  bool is_best = false;  ///< its weights are the best so far
  double seconds = 0;
  double rows_per_second = 0;
};

/// The report as one line of JSON, without a line end: the log of the epochs is made of these.
[[nodiscard]] std::string to_json_line(const EpochReport& report);

/// How far the training is.
struct TrainProgress {
  int member = 0;
  int num_members = 1;
  int epoch = 1;
  int num_epochs = 1;
  std::size_t rows_done = 0;  ///< in this epoch
  std::size_t num_rows = 0;
  double loss = 0;  ///< mean over this epoch so far
  double rows_per_second = 0;
  double seconds_left = 0;  ///< when no member stops early
};

struct TrainHooks {
  std::function<void(const EpochReport&)> epoch = nullptr;
  /// About five times a second.
  std::function<void(const TrainProgress&)> progress = nullptr;
  /// Gets all that is needed to go on from here, at the end of every epoch and when `save_seconds` have passed since
  /// the last time.
  std::function<void(const std::string& checkpoint)> save = nullptr;
  double save_seconds = 60;
};

struct TrainResult {
  /// Weights of the best epoch of every member (a safetensors file); empty when the loss was lost before there was one.
  std::string weights = {};
  int members = 0;  ///< networks in `weights`
  std::vector<EpochReport> history = {};
  double average_precision = 0;  ///< on validation, of the best epoch; the mean over members
  double roc_auc = 0;
  /// Empty, or what went wrong and what to change: then training stopped, and the weights are those of the best epoch
  /// before that.
  std::string diverged = {};
};

/// Throws InvalidInput naming field, value and range.
void validate(const TrainOptions& options);

/// Trains one network, or the members of an ensemble one after the other, by Adam on shuffled mini-batches, which a
/// second thread puts together. After every epoch the validation rows are scored; the weights of the best epoch
/// (`selection`) are kept, and `patience` epochs without a better one end the training. Epochs of fine-tuning then fit
/// the densities alone, by maximum likelihood, with the best epoch's encoder; their result is kept unless it costs more
/// than a hundredth of the average precision.
///
/// Without a number of epochs: a round of 6. If its second half has made the figure that is selected by better than its
/// first by more than a fiftieth (of itself; of 1 less itself for roc_auc), a round of 12, and then one of 24, in the
/// same way. A table that is learnt in a few epochs is not learnt by heart in many, and one of many rows, whose pairs
/// of values take long to learn, gets them. Each round has the learning rates of a training of its own.
///
/// Learning rate: constant; cosine, from learning_rate to a hundredth of it over all steps; or step, a third of it from
/// 60% of the steps and a ninth from 85%; or plateau, a tenth after each epoch that is not the best so far, at least
/// 1e-6.
///
/// checkpoint: what `save` was given: training goes on from there, and ends with the same weights and metrics, bit for
/// bit, as if it had not been broken. One of other data or options is refused. The same data, options and seed give the
/// same weights, for any number of threads.
///
/// Memory: the rows, three copies of the weights, and a few batches. Throws InvalidInput: also when labels are of one
/// class only.
[[nodiscard]] TrainResult train(const TrainingSet& data, const ModelOptions& model, const TrainOptions& options,
                                const TrainHooks& hooks = {}, std::string_view checkpoint = {});

}  // namespace limen::train
