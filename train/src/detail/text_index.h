// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "detail/hash.h"

namespace limen::train::detail {

/// Distinct texts, numbered in the order of their insertion. Open addressing over 64-bit hashes: one probe touches one
/// slot of 8 bytes, and a text is compared only when all 32 kept bits of its hash agree.
class TextIndex {
 public:
  static constexpr std::int32_t kAbsent = -1;

  [[nodiscard]] std::size_t size() const { return texts_.size(); }
  [[nodiscard]] const std::vector<std::string>& texts() const { return texts_; }

  /// The number of a text, or kAbsent. hash: text_hash(text).
  [[nodiscard]] std::int32_t find(std::string_view text, std::uint64_t hash) const {
    if (slots_.empty()) return kAbsent;
    for (std::size_t at = hash & mask_;; at = (at + 1) & mask_) {
      const Slot& slot = slots_[at];
      if (slot.number == kAbsent) return kAbsent;
      if (slot.tag == tag_of(hash) && texts_[static_cast<std::size_t>(slot.number)] == text) return slot.number;
    }
  }

  /// The number of a text, which is inserted when it is new. At most 2^31 - 2 texts.
  std::int32_t insert(std::string_view text, std::uint64_t hash) {
    const std::int32_t found = find(text, hash);
    if (found != kAbsent) return found;
    if (2 * (texts_.size() + 1) > slots_.size()) grow();
    const auto number = static_cast<std::int32_t>(texts_.size());
    texts_.emplace_back(text);
    place(number, hash);
    return number;
  }

 private:
  struct Slot {
    std::uint32_t tag = 0;
    std::int32_t number = kAbsent;
  };

  static std::uint32_t tag_of(std::uint64_t hash) { return static_cast<std::uint32_t>(hash >> 32); }

  void place(std::int32_t number, std::uint64_t hash) {
    std::size_t at = hash & mask_;
    while (slots_[at].number != kAbsent) at = (at + 1) & mask_;
    slots_[at] = {tag_of(hash), number};
  }

  void grow() {
    const std::size_t size = slots_.empty() ? 16 : 2 * slots_.size();
    slots_.assign(size, Slot{});
    mask_ = size - 1;
    for (std::size_t number = 0; number < texts_.size(); ++number) {
      place(static_cast<std::int32_t>(number), text_hash(texts_[number]));
    }
  }

  std::vector<Slot> slots_;
  std::size_t mask_ = 0;
  std::vector<std::string> texts_;
};

}  // namespace limen::train::detail
