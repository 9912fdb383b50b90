// SPDX-License-Identifier: MIT
#include "limen/judge/calibration_error.h"

#include <tbb/parallel_for.h>
#include <tbb/parallel_sort.h>
#include <tbb/task_arena.h>

#include <algorithm>
#include <array>
#include <boost/math/distributions/binomial.hpp>
#include <cmath>
#include <limits>
#include <numeric>

#include "limen/base/error.h"
#include "limen/base/parallel.h"
#include "limen/count/binning.h"
#include "limen/count/levels.h"
#include "limen/judge/calibration.h"
#include "promise/percentiles.h"

namespace limen {
namespace {

constexpr const char* kFunction = "calibration_errors";
constexpr double kNone = std::numeric_limits<double>::quiet_NaN();

/// Sums of rows are made by chunk and then in order: no figure depends on the number of threads.
constexpr std::size_t kChunks = 8;

template <typename Visit>
void for_each_chunk(std::size_t rows, const Visit& visit) {
  tbb::parallel_for(std::size_t{0}, kChunks,
                    [&](std::size_t chunk) { visit(chunk, rows * chunk / kChunks, rows * (chunk + 1) / kChunks); });
}

double loss_of(double probability, bool is_positive) {
  const double p = std::clamp(probability, kLeastProbability, 1 - kLeastProbability);
  return is_positive ? -std::log(p) : -std::log1p(-p);
}

/// Sums over rows of a cell and a class, by weight.
struct Sums {
  double probability = 0;
  double square = 0;  ///< of probability - label
  double loss = 0;
  Sums& operator+=(const Sums& other) {
    probability += other.probability;
    square += other.square;
    loss += other.loss;
    return *this;
  }
};

/// Rows that no bin, stratum or fine span of the score tells apart.
struct Cell {
  std::size_t bin = 0;    ///< level * L + bin
  std::size_t score = 0;  ///< bin by score alone
  std::size_t stratum = 0;
  std::array<double, 2> rows = {0, 0};  ///< negatives, positives; in units
};

struct ColumnCells {
  bool is_probability = true;
  std::vector<std::array<Sums, 2>> mean;  ///< of each cell and class
  std::vector<double> lowest;             ///< of each cell
  std::vector<double> lowest_breaker;     ///< of each cell; all 0 without a tie breaker
  std::vector<std::size_t> order;         ///< cells by stratum, in it from the highest probability down
};

struct Areas {
  double roc_auc = kNone;
  double average_precision = kNone;
};

/// Walks values from the highest down; equal values are one step.
class AreaWalk {
 public:
  void add(double negatives, double positives) {
    pairs_ += negatives * (above_[1] + positives / 2);
    above_[0] += negatives;
    above_[1] += positives;
    if (positives > 0) precision_ += positives * above_[1] / (above_[0] + above_[1]);
  }
  [[nodiscard]] double rows() const { return above_[0] + above_[1]; }
  [[nodiscard]] Areas areas() const {
    Areas areas;
    if (above_[1] > 0) areas.average_precision = precision_ / above_[1];
    if (above_[1] > 0 && above_[0] > 0) areas.roc_auc = pairs_ / above_[1] / above_[0];
    return areas;
  }

 private:
  std::array<double, 2> above_ = {0, 0};
  double pairs_ = 0;
  double precision_ = 0;
};

/// The mean over strata that have both classes, by rows.
class MeanAreas {
 public:
  void add(const AreaWalk& walk) {
    const Areas areas = walk.areas();
    if (std::isnan(areas.roc_auc)) return;
    rows_ += walk.rows();
    roc_auc_ += walk.rows() * areas.roc_auc;
    average_precision_ += walk.rows() * areas.average_precision;
  }
  [[nodiscard]] Areas areas() const {
    if (rows_ == 0) return {};
    return {roc_auc_ / rows_, average_precision_ / rows_};
  }

