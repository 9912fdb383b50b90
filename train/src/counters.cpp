// SPDX-License-Identifier: MIT
#include <algorithm>
#include <bit>
#include <cmath>
#include <numeric>

#include "detail/column_fitter.h"
#include "limen/base/random.h"

namespace limen::train::detail {

void ValueSample::add(double value, std::uint32_t hash) {
  if (!keeps(hash)) return;
  values_.push_back(value);
  hashes_.push_back(hash);
  while (values_.size() > limit_ && level_ < 32) {
    ++level_;
    std::size_t kept = 0;
    for (std::size_t at = 0; at < values_.size(); ++at) {
      if (!keeps(hashes_[at])) continue;
      values_[kept] = values_[at];
      hashes_[kept++] = hashes_[at];
    }
    values_.resize(kept);
    hashes_.resize(kept);
  }
}

std::vector<double> ValueSample::sorted() const {
  std::vector<double> values = values_;
  std::sort(values.begin(), values.end());
  return values;
}

void CategoryCounter::add(std::string_view text, std::int64_t count) {
  if (overflowed_) {
    add_to_sketch(text_hash(text));
    return;
  }
  const auto number = static_cast<std::size_t>(texts_.add(text));
  if (number == counts_.size()) counts_.push_back(0);
  counts_[number] += count;
  if (counts_.size() <= limit_) return;
  overflowed_ = true;
  for (const std::string& known : texts_.texts()) add_to_sketch(text_hash(known));
  texts_ = {};
  counts_ = {};
}

void CategoryCounter::add_to_sketch(std::uint64_t hash) {
  const auto keeps = [&](std::uint64_t word) { return (word & ((std::uint64_t{1} << sketch_level_) - 1)) == 0; };
  if (!keeps(hash)) return;
  sketch_.insert(hash);
  while (sketch_.size() > kSketchSize && sketch_level_ < 63) {
    ++sketch_level_;
    std::erase_if(sketch_, [&](std::uint64_t word) { return !keeps(word); });
  }
}

double CategoryCounter::num_distinct() const {
  return overflowed_ ? std::ldexp(static_cast<double>(sketch_.size()), sketch_level_)
                     : static_cast<double>(counts_.size());
}

TextIndex CategoryCounter::vocabulary(std::int64_t min_count) const {
  std::vector<std::size_t> order(counts_.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::erase_if(order, [&](std::size_t number) { return counts_[number] < min_count; });
  const std::vector<std::string>& texts = texts_.texts();
  std::sort(order.begin(), order.end(), [&](std::size_t left, std::size_t right) {
    return counts_[left] != counts_[right] ? counts_[left] > counts_[right] : texts[left] < texts[right];
  });
  TextIndex vocabulary;
  for (const std::size_t number : order) vocabulary.add(texts[number]);
  return vocabulary;
}

void IdentifierTest::add(double value) {
  if (!holds_) return;
  const std::uint64_t hash = mix(std::bit_cast<std::uint64_t>(value + 0.0));
  const auto remembers = [&](std::uint64_t word) { return (word & ((std::uint64_t{1} << level_) - 1)) == 0; };
  holds_ = value == std::floor(value) && (!remembers(hash) || hashes_.insert(hash).second);
  if (!holds_) hashes_ = {};
  while (hashes_.size() > kMost) {
    ++level_;
    std::erase_if(hashes_, [&](std::uint64_t word) { return !remembers(word); });
  }
}

void DateCounter::add(const Date& date, std::int64_t count) {
  for (std::size_t at = 0; at < kDateParts.size(); ++at) counts_[at][part_value(date, kDateParts[at])] += count;
  const std::int64_t day = days_since_epoch(date);
  first_day_ = std::min(first_day_, day);
  last_day_ = std::max(last_day_, day);
}

std::vector<DatePartEncoding> DateCounter::parts(std::int64_t min_count) const {
  std::vector<DatePartEncoding> parts;
  const std::int64_t span = last_day_ - first_day_;
  for (std::size_t at = 0; at < kDateParts.size(); ++at) {
    const DatePart part = kDateParts[at];
    if ((part == DatePart::kDay && span < 366) || (part == DatePart::kMonth && span < 731)) continue;
    DatePartEncoding encoding{.part = part};
    int num_seen = 0;
    for (int value = 0; value < kMostPartValues; ++value) {
      const std::int64_t count = counts_[at][value];
      if (count > 0) ++num_seen;
      if (count >= min_count) encoding.values.push_back(value);
    }
    if (num_seen >= 2 && !encoding.values.empty()) parts.push_back(std::move(encoding));
  }
  return parts;
}

}  // namespace limen::train::detail
