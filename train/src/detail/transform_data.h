// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "limen/base/dates.h"
#include "limen/base/labels.h"
#include "limen/base/text_index.h"
#include "limen/train/features.h"

namespace limen::train::detail {

/// Limits of what fitting makes and loading accepts.
constexpr std::int64_t kMostTokens = 10'000'000;
constexpr std::int64_t kMostTokensTogether = 1'000'000'000;
constexpr std::size_t kMostColumns = 1'000'000;
constexpr double kMostClip = 1e6;
constexpr int kMostKnots = 1024;

struct NumericEncoding {
  Scaling scaling = Scaling::kLinear;  ///< kLinear or kLog
  double center = 0;                   ///< finite
  double scale = 1;                    ///< finite, above 0
  bool value = true;                   ///< an input of the value
  bool indicator = false;              ///< behind it, an input that says whether it is missing
  /// Finite, increasing, at least three. Empty: no token.
  std::vector<double> knots = {};

  [[nodiscard]] std::size_t num_inputs() const { return (value ? 1U : 0U) + (indicator ? 1U : 0U); }
  [[nodiscard]] bool has_token() const { return !knots.empty(); }
  /// 0 for missing, then the knots.
  [[nodiscard]] std::int32_t num_tokens() const { return static_cast<std::int32_t>(knots.size()) + 1; }
};

struct CategoricalEncoding {
  bool missing_token = false;
  std::int32_t hash_buckets = 0;  ///< 0: by vocabulary
  TextIndex vocabulary = {};

  [[nodiscard]] std::int32_t first_token() const { return missing_token ? 2 : 1; }
};

/// The parts that are features.
constexpr std::array<DatePart, 4> kDateParts = {DatePart::kHour, DatePart::kWeekday, DatePart::kDay, DatePart::kMonth};
constexpr int kMostPartValues = 32;

/// As it stands in the model's file: 0 to 23, 0 (Monday) to 6, 1 to 31, 1 to 12.
[[nodiscard]] inline int part_value(const Date& date, DatePart part) {
  return part_of(date, part) - (part == DatePart::kWeekday ? 1 : 0);
}

struct DatePartEncoding {
  DatePart part = DatePart::kHour;
  std::vector<int> values = {};  ///< that have a token, increasing
};

struct DateEncoding {
  DateFormat format = DateFormat::kText;
  bool missing_token = false;
  std::vector<DatePartEncoding> parts = {};

  [[nodiscard]] std::int32_t first_token() const { return missing_token ? 2 : 1; }
};

/// A column that training had but that is no feature.
struct LeftOut {
  bool identifier = false;  ///< because every row has a whole number of its own
};

struct ColumnData {
  std::string name = {};
  std::int64_t missing = 0;             ///< training rows
  std::vector<std::string> notes = {};  ///< for the user
  std::variant<LeftOut, NumericEncoding, CategoricalEncoding, DateEncoding> encoding = {};
};

struct TransformData {
  std::int64_t rows = 0;  ///< of training
  std::int64_t positives = 0;
  double clip = 10;
  std::string label = {};
  LabelRule label_rule = {};
  std::vector<ColumnData> columns = {};
  FeatureShape shape = {};  ///< follows from columns

  /// Throws InvalidInput above the limits.
  [[nodiscard]] FeatureShape shape_of_columns() const;
};

/// The columns of a frame by name; all lengths and codes are checked. Throws InvalidInput.
[[nodiscard]] std::map<std::string_view, const Column*> columns_by_name(const Frame& frame, std::string_view function);

}  // namespace limen::train::detail
