#include "base/interrupt.h"

#include <unistd.h>

#include <csignal>
#include <cstdlib>

namespace deepinfer {
namespace {
volatile std::sig_atomic_t g_signal = 0;

extern "C" void on_signal(int number) {
  if (g_signal != 0) _exit(128 + number);
  g_signal = number;
}
}  // namespace

void install_interrupt_handler() {
  struct sigaction action = {};
  action.sa_handler = on_signal;
  sigemptyset(&action.sa_mask);
  sigaction(SIGINT, &action, nullptr);
  sigaction(SIGTERM, &action, nullptr);
}

int interrupted() { return g_signal; }
void clear_interrupt() { g_signal = 0; }

}  // namespace deepinfer
