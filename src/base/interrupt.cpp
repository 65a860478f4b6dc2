#include "base/interrupt.h"

#include <unistd.h>

#include <atomic>
#include <csignal>

namespace deepinfer {
namespace {
// Handlers run on any thread while work loops poll on others, so an atomic and not a sig_atomic_t.
std::atomic<int> g_signal{0};
static_assert(std::atomic<int>::is_always_lock_free);

extern "C" void on_signal(int number) {
  if (g_signal.exchange(number, std::memory_order_relaxed) != 0) _exit(128 + number);
}
}  // namespace

void install_interrupt_handler() {
  struct sigaction action = {};
  action.sa_handler = on_signal;
  sigemptyset(&action.sa_mask);
  sigaction(SIGINT, &action, nullptr);
  sigaction(SIGTERM, &action, nullptr);
}

int interrupted() { return g_signal.load(std::memory_order_relaxed); }
void clear_interrupt() { g_signal.store(0, std::memory_order_relaxed); }

}  // namespace deepinfer
