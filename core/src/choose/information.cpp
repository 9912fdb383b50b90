// SPDX-License-Identifier: MIT
#include "limen/choose/information.h"

#include <algorithm>
#include <boost/math/distributions/chi_squared.hpp>
#include <cmath>
#include <functional>
#include <limits>
#include <vector>

#include "limen/base/random.h"
#include "limen/solve/logistic.h"
#include "limen/solve/smooth.h"

namespace limen {
namespace {

constexpr std::size_t kMostStrata = 24;
constexpr std::size_t kMostCategories = 32;
constexpr double kFewest = 20;      ///< rows of a class without which nothing is tested
constexpr double kPermuted = 5000;  ///< rows of the rarer class up to which labels are permuted
constexpr int kPermutations = 999;

using Terms = std::vector<double>;
/// The terms of a level at a log odds less its mean.
using TermsOf = std::function<Terms(std::size_t level, double centred)>;

struct Stratum {
  struct Cell {
    std::int64_t rows;
    std::int64_t positives;
    double slope;  ///< f less its mean in the stratum
    Terms terms;   ///< what the alternative adds: for levels w, w^2, w times f
  };
  std::vector<Cell> cells;  ///< those with rows
  Counts total;
};

std::vector<Stratum> strata_of(const NearRows& near, const TermsOf& terms_of) {
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
      stratum.cells.push_back({counts.rows, counts.positives, f, terms_of(level, f - mean_f)});
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
  const std::size_t num_terms = strata.front().cells.front().terms.size();
  const std::size_t size = strata.size() + 1 + (with_terms ? num_terms : 0);
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
      if (with_terms)
        std::copy(cell.terms.begin(), cell.terms.end(), features.end() - static_cast<std::ptrdiff_t>(num_terms));
      cells.push_back(
          {std::move(features), scale * static_cast<double>(cell.rows), scale * static_cast<double>(cell.positives)});
    }
  }
  // So weak that it matters only where a stratum has one class alone.
  return fit_logistic(cells, centre, std::vector<double>(size, 1e-3)).log_likelihood;
}

using TermMatrix = std::vector<Terms>;

TermMatrix zero_matrix(std::size_t size) { return TermMatrix(size, Terms(size, 0)); }