 private:
  double rows_ = 0;
  double roc_auc_ = 0;
  double average_precision_ = 0;
};

/// Everything that is resampled of one column.
struct Values {
  double ece = kNone;
  double ece_by_level = kNone;
  double brier = kNone;
  double log_loss = kNone;
  Areas areas;
  Areas untied;
  std::vector<double> ece_at;      ///< NaN: no rows
  std::vector<double> cumulative;  ///< NaN: no rows
};

/// ECE@j and its cumulative from the error of each bin (level * L + bin), NaN where it has no rows.
void add_curves(const std::vector<double>& error, std::size_t bins, std::vector<double>& ece_at,
                std::vector<double>& cumulative) {
  ece_at.assign(bins, kNone);
  cumulative.assign(bins, kNone);
  double sum_above = 0;
  double count_above = 0;
  for (std::size_t bin = bins; bin-- > 0;) {
    double sum = 0;
    double count = 0;
    for (std::size_t at = bin; at < error.size(); at += bins) {
      if (std::isnan(error[at])) continue;
      sum += error[at];
      ++count;
    }
    sum_above += sum;
    count_above += count;
    if (count > 0) ece_at[bin] = sum / count;
    if (count_above > 0) cumulative[bin] = sum_above / count_above;
  }
}

class Judge {
 public:
  Judge(const Samples& samples, std::vector<double> edges, std::span<const ProbabilityColumn> columns,
        std::span<const std::uint8_t> stratum, const CalibrationErrorOptions& options)
      : samples_(samples), columns_(columns), stratum_(stratum), options_(options), units_(weight_units(samples)) {
    const Grid distinct = count_distinct(samples, std::move(edges), units_);
    const PositivityMapOptions map = {
        .bins = options.bins, .binning = options.binning, .confidence = options.confidence};
    found_.bins = positivity_map(distinct, map);
    found_.reliability = positivity_map(count_distinct(samples, {}, units_), map);
    const Counts total = total_counts(distinct);
    found_.rows = static_cast<double>(total.rows) * distinct.unit;
    found_.positives = static_cast<double>(total.positives) * distinct.unit;
    found_.weighted = !samples.weight.empty();
    effective_ = rows_per_unit(distinct) / distinct.unit;
    num_bins_ = static_cast<std::size_t>(options.bins);
    num_levels_ = distinct.num_levels();
    num_strata_ = stratum.empty() ? 1 : 1 + std::size_t{*std::ranges::max_element(stratum)};
    make_cells();
  }

  CalibrationErrors judge() {
    add_chance();
    std::vector<Values> values;
    for (std::size_t column = 0; column < columns_.size(); ++column) {
      cells_of_.push_back(column_cells(column));
      values.push_back(values_of(cells_of_.back(), own_rows()));
      values.back().areas = exact_areas(columns_[column].probability);
      values.back().untied = untied_areas(columns_[column]);
    }
    const std::vector<std::vector<Values>> resampled = resample_all();
    for (std::size_t column = 0; column < columns_.size(); ++column) {
      found_.columns.push_back(errors_of(column, values, resampled));
    }
    return std::move(found_);
  }

 private:
  using ClassRows = std::vector<std::array<double, 2>>;

  [[nodiscard]] bool draws() const { return options_.bootstrap.has_value(); }
  [[nodiscard]] double weight(std::size_t row) const { return samples_.weight.empty() ? 1 : samples_.weight[row]; }

  /// The scores at which an interval of a level begins, and what is in it.
  struct Cuts {
    std::vector<double> from;
    std::vector<std::size_t> bin;
    std::vector<std::size_t> score;
  };

  std::vector<Cuts> make_cuts() const {
    std::vector<double> common;
    if (draws()) {
      const Grid fine = count_common_bins(samples_, {}, options_.bootstrap->resolution);
      for (const Bin& bin : fine.levels[0]) common.push_back(bin.threshold);
    }
    std::vector<double> score_from;
    std::vector<std::size_t> score_bin;
    for (const PositivityCell& cell : found_.reliability.cells) {
      score_from.push_back(cell.low);
      score_bin.push_back(static_cast<std::size_t>(cell.bin));
    }
    common.insert(common.end(), score_from.begin(), score_from.end());
    std::vector<Cuts> levels(num_levels_);
    auto cell = found_.bins.cells.begin();
    for (std::size_t level = 0; level < num_levels_; ++level) {
      std::vector<double> own_from;
      std::vector<std::size_t> own_bin;
      for (; cell != found_.bins.cells.end() && static_cast<std::size_t>(cell->level) == level; ++cell) {
        own_from.push_back(cell->low);
        own_bin.push_back(static_cast<std::size_t>(cell->bin));
      }
      Cuts& cuts = levels[level];
      cuts.from = common;
      cuts.from.insert(cuts.from.end(), own_from.begin(), own_from.end());
      std::ranges::sort(cuts.from);
      cuts.from.erase(std::ranges::unique(cuts.from).begin(), cuts.from.end());
      const auto last_from = [](const std::vector<double>& from, const std::vector<std::size_t>& bin, double score) {
        const auto above = std::ranges::upper_bound(from, score) - from.begin();
        return bin.empty() ? 0 : bin[static_cast<std::size_t>(std::max<std::ptrdiff_t>(above - 1, 0))];
      };
      for (const double from : cuts.from) {
        cuts.bin.push_back(level * num_bins_ + last_from(own_from, own_bin, from));
        cuts.score.push_back(last_from(score_from, score_bin, from));
      }
    }
    return levels;
  }

