#include "base/interrupt.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>

namespace deepinfer {
namespace {

// Exit status of a child that runs f (and would return 77).
template <typename F>
int status_of(F f) {
  const pid_t child = fork();
  if (child == 0) {
    f();
    _exit(77);
  }
  int status = 0;
  waitpid(child, &status, 0);
  return status;
}

TEST(Interrupt, TheFirstSignalSetsTheFlagAndTheProcessGoesOn) {
  for (int number : {SIGINT, SIGTERM}) {
    const int status = status_of([number] {
      install_interrupt_handler();
      if (interrupted() != 0) _exit(1);
      raise(number);
      if (interrupted() != number) _exit(2);
    });
    ASSERT_TRUE(WIFEXITED(status));
    EXPECT_EQ(WEXITSTATUS(status), 77);
  }
}

TEST(Interrupt, TheSecondSignalEndsTheProcessWith128PlusItsNumber) {
  const int status = status_of([] {
    install_interrupt_handler();
    raise(SIGINT);
    raise(SIGTERM);
  });
  ASSERT_TRUE(WIFEXITED(status)) << "exit, not death by signal";
  EXPECT_EQ(WEXITSTATUS(status), 128 + SIGTERM);
}

TEST(Interrupt, AfterClearTheNextSignalIsAFirstOneAgain) {
  const int status = status_of([] {
    install_interrupt_handler();
    raise(SIGINT);
    clear_interrupt();
    if (interrupted() != 0) _exit(1);
    raise(SIGINT);
    if (interrupted() != SIGINT) _exit(2);
  });
  ASSERT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 77);
}

TEST(Interrupt, ABlockedReadReturns) {
  const int status = status_of([] {
    install_interrupt_handler();
    int ends[2];
    if (pipe(ends) != 0) _exit(1);
    alarm(20);  // the test must not hang
    const pid_t parent = getpid();
    const pid_t sender = fork();
    if (sender == 0) {
      usleep(50000);
      kill(parent, SIGINT);
      _exit(0);
    }
    char c;
    if (read(ends[0], &c, 1) != -1 || errno != EINTR) _exit(2);
    if (interrupted() != SIGINT) _exit(3);
  });
  ASSERT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 77);
}

}  // namespace
}  // namespace deepinfer
