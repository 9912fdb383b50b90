// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "limen/base/dates.h"
#include "limen/base/frame.h"
#include "limen/base/labels.h"
#include "limen/train/feature_rows.h"

namespace limen::train {

/// How a numeric column is spread before it is centred and scaled.
enum class Scaling {
  /// Log where the tail is heavy and the logarithm shortens it, else linear; the rule is at FeatureFitter.
  kAuto,
  kLinear,  ///< x
  kLog,     ///< sign(x) * log(1 + |x|)
};

enum class ColumnKind { kNumeric, kCategorical, kDate };

/// Which columns are features and how they are encoded. Columns that no list names are features of a detected kind:
/// numbers are numeric, texts that all read as dates (DateFormat::kText) are dates, other texts are categorical.
/// A column of more than 100 numbers, all of them whole and different, is taken for an identifier and left out. A
/// column without a name is refused.
struct FeatureOptions {
  std::vector<std::string> numeric = {};
  /// A number column of few whole values is categorical only when it is named here.
  /// Numbers in a categorical column stand for their shortest decimal text: 7 and 7.0 and "7" are one value.
  std::vector<std::string> categorical = {};
  std::map<std::string, DateFormat> date = {};
  std::vector<std::string> drop = {};
  /// The label's column; empty: there is none, and rows are encoded without labels.
  std::string label = {};
  /// Which labels are positive. With a positive value every other value is negative, but when training has just two
  /// values a third one is refused later.
  LabelRule label_rule = {};

  Scaling scaling = Scaling::kAuto;
  std::map<std::string, Scaling> scaling_of = {};  ///< for single numeric columns
  /// Scaled values are clipped to -clip .. clip. 0.001 to 1e6.
  double clip = 10;
  /// A numeric column also has a vector, a function of the value that is linear between at most so many knots, with
  /// about equally many training rows at each. 0 to 1024; below 3: none.
  int numeric_knots = 128;
  /// A value has a token of its own when at least so many training rows have it. 1 or more.
  std::int64_t min_count = 5;
  /// A column with more different values than this in training is hashed. 1 to 10,000,000.
  std::int64_t max_vocabulary = 100'000;
  /// Tokens of a hashed column. 1 to 10,000,000.
  std::int32_t hash_buckets = 1 << 17;
  /// Quantiles of a numeric column are exact up to so many present values; above, they are those of a random sample of
  /// between half as many and as many. 1,000 to 100,000,000; 12 bytes each, per numeric column.
  std::int64_t quantile_rows = 1 << 17;
  std::uint64_t seed = 0;  ///< of that sample
  int num_threads = 0;     ///< 0: all cores. The result does not depend on it.
};

/// Throws InvalidInput naming field, value and range.
void validate(const FeatureOptions& options);

enum class MissingLabels {
  kRefuse,  ///< an error that names the row
  kMark,    ///< kMissingLabel (base/label_column.h) in place of 0 or 1
};

enum class LabelUse {
  kIfPresent,  ///< labels when the frame has the label's column
  kRequired,   ///< a frame without it is refused
  kIgnore,     ///< never looked at
};

struct EncodeOptions {
  LabelUse labels = LabelUse::kIfPresent;
  MissingLabels missing_labels = MissingLabels::kRefuse;
  /// Rows before this frame in its file: added to row numbers in errors.
  std::size_t first_row = 0;
  int num_threads = 0;  ///< 0: all cores
};

/// A raw column that encoding needs, for a reader: categorical and date columns are best read as text.
struct ColumnUse {
  std::string name = {};
  ColumnKind kind = ColumnKind::kNumeric;
  bool operator==(const ColumnUse&) const = default;
};

namespace detail {
struct TransformData;
}

/// The fitted way from raw columns to what a network sees. Immutable; a copy is cheap and shares its data.
///
/// Numeric column: one input, clip((f(x) - center) / scale), 0 for a missing value; when training had missing values
/// one more input behind it, 1 for a missing value and 0 else. Infinite values are missing values. And, unless the
/// column has fewer than three knots k_0 < ... < k_K, one token with a fraction (FeatureRows): token 0 for a missing
/// value, else 1 + b where k_b is the last knot at or below x, but at least k_0 and at most k_(K-1), and the fraction
/// (x - k_b) / (k_(b+1) - k_b), at least -1 and at most 2: beyond the last knot the function goes on for as long as
/// the last interval.
///
/// Categorical column: one token. 0: a value that training had not, or too rarely. Then, only when training had at
/// least min_count missing values, a token of missing (else a missing value is 0). Then the values of the vocabulary,
/// frequent ones first, or the buckets of the hash: FNV-1a of 64 bits over the bytes, finalised by splitmix64, the high
/// 32 bits scaled to the number of buckets. An empty text is a missing value.
///
/// Date column: one token each for hour and weekday, for the day of the month when training spans at least 366 days,
/// and for the month when it spans at least 731: in a few months a day of the month is a name of a few days, whose
/// weather a network learns by heart; only those that take two or more values. A position in time itself is not an
/// input: rows to be predicted lie in the future, where no training row was.
class FeatureTransform {
 public:
  [[nodiscard]] const FeatureShape& shape() const;

