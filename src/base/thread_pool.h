// Threads for operators. run(f) calls f(share, num_threads) once for every share 0 .. num_threads - 1 and returns when
// all are done; what f wrote is visible to the caller after run(). Share 0 runs on the caller, share i on worker i, or
// on the caller too if worker i has not begun it by then: a worker that the system has taken off its processor (other
// work on the machine) costs its share of the work, not a time slice of milliseconds. So f must not wait for another
// share.
//
// A decode step dispatches hundreds of times, so workers spin for a while after their last task and only then park on a
// futex. Dispatch plus join of two threads while they spin: 89 ns median (2-core AMD EPYC Zen 5,
// 2026-12-01; base_test --gtest_filter=*Latency* measures it again; 0.4 to 0.5 us while other work fills both cores).
// run() allocates nothing. Workers are pinned to the processors this process may use, one each, a core's second
// hyperthread only after every core has one; the caller is never pinned. With fewer processors (affinity mask, cgroup
// quota) than threads nothing is pinned and nobody spins long. One thread may call run() at a time (the engine thread);
// a run() inside f executes inline on the calling thread as thread 0 of 1. Where the system refuses threads the pool is
// smaller than asked: ask num_threads().
#pragma once
#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <thread>
#include <type_traits>
#include <vector>

namespace deepinfer {

// Physical processors this process may use: affinity mask and cgroup quota, hyperthreads counted once.
int default_thread_count();

// For tests: the parts that depend on the machine.
namespace thread_pool_detail {
// Whole processors that the cgroup (v1 or v2) of /proc/self/cgroup and all above it grant; 2^20 when unlimited.
int cpu_quota(const std::string& cgroup_root, const std::string& proc_self_cgroup);
// `cpus` reordered so that the first ones are on different cores; cores[i] names the core of cpus[i].
std::vector<int> one_per_core_first(const std::vector<int>& cpus, const std::vector<std::string>& cores);
}  // namespace thread_pool_detail

class ThreadPool {
 public:
  explicit ThreadPool(int num_threads, bool pin = true);
  ~ThreadPool();
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  int num_threads() const { return num_threads_; }

  // f(int share, int num_threads). Must not throw.
  template <typename F>
  void run(F&& f) {
    using Fn = std::remove_reference_t<F>;
    if (num_threads_ == 1 || inside_) {
      f(0, 1);
      return;
    }
    dispatch([](void* arg, int thread, int n) { (*static_cast<Fn*>(arg))(thread, n); },
             const_cast<void*>(static_cast<const void*>(&f)));
  }

  // f(begin, end, thread) over min(threads, ceil(n / grain)) contiguous ranges of [0, n) that depend on n, grain and
  // the number of threads only; n <= grain runs on the caller. REQUIRES grain >= 1.
  template <typename F>
  void parallel_for(int64_t n, int64_t grain, F&& f) {
    if (n <= 0) return;
    const int64_t parts = (n + grain - 1) / grain;
    if (parts <= 1 || num_threads_ == 1 || inside_) {
      f(int64_t{0}, n, 0);
      return;
    }
    run([&](int thread, int threads) {
      const int64_t use = parts < threads ? parts : threads;
      if (thread >= use) return;
      const int64_t begin = n * thread / use, end = n * (thread + 1) / use;
      if (begin < end) f(begin, end, thread);
    });
  }

 private:
  using Task = void (*)(void*, int, int);
  struct alignas(64) Worker {
    // Last generation whose share was begun, by the worker or by the caller. Goes up by one at a time: whoever moves it
    // from g - 1 to g runs the share, and the caller leaves generation g only when it is done.
    std::atomic<uint32_t> begun{0};
    std::atomic<uint32_t> done{0};  // last generation that the worker itself finished
    std::thread thread;
  };

  void dispatch(Task task, void* arg);
  bool begin(int share, uint32_t generation);
  void work(int thread);

  int num_threads_;  // fixed once constructed
  int spin_ = 0;     // pauses before parking
  inline static thread_local bool inside_ = false;
  alignas(64) std::atomic<uint32_t> generation_{0};
  std::atomic<uint32_t> sleepers_{0};
  std::atomic<bool> stop_{false};
  Task task_ = nullptr;
  void* arg_ = nullptr;
  std::unique_ptr<Worker[]> workers_;
};

}  // namespace deepinfer