  /// Values of a column that rows of one cell share, from the lowest up; none when no column needs them.
  std::vector<double> own_cuts(std::size_t cells) const {
    if (!draws()) return {};
    const auto own = std::ranges::find(columns_, false, &ProbabilityColumn::follows_score);
    if (own == columns_.end()) return {};
    constexpr std::size_t kMostCells = std::size_t{1} << 19;
    Samples by_column = samples_;
    by_column.score = own->probability;
    const auto most = std::clamp<std::size_t>(kMostCells / std::max<std::size_t>(cells, 1), 1, 256);
    const PositivityMap map = positivity_map(count_distinct(by_column, {}, units_), {.bins = static_cast<int>(most)});
    std::vector<double> cuts;
    for (const PositivityCell& cell : map.cells) cuts.push_back(cell.low);
    return cuts;
  }

  void make_cells() {
    const std::vector<Cuts> levels = make_cuts();
    std::vector<std::size_t> first = {0};
    for (const Cuts& cuts : levels) first.push_back(first.back() + cuts.from.size());
    const std::vector<double> own = own_cuts(first.back() * num_strata_);
    const std::size_t num_own = std::max<std::size_t>(own.size(), 1);
    RealSpan own_column;
    if (!own.empty()) {
      own_column = std::ranges::find(columns_, false, &ProbabilityColumn::follows_score)->probability;
    }
    const auto at_or_below = [](const std::vector<double>& from, double value) {
      const auto above = std::ranges::upper_bound(from, value) - from.begin();
      return static_cast<std::size_t>(std::max<std::ptrdiff_t>(above - 1, 0));
    };
    cell_of_row_.resize(samples_.size());
    const std::size_t possible = first.back() * num_strata_ * num_own;
    for_each_chunk(samples_.size(), [&](std::size_t, std::size_t begin, std::size_t end) {
      for (std::size_t row = begin; row < end; ++row) {
        const std::size_t level = level_of(found_.bins.uncertainty_edges, samples_.uncertainty[row]);
        std::size_t cell = first[level] + at_or_below(levels[level].from, samples_.score[row]);
        cell = cell * num_strata_ + (stratum_.empty() ? 0 : stratum_[row]);
        cell = cell * num_own + (own.empty() ? 0 : at_or_below(own, own_column[row]));
        cell_of_row_[row] = static_cast<std::uint32_t>(cell);
      }
    });
    std::vector<std::uint8_t> seen(possible, 0);
    for (const std::uint32_t cell : cell_of_row_) seen[cell] = 1;
    std::vector<std::uint32_t> number(possible, 0);
    std::size_t level = 0;
    for (std::size_t at = 0; at < possible; ++at) {
      if (seen[at] == 0) continue;
      const std::size_t interval = at / num_own / num_strata_;
      while (interval >= first[level + 1]) ++level;
      number[at] = static_cast<std::uint32_t>(cells_.size());
      cells_.push_back({.bin = levels[level].bin[interval - first[level]],
                        .score = levels[level].score[interval - first[level]],
                        .stratum = at / num_own % num_strata_});
    }
    std::vector<ClassRows> sums(kChunks, ClassRows(cells_.size(), {0, 0}));
    for_each_chunk(samples_.size(), [&](std::size_t chunk, std::size_t begin, std::size_t end) {
      for (std::size_t row = begin; row < end; ++row) {
        cell_of_row_[row] = number[cell_of_row_[row]];
        sums[chunk][cell_of_row_[row]][samples_.label[row]] += weight(row);
      }
    });
    for (const ClassRows& chunk : sums) {
      for (std::size_t cell = 0; cell < cells_.size(); ++cell) {
        for (std::size_t label = 0; label < 2; ++label) cells_[cell].rows[label] += chunk[cell][label];
      }
    }
  }

