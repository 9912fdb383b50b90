// SPDX-License-Identifier: MIT
#include "limen/solve/objective.h"

#include <array>
#include <charconv>

#include "limen/base/error.h"
#include "limen/base/wide.h"

namespace limen {
namespace {

using detail::Wide;

std::string decimal(const Rational& value) {
  std::array<char, 64> buffer{};
  const auto result = std::to_chars(buffer.data(), buffer.data() + buffer.size(), value.to_double());
  return {buffer.data(), result.ptr};
}

void check_bound(const Rational& bound, const char* name) {
  if (bound.num < 0 || bound.den <= 0 || bound.num > bound.den) {
    throw InvalidInput(std::string("objective: ") + name + " is " + decimal(bound) + ", must be between 0 and 1");
  }
}

// Costs are multiplied with each other and with counts, beta is squared: ten digits keep all of it within 128 bits.
void check_short(const Rational& value, const char* name) {
  constexpr std::int64_t kLimit = 10'000'000'000;
  if (value.num < 0 || value.den <= 0 || value.num > kLimit || value.den > kLimit) {
    throw InvalidInput(std::string("objective: ") + name + " is " + decimal(value) +
                       ", must be a number >= 0 of at most 10 digits");
  }
}

/// Cost of a boundary times both denominators.
Wide scaled_cost(const Objective& objective, const Totals& totals, const Counts& flagged) {
  const Wide per_fp = Wide{objective.false_positive_cost.num} * objective.false_negative_cost.den;
  const Wide per_fn = Wide{objective.false_negative_cost.num} * objective.false_positive_cost.den;
  return per_fp * (flagged.rows - flagged.positives) + per_fn * (totals.all.positives - flagged.positives);
}

/// F-beta = (1 + b^2) TP / (flagged + b^2 P), b = p/q: the denominator times q^2. Zero only when nothing is flagged and
/// there are no positives.
Wide f_beta_denominator(const Rational& beta, const Totals& totals, const Counts& flagged) {
  return Wide{beta.den} * beta.den * flagged.rows + Wide{beta.num} * beta.num * totals.all.positives;
}

double ratio(std::int64_t part, std::int64_t whole) {
  return whole > 0 ? static_cast<double>(part) / static_cast<double>(whole) : 0;
}

}  // namespace

Objective max_recall_at_precision(Rational bound) {
  Objective objective;
  objective.goal = Goal::kPrecision;
  objective.bound = bound;
  return objective;
}

Objective max_precision_at_recall(Rational bound) {
  Objective objective;
  objective.goal = Goal::kRecall;
  objective.bound = bound;
  return objective;
}

Objective max_recall_at_false_positive_rate(Rational bound) {
  Objective objective;
  objective.goal = Goal::kFalsePositiveRate;
  objective.bound = bound;
  return objective;
}

Objective max_recall_at_flag_rate(Rational bound) {
  Objective objective;
  objective.goal = Goal::kFlagRate;
  objective.bound = bound;
  return objective;
}

Objective min_cost(Rational false_positive_cost, Rational false_negative_cost) {
  Objective objective;
  objective.goal = Goal::kCost;
  objective.false_positive_cost = false_positive_cost;
  objective.false_negative_cost = false_negative_cost;
  return objective;
}

Objective max_f_beta(Rational beta) {
  Objective objective;
  objective.goal = Goal::kFBeta;
  objective.beta = beta;
  return objective;
}

void validate(const Objective& objective) {
  switch (objective.goal) {
    case Goal::kPrecision:
      return check_bound(objective.bound, "precision bound");
    case Goal::kRecall:
      return check_bound(objective.bound, "recall bound");
    case Goal::kFalsePositiveRate:
      return check_bound(objective.bound, "false-positive-rate bound");
    case Goal::kFlagRate:
      return check_bound(objective.bound, "flag-rate bound");
    case Goal::kCost:
      check_short(objective.false_positive_cost, "cost of a false positive");
      check_short(objective.false_negative_cost, "cost of a false negative");
      if (objective.false_positive_cost.num == 0 && objective.false_negative_cost.num == 0) {
        throw InvalidInput("objective", "both costs are 0, at least one must be > 0");
      }
      return;
    case Goal::kFBeta:
      check_short(objective.beta, "beta");
      if (objective.beta.num == 0) throw InvalidInput("objective", "beta is 0, must be > 0");
      return;
  }
}

Totals totals_of(const Grid& grid) {
  const Counts all = total_counts(grid);
  if (!grid.totals) return {all, all.positives, all.rows - all.positives, all.rows};
  const RowTotals& low = *grid.totals;
  return {all, low.positives_low, low.negatives_low, low.positives_low + low.negatives_low};
}

bool is_feasible(const Objective& objective, const Totals& totals, const Counts& flagged) {
  const Wide num = objective.bound.num;
  const Wide den = objective.bound.den;
  switch (objective.goal) {
    case Goal::kPrecision:
      return num * flagged.rows <= den * flagged.positives && (flagged.rows > 0 || num == 0);
    case Goal::kRecall:
      return flagged.positives > 0 &&
             den * (totals.all.positives - flagged.positives) <= (den - num) * totals.positives_low;
    case Goal::kFalsePositiveRate:
      return den * (flagged.rows - flagged.positives) <= num * totals.negatives_low;
    case Goal::kFlagRate:
      return den * flagged.rows <= num * totals.rows_low;
    case Goal::kCost:
    case Goal::kFBeta:
      return true;
  }
  return false;
}

bool is_better(const Objective& objective, const Totals& totals, const Counts& a, const Counts& b) {
  int sign = 0;  // of value(a) - value(b), turned so that higher is better
  switch (objective.goal) {
    case Goal::kPrecision:
    case Goal::kFalsePositiveRate:
    case Goal::kFlagRate:
      sign = (a.positives > b.positives) - (a.positives < b.positives);
      break;
    case Goal::kRecall: {
      const Wide left = Wide{a.positives} * b.rows;
      const Wide right = Wide{b.positives} * a.rows;
      sign = (left > right) - (left < right);
      break;
    }
    case Goal::kCost: {
      const Wide left = scaled_cost(objective, totals, a);
      const Wide right = scaled_cost(objective, totals, b);
      sign = (left < right) - (left > right);
      break;
    }
    case Goal::kFBeta: {
      const Wide left = f_beta_denominator(objective.beta, totals, a);
      const Wide right = f_beta_denominator(objective.beta, totals, b);
      if (left != 0 && right != 0) sign = detail::compare_fractions(a.positives, left, b.positives, right);
      break;
    }
  }
  return sign > 0 || (sign == 0 && a.rows < b.rows);
}

double objective_value(const Objective& objective, const Totals& totals, const Counts& flagged) {
  switch (objective.goal) {
    case Goal::kPrecision:
    case Goal::kFalsePositiveRate:
    case Goal::kFlagRate:
      return static_cast<double>(flagged.positives);
    case Goal::kRecall:
      return ratio(flagged.positives, flagged.rows);
    case Goal::kCost:
      return objective.false_positive_cost.to_double() * static_cast<double>(flagged.rows - flagged.positives) +
             objective.false_negative_cost.to_double() * static_cast<double>(totals.all.positives - flagged.positives);
    case Goal::kFBeta: {
      const double beta_squared = objective.beta.to_double() * objective.beta.to_double();
      const double denominator =
          static_cast<double>(flagged.rows) + beta_squared * static_cast<double>(totals.all.positives);
      return denominator > 0 ? (1 + beta_squared) * static_cast<double>(flagged.positives) / denominator : 0;
    }
  }
  return 0;
}

std::optional<double> constraint_value(const Objective& objective, const Totals& totals, const Counts& flagged) {
  switch (objective.goal) {
    case Goal::kPrecision:
      return flagged.rows > 0 ? std::optional(ratio(flagged.positives, flagged.rows)) : std::nullopt;
    case Goal::kRecall:
      return totals.all.positives > 0 ? std::optional(ratio(flagged.positives, totals.all.positives)) : std::nullopt;
    case Goal::kFalsePositiveRate:
      return totals.all.rows > totals.all.positives
                 ? std::optional(ratio(flagged.rows - flagged.positives, totals.all.rows - totals.all.positives))
                 : std::nullopt;
    case Goal::kFlagRate:
      return totals.all.rows > 0 ? std::optional(ratio(flagged.rows, totals.all.rows)) : std::nullopt;
    case Goal::kCost:
    case Goal::kFBeta:
      return std::nullopt;
  }
  return std::nullopt;
}

std::string describe(const Objective& objective) {
  switch (objective.goal) {
    case Goal::kPrecision:
      return "most recall with precision >= " + decimal(objective.bound);
    case Goal::kRecall:
      return "most precision with recall >= " + decimal(objective.bound);
    case Goal::kFalsePositiveRate:
      return "most recall with false-positive rate <= " + decimal(objective.bound);
    case Goal::kFlagRate:
      return "most recall with flag rate <= " + decimal(objective.bound);
    case Goal::kCost:
      return "least cost, " + decimal(objective.false_positive_cost) + " per false positive and " +
             decimal(objective.false_negative_cost) + " per false negative";
    case Goal::kFBeta:
      return "highest F-beta, beta " + decimal(objective.beta);
  }
  return {};
}

PositiveRounding positive_rounding(const Objective& objective) {
  const bool up = objective.goal == Goal::kFlagRate || objective.goal == Goal::kRecall;
  return up ? PositiveRounding::kUp : PositiveRounding::kDown;
}

}  // namespace limen
