// SPDX-License-Identifier: MIT
#include "limen/base/machine_memory.h"

#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <fstream>
#include <iterator>
#include <limits>
#include <sstream>
#include <string_view>

namespace limen {
namespace {

constexpr std::uint64_t kNoLimit = std::numeric_limits<std::uint64_t>::max();

std::string content_of(const std::string& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

// No limit when the file is not there or says "max".
std::uint64_t limit_in(const std::string& path) {
  const std::string text = content_of(path);
  std::uint64_t limit = 0;
  return std::from_chars(text.data(), text.data() + text.size(), limit).ec == std::errc() ? limit : kNoLimit;
}

// Of a group and all above it. In a container the root of the mount is the group itself, whatever its path outside.
std::uint64_t limit_up_to_root(const std::string& mount, std::string group, const std::string& file) {
  std::uint64_t limit = limit_in(mount + "/" + file);
  while (!group.empty() && group != "/") {
    limit = std::min(limit, limit_in(mount + group + "/" + file));
    group.erase(group.rfind('/'));
  }
  return limit;
}

}  // namespace

// Lines are "hierarchy:controllers:path"; version 2 has hierarchy 0 and no controllers.
std::uint64_t detail::group_memory(const std::string& groups, const std::string& mount) {
  std::uint64_t limit = kNoLimit;
  std::istringstream lines(groups);
  for (std::string line; std::getline(lines, line);) {
    const std::size_t first = line.find(':');
    const std::size_t second = first == std::string::npos ? first : line.find(':', first + 1);
    if (second == std::string::npos) continue;
    const std::string controllers = "," + line.substr(first + 1, second - first - 1) + ",";
    std::string group = line.substr(second + 1);
    if (!group.starts_with('/')) group.clear();
    if (controllers == ",,") limit = std::min(limit, limit_up_to_root(mount, group, "memory.max"));
    if (controllers.find(",memory,") != std::string::npos) {
      limit = std::min(limit, limit_up_to_root(mount + "/memory", group, "memory.limit_in_bytes"));
    }
  }
  return limit;
}

std::uint64_t machine_memory() {
  const std::uint64_t physical =
      static_cast<std::uint64_t>(::sysconf(_SC_PHYS_PAGES)) * static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
  return std::min(physical, detail::group_memory(content_of("/proc/self/cgroup"), "/sys/fs/cgroup"));
}

}  // namespace limen
