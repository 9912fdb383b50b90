// SPDX-License-Identifier: MIT
#include "limen/table/output_file.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <filesystem>
#include <string>

#include "limen/base/error.h"
#include "support/temporary_folder.h"

namespace limen::table {
namespace {

using ::testing::IsEmpty;
using ::testing::UnorderedElementsAre;

class OutputFileTest : public ::testing::Test {
 protected:
  // The message of the IoError of writing `text` to `name` and committing it.
  std::string write_error(const std::string& name, const std::string& text) {
    return folder_.without_folder(test::message_of<IoError>([&] {
      OutputFile file(folder_.path(name));
      file.write(text);
      file.commit();
    }));
  }

  test::TemporaryFolder folder_;
};

// Lets this process write files of at most `bytes`, until the end of the scope: a full disk for anyone.
class FileSizeLimit {
 public:
  explicit FileSizeLimit(rlim_t bytes) : old_handler_(std::signal(SIGXFSZ, SIG_IGN)) {
    ::getrlimit(RLIMIT_FSIZE, &old_limit_);
    const rlimit limit = {bytes, old_limit_.rlim_max};
    ::setrlimit(RLIMIT_FSIZE, &limit);
  }
  ~FileSizeLimit() {
    ::setrlimit(RLIMIT_FSIZE, &old_limit_);
    std::signal(SIGXFSZ, old_handler_);
  }
  FileSizeLimit(const FileSizeLimit&) = delete;
  FileSizeLimit& operator=(const FileSizeLimit&) = delete;

