// SPDX-License-Identifier: MIT
#include "limen/base/text_index.h"

#include <algorithm>
#include <functional>
#include <limits>
#include <stdexcept>

namespace limen {
namespace {

std::size_t hash_of(std::string_view text) { return std::hash<std::string_view>()(text); }
std::uint32_t upper_half(std::size_t hash) { return static_cast<std::uint32_t>(hash >> 32); }

}  // namespace

std::int32_t TextIndex::add(std::string_view text) {
  if (2 * (texts_.size() + 1) > slots_.size()) grow();
  const std::size_t hash = hash_of(text);
  Slot& slot = slots_[place_of(text, hash)];
  if (slot.index != kNone) return slot.index;
  if (texts_.size() == std::numeric_limits<std::int32_t>::max()) throw std::length_error("too many distinct texts");
  slot = {.hash = upper_half(hash), .index = static_cast<std::int32_t>(texts_.size())};
  texts_.emplace_back(text);
  return slot.index;
}

std::int32_t TextIndex::find(std::string_view text) const {
  return slots_.empty() ? kNone : slots_[place_of(text, hash_of(text))].index;
}

std::vector<std::string> TextIndex::take_texts() {
  slots_.clear();
  return std::exchange(texts_, {});
}

// Where the text is, or the free slot where it belongs.
std::size_t TextIndex::place_of(std::string_view text, std::size_t hash) const {
  const std::size_t mask = slots_.size() - 1;
  for (std::size_t place = hash & mask;; place = (place + 1) & mask) {
    const Slot& slot = slots_[place];
    if (slot.index == kNone) return place;
    if (slot.hash == upper_half(hash) && texts_[static_cast<std::size_t>(slot.index)] == text) return place;
  }
}

void TextIndex::grow() {
  constexpr std::size_t kFirstSlots = 16;
  slots_.assign(std::max(kFirstSlots, 2 * slots_.size()), {});
  for (std::size_t index = 0; index < texts_.size(); ++index) {
    const std::size_t hash = hash_of(texts_[index]);
    slots_[place_of(texts_[index], hash)] = {.hash = upper_half(hash), .index = static_cast<std::int32_t>(index)};
  }
}

}  // namespace limen