  /// Encodes rows. Columns are found by name, in any order; further columns are ignored.
  ///
  /// Numeric columns also take texts that are numbers, categorical ones also numbers, dates only dates.
  /// InvalidInput: a missing column (with the nearest name there is), a value of the wrong kind, a label of neither
  /// class or missing, a frame whose columns disagree in length or repeat a name. Errors name column, row (from 1) and
  /// value.
  ///
  /// O(cells) time; in memory the result, and a table of the distinct texts. Same result on any number of threads.
  [[nodiscard]] FeatureRows encode(const Frame& frame, const EncodeOptions& options = {}) const;

  /// Columns in the order of the training file, without the label.
  [[nodiscard]] std::vector<ColumnUse> columns() const;
  /// The label's column; empty when there is none.
  [[nodiscard]] const std::string& label() const;
  /// Names of the network's inputs: "age", "age is missing"; "city", "hour of time".
  [[nodiscard]] std::vector<std::string> numeric_names() const;
  [[nodiscard]] std::vector<std::string> categorical_names() const;
  /// Columns that nobody named numeric and that were left out because every row has a whole number of its own there.
  [[nodiscard]] std::vector<std::string> identifiers() const;
  /// For the user: a line about the rows, then one per column with its kind, tokens, missing share and notes.
  [[nodiscard]] std::vector<std::string> summary() const;

  /// Text that from_json reads back to a transform with bit-identical results.
  [[nodiscard]] std::string to_json() const;
  /// The text may come from anyone: every field is checked. Throws InvalidInput that says what is wrong.
  [[nodiscard]] static FeatureTransform from_json(std::string_view text);

  /// For FeatureFitter; data must be sound.
  explicit FeatureTransform(std::shared_ptr<const detail::TransformData> data);

 private:
  std::shared_ptr<const detail::TransformData> data_;
};

/// Learns a FeatureTransform from training rows that come in batches.
///
/// The result depends on the rows and their order, never on the batches or threads. Memory is bounded by the options:
/// per numeric column 12 * quantile_rows bytes, per categorical column max_vocabulary texts and counters.
///
/// Numeric columns: with quartiles q1, q2, q3 of f(x) (linear interpolation), center = q2 and scale = (q3 - q1)
/// / 1.349, which is the standard deviation for a normal law; the standard deviation itself when q3 = q1. Rule of
/// kAuto: let tail(f) = max(q99 - q2, q2 - q01) / (q3 - q1), or the largest distance from q2 over twice the standard
/// deviation when q3 = q1; log is taken when tail(x) > 5 and tail(log) <= tail(x) / 2. (A normal law has 1.7, an
/// exponential one 3.6, a log-normal one with sigma 1 6.4.) Columns without any value or with one single value are left
/// out, with a note; a column of one value and missing ones keeps its missing indicator.
///
/// Knots of numeric columns: at most numeric_knots, and no more than leave min_count rows to each. With no more
/// different values than that: those of at least min_count rows, and the lowest and the highest. Else the lowest and
/// the highest value; the values of so many rows that they fill a share of their own (a column that is mostly 0 has a
/// knot there, and one for each of its other frequent values); and of what is left, values at equal distances in rows.
class FeatureFitter {
 public:
  /// Throws InvalidInput for options that cannot be.
  explicit FeatureFitter(FeatureOptions options);
  FeatureFitter(FeatureFitter&&) noexcept;
  FeatureFitter& operator=(FeatureFitter&&) noexcept;
  ~FeatureFitter();

  /// Takes the next rows of the file; only those whose `selected` is not 0 are learned from (empty: all).
  /// Every frame must have the columns of the first. A name in the options that no column has: InvalidInput with the
  /// nearest name. A column may come as numbers in one batch and as text in another only if declared, or if the text is
  /// of numbers; the first batch with a value decides. A label is looked at in selected rows only.
  /// After an exception the fitter is of no further use.
  void add(const Frame& frame, std::span<const std::uint8_t> selected = {});

  /// Throws InvalidInput when there were no rows, no feature is left, or the labels are not of two classes.
  [[nodiscard]] FeatureTransform finish();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace limen::train
