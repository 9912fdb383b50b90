// SPDX-License-Identifier: MIT
#include "limen/base/read_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "limen/base/error.h"

namespace limen {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

class ReadRegularFile : public testing::Test {
 protected:
  ReadRegularFile() {
    std::string name = testing::TempDir() + "limen_read_file_XXXXXX";
    folder_ = ::mkdtemp(name.data());
  }
  ~ReadRegularFile() override { std::filesystem::remove_all(folder_); }

  [[nodiscard]] std::string path(const std::string& name) const { return (folder_ / name).string(); }
  void write(const std::string& name, const std::string& bytes) const {
    std::ofstream(path(name), std::ios::binary) << bytes;
  }
  [[nodiscard]] std::string refusal(const std::string& name) const {
    try {
      (void)read_regular_file(path(name), 1000);
    } catch (const IoError& error) {
      EXPECT_EQ(error.path(), path(name));
      EXPECT_THAT(error.what(), StartsWith(path(name) + ": "));
      return error.what();
    }
    return "(not refused)";
  }

  std::filesystem::path folder_;
};

TEST_F(ReadRegularFile, GivesTheBytesOfAFileAndOfALinkToIt) {
  const std::string bytes("a\0b\r\n\xff", 6);
  write("f", bytes);
  write("empty", "");
  std::filesystem::create_symlink(path("f"), path("link"));
  EXPECT_EQ(read_regular_file(path("f"), 6), bytes);
  EXPECT_EQ(read_regular_file(path("link"), 1000), bytes);
  EXPECT_EQ(read_regular_file(path("empty"), 0), "");
}

// A model whose weights were a pipe made the program wait for ever, and a link to a device took all memory.
TEST_F(ReadRegularFile, RefusesWhatIsNoRegularFileWithoutReadingIt) {
  ASSERT_EQ(::mkfifo(path("fifo").c_str(), 0600), 0);
  std::filesystem::create_symlink("/dev/zero", path("zero"));
  std::filesystem::create_symlink(path("nowhere"), path("broken"));
  EXPECT_THAT(refusal("fifo"), HasSubstr("is not a regular file"));
  EXPECT_THAT(refusal("zero"), HasSubstr("is not a regular file"));
  EXPECT_THAT(refusal("."), HasSubstr("is a folder"));
  EXPECT_THAT(refusal("broken"), HasSubstr("cannot be read: No such file"));
  EXPECT_THAT(refusal("nothing"), HasSubstr("cannot be read: No such file"));
}

TEST_F(ReadRegularFile, RefusesAHugeFileBeforeTakingMemory) {
  write("f", "x");
  // A hole: a terabyte that takes no room on the disk, and could not be held in memory.
  std::filesystem::resize_file(path("f"), std::uintmax_t{1} << 40U);
  EXPECT_THAT(refusal("f"), HasSubstr("has 1,099,511,627,776 bytes, at most 1,000 are read"));
}

}  // namespace
}  // namespace limen
