// SPDX-License-Identifier: MIT
#include "limen/base/machine_memory.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <limits>

#include "support/temporary_folder.h"

namespace limen {
namespace {

TEST(MachineMemory, IsTheLeastLimitOfTheGroupsOfBothVersions) {
  const test::TemporaryFolder folder;
  const auto write = [&](const std::string& name, const std::string& text) {
    std::filesystem::create_directories(std::filesystem::path(folder.path(name)).parent_path());
    (void)folder.write(name, text);
  };
  write("memory.max", "max\n");
  write("a/memory.max", "700\n");
  write("a/b/memory.max", "900\n");
  write("memory/memory.limit_in_bytes", "9223372036854771712\n");
  write("memory/docker/x/memory.limit_in_bytes", "800\n");
  const auto limit = [&](const std::string& groups) { return detail::group_memory(groups, folder.path("")); };
  EXPECT_EQ(limit("0::/a/b\n"), 700u);
  EXPECT_EQ(limit("0::/\n"), std::numeric_limits<std::uint64_t>::max());
  EXPECT_EQ(limit("5:cpu:/y\n4:cpuset,memory:/docker/x\n0::/\n"), 800u);
  EXPECT_EQ(limit("4:memory:/elsewhere/z\n"), 9223372036854771712u);
  EXPECT_EQ(limit("nonsense\n"), std::numeric_limits<std::uint64_t>::max());
}

TEST(MachineMemory, IsThere) { EXPECT_GT(machine_memory(), 1u << 20); }

}  // namespace
}  // namespace limen
