// SPDX-License-Identifier: MIT
#include <tbb/blocked_range.h>
#include <tbb/parallel_for.h>
#include <tbb/task_arena.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <string>
#include <utility>

#include "limen/base/error.h"
#include "limen/base/parallel.h"
#include "limen/base/text.h"
#include "limen/uncertainty/evidence.h"
#include "uncertainty/evidence_level.h"

namespace limen {
namespace {

constexpr std::size_t kSampleRows = 200'000;
constexpr std::uint32_t kMissingCode = 0;  // values are numbered from 1

std::uint32_t code_of(std::span<const double> cuts, bool is_binned, double value) {
  if (std::isnan(value)) return kMissingCode;
  const auto above = std::upper_bound(cuts.begin(), cuts.end(), value);
  if (is_binned) return static_cast<std::uint32_t>(1 + (above - cuts.begin()));
  if (above == cuts.begin() || above[-1] != value) return EvidenceKeys::kUnseen;
  return static_cast<std::uint32_t>(above - cuts.begin());
}

}  // namespace

void validate(const EvidenceOptions& options) {
  if (options.num_bins < 2 || options.num_bins > 65'536) {
    throw InvalidInput("evidence", "num_bins is " + std::to_string(options.num_bins) + ", must be from 2 to 65536");
  }
  if (!(options.strength >= 0) || !std::isfinite(options.strength)) {
    throw InvalidInput("evidence", "strength is " + std::to_string(options.strength) + ", must be finite and >= 0");
  }
  if (options.num_threads < 0) {
    throw InvalidInput("evidence", "num_threads is " + std::to_string(options.num_threads) + ", must be >= 0");
  }
}

EvidenceKeys::EvidenceKeys(const Frame& frame, const EvidenceOptions& options) : options_(options) {
  validate(options);
  if (frame.columns.empty() || frame.columns.size() > kMostKeys) {
    throw InvalidInput("evidence",
                       std::to_string(frame.columns.size()) + " keys, must be from 1 to " + std::to_string(kMostKeys));
  }
  for (const Column& column : frame.columns) {
    Key key;
    key.name = column.name;
    key.is_number = std::holds_alternative<NumberValues>(column.values);
    keys_.push_back(std::move(key));
  }
}

EvidenceKeys EvidenceKeys::from_values(std::vector<EvidenceKeyValues> keys, const EvidenceOptions& options) {
  validate(options);
  EvidenceKeys result(options);
  result.is_fitted_ = true;
  for (EvidenceKeyValues& values : keys) {
    Key key;
    key.name = std::move(values.name);
    key.is_number = values.is_number;
    key.is_binned = values.is_binned;
    key.cuts = std::move(values.cuts);
    const bool is_finite = std::ranges::all_of(key.cuts, [](double cut) { return std::isfinite(cut); });
    const bool ascends = std::ranges::adjacent_find(key.cuts, std::ranges::greater_equal()) == key.cuts.end();
    if (!is_finite || !ascends) {
      throw InvalidInput("evidence", "the cuts of key " + quoted(key.name) + " must be finite and ascending");
    }
    for (std::size_t at = 0; at < values.texts.size(); ++at) {
      if (static_cast<std::size_t>(key.texts.add(values.texts[at])) == at) continue;
      throw InvalidInput("evidence",
                         "key " + quoted(key.name) + " has the text " + quoted(values.texts[at]) + " twice");
    }
    result.keys_.push_back(std::move(key));
  }
  return result;
}

EvidenceKeyValues EvidenceKeys::values(std::size_t key) const {
  return {.name = keys_[key].name,
          .is_number = keys_[key].is_number,
          .is_binned = keys_[key].is_binned,
          .cuts = keys_[key].cuts,
          .texts = keys_[key].texts.texts()};
}

EvidenceKeys EvidenceKeys::only(std::span<const std::size_t> keys) const {
  std::vector<EvidenceKeyValues> chosen;
  for (const std::size_t key : keys) chosen.push_back(values(key));
  return from_values(std::move(chosen), options_);
}

bool EvidenceKeys::needs_fit() const {
  return std::ranges::any_of(keys_, [](const Key& key) { return key.is_number; });
}

void EvidenceKeys::fit(const Frame& frame, std::span<const double> weight) {
  check(frame);
  if (!weight.empty() && weight.size() != frame.num_rows) {
    throw InvalidInput("evidence", "weight has " + std::to_string(weight.size()) + " rows, the keys have " +
                                       std::to_string(frame.num_rows));
  }
  const auto is_counted = [&](std::size_t row) { return weight.empty() || weight[row] != 0; };
  for (std::size_t column = 0; column < keys_.size(); ++column) {
    Key& key = keys_[column];
    if (!key.is_number || key.has_many) continue;
    const NumberValues& values = std::get<NumberValues>(frame.columns[column].values);
    for (std::size_t row = 0; row < frame.num_rows && !key.has_many; ++row) {
      if (std::isnan(values[row]) || !is_counted(row)) continue;
      const auto place = std::lower_bound(key.cuts.begin(), key.cuts.end(), values[row]);
      if (place != key.cuts.end() && *place == values[row]) continue;
      key.has_many = key.cuts.size() == static_cast<std::size_t>(options_.num_bins);
      if (!key.has_many) key.cuts.insert(place, values[row]);
    }
  }
  for (std::size_t row = 0; row < frame.num_rows; ++row, ++rows_fitted_) {
    const std::uint64_t hash = detail::hash_step(rows_fitted_, 0);
    if (hash > sample_limit_ || !is_counted(row)) continue;
    sample_hash_.push_back(hash);
    for (const Column& column : frame.columns) {
      const NumberValues* values = std::get_if<NumberValues>(&column.values);
      sample_values_.push_back(values != nullptr ? (*values)[row] : 0);
    }
    if (sample_hash_.size() == 2 * kSampleRows) shrink_sample();
  }
}

// Keeps the rows of the smallest hashes. Hashes of different rows differ: the hash is a bijection of the row's number.
void EvidenceKeys::shrink_sample() {
  if (sample_hash_.size() <= kSampleRows) return;
  std::vector<std::uint64_t> hashes = sample_hash_;
  const auto last = hashes.begin() + static_cast<std::ptrdiff_t>(kSampleRows - 1);
  std::ranges::nth_element(hashes, last);
  sample_limit_ = *last;
  std::size_t kept = 0;
  for (std::size_t row = 0; row < sample_hash_.size(); ++row) {
    if (sample_hash_[row] > sample_limit_) continue;
    sample_hash_[kept] = sample_hash_[row];
    std::copy_n(sample_values_.begin() + static_cast<std::ptrdiff_t>(row * size()), size(),
                sample_values_.begin() + static_cast<std::ptrdiff_t>(kept * size()));
    ++kept;
  }
  sample_hash_.resize(kept);
  sample_values_.resize(kept * size());
}

void EvidenceKeys::finish_fit() {
  shrink_sample();
  for (std::size_t column = 0; column < keys_.size(); ++column) {
    Key& key = keys_[column];
    key.is_binned = key.has_many;
    if (!key.is_binned) continue;
    std::vector<double> values;
    for (std::size_t row = 0; row < sample_hash_.size(); ++row) {
      const double value = sample_values_[row * size() + column];
      if (!std::isnan(value)) values.push_back(value);
    }
    std::ranges::sort(values);
    key.cuts.clear();
    const auto bins = static_cast<std::size_t>(options_.num_bins);
    for (std::size_t bin = 1; bin < bins && !values.empty(); ++bin) {
      const double cut = values[bin * values.size() / bins];
      if (cut > values.front() && (key.cuts.empty() || cut > key.cuts.back())) key.cuts.push_back(cut);
    }
  }
  sample_hash_ = {};
  sample_values_ = {};
  is_fitted_ = true;
}

void EvidenceKeys::check(const Frame& frame) const {
  if (frame.columns.size() != keys_.size()) {
    throw InvalidInput("evidence", std::to_string(frame.columns.size()) + " columns, there are " +
                                       std::to_string(keys_.size()) + " keys");
  }
  for (std::size_t column = 0; column < keys_.size(); ++column) {
    const Column& given = frame.columns[column];
    const bool is_number = std::holds_alternative<NumberValues>(given.values);
    if (given.name != keys_[column].name || is_number != keys_[column].is_number) {
      throw InvalidInput("evidence", "column " + std::to_string(column + 1) + " is " + given.name +
                                         (is_number ? " (number)" : " (text)") + ", the key is " + keys_[column].name +
                                         (keys_[column].is_number ? " (number)" : " (text)"));
    }
    const std::size_t rows =
        is_number ? std::get<NumberValues>(given.values).size() : std::get<TextValues>(given.values).code.size();
    if (rows != frame.num_rows) throw InvalidInput("evidence", "column " + given.name + " has a wrong number of rows");
  }
}

std::vector<std::uint32_t> EvidenceKeys::codes(const Frame& frame) const {
  check(frame);
  std::vector<std::vector<std::uint32_t>> text_code(size());
  for (std::size_t column = 0; column < size(); ++column) {
    if (keys_[column].is_number) continue;
    for (const std::string& text : std::get<TextValues>(frame.columns[column].values).distinct) {
      const std::int32_t index = keys_[column].texts.find(text);
      text_code[column].push_back(index == TextIndex::kNone ? kUnseen : static_cast<std::uint32_t>(index) + 1);
    }
  }
  return codes_with(frame, text_code);
}

std::vector<std::uint32_t> EvidenceKeys::add_codes(const Frame& frame) {
  check(frame);
  std::vector<std::vector<std::uint32_t>> text_code(size());
  for (std::size_t column = 0; column < size(); ++column) {
    if (keys_[column].is_number) continue;
    for (const std::string& text : std::get<TextValues>(frame.columns[column].values).distinct) {
      text_code[column].push_back(static_cast<std::uint32_t>(keys_[column].texts.add(text)) + 1);
    }
  }
  return codes_with(frame, text_code);
}

std::vector<std::vector<std::uint32_t>> EvidenceKeys::merge(const EvidenceKeys& other) {
  std::vector<std::vector<std::uint32_t>> own_code(size());
  for (std::size_t column = 0; column < size(); ++column) {
    const bool is_same = other.size() == size() && other.keys_[column].name == keys_[column].name &&
                         other.keys_[column].is_number == keys_[column].is_number &&
                         other.keys_[column].is_binned == keys_[column].is_binned &&
                         other.keys_[column].cuts == keys_[column].cuts;
    if (!is_same) throw InvalidInput("evidence", "only counts with the same keys and bins can be merged");
    if (keys_[column].is_number) continue;
    own_code[column].push_back(kMissingCode);
    for (const std::string& text : other.keys_[column].texts.texts()) {
      own_code[column].push_back(static_cast<std::uint32_t>(keys_[column].texts.add(text)) + 1);
    }
  }
  return own_code;
}

std::vector<std::uint32_t> EvidenceKeys::codes_with(const Frame& frame,
                                                    const std::vector<std::vector<std::uint32_t>>& text_code) const {
  constexpr std::size_t kGrain = 16'384;
  std::vector<std::uint32_t> codes(frame.num_rows * size());
  const auto fill = [&](std::size_t begin, std::size_t end) {
    for (std::size_t column = 0; column < size(); ++column) {
      std::uint32_t* out = codes.data() + begin * size() + column;
      if (const NumberValues* values = std::get_if<NumberValues>(&frame.columns[column].values)) {
        for (std::size_t row = begin; row < end; ++row, out += size()) {
          *out = code_of(keys_[column].cuts, keys_[column].is_binned, (*values)[row]);
        }
        continue;
      }
      const TextValues& text = std::get<TextValues>(frame.columns[column].values);
      for (std::size_t row = begin; row < end; ++row, out += size()) {
        const std::int32_t code = text.code[row];
        *out = code == TextValues::kMissing ? kMissingCode : text_code[column][static_cast<std::size_t>(code)];
      }
    }
  };
  tbb::task_arena(detail::arena_size(options_.num_threads)).execute([&] {
    tbb::parallel_for(tbb::blocked_range<std::size_t>(0, frame.num_rows, kGrain),
                      [&](const auto& range) { fill(range.begin(), range.end()); });
  });
  return codes;
}

}  // namespace limen
