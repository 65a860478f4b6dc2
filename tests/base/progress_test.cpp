#include "base/progress.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <functional>
#include <limits>
#include <string>
#include <thread>

namespace deepinfer {
namespace {

// What f writes to stderr while that is a terminal of 60 columns.
std::string on_terminal(const std::function<void()>& f) {
  const int master = posix_openpt(O_RDWR | O_NOCTTY | O_NONBLOCK);
  if (master < 0 || grantpt(master) != 0 || unlockpt(master) != 0) return "no terminal";
  const int slave = open(ptsname(master), O_RDWR | O_NOCTTY);
  winsize size = {};
  size.ws_col = 60;
  size.ws_row = 24;
  ioctl(slave, TIOCSWINSZ, &size);
  const int old = dup(STDERR_FILENO);
  dup2(slave, STDERR_FILENO);
  f();
  dup2(old, STDERR_FILENO);
  close(old);
  std::string out;
  char buffer[4096];
  for (ssize_t n; (n = read(master, buffer, sizeof buffer)) > 0;) out.append(buffer, static_cast<size_t>(n));
  close(slave);
  close(master);
  return out;
}

void wait_ms(int ms) { std::this_thread::sleep_for(std::chrono::milliseconds(ms)); }

size_t count(const std::string& text, const std::string& what) {
  size_t n = 0;
  for (size_t at = 0; (at = text.find(what, at)) != std::string::npos; at += what.size()) ++n;
  return n;
}

TEST(Progress, OnATerminalTheBarIsDrawnAndFinallyRemoved) {
  const std::string out = on_terminal([] {
    ProgressBar bar("loading", 200, "rows");
    wait_ms(110);
    bar.set(50);
    bar.advance(10);  // within 0.1 s of the last: not drawn
    wait_ms(110);
    bar.advance(40);
  });
  EXPECT_NE(out.find("loading #"), std::string::npos) << out;
  EXPECT_NE(out.find(" 25% 50/200 rows"), std::string::npos) << out;
  EXPECT_NE(out.find(" 50% 100/200 rows"), std::string::npos) << out;
  EXPECT_EQ(out.find("60/200"), std::string::npos) << out;
  ASSERT_GE(out.size(), 4u);
  EXPECT_EQ(out.substr(out.size() - 4), "\r\033[K") << "the line is left empty";
}

TEST(Progress, ManyUpdatesDrawAtMostTenTimesASecond) {
  const auto start = std::chrono::steady_clock::now();
  const std::string out = on_terminal([] {
    ProgressBar bar("x", 1000000, "B");
    for (int i = 0; i < 250; ++i) {
      bar.advance(1);
      wait_ms(1);
    }
    bar.finish();
    bar.finish();
  });
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  EXPECT_GE(count(out, "\r\033[K"), 2u) << out;  // at least one bar, and its removal once
  EXPECT_LE(static_cast<double>(count(out, "\r\033[K")), seconds * 10 + 1) << out;
}

TEST(Progress, NothingIsWrittenWithoutATerminalOrWhenDisabled) {
  testing::internal::CaptureStderr();
  {
    ProgressBar bar("x", 10, "B");
    wait_ms(110);
    bar.advance(5);
  }
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
  EXPECT_EQ(on_terminal([] {
              ProgressBar bar("x", 10, "B", false);
              wait_ms(110);
              bar.advance(5);
            }),
            "");
}

TEST(Progress, TheLineShowsShareRateAndTimeLeftInReadableUnits) {
  const std::string line = progress_line("synth", "B", 5'000'000'000, 20'000'000'000, 2.0, 100);
  EXPECT_NE(line.find(" 25% 5.00G/20.0G B 2.50G/s, 6 s left"), std::string::npos) << line;
  EXPECT_NE(line.find("synth ##########.............................."), std::string::npos) << line;
  EXPECT_NE(progress_line("t", "rows", 10, 100000, 10, 100).find("1/s, 27.8 h left"), std::string::npos)
      << progress_line("t", "rows", 10, 100000, 10, 100);
  EXPECT_NE(progress_line("t", "rows", 10, 1210, 10, 100).find(", 20 min left"), std::string::npos);
}

TEST(Progress, TheLineFitsAnyTerminalAndAnyNumbers) {
  for (int columns : {1, 2, 10, 40, 80, 300})
    for (int64_t total : {int64_t{0}, int64_t{1}, int64_t{999}, std::numeric_limits<int64_t>::max()})
      for (int64_t done : {int64_t{0}, int64_t{5}, total})
        for (double seconds : {0.0, 1e-9, 1e6})
          ASSERT_LT(progress_line("a title", "unit", done, total, seconds, columns).size(),
                    static_cast<size_t>(columns))
              << columns << " " << total << " " << done;
}

}  // namespace
}  // namespace deepinfer