  [[nodiscard]] ClassRows own_rows() const {
    ClassRows rows;
    for (const Cell& cell : cells_) rows.push_back(cell.rows);
    return rows;
  }

  ColumnCells column_cells(std::size_t column) const {
    const RealSpan values = columns_[column].probability;
    ColumnCells result;
    const Range<double> range = finite_range(values, kFunction, columns_[column].name.c_str());
    result.is_probability = range.low >= 0 && range.high <= 1;
    std::vector<std::vector<std::array<Sums, 2>>> sums(kChunks);
    std::vector<std::vector<double>> lowest(kChunks);
    std::vector<std::vector<double>> lowest_breaker(kChunks);
    const RealSpan breaker = columns_[column].tie_breaker;
    for_each_chunk(samples_.size(), [&](std::size_t chunk, std::size_t begin, std::size_t end) {
      sums[chunk].resize(cells_.size());
      lowest[chunk].assign(cells_.size(), std::numeric_limits<double>::infinity());
      lowest_breaker[chunk] = lowest[chunk];
      for (std::size_t row = begin; row < end; ++row) {
        const std::size_t cell = cell_of_row_[row];
        const double value = values[row];
        lowest[chunk][cell] = std::min(lowest[chunk][cell], value);
        lowest_breaker[chunk][cell] = std::min(lowest_breaker[chunk][cell], breaker.empty() ? 0 : breaker[row]);
        if (!result.is_probability) continue;
        const std::uint8_t label = samples_.label[row];
        const double w = weight(row);
        sums[chunk][cell][label] += {w * value, w * (value - label) * (value - label), w * loss_of(value, label != 0)};
      }
    });
    result.mean.resize(cells_.size());
    result.lowest.assign(cells_.size(), std::numeric_limits<double>::infinity());
    result.lowest_breaker = result.lowest;
    for (std::size_t chunk = 0; chunk < kChunks; ++chunk) {
      for (std::size_t cell = 0; cell < cells_.size(); ++cell) {
        for (std::size_t label = 0; label < 2; ++label) result.mean[cell][label] += sums[chunk][cell][label];
        result.lowest[cell] = std::min(result.lowest[cell], lowest[chunk][cell]);
        result.lowest_breaker[cell] = std::min(result.lowest_breaker[cell], lowest_breaker[chunk][cell]);
      }
    }
    for (std::size_t cell = 0; cell < cells_.size(); ++cell) {
      for (std::size_t label = 0; label < 2; ++label) {
        const double rows = cells_[cell].rows[label];
        Sums& mean = result.mean[cell][label];
        if (rows > 0) mean = {mean.probability / rows, mean.square / rows, mean.loss / rows};
      }
    }
    result.order.resize(cells_.size());
    std::iota(result.order.begin(), result.order.end(), std::size_t{0});
    std::ranges::sort(result.order, [&](std::size_t a, std::size_t b) {
      if (cells_[a].stratum != cells_[b].stratum) return cells_[a].stratum < cells_[b].stratum;
      if (result.lowest[a] != result.lowest[b]) return result.lowest[a] > result.lowest[b];
      if (result.lowest_breaker[a] != result.lowest_breaker[b]) {
        return result.lowest_breaker[a] > result.lowest_breaker[b];
      }
      return a < b;
    });
    return result;
  }

