// SPDX-License-Identifier: MIT
#include "count/decimal_tree.h"

#include <algorithm>
#include <cmath>
#include <deque>
#include <limits>

#include "count/counting.h"
#include "count/ordered_key.h"
#include "limen/base/error.h"
#include "limen/count/shortest_decimal.h"

namespace limen::detail {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

/// A number from the second and third quarter of an interval of positive numbers, or one near its geometric middle
/// where the interval spans magnitudes; any number inside will do.
double middle_cut(double low, double high) {
  if (high == kInfinity) return low == 0 ? 1 : (low == 1 ? 10 : (low < 1e150 ? low * low : low * 2));
  if (low == 0 && high < 1e-5) return high * high;
  if (low > 0 && high > 16 * low) {
    const double middle = std::sqrt(low) * std::sqrt(high);
    return shortest_between(middle / 1.5, middle * 1.5);
  }
  const double quarter = (high - low) / 4;
  const double below = low + quarter;
  const double at = high - quarter;
  return below < at ? shortest_between(below, at) : low;
}

/// Rows between two neighbouring cuts that are known.
struct Piece {
  double low;
  double high;
  std::vector<std::int64_t> rows;  ///< by group
  double least = kInfinity;
  double greatest = -kInfinity;

  [[nodiscard]] bool empty() const { return !(least <= greatest); }
  void add(const CountCell& cell) {
    rows[cell.group] += cell.counts.rows;
    least = std::min(least, cell.least);
    greatest = std::max(greatest, cell.greatest);
  }
};

class Descent {
 public:
  Descent(const CountedRows& rows, CountedColumn column, const std::vector<double>& group_cuts,
          const std::function<bool(const TreeNode&)>& is_cut)
      : rows_(rows), query_{.value = column, .group_cuts = group_cuts}, is_cut_(is_cut) {
    const Range<double> range = column == CountedColumn::kScore ? rows.score : rows.uncertainty;
    Piece all{-kInfinity, kInfinity, std::vector<std::int64_t>(num_groups()), range.low, range.high};
    // By group they are known after the first question; it is asked in any case.
    pieces_.push_back(std::move(all));
    ask_about({0});
  }

  [[nodiscard]] std::vector<double> cuts() {
    for (;;) {
      std::vector<std::size_t> unknown;
      std::vector<double> ends;
      std::vector<std::int64_t> above(num_groups(), 0);
      descend(-kInfinity, kInfinity, 0, pieces_.size(), above, ends, unknown);
      if (unknown.empty()) {
        std::reverse(ends.begin(), ends.end());
        if (!ends.empty()) ends.erase(ends.begin());
        return ends;
      }
      ask_about(unknown);
    }
  }

 private:
  [[nodiscard]] std::size_t num_groups() const { return query_.group_cuts.size() + 1; }

  /// Pieces first to last - 1 make up the interval. From the highest values down. ends: the lower ends of intervals
  /// that are left as they are; unknown: pieces that have to be cut.
  void descend(double low, double high, std::size_t first, std::size_t last, std::vector<std::int64_t>& above,
               std::vector<double>& ends, std::vector<std::size_t>& unknown) {
    std::vector<std::int64_t> inside(num_groups(), 0);
    double least = kInfinity;
    double greatest = -kInfinity;
    for (std::size_t at = first; at < last; ++at) {
      if (pieces_[at].empty()) continue;
      for (std::size_t group = 0; group < inside.size(); ++group) inside[group] += pieces_[at].rows[group];
      least = std::min(least, pieces_[at].least);
      greatest = std::max(greatest, pieces_[at].greatest);
    }
    if (!(least <= greatest)) return;
    const std::optional<double> cut =
        least < greatest && is_cut_({low, high, inside, above}) ? tree_cut(low, high) : std::nullopt;
    if (!cut) {
      ends.push_back(low);
    } else if (least >= *cut) {
      // All rows are above the cut, or below it: no question is needed.
      return descend(*cut, high, first, last, above, ends, unknown);
    } else if (greatest < *cut) {
      return descend(low, *cut, first, last, above, ends, unknown);
    } else {
      auto middle = static_cast<std::size_t>(
          std::lower_bound(pieces_.begin() + static_cast<std::ptrdiff_t>(first),
                           pieces_.begin() + static_cast<std::ptrdiff_t>(last), *cut,
                           [](const Piece& piece, double value) { return piece.low < value; }) -
          pieces_.begin());
      // The piece before may hold the cut; its values may lie on one side all the same.
      if (middle > first && pieces_[middle - 1].high > *cut && pieces_[middle - 1].least >= *cut) --middle;
      const bool known = middle == first || pieces_[middle - 1].high <= *cut || pieces_[middle - 1].greatest < *cut;
      if (known) {
        descend(*cut, high, middle, last, above, ends, unknown);
        return descend(low, *cut, first, middle, above, ends, unknown);
      }
      unknown.push_back(middle - 1);
    }
    for (std::size_t group = 0; group < inside.size(); ++group) above[group] += inside[group];
  }

