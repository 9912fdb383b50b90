// SPDX-License-Identifier: MIT
#include "limen/choose/information.h"

#include <algorithm>
#include <array>
#include <boost/math/distributions/chi_squared.hpp>
#include <cmath>
#include <limits>
#include <vector>

#include "limen/base/random.h"
#include "limen/solve/logistic.h"
#include "limen/solve/smooth.h"

namespace limen {
namespace {

constexpr std::size_t kMostStrata = 24;
constexpr std::size_t kTerms = 3;
constexpr double kFewest = 20;      ///< rows of a class without which nothing is tested
constexpr double kPermuted = 5000;  ///< rows of the rarer class up to which labels are permuted
constexpr int kPermutations = 999;

struct Stratum {
  struct Cell {
    std::int64_t rows;
    std::int64_t positives;
    double slope;                      ///< f less its mean in the stratum
    std::array<double, kTerms> terms;  ///< w, w^2, w times f
  };
  std::vector<Cell> cells;  ///< those with rows
  Counts total;
};

std::vector<Stratum> strata_of(const NearRows& near) {
  double mean_f = 0;
  for (const auto& cells : near.cells()) {
    for (const auto& cell : cells) {
      mean_f += static_cast<double>(cell.counts.rows) / static_cast<double>(near.total().rows) * cell.score_log_odds;
    }
  }
  std::vector<Stratum> strata;
  for (const auto& cells : near.cells()) {
    Stratum stratum;
    double sum_f = 0;
    for (std::size_t level = 0; level < cells.size(); ++level) {
      const auto& [counts, f] = cells[level];
      if (counts.rows == 0) continue;
      const double w = near.level_rank(level);
      stratum.cells.push_back({counts.rows, counts.positives, f, {w, w * w, w * (f - mean_f)}});
      stratum.total += counts;
      sum_f += static_cast<double>(counts.rows) * f;
    }
    for (Stratum::Cell& cell : stratum.cells) cell.slope -= sum_f / static_cast<double>(stratum.total.rows);
    if (!stratum.cells.empty()) strata.push_back(std::move(stratum));
  }
  return strata;
}

/// Log likelihood of the strata's constants, the slope inside them and, if asked for, the terms. `scale`: rows per
/// unit.
double log_likelihood(const std::vector<Stratum>& strata, bool with_terms, double scale) {
  const std::size_t size = strata.size() + 1 + (with_terms ? kTerms : 0);
  std::vector<LogisticCell> cells;
  std::vector<double> centre(size, 0);
  for (std::size_t at = 0; at < strata.size(); ++at) {
    const auto positives = static_cast<double>(strata[at].total.positives);
    const auto rows = static_cast<double>(strata[at].total.rows);
    centre[at] = std::log((scale * positives + 0.5) / (scale * (rows - positives) + 0.5));
    for (const Stratum::Cell& cell : strata[at].cells) {
      std::vector<double> features(size, 0);
      features[at] = 1;
      features[strata.size()] = cell.slope;
      if (with_terms) std::copy(cell.terms.begin(), cell.terms.end(), features.end() - kTerms);
      cells.push_back(
          {std::move(features), scale * static_cast<double>(cell.rows), scale * static_cast<double>(cell.positives)});
    }
  }
  // So weak that it matters only where a stratum has one class alone.
  return fit_logistic(cells, centre, std::vector<double>(size, 1e-3)).log_likelihood;
}

using Terms = std::array<double, kTerms>;
using TermMatrix = std::array<Terms, kTerms>;

/// Inverse of a symmetric positive definite matrix, 0 for directions in which nothing varies.
TermMatrix inverse(TermMatrix m) {
  TermMatrix result{};
  for (std::size_t at = 0; at < kTerms; ++at) result[at][at] = 1;
  for (std::size_t pivot = 0; pivot < kTerms; ++pivot) {
    if (!(m[pivot][pivot] > 1e-9)) {
      result[pivot] = {};
      continue;
    }
    const double by = m[pivot][pivot];
    for (std::size_t at = 0; at < kTerms; ++at) {
      m[pivot][at] /= by;
      result[pivot][at] /= by;
    }
    for (std::size_t row = 0; row < kTerms; ++row) {
      if (row == pivot) continue;
      const double factor = m[row][pivot];
      for (std::size_t at = 0; at < kTerms; ++at) {
        m[row][at] -= factor * m[pivot][at];
        result[row][at] -= factor * result[pivot][at];
      }
    }
  }
  return result;
}

/// The score test of the terms: how far the terms' sums over the positives are from their means when labels are
/// exchangeable inside strata.
class ScoreTest {
 public:
  explicit ScoreTest(const std::vector<Stratum>& strata) {
    TermMatrix covariance{};
    for (const Stratum& stratum : strata) {
      const auto rows = static_cast<double>(stratum.total.rows);
      const auto positives = static_cast<double>(stratum.total.positives);
      Terms mean{};
      for (const Stratum::Cell& cell : stratum.cells) {
        for (std::size_t at = 0; at < kTerms; ++at) mean[at] += static_cast<double>(cell.rows) / rows * cell.terms[at];
      }
      const double factor = rows > 1 ? positives * (rows - positives) / (rows * (rows - 1)) : 0;
      for (const Stratum::Cell& cell : stratum.cells) {
        for (std::size_t a = 0; a < kTerms; ++a) {
          for (std::size_t b = 0; b < kTerms; ++b) {
            covariance[a][b] +=
                factor * static_cast<double>(cell.rows) * (cell.terms[a] - mean[a]) * (cell.terms[b] - mean[b]);
          }
        }
      }
      for (std::size_t at = 0; at < kTerms; ++at) expected_[at] += positives * mean[at];
    }
    inverse_ = inverse(covariance);
  }

