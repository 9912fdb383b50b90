// SPDX-License-Identifier: MIT
#include "limen/count/counted_rows.h"

#include <tbb/enumerable_thread_specific.h>
#include <tbb/parallel_for.h>
#include <tbb/parallel_sort.h>

#include <algorithm>
#include <array>
#include <memory>
#include <type_traits>

#include "count/batch_rows.h"
#include "limen/base/error.h"
#include "limen/count/levels.h"

namespace limen {
namespace {

using detail::ordered_key;
using detail::value_of_key;

/// Counts rows, batch after batch, as a query asks.
class QueryCounter {
 public:
  explicit QueryCounter(const CountQuery& query)
      : query_(query),
        num_buckets_(query.spans.empty() ? query.value_cuts.size() + 1 : 0),
        double_groups_(query.group_cuts),
        float_groups_(query.group_cuts),
        double_buckets_(query.value_cuts),
        float_buckets_(query.value_cuts),
        spans_(query.group_cuts.size() + 1),
        parts_([this] { return Part(num_groups() * num_buckets_, query_.extremes); }) {
    for (const CountQuery::Span& span : query.spans) spans_[span.group].push_back({span.low, span.high});
  }

  void add(const Samples& rows) {
    const bool by_score = query_.value == CountedColumn::kScore;
    const RealSpan& value = by_score ? rows.score : rows.uncertainty;
    const RealSpan& other = by_score ? rows.uncertainty : rows.score;
    value.visit([&](auto values) {
      other.visit([&](auto others) {
        const std::size_t num_blocks = (rows.size() + kBlock - 1) / kBlock;
        tbb::parallel_for(std::size_t{0}, num_blocks, [&](std::size_t block) {
          const std::size_t begin = block * kBlock;
          const std::size_t size = std::min(kBlock, rows.size() - begin);
          add_block(values.data() + begin, others.data() + begin, rows.label.data() + begin, size, parts_.local());
        });
      });
    });
  }

  [[nodiscard]] std::vector<CountCell> cells() { return num_buckets_ > 0 ? bucket_cells() : value_cells(); }

 private:
  static constexpr std::size_t kBlock = std::size_t{1} << 12;

  struct Value {
    std::uint64_t key;
    std::uint32_t group;
    std::uint32_t label;
    friend auto operator<=>(const Value&, const Value&) = default;
  };
  struct Part {
    Part(std::size_t cells, bool extremes)
        : counts(cells), least(extremes ? cells : 0, ~std::uint64_t{0}), greatest(extremes ? cells : 0, 0) {}
    std::vector<Counts> counts;
    std::vector<std::uint64_t> least;  // keys
    std::vector<std::uint64_t> greatest;
    std::vector<Value> values = {};
  };

  [[nodiscard]] std::size_t num_groups() const { return query_.group_cuts.size() + 1; }

  template <typename Real>
  static const LevelFinder<Real>& pick(const LevelFinder<double>& wide, const LevelFinder<float>& narrow) {
    if constexpr (std::is_same_v<Real, double>) {
      return wide;
    } else {
      return narrow;
    }
  }

  template <typename Value_, typename Other>
  void add_block(const Value_* value, const Other* other, const std::uint8_t* label, std::size_t size,
                 Part& part) const {
    std::array<std::uint16_t, kBlock> group{};
    std::array<std::uint16_t, kBlock> bucket{};
    if (num_groups() > 1) pick<Other>(double_groups_, float_groups_).find(other, size, group.data());
    if (num_buckets_ == 0) {
      for (std::size_t row = 0; row < size; ++row) {
        const auto wide = static_cast<double>(value[row]);
        for (const auto& [low, high] : spans_[group[row]]) {
          if (wide >= low && wide <= high) part.values.push_back({ordered_key(wide), group[row], label[row]});
        }
      }
      return;
    }
    if (num_buckets_ > 1) pick<Value_>(double_buckets_, float_buckets_).find(value, size, bucket.data());
    for (std::size_t row = 0; row < size; ++row) {
      const std::size_t cell = group[row] * num_buckets_ + bucket[row];
      part.counts[cell] += {1, label[row]};
      if (part.least.empty()) continue;
      const std::uint64_t key = ordered_key(static_cast<double>(value[row]));
      part.least[cell] = std::min(part.least[cell], key);
      part.greatest[cell] = std::max(part.greatest[cell], key);
    }
  }