  /// The figures of a column for these rows of each cell and class.
  Values values_of(const ColumnCells& column, const ClassRows& rows) const {
    Values values;
    values.areas = areas_on_cells(column, rows,
                                  [&](std::size_t a, std::size_t b) { return column.lowest[a] == column.lowest[b]; });
    values.untied = areas_on_cells(column, rows, [&](std::size_t a, std::size_t b) {
      return column.lowest[a] == column.lowest[b] && column.lowest_breaker[a] == column.lowest_breaker[b];
    });
    if (!column.is_probability) return values;
    std::vector<double> gap(num_levels_ * num_bins_, 0);
    std::vector<double> size(gap.size(), 0);
    std::vector<double> score_gap(num_bins_, 0);
    double all = 0;
    double square = 0;
    double loss = 0;
    for (std::size_t cell = 0; cell < cells_.size(); ++cell) {
      const auto& [negatives, positives] = rows[cell];
      const auto& [negative, positive] = column.mean[cell];
      const double more = negatives * negative.probability + positives * positive.probability - positives;
      gap[cells_[cell].bin] += more;
      size[cells_[cell].bin] += negatives + positives;
      score_gap[cells_[cell].score] += more;
      all += negatives + positives;
      square += negatives * negative.square + positives * positive.square;
      loss += negatives * negative.loss + positives * positive.loss;
    }
    if (all == 0) return values;
    const auto share = [all](const std::vector<double>& gaps) {
      return std::transform_reduce(gaps.begin(), gaps.end(), 0.0, std::plus(), [](double g) { return std::abs(g); }) /
             all;
    };
    values.ece = share(score_gap);
    values.ece_by_level = share(gap);
    values.brier = square / all;
    values.log_loss = loss / all;
    for (std::size_t bin = 0; bin < gap.size(); ++bin)
      gap[bin] = size[bin] > 0 ? std::abs(gap[bin]) / size[bin] : kNone;
    add_curves(gap, num_bins_, values.ece_at, values.cumulative);
    return values;
  }

  /// Cells in the column's order; those that `is_tie` are one step.
  template <typename IsTie>
  Areas areas_on_cells(const ColumnCells& column, const ClassRows& rows, const IsTie& is_tie) const {
    MeanAreas mean;
    for (std::size_t at = 0; at < column.order.size();) {
      AreaWalk walk;
      const std::size_t stratum = cells_[column.order[at]].stratum;
      while (at < column.order.size() && cells_[column.order[at]].stratum == stratum) {
        const std::size_t first = column.order[at];
        double negatives = 0;
        double positives = 0;
        for (;
             at < column.order.size() && cells_[column.order[at]].stratum == stratum && is_tie(first, column.order[at]);
             ++at) {
          negatives += rows[column.order[at]][0];
          positives += rows[column.order[at]][1];
        }
        walk.add(negatives, positives);
      }
      mean.add(walk);
    }
    return mean.areas();
  }

  /// Every distinct value is a step: the counting engine sorts, strata being its levels.
  Areas exact_areas(RealSpan values) const {
    const std::vector<float> number(stratum_.begin(), stratum_.end());
    Samples by_value = samples_;
    by_value.score = values;
    std::vector<double> edges;
    if (!stratum_.empty()) {
      by_value.uncertainty = std::span(number);
      for (std::size_t edge = 1; edge < num_strata_; ++edge) edges.push_back(static_cast<double>(edge));
    }
    const Grid grid = count_distinct(by_value, edges, units_);
    MeanAreas mean;
    for (const auto& level : grid.levels) {
      AreaWalk walk;
      for (const Bin& bin : level) {
        walk.add(static_cast<double>(bin.counts.rows - bin.counts.positives),
                 static_cast<double>(bin.counts.positives));
      }
      mean.add(walk);
    }
    return mean.areas();
  }

