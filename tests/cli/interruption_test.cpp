// SPDX-License-Identifier: MIT
// Runs that are cut short: by a signal, or by a reader that has seen enough.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <csignal>
#include <string>
#include <thread>

#include "cli_fixture.h"

namespace limen::cli::test {
namespace {

class Interruption : public CliTest {
 protected:
  Interruption() { write_file("b.json", "an older boundary"); }

  /// Starts a fit whose table comes through a pipe that stays open, waits until it has opened its output, and sends the
  /// signal. Returns how it ended.
  int fit_ended_by(int signal) {
    int ends[2] = {-1, -1};
    EXPECT_EQ(::pipe2(ends, O_CLOEXEC), 0);
    const RunningProgram program = start_limen({"fit", "-", "--precision", "0.5", "-o", "b.json"}, "",
                                               streams() / "out", streams() / "err", ends[0]);
    ::close(ends[0]);
    // It reads until the pipe closes. Half a second at most, for an output that is opened only at the end.
    for (int step = 0; step < 100 && file_names().size() < 2; ++step) {
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
    ::kill(program.id(), signal);
    ::close(ends[1]);
    const int ended = program.wait();
    return ended;
  }
};

TEST_F(Interruption, AKilledRunLeavesTheOldOutput) {
  EXPECT_EQ(fit_ended_by(SIGKILL), -SIGKILL);
  EXPECT_EQ(file_text("b.json"), "an older boundary");
}

// Ctrl-C and a polite kill left the hidden temporary file behind.
TEST_F(Interruption, AnInterruptedRunLeavesNoTemporaryFile) {
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) {
    SCOPED_TRACE(signal);
    EXPECT_THAT(fit_ended_by(signal), ::testing::AnyOf(-signal, 128 + signal));
    EXPECT_THAT(file_names(), ::testing::ElementsAre("b.json"));
    EXPECT_EQ(file_text("b.json"), "an older boundary");
  }
}

// `limen frontier x.csv -o - | head -1`: ends by SIGPIPE or with exit code 1, and does not hang or crash.
TEST_F(Interruption, AReaderThatGoesAwayEndsTheRunQuietly) {
  write_file("x.csv", kHandTable);
  ASSERT_EQ(::mkfifo("pipe", 0600), 0);
  for (const Words& arguments : {Words{"frontier", "x.csv", "-o", "-"}, Words{"frontier", "x.csv", "--json"},
                                 Words{"fit", "x.csv", "--precision", "0.75", "-o", "-"}}) {
    SCOPED_TRACE(command(arguments));
    const int reader = ::open("pipe", O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    // The program holds the only writing end; the reading end closes before anything is written.
    int hold[2] = {-1, -1};
    ASSERT_EQ(::pipe2(hold, O_CLOEXEC), 0);
    Words from_stdin = arguments;
    from_stdin[1] = "-";
    const RunningProgram program = start_limen(from_stdin, "", "pipe", streams() / "err", hold[0]);
    ::close(hold[0]);
    ::close(reader);
    const std::string table(kHandTable);
    ASSERT_EQ(::write(hold[1], table.data(), table.size()), static_cast<ssize_t>(table.size()));
    ::close(hold[1]);
    const int ended = program.wait();
    EXPECT_TRUE(ended == -SIGPIPE || ended == 1) << ended;
  }
}

}  // namespace
}  // namespace limen::cli::test