  [[nodiscard]] std::vector<CountCell> bucket_cells() {
    Part sum(num_groups() * num_buckets_, query_.extremes);
    for (const Part& part : parts_) {
      for (std::size_t cell = 0; cell < sum.counts.size(); ++cell) {
        sum.counts[cell] += part.counts[cell];
        if (sum.least.empty()) continue;
        sum.least[cell] = std::min(sum.least[cell], part.least[cell]);
        sum.greatest[cell] = std::max(sum.greatest[cell], part.greatest[cell]);
      }
    }
    std::vector<CountCell> cells;
    for (std::size_t cell = 0; cell < sum.counts.size(); ++cell) {
      if (sum.counts[cell].rows == 0) continue;
      cells.push_back({cell / num_buckets_, cell % num_buckets_, sum.counts[cell]});
      if (sum.least.empty()) continue;
      cells.back().least = value_of_key(sum.least[cell]);
      cells.back().greatest = value_of_key(sum.greatest[cell]);
    }
    return cells;
  }

  [[nodiscard]] std::vector<CountCell> value_cells() {
    std::vector<Value> values;
    for (Part& part : parts_) values.insert(values.end(), part.values.begin(), part.values.end());
    tbb::parallel_sort(values.begin(), values.end());
    std::vector<CountCell> cells;
    for (const Value& value : values) {
      const double number = value_of_key(value.key);
      // By key, then by group.
      if (cells.empty() || cells.back().least != number || cells.back().group != value.group) {
        cells.push_back({value.group, 0, {}, number, number});
      }
      cells.back().counts += {1, value.label};
    }
    return cells;
  }

  const CountQuery& query_;
  std::size_t num_buckets_;  ///< 0: every distinct value
  LevelFinder<double> double_groups_;
  LevelFinder<float> float_groups_;
  LevelFinder<double> double_buckets_;
  LevelFinder<float> float_buckets_;
  std::vector<std::vector<std::pair<double, double>>> spans_;  ///< of every group
  tbb::enumerable_thread_specific<Part> parts_;
};

}  // namespace

CountedRows counted(const Samples& samples) {
  const SampleRanges ranges = validate(samples);
  if (!samples.weight.empty()) throw InvalidInput("fit_boundary", "rows that are only counted cannot have weights");
  CountedRows rows{.total = {}, .score = ranges.score, .uncertainty = ranges.uncertainty, .count = {}};
  for (const std::uint8_t label : samples.label) rows.total += {1, label};
  rows.count = [samples](const CountQuery& query) {
    QueryCounter counter(query);
    counter.add(samples);
    return counter.cells();
  };
  return rows;
}

CountedRows counted(const SampleBatches& batches) {
  CountedRows rows;
  const auto fingerprint = std::make_shared<BatchFingerprint>();
  batches([&](const Samples& samples) {
    const SampleRanges ranges = detail::check_and_add(samples, *fingerprint);
    rows.score.add(ranges.score);
    rows.uncertainty.add(ranges.uncertainty);
  });
  rows.total = {static_cast<std::int64_t>(fingerprint->rows), static_cast<std::int64_t>(fingerprint->positives)};
  rows.count = [&batches, fingerprint](const CountQuery& query) {
    QueryCounter counter(query);
    BatchFingerprint now;
    batches([&](const Samples& samples) {
      detail::check_and_add(samples, now);
      if (now.rows > fingerprint->rows) detail::require_same_rows(*fingerprint, now);
      counter.add(samples);
    });
    detail::require_same_rows(*fingerprint, now);
    return counter.cells();
  };
  return rows;
}

}  // namespace limen