  [[nodiscard]] double operator()(Terms sums) const {
    double statistic = 0;
    for (std::size_t at = 0; at < kTerms; ++at) sums[at] -= expected_[at];
    for (std::size_t a = 0; a < kTerms; ++a) {
      for (std::size_t b = 0; b < kTerms; ++b) statistic += sums[a] * inverse_[a][b] * sums[b];
    }
    return statistic;
  }

 private:
  Terms expected_{};
  TermMatrix inverse_{};
};

/// The places of a stratum's rows, cell after cell, that are not taken yet. Kept as the number up to each cell, so that
/// finding a place and taking it are two loops without branches, which the compiler vectorises: about twice as fast
/// as going from cell to cell.
class PlacesLeft {
 public:
  void fill(const Stratum& stratum) {
    size_ = (stratum.cells.size() + kBlock - 1) / kBlock * kBlock;
    up_to_.assign(size_, std::numeric_limits<std::int32_t>::max());
    std::int32_t sum = 0;
    for (std::size_t cell = 0; cell < stratum.cells.size(); ++cell) {
      up_to_[cell] = sum += static_cast<std::int32_t>(stratum.cells[cell].rows);
    }
  }
  void take(std::uint64_t place) {
    const auto wanted = static_cast<std::int32_t>(place);
    std::int32_t cell = 0;
    for (std::size_t block = 0; block < size_; block += kBlock) {
      for (std::size_t at = block; at < block + kBlock; ++at) cell += up_to_[at] <= wanted ? 1 : 0;
    }
    for (std::size_t block = 0; block < size_; block += kBlock) {
      for (std::size_t at = block; at < block + kBlock; ++at) {
        up_to_[at] -= static_cast<std::int32_t>(at) >= cell ? 1 : 0;
      }
    }
  }
  [[nodiscard]] std::int64_t of(std::size_t cell) const { return up_to_[cell] - (cell > 0 ? up_to_[cell - 1] : 0); }

 private:
  static constexpr std::size_t kBlock = 8;
  std::size_t size_ = 0;
  std::vector<std::int32_t> up_to_;
};

double permutation_p(const std::vector<Stratum>& strata, std::uint64_t seed) {
  const ScoreTest test(strata);
  Terms observed{};
  for (const Stratum& stratum : strata) {
    for (const Stratum::Cell& cell : stratum.cells) {
      for (std::size_t at = 0; at < kTerms; ++at) observed[at] += static_cast<double>(cell.positives) * cell.terms[at];
    }
  }
  const double statistic = test(observed) * (1 - 1e-9);
  CounterRandom random(seed, 0);
  int as_large = 0;
  PlacesLeft left;
  for (int permutation = 0; permutation < kPermutations; ++permutation) {
    Terms sums{};
    for (const Stratum& stratum : strata) {
      // The rarer class is drawn without replacement: each of its rows takes one of the places that are left.
      const bool draw_positives = 2 * stratum.total.positives <= stratum.total.rows;
      const std::int64_t draws =
          draw_positives ? stratum.total.positives : stratum.total.rows - stratum.total.positives;
      left.fill(stratum);
      for (std::int64_t draw = 0; draw < draws; ++draw) {
        left.take(random.below(static_cast<std::uint64_t>(stratum.total.rows - draw)));
      }
      for (std::size_t cell = 0; cell < stratum.cells.size(); ++cell) {
        const std::int64_t not_drawn = left.of(cell);
        const auto positives = static_cast<double>(draw_positives ? stratum.cells[cell].rows - not_drawn : not_drawn);
        for (std::size_t at = 0; at < kTerms; ++at) sums[at] += positives * stratum.cells[cell].terms[at];
      }
    }
    as_large += test(sums) >= statistic ? 1 : 0;
  }
  return (1.0 + as_large) / (1.0 + kPermutations);
}

}  // namespace

Information test_information(const Grid& grid, std::int64_t near_rows, std::uint64_t seed) {
  const NearRows near(grid, score_chain(grid), near_rows, kMostStrata);
  Information information;
  information.near = near.total();
  const double scale = rows_per_unit(grid);
  const double rarer =
      scale * static_cast<double>(std::min(near.total().positives, near.total().rows - near.total().positives));
  const std::vector<Stratum> strata = strata_of(near);
  const bool varies = std::ranges::any_of(strata, [](const Stratum& stratum) { return stratum.cells.size() > 1; });
  information.testable = rarer >= kFewest && varies;
  if (!information.testable) return information;
  const double twice = 2 * (log_likelihood(strata, true, scale) - log_likelihood(strata, false, scale));
  information.p_value =
      twice > 0 ? boost::math::cdf(boost::math::complement(boost::math::chi_squared(kTerms), twice)) : 1;
  const bool countable = near.total().rows < std::numeric_limits<std::int32_t>::max();  // by PlacesLeft
  if (scale == 1 && rarer <= kPermuted && countable) information.permutation_p_value = permutation_p(strata, seed);
  return information;
}

}  // namespace limen