/// Inverse of a symmetric positive definite matrix, 0 for directions in which nothing varies.
TermMatrix inverse(TermMatrix m) {
  const std::size_t size = m.size();
  TermMatrix result = zero_matrix(size);
  for (std::size_t at = 0; at < size; ++at) result[at][at] = 1;
  for (std::size_t pivot = 0; pivot < size; ++pivot) {
    if (!(m[pivot][pivot] > 1e-9)) {
      result[pivot].assign(size, 0);
      continue;
    }
    const double by = m[pivot][pivot];
    for (std::size_t at = 0; at < size; ++at) {
      m[pivot][at] /= by;
      result[pivot][at] /= by;
    }
    for (std::size_t row = 0; row < size; ++row) {
      if (row == pivot) continue;
      const double factor = m[row][pivot];
      for (std::size_t at = 0; at < size; ++at) {
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
  explicit ScoreTest(const std::vector<Stratum>& strata) : expected_(strata.front().cells.front().terms.size(), 0) {
    const std::size_t size = expected_.size();
    TermMatrix covariance = zero_matrix(size);
    for (const Stratum& stratum : strata) {
      const auto rows = static_cast<double>(stratum.total.rows);
      const auto positives = static_cast<double>(stratum.total.positives);
      Terms mean(size, 0);
      for (const Stratum::Cell& cell : stratum.cells) {
        for (std::size_t at = 0; at < size; ++at) mean[at] += static_cast<double>(cell.rows) / rows * cell.terms[at];
      }
      const double factor = rows > 1 ? positives * (rows - positives) / (rows * (rows - 1)) : 0;
      for (const Stratum::Cell& cell : stratum.cells) {
        for (std::size_t a = 0; a < size; ++a) {
          for (std::size_t b = 0; b < size; ++b) {
            covariance[a][b] +=
                factor * static_cast<double>(cell.rows) * (cell.terms[a] - mean[a]) * (cell.terms[b] - mean[b]);
          }
        }
      }
      for (std::size_t at = 0; at < size; ++at) expected_[at] += positives * mean[at];
    }
    inverse_ = inverse(covariance);
  }

  [[nodiscard]] double operator()(Terms sums) const {
    const std::size_t size = expected_.size();
    double statistic = 0;
    for (std::size_t at = 0; at < size; ++at) sums[at] -= expected_[at];
    for (std::size_t a = 0; a < size; ++a) {
      for (std::size_t b = 0; b < size; ++b) statistic += sums[a] * inverse_[a][b] * sums[b];
    }
    return statistic;
  }

 private:
  Terms expected_;
  TermMatrix inverse_;
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
  const std::size_t size = strata.front().cells.front().terms.size();
  Terms observed(size, 0);
  for (const Stratum& stratum : strata) {
    for (const Stratum::Cell& cell : stratum.cells) {
      for (std::size_t at = 0; at < size; ++at) observed[at] += static_cast<double>(cell.positives) * cell.terms[at];
    }
  }
  const double statistic = test(observed) * (1 - 1e-9);
  CounterRandom random(seed, 0);
  int as_large = 0;
  PlacesLeft left;
  for (int permutation = 0; permutation < kPermutations; ++permutation) {
    Terms sums(size, 0);
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
        for (std::size_t at = 0; at < size; ++at) sums[at] += positives * stratum.cells[cell].terms[at];
      }
    }
    as_large += test(sums) >= statistic ? 1 : 0;
  }
  return (1.0 + as_large) / (1.0 + kPermutations);
}

/// terms_of: unset where there is nothing to tell apart.
Information test(const Grid& grid, const NearRows& near, const TermsOf& terms_of, std::uint64_t seed) {
  Information information;
  information.near = near.total();
  const double scale = rows_per_unit(grid);
  const double rarer =
      scale * static_cast<double>(std::min(near.total().positives, near.total().rows - near.total().positives));
  information.testable = false;
  if (!terms_of || rarer < kFewest) return information;
  const std::vector<Stratum> strata = strata_of(near, terms_of);
  information.testable = std::ranges::any_of(strata, [](const Stratum& stratum) { return stratum.cells.size() > 1; });
  if (!information.testable) return information;
  const auto num_terms = static_cast<double>(strata.front().cells.front().terms.size());
  const double twice = 2 * (log_likelihood(strata, true, scale) - log_likelihood(strata, false, scale));
  information.p_value =
      twice > 0 ? boost::math::cdf(boost::math::complement(boost::math::chi_squared(num_terms), twice)) : 1;
  const bool countable = near.total().rows < std::numeric_limits<std::int32_t>::max();  // by PlacesLeft
  if (scale == 1 && rarer <= kPermuted && countable) information.permutation_p_value = permutation_p(strata, seed);
  return information;
}

}  // namespace

Information test_information(const Grid& grid, std::int64_t near_rows, std::uint64_t seed) {
  const NearRows near(grid, score_chain(grid), near_rows, kMostStrata);
  const auto terms_of = [&near](std::size_t level, double centred) {
    const double w = near.level_rank(level);
    return Terms{w, w * w, w * centred};
  };
  return test(grid, near, terms_of, seed);
}

Information test_categories(const Grid& grid, std::int64_t near_rows, std::uint64_t seed) {
  const NearRows near(grid, score_chain(grid), near_rows, kMostStrata);
  // Those with rows enough, the largest first; the first one, and all that are too small, have no terms.
  std::vector<double> rows(grid.num_levels(), 0);
  for (const auto& cells : near.cells()) {
    for (std::size_t level = 0; level < cells.size(); ++level) {
      rows[level] += rows_per_unit(grid) * static_cast<double>(cells[level].counts.rows);
    }
  }
  std::vector<std::size_t> largest;
  for (std::size_t level = 0; level < rows.size(); ++level) {
    if (rows[level] >= kFewest) largest.push_back(level);
  }
  std::ranges::stable_sort(largest, [&](std::size_t a, std::size_t b) { return rows[a] > rows[b]; });
  if (largest.size() > kMostCategories) largest.resize(kMostCategories);
  if (largest.size() < 2) return test(grid, near, nullptr, seed);
  std::vector<std::size_t> place_of(rows.size(), 0);
  for (std::size_t place = 1; place < largest.size(); ++place) place_of[largest[place]] = place;
  const std::size_t size = 2 * (largest.size() - 1);
  const auto terms_of = [&](std::size_t level, double centred) {
    Terms terms(size, 0);
    if (const std::size_t place = place_of[level]; place > 0) {
      terms[2 * place - 2] = 1;
      terms[2 * place - 1] = centred;
    }
    return terms;
  };
  return test(grid, near, terms_of, seed);
}

}  // namespace limen
