// SPDX-License-Identifier: MIT
#include "uncertainty/evidence_level.h"

#include <algorithm>
#include <stdexcept>

namespace limen::detail {

std::uint32_t EvidenceCells::find(const std::uint32_t* codes, std::uint64_t hash) const {
  return slots_.empty() ? kNone : slots_[place_of(codes, hash)];
}

std::uint32_t EvidenceCells::find_or_add(const std::uint32_t* codes, std::uint64_t hash) {
  if (3 * (size() + 1) > 2 * slots_.size()) grow();
  std::uint32_t& slot = slots_[place_of(codes, hash)];
  if (slot != kNone) return slot;
  if (size() == kNone) throw std::length_error("evidence: too many cells");
  slot = static_cast<std::uint32_t>(size());
  codes_.insert(codes_.end(), codes, codes + num_keys_);
  count.push_back(0);
  positives.push_back(0);
  return slot;
}

// Where the codes are, or the free slot where they belong.
std::size_t EvidenceCells::place_of(const std::uint32_t* codes, std::uint64_t hash) const {
  const std::size_t mask = slots_.size() - 1;
  for (std::size_t place = hash & mask;; place = (place + 1) & mask) {
    const std::uint32_t cell = slots_[place];
    if (cell == kNone || std::equal(codes, codes + num_keys_, this->codes(cell))) return place;
  }
}

void EvidenceCells::grow() {
  constexpr std::size_t kFirstSlots = 16;
  slots_.assign(std::max(kFirstSlots, 2 * slots_.size()), kNone);
  for (std::size_t cell = 0; cell < size(); ++cell) {
    std::uint64_t hash = 0;
    for (std::size_t key = 0; key < num_keys_; ++key) hash = hash_step(hash, codes(cell)[key]);
    const std::size_t mask = slots_.size() - 1;
    std::size_t place = hash & mask;
    while (slots_[place] != kNone) place = (place + 1) & mask;
    slots_[place] = static_cast<std::uint32_t>(cell);
  }
}

}  // namespace limen::detail