  /// Every pair of a distinct value and a distinct tie breaker is a step.
  Areas untied_areas(const ProbabilityColumn& column) const {
    if (column.tie_breaker.empty()) return {};
    struct Row {
      double value;
      double breaker;
      std::uint32_t row;
    };
    std::vector<Row> rows(samples_.size());
    for_each_chunk(rows.size(), [&](std::size_t, std::size_t begin, std::size_t end) {
      for (std::size_t row = begin; row < end; ++row) {
        rows[row] = {column.probability[row], column.tie_breaker[row], static_cast<std::uint32_t>(row)};
      }
    });
    const auto stratum = [&](const Row& row) { return stratum_.empty() ? 0 : stratum_[row.row]; };
    tbb::parallel_sort(rows.begin(), rows.end(), [&](const Row& a, const Row& b) {
      if (stratum(a) != stratum(b)) return stratum(a) < stratum(b);
      if (a.value != b.value) return a.value > b.value;
      if (a.breaker != b.breaker) return a.breaker > b.breaker;
      return a.row < b.row;
    });
    MeanAreas mean;
    for (std::size_t at = 0; at < rows.size();) {
      AreaWalk walk;
      const auto own = stratum(rows[at]);
      while (at < rows.size() && stratum(rows[at]) == own) {
        const Row first = rows[at];
        std::array<double, 2> classes = {0, 0};
        for (; at < rows.size() && stratum(rows[at]) == own && rows[at].value == first.value &&
               rows[at].breaker == first.breaker;
             ++at) {
          classes[samples_.label[rows[at].row]] += weight(rows[at].row);
        }
        walk.add(classes[0], classes[1]);
      }
      mean.add(walk);
    }
    return mean.areas();
  }

  /// By replicate and column.
  std::vector<std::vector<Values>> resample_all() const {
    if (!draws()) return {};
    Grid grid;
    grid.levels.resize(1);
    double threshold = 0;
    for (const Cell& cell : cells_) {
      const auto positives = static_cast<std::int64_t>(cell.rows[1]);
      grid.levels[0].push_back({threshold, {static_cast<std::int64_t>(cell.rows[0]) + positives, positives}});
      grid.levels[0].back().highest = threshold--;
    }
    const auto replicates = static_cast<std::size_t>(options_.bootstrap->replicates);
    std::vector<std::vector<Values>> all(replicates);
    tbb::parallel_for(std::size_t{0}, replicates, [&](std::size_t replicate) {
      const Grid drawn = resample(grid, options_.bootstrap->seed, replicate).drawn;
      ClassRows rows;
      for (const Bin& cell : drawn.levels[0]) {
        const Counts& counts = cell.counts;
        rows.push_back({static_cast<double>(counts.rows - counts.positives), static_cast<double>(counts.positives)});
      }
      for (const ColumnCells& column : cells_of_) all[replicate].push_back(values_of(column, rows));
    });
    return all;
  }

  /// `of` picks a figure out of the values of all columns of one replicate; NaN: it has none.
  template <typename Of>
  std::optional<Figure> figure(const std::vector<Values>& values, const std::vector<std::vector<Values>>& resampled,
                               bool is_error, const Of& of, bool has_band = true) const {
    Figure found = {.value = of(values)};
    if (std::isnan(found.value)) return std::nullopt;
    if (resampled.empty() || !has_band) return found;
    std::vector<double> drawn;
    for (const std::vector<Values>& replicate : resampled) {
      const double value = of(replicate);
      if (!std::isnan(value)) drawn.push_back(value);
    }
    if (drawn.empty()) return found;
    const double mean = std::accumulate(drawn.begin(), drawn.end(), 0.0) / static_cast<double>(drawn.size());
    const Interval middle = detail::percentiles(drawn, options_.bootstrap->confidence);
    Interval band = {found.value + (middle.low - mean), found.value + (middle.high - mean)};
    if (is_error) band = {std::max(band.low, 0.0), std::max(band.high, 0.0)};
    found.band = band;
    return found;
  }

