#include "base/thread_pool.h"

#include <linux/futex.h>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <map>
#include <set>
#include <string>
#include <system_error>
#include <vector>

#include "base/log.h"

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

constexpr int kNoQuota = 1 << 20;

// Whole processors in quota / period (microseconds), at least one; kNoQuota for "max", "-1" or an unreadable file.
int quota_of(const std::string& quota, double period) {
  const double limit = std::strtod(quota.c_str(), nullptr);  // "max" reads as 0
  if (!(limit > 0) || !(period > 0)) return kNoQuota;
  return static_cast<int>(std::clamp(limit / period, 1.0, static_cast<double>(kNoQuota)));
}

int quota_v2(const std::string& folder) {
  std::ifstream file(folder + "/cpu.max");
  std::string quota;
  double period = 0;
  return file >> quota >> period ? quota_of(quota, period) : kNoQuota;
}

int quota_v1(const std::string& folder) {
  std::ifstream quota_file(folder + "/cpu.cfs_quota_us"), period_file(folder + "/cpu.cfs_period_us");
  std::string quota;
  double period = 0;
  return quota_file >> quota && period_file >> period ? quota_of(quota, period) : kNoQuota;
}

// Smallest quota of `path` (as in /proc/self/cgroup) and of the groups above it: each one limits.
template <typename Quota>
int quota_upwards(const std::string& root, std::string path, Quota quota) {
  int least = kNoQuota;
  for (;;) {
    while (!path.empty() && path.back() == '/') path.pop_back();
    least = std::min(least, quota(root + path));
    if (path.empty()) return least;
    path.erase(path.rfind('/') == std::string::npos ? 0 : path.rfind('/'));
  }
}

// The file lists one "id:controllers:path" a line; id 0 with no controllers is cgroup v2.
int cgroup_quota(const std::string& root, const std::string& proc_self_cgroup) {
  int least = std::min(quota_v2(root), quota_v1(root + "/cpu"));
  std::ifstream file(proc_self_cgroup);
  for (std::string line; std::getline(file, line);) {
    const size_t first = line.find(':'), second = line.find(':', first + 1);
    if (first == std::string::npos || second == std::string::npos) continue;
    const std::string controllers = "," + line.substr(first + 1, second - first - 1) + ",",
                      path = line.substr(second + 1);
    if (controllers == ",,") least = std::min(least, quota_upwards(root, path, quota_v2));
    if (controllers.find(",cpu,") != std::string::npos)
      least = std::min(least, quota_upwards(root + "/cpu", path, quota_v1));
  }
  return least;
}

// Name of the physical core a processor belongs to: its hyperthread siblings' list.
std::string core_of(int cpu) {
  std::ifstream siblings("/sys/devices/system/cpu/cpu" + std::to_string(cpu) + "/topology/thread_siblings_list");
  std::string list;
  if (!(siblings >> list)) list = "cpu" + std::to_string(cpu);
  return list;
}

// About 30 us of pauses on current processors (a pause takes 10-40 ns): longer than the serial gaps inside a decode
// step, short enough that an idle engine does not burn a core.
constexpr int kSpin = 2000;

}  // namespace

namespace thread_pool_detail {

int cpu_quota(const std::string& cgroup_root, const std::string& proc_self_cgroup) {
  return cgroup_quota(cgroup_root, proc_self_cgroup);
}

std::vector<int> one_per_core_first(const std::vector<int>& cpus, const std::vector<std::string>& cores) {
  std::vector<int> out;
  std::map<std::string, int> used;  // processors of the core already placed
  for (int round = 0; out.size() < cpus.size(); ++round) {
    used.clear();
    for (size_t i = 0; i < cpus.size(); ++i)
      if (used[cores[i]]++ == round) out.push_back(cpus[i]);
  }
  return out;
}

}  // namespace thread_pool_detail

int default_thread_count() {
  std::set<std::string> cores;
  for (int cpu : allowed_cpus()) cores.insert(core_of(cpu));
  const int quota = cgroup_quota("/sys/fs/cgroup", "/proc/self/cgroup");
  return std::max(1, std::min(static_cast<int>(cores.size()), quota));
}

ThreadPool::ThreadPool(int num_threads, bool pin) : num_threads_(std::max(1, num_threads)) {
  if (num_threads_ == 1) return;
  std::vector<int> cpus = allowed_cpus();
  const int granted = std::min(static_cast<int>(cpus.size()), cgroup_quota("/sys/fs/cgroup", "/proc/self/cgroup"));
  const bool enough = granted >= num_threads_;
  spin_ = enough ? kSpin : 50;
  if (pin && enough) {
    std::vector<std::string> cores;
    for (int cpu : cpus) cores.push_back(core_of(cpu));
    cpus = thread_pool_detail::one_per_core_first(cpus, cores);
  }
  workers_ = std::make_unique<Worker[]>(static_cast<size_t>(num_threads_));
  for (int i = 1; i < num_threads_; ++i) {
    try {
      workers_[i].thread = std::thread(&ThreadPool::work, this, i);
    } catch (const std::system_error& e) {
      // A limit on processes (ulimit -u, pids cgroup). Nobody has been given work yet, so the pool is simply smaller.
      log_warn("the system grants {} of {} threads ({}); lower --threads", i, num_threads_, e.what());
      num_threads_ = i;
      break;
    }
    if (pin && enough) {
      cpu_set_t set;
      CPU_ZERO(&set);
      CPU_SET(cpus[i], &set);
      pthread_setaffinity_np(workers_[i].thread.native_handle(), sizeof set, &set);
    }
  }
  log_debug("{} threads, {}", num_threads_,
            !enough ? "more than processors: not pinned"
            : pin   ? "pinned"
                    : "not pinned");
}

ThreadPool::~ThreadPool() {
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
  for (int i = 1; i < num_threads_; ++i)
    if (begin(i, generation)) {
      task(arg, i, num_threads_);
      workers_[i].done.store(generation, std::memory_order_relaxed);
    }
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

// Whether this thread is the one to run that share. A worker that comes late finds a later number and leaves it alone.
bool ThreadPool::begin(int share, uint32_t generation) {
  uint32_t before = generation - 1;
  std::atomic<uint32_t>& begun = workers_[share].begun;
  return begun.load(std::memory_order_relaxed) == before &&
         begun.compare_exchange_strong(before, generation, std::memory_order_acq_rel, std::memory_order_relaxed);
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
    if (!begin(thread, now)) continue;  // the caller was faster
    task_(arg_, thread, num_threads_);
    workers_[thread].done.store(now, std::memory_order_release);
  }
}

}  // namespace deepinfer
