// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "limen/base/frame.h"
#include "limen/train/features.h"
#include "limen/train/model.h"
#include "limen/train/options.h"
#include "limen/train/split.h"
#include "limen/train/trainer.h"

namespace limen::train {

/// A table that is gone through several times, from its first row to its last: files, a query, rows in memory.
struct FrameSource {
  /// What errors call the table.
  std::string name = "table";
  /// Names of the columns that may be asked for, in the order of the table.
  std::vector<std::string> columns = {};
  /// Hands all rows to `visit`, in order, in batches of any size, anew at every call. A frame has the asked columns and
  /// perhaps others, which are not looked at; all frames have the same ones.
  std::function<void(std::span<const std::string> columns, const std::function<void(const Frame&)>& visit)> read =
      nullptr;
};

/// Rows in memory as a table, with all columns of the frame.
[[nodiscard]] FrameSource frame_source(std::string name, Frame frame);

/// Parts of the table's rows, of which only the first is for training.
struct TableSplit {
  /// Shares of training, hold-out and test rows, as in SplitOptions.
  std::array<double, 3> fractions = SplitOptions().fractions;
  /// Column of times: the earliest rows are for training, the latest for test (time_cuts). Its values are read in the
  /// format that FeatureOptions::date has for it, else as DateFormat::kText. Empty: the parts are random (split_rows).
  std::string time_column = {};
};

/// Training rows that are kept aside to choose the epoch: in a split by time the latest ones, as a model is used on
/// later rows than it was trained on, else random ones.
struct ValidationShare {
  double share = 0.1;  ///< of the training rows; above 0 and below 1
};

/// What the rows of the table are used for.
struct RowOptions {
  /// Unset: all rows are for training.
  std::optional<TableSplit> split = std::nullopt;
  /// Negatives that are learned from are kept at rate 1 / tau (base/undersampling.h). 1 to 1e9; 1 keeps all.
  double tau = 1;
  /// Rows that choose the epoch, at the natural rate: a share of the training rows, or all rows of another table.
  std::variant<ValidationShare, FrameSource> validation = ValidationShare{};
  /// Leaves out rows without a label; otherwise they are refused.
  bool drop_missing = false;
  /// Of split, undersampling and validation share: they are functions of seed and row number alone.
  std::uint64_t seed = 0;
};

struct TrainTableOptions {
  /// `label` must be named. Dropped columns are not read. A column of times is a feature, too, unless it is dropped.
  FeatureOptions features = {};
  /// Of the networks.
  ModelOptions model = {};
  /// Of the epochs; its number of threads also encodes rows and predicts.
  TrainOptions training = {};
  RowOptions rows = {};
  /// Looks for a law of evidence on the validation rows: which of the columns say how well a row is known.
  bool learns_evidence = true;
  /// Columns of many values also have the rate of positives of the row's value as an input of the network; how many
  /// training rows it comes from is evidence (Prediction::counted_evidence). Rates are those of all training rows,
  /// before undersampling; a row that is learned from has the rate of nine tenths of the others.
  bool has_rates = true;
  /// How the table was read from its files, for the model's card: it has no bearing on the training.
  TableUse table = {};
};

/// Throws InvalidInput naming field, value and range. Options of the network are checked when it is made.
void validate(const TrainTableOptions& options);

/// What became of the rows.
struct RowsUsed {
  std::uint64_t read = 0;       ///< all rows of the table
  std::uint64_t dropped = 0;    ///< had no label, in the table or in that of the validation rows
  std::uint64_t learned = 0;    ///< trained the network
  std::uint64_t validated = 0;  ///< chose the epoch
};

/// Called on the way; each may be empty.
struct TrainTableHooks {
  /// When the features are known, behind the first pass over the whole table.
  std::function<void(const FeatureTransform&)> features = nullptr;
  /// When the rows are in memory, before the first epoch.
  std::function<void(const RowsUsed&)> rows = nullptr;
  TrainHooks training = {};
};

struct TrainTableResult {
  std::optional<Model> model = std::nullopt;  ///< unset when `training` has no weights
  TrainResult training = {};
  RowsUsed rows = {};
  std::vector<std::string> identifiers = {};  ///< columns that were left out as such; see FeatureOptions
};

/// Trains a model from the rows of a table: splits them, learns the features from those that it learns from, encodes,
/// undersamples and trains (train). The table is gone through twice, after a pass over the times when it is split by
/// time; the validation table once.
///
/// The model depends on rows and options alone, not on batches or threads. It keeps the split with a fingerprint of the
/// table, so that a part can be predicted later (table_parts.h).
///
/// checkpoint: what hooks.training.save was given, of the same rows and options, or nothing; see train.
///
/// Memory: the encoded rows that are learned from and validate, and what train, FeatureFitter and one frame take; in a
/// split by time 8 bytes for every row of the table during the first pass.
///
/// Throws InvalidInput, errors of rows with the name of their table: a column that is not there, a missing label unless
/// they are dropped, labels of one class, a value that does not fit its column. A table that has another number of rows
/// or other labels in a later pass is refused, too (Cause::kFileChanged). Errors of the training itself have the
/// table's name unless a checkpoint was given, which the caller can name better. What `read` and the hooks throw passes
/// through.
[[nodiscard]] TrainTableResult train_table(const FrameSource& table, const TrainTableOptions& options,
                                           const TrainTableHooks& hooks = {}, std::string_view checkpoint = {});

}  // namespace limen::train