  ColumnErrors errors_of(std::size_t column, const std::vector<Values>& values,
                         const std::vector<std::vector<Values>>& resampled) const {
    ColumnErrors errors;
    errors.name = columns_[column].name;
    errors.is_probability = cells_of_[column].is_probability;
    const auto own = [&](auto member, bool is_error, bool has_band = true) {
      return figure(
          values, resampled, is_error, [&](const std::vector<Values>& all) { return member(all[column]); }, has_band);
    };
    const auto less = [&](std::size_t baseline, auto member, bool has_band = true) {
      return figure(
          values, resampled, false,
          [&](const std::vector<Values>& all) { return member(all[column]) - member(all[baseline]); }, has_band);
    };
    errors.ece = own([](const Values& v) { return v.ece; }, true);
    errors.ece_by_level = own([](const Values& v) { return v.ece_by_level; }, true);
    errors.brier = own([](const Values& v) { return v.brier; }, true);
    errors.log_loss = own([](const Values& v) { return v.log_loss; }, true);
    const bool has_band = has_order_band(column);
    const auto roc_auc = [](const Values& v) { return v.areas.roc_auc; };
    const auto average_precision = [](const Values& v) { return v.areas.average_precision; };
    errors.roc_auc = own(roc_auc, false, has_band);
    errors.average_precision = own(average_precision, false, has_band);
    const bool has_breaker = !columns_[column].tie_breaker.empty();
    if (has_breaker) {
      errors.roc_auc_untied = own([](const Values& v) { return v.untied.roc_auc; }, false, has_band);
      errors.average_precision_untied =
          own([](const Values& v) { return v.untied.average_precision; }, false, has_band);
    }
    if (options_.order_baseline && *options_.order_baseline != column) {
      const bool both = has_band && has_order_band(*options_.order_baseline);
      errors.roc_auc_difference = less(*options_.order_baseline, roc_auc, both);
      errors.average_precision_difference = less(*options_.order_baseline, average_precision, both);
      if (has_breaker) {
        // The baseline keeps its own ties.
        const auto untied_less = [&](auto untied, auto area) {
          return figure(
              values, resampled, false,
              [&](const std::vector<Values>& all) {
                return untied(all[column].untied) - area(all[*options_.order_baseline]);
              },
              both);
        };
        errors.roc_auc_untied_difference = untied_less([](const Areas& areas) { return areas.roc_auc; }, roc_auc);
        errors.average_precision_untied_difference =
            untied_less([](const Areas& areas) { return areas.average_precision; }, average_precision);
      }
    }
    if (!errors.is_probability) return errors;
    const bool is_compared = options_.curve_baseline && *options_.curve_baseline != column &&
                             cells_of_[*options_.curve_baseline].is_probability;
    for (std::size_t bin = 0; bin < num_bins_; ++bin) {
      // A resample without any row has no curves.
      const auto ece_at = [bin](const Values& v) { return v.ece_at.empty() ? kNone : v.ece_at[bin]; };
      const auto cumulative = [bin](const Values& v) { return v.cumulative.empty() ? kNone : v.cumulative[bin]; };
      errors.ece_at.push_back(own(ece_at, true));
      errors.cumulative.push_back(own(cumulative, true));
      if (is_compared) errors.cumulative_difference.push_back(less(*options_.curve_baseline, cumulative));
    }
    std::vector<double> sum(num_bins_, 0);
    std::vector<double> size(num_bins_, 0);
    for (std::size_t cell = 0; cell < cells_.size(); ++cell) {
      for (std::size_t label = 0; label < 2; ++label) {
        const double rows = cells_[cell].rows[label];
        sum[cells_[cell].score] += rows * cells_of_[column].mean[cell][label].probability;
        size[cells_[cell].score] += rows;
      }
    }
    for (const PositivityCell& cell : found_.reliability.cells) {
      const auto bin = static_cast<std::size_t>(cell.bin);
      errors.mean_probability.push_back(size[bin] > 0 ? std::optional(sum[bin] / size[bin]) : std::nullopt);
    }
    return errors;
  }

  [[nodiscard]] bool has_order_band(std::size_t column) const {
    if (columns_[column].follows_score) return true;
    const auto first = std::ranges::find(columns_, false, &ProbabilityColumn::follows_score);
    return static_cast<std::size_t>(first - columns_.begin()) == column;
  }

  /// Means over levels, of the mean of |X / n - p|: de Moivre's 2 (m + 1) (1 - p) P(X = m + 1) / n, m = floor(n p).
  void add_chance() {
    std::vector<double> error(num_levels_ * num_bins_, kNone);
    for (const PositivityCell& cell : found_.bins.cells) {
      const double rows = std::max(std::round(cell.rows * effective_), 1.0);
      const double rate = (cell.positives * effective_ + 0.5) / (cell.rows * effective_ + 1);
      const double next = std::floor(rows * rate) + 1;
      error[static_cast<std::size_t>(cell.level) * num_bins_ + static_cast<std::size_t>(cell.bin)] =
          2 * next * (1 - rate) * boost::math::pdf(boost::math::binomial(rows, rate), next) / rows;
    }
    std::vector<double> ece_at;
    std::vector<double> cumulative;
    add_curves(error, num_bins_, ece_at, cumulative);
    const auto as_optional = [](double value) { return std::isnan(value) ? std::nullopt : std::optional(value); };
    for (const double value : ece_at) found_.ece_by_chance.push_back(as_optional(value));
    for (const double value : cumulative) found_.cumulative_by_chance.push_back(as_optional(value));
  }

