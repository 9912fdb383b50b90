// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace limen {

/// Numbers texts in the order in which they first come: each distinct text once, from 0. Amortised O(length) a call.
class TextIndex {
 public:
  static constexpr std::int32_t kNone = -1;

  /// The number of a text, a new one when it was not there. Throws std::length_error beyond 2^31 - 1 texts.
  std::int32_t add(std::string_view text);
  /// The number of a text, kNone when it is not there.
  [[nodiscard]] std::int32_t find(std::string_view text) const;

  [[nodiscard]] const std::vector<std::string>& texts() const { return texts_; }
  /// Hands over the texts and is empty again.
  [[nodiscard]] std::vector<std::string> take_texts();

 private:
  // An open-addressing table with linear probing; half of the hash saves most comparisons of texts.
  struct Slot {
    std::uint32_t hash = 0;
    std::int32_t index = kNone;
  };
  [[nodiscard]] std::size_t place_of(std::string_view text, std::size_t hash) const;
  void grow();

  std::vector<std::string> texts_;
  std::vector<Slot> slots_;  // as many as a power of two, at most half of them used
};

}  // namespace limen