  /// Cuts pieces down the tree, as deep as one question allows.
  void ask_about(std::vector<std::size_t> pieces) {
    std::sort(pieces.begin(), pieces.end());
    pieces.erase(std::unique(pieces.begin(), pieces.end()), pieces.end());
    if (pieces.size() > kMostCuts / 4) pieces.resize(kMostCuts / 4);
    std::vector<double> cuts;
    for (const std::size_t at : pieces) {
      const std::vector<double> more = cuts_inside(pieces_[at], kMostCuts / pieces.size());
      cuts.insert(cuts.end(), more.begin(), more.end());
      if (pieces_[at].low > -kInfinity) cuts.push_back(pieces_[at].low);
      if (pieces_[at].high < kInfinity) cuts.push_back(pieces_[at].high);
    }
    std::sort(cuts.begin(), cuts.end());
    cuts.erase(std::unique(cuts.begin(), cuts.end()), cuts.end());
    query_.value_cuts = cuts;
    std::vector<Piece> fresh;  // by bucket
    for (std::size_t bucket = 0; bucket <= cuts.size(); ++bucket) {
      fresh.push_back({bucket == 0 ? -kInfinity : cuts[bucket - 1], bucket == cuts.size() ? kInfinity : cuts[bucket],
                       std::vector<std::int64_t>(num_groups(), 0)});
    }
    for (const CountCell& cell : ask(rows_, query_)) fresh[cell.bucket].add(cell);
    std::vector<Piece> next;
    for (std::size_t at = 0; at < pieces_.size(); ++at) {
      if (!std::binary_search(pieces.begin(), pieces.end(), at)) {
        next.push_back(std::move(pieces_[at]));
        continue;
      }
      for (const Piece& piece : fresh) {
        if (piece.low >= pieces_[at].low && piece.high <= pieces_[at].high) next.push_back(piece);
      }
    }
    pieces_ = std::move(next);
  }

  /// The cuts of the tree inside a piece, the coarsest first, that can have rows on both sides.
  static std::vector<double> cuts_inside(const Piece& piece, std::size_t most) {
    struct Interval {
      double low;
      double high;
    };
    std::vector<double> cuts;
    std::deque<Interval> waiting = {{-kInfinity, kInfinity}};
    // Down to the piece first.
    while (waiting.size() == 1) {
      const Interval at = waiting.front();
      const auto cut = tree_cut(at.low, at.high);
      if (!cut) return cuts;
      if (piece.least >= *cut) {
        waiting.front() = {*cut, at.high};
      } else if (piece.greatest < *cut) {
        waiting.front() = {at.low, *cut};
      } else if (piece.low >= *cut) {
        waiting.front() = {*cut, at.high};
      } else if (piece.high <= *cut) {
        waiting.front() = {at.low, *cut};
      } else {
        break;
      }
    }
    while (!waiting.empty() && cuts.size() < most) {
      const Interval at = waiting.front();
      waiting.pop_front();
      const auto cut = tree_cut(at.low, at.high);
      if (!cut) continue;
      if (piece.least < *cut && piece.greatest >= *cut) cuts.push_back(*cut);
      if (piece.greatest >= *cut) waiting.push_back({*cut, at.high});
      if (piece.least < *cut) waiting.push_back({at.low, *cut});
    }
    return cuts;
  }

  const CountedRows& rows_;
  CountQuery query_;
  const std::function<bool(const TreeNode&)>& is_cut_;
  std::vector<Piece> pieces_;  ///< of rising values, from -inf to inf
};

}  // namespace

std::optional<double> tree_cut(double low, double high) {
  if (low < 0 && high > 0) return 0;
  if (high <= 0) {
    // The mirror image: -cut is inside [-high, -low), and so is cut inside (low, high] unless it is the end itself.
    const double cut = -middle_cut(-high + 0.0, -low);
    if (low < cut && cut < high) return cut;
  } else {
    const double cut = middle_cut(low + 0.0, high);
    if (low < cut && cut < high) return cut;
  }
  // Few numbers are left, or magnitudes at the end of the range: by the middle of the numbers themselves.
  constexpr double kMost = std::numeric_limits<double>::max();
  const std::uint64_t first = ordered_key(std::max(low, -kMost));
  const std::uint64_t last = high == kInfinity ? ordered_key(kMost) : ordered_key(high) - 1;
  if (last <= first) return std::nullopt;
  return value_of_key(first + (last - first + 1) / 2);
}

std::vector<double> tree_cuts(const CountedRows& rows, CountedColumn column, const std::vector<double>& group_cuts,
                              const std::function<bool(const TreeNode&)>& is_cut) {
  return Descent(rows, column, group_cuts, is_cut).cuts();
}

}  // namespace limen::detail