  const Samples& samples_;
  std::span<const ProbabilityColumn> columns_;
  std::span<const std::uint8_t> stratum_;
  const CalibrationErrorOptions& options_;
  WeightUnits units_;
  CalibrationErrors found_;
  double effective_ = 1;  ///< rows behind a weight of 1
  std::size_t num_bins_ = 0;
  std::size_t num_levels_ = 0;
  std::size_t num_strata_ = 1;
  std::vector<Cell> cells_;
  std::vector<std::uint32_t> cell_of_row_;
  std::vector<ColumnCells> cells_of_;  ///< of each column
};

void check(const Samples& samples, std::span<const ProbabilityColumn> columns, std::span<const std::uint8_t> stratum,
           const CalibrationErrorOptions& options) {
  const auto refuse = [](const std::string& what) { throw InvalidInput(kFunction, what); };
  validate(samples);
  if (samples.size() == 0) throw InvalidInput(kFunction, "there are no rows", Cause::kNoRows);
  if (options.bins < 1 || options.bins > 1000) {
    throw InvalidInput(Where{.function = kFunction, .field = "bins"},
                       "is " + std::to_string(options.bins) + ", must be 1 to 1000");
  }
  if (!stratum.empty() && stratum.size() != samples.size()) {
    refuse("stratum has " + std::to_string(stratum.size()) + " rows, label has " + std::to_string(samples.size()));
  }
  for (const ProbabilityColumn& column : columns) {
    if (!column.tie_breaker.empty() && column.tie_breaker.size() != samples.size()) {
      refuse("the tie breaker of " + column.name + " has " + std::to_string(column.tie_breaker.size()) +
             " rows, label has " + std::to_string(samples.size()));
    }
    if (column.probability.size() == samples.size()) continue;
    refuse(column.name + " has " + std::to_string(column.probability.size()) + " rows, label has " +
           std::to_string(samples.size()));
  }
  for (const auto& baseline : {options.curve_baseline, options.order_baseline}) {
    if (baseline && *baseline >= columns.size()) {
      refuse("a baseline is column " + std::to_string(*baseline) + ", there are " + std::to_string(columns.size()));
    }
  }
  if (!options.bootstrap) return;
  validate(*options.bootstrap);
  if (!samples.weight.empty()) {
    refuse("rows have weights, but the bootstrap draws rows; ask for no bands, or leave the weights out");
  }
}

}  // namespace

CalibrationErrors calibration_errors(const Samples& samples, std::vector<double> edges,
                                     std::span<const ProbabilityColumn> columns, std::span<const std::uint8_t> stratum,
                                     const CalibrationErrorOptions& options) {
  check(samples, columns, stratum, options);
  tbb::task_arena arena(detail::arena_size(options.num_threads));
  return arena.execute([&] { return Judge(samples, std::move(edges), columns, stratum, options).judge(); });
}

std::optional<double> mean_log_loss(const Samples& samples, RealSpan probability) {
  if (samples.size() != probability.size()) {
    throw InvalidInput("mean_log_loss", "probability has " + std::to_string(probability.size()) + " rows, label has " +
                                            std::to_string(samples.size()));
  }
  const Range<double> range = finite_range(probability, "mean_log_loss", "probability");
  if (!(range.low >= 0 && range.high <= 1)) return std::nullopt;
  std::array<double, kChunks> loss{};
  std::array<double, kChunks> size{};
  for_each_chunk(samples.size(), [&](std::size_t chunk, std::size_t begin, std::size_t end) {
    for (std::size_t row = begin; row < end; ++row) {
      const double weight = samples.weight.empty() ? 1 : samples.weight[row];
      loss[chunk] += weight * loss_of(probability[row], samples.label[row] != 0);
      size[chunk] += weight;
    }
  });
  const double all = std::accumulate(size.begin(), size.end(), 0.0);
  if (all == 0) return std::nullopt;
  return std::accumulate(loss.begin(), loss.end(), 0.0) / all;
}

}  // namespace limen
