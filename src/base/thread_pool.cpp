#include "base/thread_pool.h"

#include <linux/futex.h>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <set>
#include <string>
#include <utility>

namespace deepinfer {
namespace {

void cpu_pause() { __builtin_ia32_pause(); }

void futex_wait(std::atomic<uint32_t>* word, uint32_t seen) {
  syscall(SYS_futex, reinterpret_cast<uint32_t*>(word), FUTEX_WAIT_PRIVATE, seen, nullptr, nullptr, 0);
}

void futex_wake_all(std::atomic<uint32_t>* word) {
  syscall(SYS_futex, reinterpret_cast<uint32_t*>(word), FUTEX_WAKE_PRIVATE, 0x7fffffff, nullptr, nullptr, 0);
}

std::vector<int> allowed_cpus() {
  cpu_set_t set;
  CPU_ZERO(&set);
  std::vector<int> out;
  if (sched_getaffinity(0, sizeof set, &set) != 0) return out;
  for (int i = 0; i < CPU_SETSIZE; ++i)
    if (CPU_ISSET(i, &set)) out.push_back(i);
  return out;
}

// Processors granted by a cgroup v2 quota, or a large number.
int cgroup_quota() {
  std::ifstream file("/sys/fs/cgroup/cpu.max");
  std::string quota;
  double period = 0;
  if (!(file >> quota >> period) || quota == "max" || period <= 0) return 1 << 20;
  return std::max(1, static_cast<int>(std::strtod(quota.c_str(), nullptr) / period));
}

// About 30 us of pauses on current processors (a pause takes 10-40 ns): longer than the serial gaps inside a decode
// step, short enough that an idle engine does not burn a core.
constexpr int kSpin = 2000;

}  // namespace

int default_thread_count() {
  const std::vector<int> cpus = allowed_cpus();
  std::set<std::string> cores;
  for (int cpu : cpus) {
    const std::string base = "/sys/devices/system/cpu/cpu" + std::to_string(cpu) + "/topology/";
    std::ifstream siblings(base + "thread_siblings_list");
    std::string list;
    if (!(siblings >> list)) list = "cpu" + std::to_string(cpu);
    cores.insert(list);
  }
  return std::max(1, std::min<int>(static_cast<int>(cores.size()), cgroup_quota()));
}

ThreadPool::ThreadPool(int num_threads, bool pin) : num_threads_(std::max(1, num_threads)) {
  const std::vector<int> cpus = allowed_cpus();
  const bool enough = static_cast<int>(cpus.size()) >= num_threads_;
  spin_ = enough ? kSpin : 50;
  if (num_threads_ == 1) return;
  workers_ = std::make_unique<Worker[]>(num_threads_);
  for (int i = 1; i < num_threads_; ++i) {
    workers_[i].thread = std::thread([this, i] { work(i); });
    if (pin && enough) {
      cpu_set_t set;
      CPU_ZERO(&set);
      CPU_SET(cpus[i], &set);
      pthread_setaffinity_np(workers_[i].thread.native_handle(), sizeof set, &set);
    }
  }
}

ThreadPool::~ThreadPool() {
  if (num_threads_ == 1) return;
  stop_.store(true, std::memory_order_relaxed);
  generation_.fetch_add(1, std::memory_order_seq_cst);
  futex_wake_all(&generation_);
  for (int i = 1; i < num_threads_; ++i) workers_[i].thread.join();
}

void ThreadPool::dispatch(Task task, void* arg) {
  task_ = task;
  arg_ = arg;
  // seq_cst pairs with the sleeper count in work(): either the worker sees the new generation before it parks, or we
  // see it parked.
  const uint32_t generation = generation_.fetch_add(1, std::memory_order_seq_cst) + 1;
  if (sleepers_.load(std::memory_order_seq_cst) != 0) futex_wake_all(&generation_);
  inside_ = true;
  task(arg, 0, num_threads_);
  inside_ = false;
  for (int i = 1; i < num_threads_; ++i) {
    int spins = 0;
    while (workers_[i].done.load(std::memory_order_acquire) != generation) {
      if (++spins < spin_ * 4)
        cpu_pause();
      else
        sched_yield();
    }
  }
}

void ThreadPool::work(int thread) {
  inside_ = true;
  uint32_t seen = 0;
  for (;;) {
    int spins = 0;
    uint32_t now;
    while ((now = generation_.load(std::memory_order_acquire)) == seen) {
      if (++spins < spin_) {
        cpu_pause();
        continue;
      }
      sleepers_.fetch_add(1, std::memory_order_seq_cst);
      if (generation_.load(std::memory_order_seq_cst) == seen) futex_wait(&generation_, seen);
      sleepers_.fetch_sub(1, std::memory_order_seq_cst);
    }
    seen = now;
    if (stop_.load(std::memory_order_relaxed)) return;
    task_(arg_, thread, num_threads_);
    workers_[thread].done.store(now, std::memory_order_release);
  }
}

}  // namespace deepinfer
