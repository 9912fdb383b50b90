// SPDX-License-Identifier: MIT
#include "detail/uncertainty_ranks.h"

#include <algorithm>

#include "detail/wide.h"

namespace limen::detail {
namespace {

constexpr int kBucketBits = 20;
constexpr std::size_t kBuckets = std::size_t{1} << kBucketBits;

std::size_t bucket_of(double value) { return static_cast<std::size_t>(ordered_key(value) >> (64 - kBucketBits)); }

}  // namespace

std::vector<std::size_t> quantile_ranks(std::size_t rows, int levels) {
  std::vector<std::size_t> ranks;
  for (int level = 1; level < levels; ++level) {
    const auto rank = static_cast<std::size_t>(Wide{static_cast<std::int64_t>(rows)} * level / levels);
    if (ranks.empty() || rank > ranks.back()) ranks.push_back(rank);
  }
  return ranks;
}

UncertaintyRanks::UncertaintyRanks() : counts_(kBuckets, 0), wanted_(kBuckets, 0), followed_(kBuckets, 0) {}

void UncertaintyRanks::count(RealSpan uncertainty) {
  uncertainty.visit([&](auto values) {
    for (const auto value : values) ++counts_[bucket_of(static_cast<double>(value))];
  });
}

void UncertaintyRanks::want(std::vector<std::size_t> ranks) {
  ranks_ = std::move(ranks);
  std::size_t before = 0;
  std::size_t next = 0;
  bool follow = false;
  for (std::size_t bucket = 0; bucket < kBuckets; ++bucket) {
    if (counts_[bucket] == 0) continue;
    if (follow) followed_[bucket] = 1;
    follow = next < ranks_.size() && ranks_[next] < before + counts_[bucket];
    if (follow) wanted_[bucket] = 1;
    before += counts_[bucket];
    while (next < ranks_.size() && ranks_[next] < before) ++next;
  }
}

void UncertaintyRanks::collect(RealSpan uncertainty) {
  uncertainty.visit([&](auto values) {
    for (const auto narrow : values) {
      const double value = static_cast<double>(narrow) + 0.0;
      const std::size_t bucket = bucket_of(value);
      if (wanted_[bucket] != 0) ++values_[bucket][value];
      if (followed_[bucket] != 0) {
        const auto [at, added] = smallest_.try_emplace(bucket, value);
        if (!added) at->second = std::min(at->second, value);
      }
    }
  });
}

std::vector<double> UncertaintyRanks::edges() const {
  std::vector<double> edges;
  std::size_t before = 0;
  std::size_t next = 0;
  for (std::size_t bucket = 0; bucket < kBuckets && next < ranks_.size(); ++bucket) {
    if (wanted_[bucket] != 0) {
      const auto& values = values_.at(bucket);
      std::size_t run_begin = before;
      for (auto at = values.begin(); at != values.end(); run_begin += at->second, ++at) {
        const std::size_t run_end = run_begin + at->second;
        for (; next < ranks_.size() && ranks_[next] < run_end; ++next) {
          const auto larger = [&](double) -> std::optional<double> {
            if (std::next(at) != values.end()) return std::next(at)->first;
            const auto following = smallest_.upper_bound(bucket);
            return following == smallest_.end() ? std::nullopt : std::optional(following->second);
          };
          const auto edge = edge_at<double>(ranks_[next], {at->first, run_begin, run_end}, larger);
          if (edge && (edges.empty() || *edge > edges.back())) edges.push_back(*edge);
        }
      }
    }
    before += counts_[bucket];
  }
  return edges;
}

}  // namespace limen::detail
