// SPDX-License-Identifier: MIT
#include "count/uncertainty_ranks.h"

#include <algorithm>
#include <cmath>

#include "limen/base/wide.h"

namespace limen::detail {
namespace {

constexpr std::size_t kBuckets = std::size_t{1} << 17;
constexpr std::size_t kMostKept = std::size_t{1} << 21;
/// The values of the first batch that say where the edges are.
constexpr std::size_t kFirstSample = std::size_t{1} << 17;

double value_of(std::uint64_t key) {
  constexpr std::uint64_t kSign = std::uint64_t{1} << 63;
  return std::bit_cast<double>((key & kSign) != 0 ? key ^ kSign : ~key);
}

}  // namespace

std::vector<std::size_t> quantile_ranks(std::size_t rows, int levels) {
  std::vector<std::size_t> ranks;
  for (int level = 1; level < levels; ++level) {
    const auto rank = static_cast<std::size_t>(Wide{static_cast<std::int64_t>(rows)} * level / levels);
    if (ranks.empty() || rank > ranks.back()) ranks.push_back(rank);
  }
  return ranks;
}

void UncertaintyRanks::start_first_pass(RealSpan uncertainty) {
  std::vector<Key> sample;
  const std::size_t step = uncertainty.size() / kFirstSample + 1;
  for (std::size_t row = 0; row < uncertainty.size(); row += step) sample.push_back(ordered_key(uncertainty[row]));
  std::sort(sample.begin(), sample.end());
  map_.emplace(Key{0}, ~Key{0}, sample, kBuckets);
  counts_.assign(map_->num_buckets(), 0);
  keeps_ = true;
  // Four standard errors on both sides of where the sample has its quantiles.
  const auto size = static_cast<double>(sample.size());
  for (int level = 1; level < levels_; ++level) {
    const double share = static_cast<double>(level) / levels_;
    const double error = 4 * std::sqrt(size * share * (1 - share)) + 1;
    const auto place = [&](double at) { return sample[static_cast<std::size_t>(std::clamp(at, 0.0, size - 1))]; };
    const Key low = place(share * size - error);
    const Key high = place(share * size + error);
    if (!ranges_.empty() && low <= ranges_.back().high) {
      ranges_.back().high = std::max(ranges_.back().high, high);
    } else {
      ranges_.push_back({low, high});
    }
  }
}

void UncertaintyRanks::keep(Key key) {
  const auto range =
      std::partition_point(ranges_.begin(), ranges_.end(), [key](const KeptRange& at) { return at.high < key; });
  if (range != ranges_.begin()) {
    auto& next = std::prev(range)->next_above;
    if (!next || key < *next) next = key;
  }
  if (range == ranges_.end()) return;
  if (key < range->low) {
    ++range->rows_between;
    return;
  }
  range->keys.emplace_back(key, 1);
  ++num_kept_;
}

void UncertaintyRanks::pool(KeptRange& range) {
  std::sort(range.keys.begin(), range.keys.end());
  std::size_t kept = 0;
  for (const auto& entry : range.keys) {
    if (kept > 0 && range.keys[kept - 1].first == entry.first) {
      range.keys[kept - 1].second += entry.second;
    } else {
      range.keys[kept++] = entry;
    }
  }
  range.keys.resize(kept);
}

void UncertaintyRanks::add(RealSpan uncertainty) {
  if (uncertainty.empty()) return;
  if (pass_ == Pass::kFirst) {
    if (!map_) start_first_pass(uncertainty);
    rows_ += uncertainty.size();
    sample_.add(uncertainty.size(), [&](std::size_t row) { return ordered_key(uncertainty[row]); });
    const auto batch = uncertainty.visit([](auto values) {
      const auto range = range_of(values);
      return Range<double>{static_cast<double>(range.low), static_cast<double>(range.high)};
    });
    range_ = {std::min(range_.low, batch.low), std::max(range_.high, batch.high)};
  }
  uncertainty.visit([&](auto values) {
    for (const auto narrow : values) {
      const Key key = ordered_key(static_cast<double>(narrow));
      if (pass_ != Pass::kKeep) ++counts_[map_->bucket_of(key)];
      if (keeps_) keep(key);
    }
  });
  if (num_kept_ <= kMostKept) return;
  num_kept_ = 0;
  for (KeptRange& range : ranges_) {
    pool(range);
    num_kept_ += range.keys.size();
  }
  // In the first pass the ranges are a guess, and not worth more memory; later they are what is needed.
  if (pass_ == Pass::kFirst && num_kept_ > kMostKept / 2) {
    keeps_ = false;
    ranges_.clear();
  }
}

bool UncertaintyRanks::holds_all_ranks() const {
  if (ranges_.empty()) return false;
  const std::vector<std::size_t> ranks = quantile_ranks(rows_, levels_);
  std::size_t next = 0;
  std::size_t before = 0;
  for (const KeptRange& range : ranges_) {
    before += range.rows_between;
    if (next < ranks.size() && ranks[next] < before) return false;
    for (const auto& entry : range.keys) before += entry.second;
    while (next < ranks.size() && ranks[next] < before) ++next;
  }
  return next == ranks.size();
}

// Returns how many rows they hold.
std::size_t UncertaintyRanks::keep_buckets_with_ranks() {
  ranges_.clear();
  const std::vector<std::size_t> ranks = quantile_ranks(rows_, levels_);
  std::size_t next = 0;
  std::size_t before = 0;
  std::size_t held = 0;
  for (std::size_t bucket = 0; bucket < counts_.size() && next < ranks.size(); ++bucket) {
    if (ranks[next] < before + counts_[bucket]) {
      ranges_.push_back({map_->low(bucket), map_->high(bucket)});
      held += counts_[bucket];
      while (next < ranks.size() && ranks[next] < before + counts_[bucket]) ++next;
    }
    before += counts_[bucket];
  }
  return held;
}

bool UncertaintyRanks::end_pass() {
  for (KeptRange& range : ranges_) pool(range);
  if (keeps_ && holds_all_ranks()) return true;
  const std::size_t held = keep_buckets_with_ranks();
  const bool count_again = pass_ == Pass::kFirst && held > kMostKept;
  num_kept_ = 0;
  keeps_ = !count_again;
  pass_ = count_again ? Pass::kCount : Pass::kKeep;
  if (count_again) {
    map_.emplace(ordered_key(range_.low), ordered_key(range_.high), sample_.values(), kBuckets);
    counts_.assign(map_->num_buckets(), 0);
    ranges_.clear();
  }
  return false;
}

std::vector<double> UncertaintyRanks::edges() const {
  const std::vector<std::size_t> ranks = quantile_ranks(rows_, levels_);
  std::vector<double> edges;
  std::size_t before = 0;
  std::size_t next = 0;
  for (const KeptRange& range : ranges_) {
    before += range.rows_between;
    for (auto at = range.keys.begin(); at != range.keys.end(); before += at->second, ++at) {
      const std::size_t run_end = before + at->second;
      for (; next < ranks.size() && ranks[next] < run_end; ++next) {
        const auto larger = [&](double) -> std::optional<double> {
          if (std::next(at) != range.keys.end()) return value_of(std::next(at)->first);
          return range.next_above ? std::optional(value_of(*range.next_above)) : std::nullopt;
        };
        const auto edge = edge_at<double>(ranks[next], {value_of(at->first), before, run_end}, larger);
        if (edge && (edges.empty() || *edge > edges.back())) edges.push_back(*edge);
      }
    }
  }
  return edges;
}

}  // namespace limen::detail