 private:
  void (*old_handler_)(int);
  rlimit old_limit_ = {};
};

mode_t mode_of(const std::string& path) {
  struct stat status = {};
  ::stat(path.c_str(), &status);
  return status.st_mode & 07777;
}

TEST_F(OutputFileTest, AppearsWithItsContentOnlyOnCommit) {
  OutputFile file(folder_.path("a.json"));
  file.write("{\"a\": ");
  file.write("1}\n");
  EXPECT_FALSE(std::filesystem::exists(folder_.path("a.json")));
  file.commit();
  EXPECT_EQ(folder_.read("a.json"), "{\"a\": 1}\n");
  EXPECT_THAT(folder_.names(), UnorderedElementsAre("a.json"));
}

TEST_F(OutputFileTest, WithoutAWriteMakesAnEmptyFile) {
  OutputFile file(folder_.path("empty"));
  file.commit();
  EXPECT_EQ(folder_.read("empty"), "");
}

TEST_F(OutputFileTest, WithoutCommitLeavesNothingBehind) {
  {
    OutputFile file(folder_.path("a"));
    file.write(std::string(1'000'000, 'x'));
  }
  EXPECT_THAT(folder_.names(), IsEmpty());
}

TEST_F(OutputFileTest, WithoutCommitKeepsTheOldContent) {
  folder_.write("a", "old");
  {
    OutputFile file(folder_.path("a"));
    file.write("new");
  }
  EXPECT_EQ(folder_.read("a"), "old");
  EXPECT_THAT(folder_.names(), UnorderedElementsAre("a"));
}

TEST_F(OutputFileTest, KeepsOrderAcrossWritesBelowAndAboveTheBufferSize) {
  std::string expected;
  OutputFile file(folder_.path("a"));
  for (const std::size_t length : {1, 100'000, 200'000, 0, 262'143, 262'144, 262'145, 3, 1'000'000, 7}) {
    const std::string piece(length, static_cast<char>('a' + expected.size() % 26));
    expected += piece;
    file.write(piece);
  }
  file.commit();
  EXPECT_TRUE(folder_.read("a") == expected);
}

TEST_F(OutputFileTest, TwoFilesInOneFolderDoNotDisturbEachOther) {
  OutputFile first(folder_.path("first"));
  OutputFile second(folder_.path("second"));
  first.write("1");
  second.write("2");
  second.commit();
  first.commit();
  EXPECT_EQ(folder_.read("first"), "1");
  EXPECT_EQ(folder_.read("second"), "2");
}

TEST_F(OutputFileTest, ReplacingAFileKeepsItsPermissionBits) {
  ::chmod(folder_.write("a", "old").c_str(), 0640);
  OutputFile file(folder_.path("a"));
  file.write("new");
  file.commit();
  EXPECT_EQ(folder_.read("a"), "new");
  EXPECT_EQ(mode_of(folder_.path("a")), mode_t{0640});
}

TEST_F(OutputFileTest, ANewFileHasTheDefaultPermissions) {
  const mode_t old_mask = ::umask(027);
  OutputFile file(folder_.path("a"));
  file.commit();
  ::umask(old_mask);
  EXPECT_EQ(mode_of(folder_.path("a")), mode_t{0640});
}

TEST_F(OutputFileTest, ReplacesTheFileBehindASymbolicLink) {
  std::filesystem::create_directory(folder_.path("data"));
  folder_.write("data/real", "old");
  std::filesystem::create_symlink("data/real", folder_.path("link"));
  OutputFile file(folder_.path("link"));
  file.write("new");
  file.commit();
  EXPECT_TRUE(std::filesystem::is_symlink(folder_.path("link")));
  EXPECT_EQ(folder_.read("data/real"), "new");
}

TEST_F(OutputFileTest, TakesANameOfTheGreatestLength) {
  const std::string name(255, 'n');
  OutputFile file(folder_.path(name));
  file.write("x");
  file.commit();
  EXPECT_EQ(folder_.read(name), "x");
}

// Renaming over a device would replace it by a file; a program run by root must not do that to /dev/null.
TEST_F(OutputFileTest, WritesToADeviceInPlace) {
  OutputFile file("/dev/null");
  file.write("x");
  file.commit();
  EXPECT_TRUE(std::filesystem::is_character_file("/dev/null"));
}

TEST_F(OutputFileTest, DashIsStdout) {
  {
    const test::Redirect redirect(1, ::open(folder_.path("out").c_str(), O_WRONLY | O_CREAT, 0666));
    std::fputs("before ", stdout);
    OutputFile file("-");
    file.write("written\n");
    file.commit();
  }
  EXPECT_EQ(folder_.read("out"), "before written\n");
}

TEST_F(OutputFileTest, AFileThatGetsTheNumberOfAClosedStdoutIsStillAFile) {
  std::fflush(stdout);
  const int saved = ::dup(1);
  ::close(1);
  {
    OutputFile file(folder_.path("a"));
    file.write("x");
    file.commit();
  }
  ::dup2(saved, 1);
  ::close(saved);
  EXPECT_EQ(folder_.read("a"), "x");
  EXPECT_THAT(folder_.names(), UnorderedElementsAre("a"));
}

TEST_F(OutputFileTest, FailsAtOnceForATargetThatCannotBe) {
  std::filesystem::create_directory(folder_.path("folder"));
  folder_.write("file", "");
  const std::string long_name(256, 'n');
  const auto open_error = [&](const std::string& name) {
    return folder_.without_folder(test::message_of<IoError>([&] { OutputFile file(folder_.path(name)); }));
  };
  EXPECT_EQ(open_error("none/a.csv"), "none/a.csv: cannot be written: No such file or directory");
  EXPECT_EQ(open_error("file/a.csv"), "file/a.csv: cannot be written: Not a directory");
  EXPECT_EQ(open_error("folder"), "folder: cannot be written: Is a directory");
  EXPECT_EQ(open_error("new/"), "new/: cannot be written: No such file or directory");
  EXPECT_EQ(open_error(long_name), long_name + ": cannot be written: File name too long");
  EXPECT_EQ(open_error("a\nb/c"), "a\\nb/c: cannot be written: No such file or directory");
  EXPECT_EQ(test::message_of<IoError>([] { OutputFile file(""); }),
            "\"\": cannot be written: No such file or directory");
}

TEST_F(OutputFileTest, FailsInAFolderWithoutWritePermission) {
  if (::geteuid() == 0) GTEST_SKIP() << "root may write everywhere";
  std::filesystem::create_directory(folder_.path("closed"));
  ::chmod(folder_.path("closed").c_str(), 0500);
  EXPECT_EQ(write_error("closed/a", "x"), "closed/a: cannot be written: Permission denied");
}

TEST_F(OutputFileTest, AFullDiskDuringAWriteKeepsTheOldContent) {
  folder_.write("a", "old");
  const FileSizeLimit limit(500'000);
  EXPECT_EQ(write_error("a", std::string(1'000'000, 'x')), "a: cannot be written: File too large");
  EXPECT_EQ(folder_.read("a"), "old");
  EXPECT_THAT(folder_.names(), UnorderedElementsAre("a"));
}

TEST_F(OutputFileTest, AFullDiskOnTheLastFlushKeepsTheOldContent) {
  folder_.write("a", "old");
  const FileSizeLimit limit(10);
  EXPECT_EQ(write_error("a", "twenty bytes of text"), "a: cannot be written: File too large");
  EXPECT_EQ(folder_.read("a"), "old");
  EXPECT_THAT(folder_.names(), UnorderedElementsAre("a"));
}

TEST_F(OutputFileTest, AFullDeviceIsNamed) {
  if (!std::filesystem::exists("/dev/full")) GTEST_SKIP() << "no /dev/full here";
  EXPECT_EQ(test::message_of<IoError>([] {
              OutputFile file("/dev/full");
              file.write("x");
              file.commit();
            }),
            "/dev/full: cannot be written: No space left on device");
}

TEST_F(OutputFileTest, AFullStdoutIsNamed) {
  if (!std::filesystem::exists("/dev/full")) GTEST_SKIP() << "no /dev/full here";
  std::string message;
  {
    std::fflush(stdout);
    const test::Redirect redirect(1, ::open("/dev/full", O_WRONLY));
    message = test::message_of<IoError>([] {
      OutputFile file("-");
      file.write("x");
      file.commit();
    });
  }
  EXPECT_EQ(message, "<stdout>: cannot be written: No space left on device");
}

TEST_F(OutputFileTest, KeepsFailingAfterAFailureAndAfterCommit) {
  OutputFile committed(folder_.path("a"));
  committed.commit();
  EXPECT_THROW(committed.write("x"), IoError);
  EXPECT_THROW(committed.commit(), IoError);
  EXPECT_EQ(folder_.read("a"), "");

  OutputFile failed(folder_.path("b"));
  {
    const FileSizeLimit limit(10);
    EXPECT_THROW(failed.write(std::string(1'000'000, 'x')), IoError);
  }
  EXPECT_THROW(failed.write("x"), IoError);
  EXPECT_THROW(failed.commit(), IoError);
  EXPECT_FALSE(std::filesystem::exists(folder_.path("b")));
}

TEST_F(OutputFileTest, AFailedRenameRemovesTheTemporary) {
  OutputFile file(folder_.path("a"));
  file.write("x");
  std::filesystem::create_directory(folder_.path("a"));
  EXPECT_EQ(folder_.without_folder(test::message_of<IoError>([&] { file.commit(); })),
            "a: cannot be written: Is a directory");
  EXPECT_THAT(folder_.names(), UnorderedElementsAre("a"));
}

}  // namespace
}  // namespace limen::table
