// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <string>

namespace limen {

/// Bytes of memory that this process can have: those of the machine, or fewer when a control group (version 1 or 2) of
/// the process, or one above it, sets a limit.
[[nodiscard]] std::uint64_t machine_memory();

namespace detail {
/// The least limit of the control groups that `groups`, as /proc/self/cgroup has it, names below the folder where they
/// are mounted; the largest number when there is none.
[[nodiscard]] std::uint64_t group_memory(const std::string& groups, const std::string& mount);
}  // namespace detail

}  // namespace limen
