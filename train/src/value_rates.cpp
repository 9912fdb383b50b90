// SPDX-License-Identifier: MIT
#include "value_rates.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "detail/json_fields.h"
#include "limen/base/error.h"

namespace limen::train::detail {
namespace {

constexpr const char* kFile = "rates.json";
constexpr double kClip = 10;

double logit(double p) { return std::log(p / (1 - p)); }

/// Before scaling. more_rows, more_positives: that are counted beside the value's own.
double rate_input(double prior, double rows, double positives) {
  constexpr double kStrength = ValueRates::kStrength;
  const double found = positives + kStrength * prior;
  const double others = rows - positives + kStrength * (1 - prior);
  return std::log(found / others) - logit(prior);
}

/// A row's inputs, then input_of(number of the feature, token) for every feature with rates.
template <typename InputOf>
FeatureRows widen(const ValueRates& rates, const FeatureShape& shape, const FeatureRows& rows,
                  const InputOf& input_of) {
  FeatureRows wide = {
      .num_rows = rows.num_rows, .categorical = rows.categorical, .fraction = rows.fraction, .label = rows.label};
  wide.numeric.reserve(rows.num_rows * (shape.num_numeric + rates.features.size()));
  for (std::size_t row = 0; row < rows.num_rows; ++row) {
    const auto from = rows.numeric.begin() + static_cast<std::ptrdiff_t>(row * shape.num_numeric);
    wide.numeric.insert(wide.numeric.end(), from, from + static_cast<std::ptrdiff_t>(shape.num_numeric));
    for (std::size_t at = 0; at < rates.features.size(); ++at) {
      const auto token =
          static_cast<std::size_t>(rows.categorical[row * shape.num_categorical() + rates.features[at].feature]);
      const double input = input_of(row, at, token) / rates.scale;
      wide.numeric.push_back(static_cast<float>(std::clamp(input, -kClip, kClip)));
    }
  }
  return wide;
}

}  // namespace

FeatureShape ValueRates::widened(const FeatureShape& shape) const {
  FeatureShape wide = shape;
  wide.num_numeric += features.size();
  return wide;
}

FeatureRows ValueRates::widened(const FeatureShape& shape, const FeatureRows& rows) const {
  return widen(*this, shape, rows, [&](std::size_t, std::size_t at, std::size_t token) {
    return rate_input(prior, features[at].rows[token], features[at].positives[token]);
  });
}

FeatureRows ValueRates::widened(const FeatureShape& shape, const FeatureRows& rows, std::span<const double> more,
                                More kind) const {
  return widen(*this, shape, rows, [&](std::size_t row, std::size_t at, std::size_t token) {
    return rate_input(prior, features[at].rows[token] + more[row],
                      features[at].positives[token] + (kind == More::kPositives ? more[row] : 0));
  });
}

std::vector<double> ValueRates::step(const FeatureShape& shape, const FeatureRows& rows) const {
  std::vector<double> steps(rows.num_rows);
  for (std::size_t row = 0; row < rows.num_rows; ++row) {
    double fewest = std::numeric_limits<double>::infinity();
    for (const TokenCounts& counts : features) {
      const std::int32_t token = rows.categorical[row * shape.num_categorical() + counts.feature];
      fewest = std::min<double>(fewest, counts.rows[static_cast<std::size_t>(token)]);
    }
    steps[row] = 1 + 0.1 * fewest;
  }
  return steps;
}

std::vector<double> ValueRates::evidence(std::span<const double> more, std::span<const double> with_positives,
                                         std::span<const double> with_negatives) const {
  // Of rows of which negatives were kept at rate 1 / tau.
  const auto natural = [this](double score) { return score / (score + tau * (1 - score)); };
  std::vector<double> evidence(more.size());
  for (std::size_t row = 0; row < more.size(); ++row) {
    const double moved = natural(with_positives[row]) - natural(with_negatives[row]);
    constexpr double kMost = 1e12;
    evidence[row] = moved > more[row] / kMost ? std::clamp(more[row] / moved - more[row], 1e-3, kMost) : kMost;
  }
  return evidence;
}

RateCounter::RateCounter(const FeatureShape& shape)
    : num_categorical_(shape.num_categorical()), num_tokens_(shape.num_tokens) {
  std::vector<bool> has_knots(num_categorical_, false);
  for (const KnotInput& knots : shape.knots) has_knots[knots.categorical] = true;
  for (std::size_t feature = 0; feature < num_categorical_; ++feature) {
    if (has_knots[feature] || num_tokens_[feature] < ValueRates::kManyValues) continue;
    features_.push_back({feature, std::vector<Counts>(static_cast<std::size_t>(num_tokens_[feature]) * kFolds)});
  }
}

void RateCounter::add(const FeatureRows& rows, std::span<const std::uint8_t> fold) {
  for (std::size_t row = 0; row < rows.num_rows; ++row) {
    if (fold[row] >= kFolds) continue;
    const bool positive = rows.label[row] == 1;
    ++rows_;
    positives_ += positive ? 1 : 0;
    for (Feature& feature : features_) {
      const auto token = static_cast<std::size_t>(rows.categorical[row * num_categorical_ + feature.feature]);
      Counts& cell = feature.cells[token * kFolds + fold[row]];
      ++cell.rows;
      cell.positives += positive ? 1 : 0;
    }
  }
}

ValueRates RateCounter::rates(double tau, double scale) const {
  // A rate of 0 or 1 has no logit; training then refuses the rows because they are of one class.
  const double prior = (static_cast<double>(positives_) + 0.5) / (static_cast<double>(rows_) + 1);
  ValueRates rates = {.prior = prior, .tau = tau, .scale = scale};
  for (const Feature& feature : features_) {
    const auto tokens = static_cast<std::size_t>(num_tokens_[feature.feature]);
    TokenCounts counts = {feature.feature, std::vector<std::uint32_t>(tokens), std::vector<std::uint32_t>(tokens)};
    for (std::size_t cell = kFolds; cell < feature.cells.size(); ++cell) {
      counts.rows[cell / kFolds] += feature.cells[cell].rows;
      counts.positives[cell / kFolds] += feature.cells[cell].positives;
    }
    rates.features.push_back(std::move(counts));
  }
  return rates;
}

FeatureRows RateCounter::out_of_fold(const FeatureShape& shape, const FeatureRows& rows,
                                     std::span<const std::uint8_t> fold, ValueRates& rates) const {
  const auto input = [&](std::size_t row, std::size_t at, std::size_t token) -> double {
    if (token == 0) return 0;
    const Counts& own = features_[at].cells[token * kFolds + fold[row]];
    return rate_input(rates.prior, rates.features[at].rows[token] - own.rows,
                      rates.features[at].positives[token] - own.positives);
  };
  double squares = 0;
  for (std::size_t row = 0; row < rows.num_rows; ++row) {
    for (std::size_t at = 0; at < features_.size(); ++at) {
      const std::int32_t token = rows.categorical[row * num_categorical_ + features_[at].feature];
      const double value = input(row, at, static_cast<std::size_t>(token));
      squares += value * value;
    }
  }
  const double mean_square = squares / static_cast<double>(std::max<std::size_t>(1, rows.num_rows * features_.size()));
  rates.scale = mean_square > 1e-6 ? std::sqrt(mean_square) : 1;
  return widen(rates, shape, rows, input);
}

std::string to_json(const ValueRates& rates) {
  nlohmann::ordered_json json;
  json["prior"] = rates.prior;
  json["tau"] = rates.tau;
  json["scale"] = rates.scale;
  json["features"] = nlohmann::ordered_json::array();
  for (const TokenCounts& counts : rates.features) {
    json["features"].push_back({{"feature", counts.feature}, {"rows", counts.rows}, {"positives", counts.positives}});
  }
  return json.dump();
}

ValueRates rates_from_json(std::string_view text, const FeatureShape& shape) {
  const nlohmann::json json = JsonFields::parse(text, kFile);
  const JsonFields fields(json, kFile, "");
  ValueRates rates = {.prior = fields.number("prior"), .tau = fields.number("tau"), .scale = fields.number("scale")};
  if (!(rates.prior > 0 && rates.prior < 1)) fields.refuse("prior", "must be between 0 and 1");
  if (!(rates.tau >= 1 && rates.tau <= 1e9)) fields.refuse("tau", "must be 1 to 1e9");
  if (!(rates.scale >= 1e-6 && rates.scale <= 1e6)) fields.refuse("scale", "must be 1e-6 to 1e6");
  const auto numbers = [](const JsonFields& of, const char* key, std::size_t size) {
    const nlohmann::json& list = of.list(key);
    if (list.size() != size) of.refuse(key, "does not have one number for each token");
    std::vector<std::uint32_t> values;
    values.reserve(size);
    for (const nlohmann::json& value : list) {
      if (!value.is_number_unsigned() || value.get<std::uint64_t>() > std::numeric_limits<std::uint32_t>::max()) {
        of.refuse(key, "holds something else than counts");
      }
      values.push_back(value.get<std::uint32_t>());
    }
    return values;
  };
  for (const nlohmann::json& each : fields.list("features")) {
    if (!each.is_object()) fields.refuse("features", "holds something else than objects");
    const JsonFields feature(each, kFile, "features.");
    const auto at =
        static_cast<std::size_t>(feature.integer("feature", 0, static_cast<std::int64_t>(shape.num_categorical()) - 1));
    if (!rates.features.empty() && at <= rates.features.back().feature) feature.refuse("feature", "must increase");
    const auto tokens = static_cast<std::size_t>(shape.num_tokens[at]);
    TokenCounts counts = {at, numbers(feature, "rows", tokens), numbers(feature, "positives", tokens)};
    for (std::size_t token = 0; token < tokens; ++token) {
      if (counts.positives[token] > counts.rows[token]) feature.refuse("positives", "are more than the rows");
    }
    rates.features.push_back(std::move(counts));
  }
  if (rates.empty()) fields.refuse("features", "is empty");
  return rates;
}

}  // namespace limen::train::detail
