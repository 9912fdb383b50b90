// SPDX-License-Identifier: MIT
#include "limen/base/nearest_name.h"

#include <algorithm>
#include <cstddef>

namespace limen {

std::string nearest_name(std::string_view name, const std::vector<std::string>& candidates) {
  // Edit distance, one row of the table at a time; a beginning of a name counts as close.
  std::string nearest;
  std::size_t least = std::max<std::size_t>(2, name.size() / 3) + 1;
  for (const std::string& candidate : candidates) {
    std::vector<std::size_t> row(candidate.size() + 1);
    for (std::size_t at = 0; at < row.size(); ++at) row[at] = at;
    for (std::size_t letter = 0; letter < name.size(); ++letter) {
      std::size_t diagonal = row[0]++;
      for (std::size_t at = 1; at < row.size(); ++at) {
        const std::size_t change = diagonal + (name[letter] == candidate[at - 1] ? 0 : 1);
        diagonal = row[at];
        row[at] = std::min({row[at] + 1, row[at - 1] + 1, change});
      }
    }
    const bool begins = name.size() > 3 && candidate.substr(0, name.size()) == name;
    const std::size_t distance = begins ? 1 : row.back();
    if (distance < least) {
      least = distance;
      nearest = candidate;
    }
  }
  return nearest;
}

}  // namespace limen
