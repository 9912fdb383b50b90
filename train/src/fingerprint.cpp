// SPDX-License-Identifier: MIT
#include "limen/train/fingerprint.h"

#include <algorithm>
#include <bit>
#include <cmath>

#include "limen/base/error.h"
#include "limen/base/random.h"
#include "limen/base/text.h"

namespace limen::train {
namespace {

constexpr std::uint64_t kMissing = 0x6d697373;

std::uint64_t hash_of(double value) {
  // + 0.0 turns -0 into 0.
  return std::isfinite(value) ? mix(std::bit_cast<std::uint64_t>(value + 0.0)) : kMissing;
}

std::uint64_t hash_of(std::string_view text) {
  const NumberField number = parse_number(text);
  if (number.status == FieldStatus::kOk) return hash_of(number.value);
  return number.status == FieldStatus::kBad ? text_hash(trimmed(text)) : kMissing;
}

std::vector<std::uint64_t> hashes_of(const Column& column) {
  std::vector<std::uint64_t> hashes;
  if (const auto* numbers = std::get_if<NumberValues>(&column.values)) {
    for (const double value : *numbers) hashes.push_back(hash_of(value));
    return hashes;
  }
  const auto& texts = std::get<TextValues>(column.values);
  std::vector<std::uint64_t> of_code;
  for (const std::string& text : texts.distinct) of_code.push_back(hash_of(std::string_view(text)));
  for (const std::int32_t code : texts.code) {
    hashes.push_back(code == TextValues::kMissing ? kMissing : of_code[static_cast<std::size_t>(code)]);
  }
  return hashes;
}

}  // namespace

void FingerprintTaker::add(const Frame& frame) {
  std::vector<std::vector<std::uint64_t>> columns;
  for (const std::string& name : fingerprint_.columns) {
    const auto found = std::ranges::find(frame.columns, name, &Column::name);
    if (found == frame.columns.end()) {
      throw InvalidInput("fingerprint", "has no column " + limen::quoted(name), Cause::kNoSuchColumn);
    }
    columns.push_back(hashes_of(*found));
  }
  std::uint64_t hash = fingerprint_.hash;
  for (std::size_t row = 0; row < frame.num_rows; ++row) {
    for (const std::vector<std::uint64_t>& column : columns) hash = mix(hash + kGoldenRatio + column[row]);
  }
  fingerprint_.hash = hash;
  fingerprint_.rows += frame.num_rows;
}

}  // namespace limen::train
