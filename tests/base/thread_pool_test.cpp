#include "base/thread_pool.h"

#include <gtest/gtest.h>
#include <sched.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <set>
#include <string>
#include <vector>

#include "base/log.h"

namespace deepinfer {
namespace {

// Share 0 keeps the caller busy until the workers have surely begun theirs.
template <typename F>
void run_on_workers(ThreadPool& pool, const F& f) {
  std::atomic<int> begun{1};
  pool.run([&](int share, int n) {
    f(share, n);
    begun.fetch_add(share != 0);
    const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(10);
    while (share == 0 && begun.load() < n && std::chrono::steady_clock::now() < until) std::this_thread::yield();
  });
}

TEST(ThreadPool, RunCallsEveryShareOnceAndTheCallerHasShareZero) {
  for (int threads : {1, 2, 3, 4, 8}) {
    ThreadPool pool(threads);
    ASSERT_EQ(pool.num_threads(), threads);
    const auto caller = std::this_thread::get_id();
    for (int repeat = 0; repeat < 200; ++repeat) {
      // Plain ints: what workers write must be visible after run() without atomics (the thread sanitizer checks it).
      std::vector<int> calls(static_cast<size_t>(threads), 0);
      std::vector<std::thread::id> ids(static_cast<size_t>(threads));
      pool.run([&](int share, int n) {
        EXPECT_EQ(n, threads);
        ++calls[static_cast<size_t>(share)];
        ids[static_cast<size_t>(share)] = std::this_thread::get_id();
      });
      ASSERT_EQ(calls, std::vector<int>(static_cast<size_t>(threads), 1));
      ASSERT_EQ(ids[0], caller);
    }
    std::vector<std::thread::id> ids(static_cast<size_t>(threads));
    run_on_workers(pool, [&](int share, int) { ids[static_cast<size_t>(share)] = std::this_thread::get_id(); });
    EXPECT_EQ(std::set<std::thread::id>(ids.begin(), ids.end()).size(), static_cast<size_t>(threads));
  }
}

// Shares move between workers and caller at every moment of a dispatch; each must still run exactly once.
TEST(ThreadPool, WhileOtherWorkTakesTheProcessorsEveryShareRunsOnce) {
  std::atomic<bool> stop{false};
  std::vector<std::thread> others;
  for (int i = 0; i < 4; ++i)
    others.emplace_back([&] {
      while (!stop.load(std::memory_order_relaxed)) {
      }
    });
  for (int threads : {2, 5}) {
    ThreadPool pool(threads);
    std::vector<int64_t> count(static_cast<size_t>(threads) * 8, 0);
    std::vector<std::set<std::thread::id>> ran(static_cast<size_t>(threads));
    int rounds = 0;
    const auto until = std::chrono::steady_clock::now() + std::chrono::milliseconds(700);
    for (; rounds < 20000 && std::chrono::steady_clock::now() < until; ++rounds)
      pool.run([&](int share, int) {
        ++count[static_cast<size_t>(share) * 8];
        ran[static_cast<size_t>(share)].insert(std::this_thread::get_id());
      });
    for (int t = 0; t < threads; ++t) EXPECT_EQ(count[static_cast<size_t>(t) * 8], rounds);
    for (const auto& threads_of_share : ran) EXPECT_LE(threads_of_share.size(), 2u);
  }
  stop = true;
  for (std::thread& t : others) t.join();
}

TEST(ThreadPool, WorkersWakeAfterTheyHaveParked) {
  ThreadPool pool(3);
  int64_t total = 0;
  for (int round = 0; round < 30; ++round) {
    std::this_thread::sleep_for(std::chrono::milliseconds(round % 3));  // far longer than they spin
    int64_t part[3] = {};
    pool.run([&](int thread, int) { part[thread] = thread + 1; });
    total += part[0] + part[1] + part[2];
  }
  EXPECT_EQ(total, 30 * 6);
}

// Gaps around the length of the spin: the race between parking and dispatch.
TEST(ThreadPool, NoWorkIsLostWhenWorkersAreAboutToPark) {
  for (int threads : {2, 4}) {
    ThreadPool pool(threads);
    std::vector<int64_t> count(static_cast<size_t>(threads) * 8, 0);
    constexpr int kRounds = 3000;
    for (int i = 0; i < kRounds; ++i) {
      const auto until = std::chrono::steady_clock::now() + std::chrono::nanoseconds(i % 200 * 500);
      while (std::chrono::steady_clock::now() < until) {
      }
      pool.run([&](int thread, int) { ++count[static_cast<size_t>(thread) * 8]; });
    }
    for (int t = 0; t < threads; ++t) EXPECT_EQ(count[static_cast<size_t>(t) * 8], kRounds);
  }
}

TEST(ThreadPool, IdleWorkersUseNoProcessorTime) {
  ThreadPool pool(4);
  pool.run([](int, int) {});
  std::this_thread::sleep_for(std::chrono::milliseconds(30));  // now they are parked
  const auto used = [] {
    rusage r;
    getrusage(RUSAGE_SELF, &r);
    return static_cast<double>(r.ru_utime.tv_sec + r.ru_stime.tv_sec) +
           static_cast<double>(r.ru_utime.tv_usec + r.ru_stime.tv_usec) * 1e-6;
  };
  const double before = used();
  std::this_thread::sleep_for(std::chrono::milliseconds(200));
  EXPECT_LT(used() - before, 0.05);
}

TEST(ThreadPool, ParallelForCoversEveryItemOnceInTheSameContiguousRangesEachTime) {
  for (int threads : {1, 2, 3, 5}) {
    ThreadPool pool(threads);
    for (int64_t n : {0, 1, 2, 3, 7, 64, 1000})
      for (int64_t grain : {1, 2, 7, 64, 5000}) {
        using Ranges = std::vector<std::pair<int64_t, int64_t>>;
        auto split = [&] {
          Ranges ranges(static_cast<size_t>(threads), {0, 0});
          pool.parallel_for(n, grain, [&](int64_t begin, int64_t end, int thread) {
            EXPECT_LT(begin, end);
            ranges[static_cast<size_t>(thread)] = {begin, end};
          });
          return ranges;
        };
        const Ranges ranges = split();
        EXPECT_EQ(split(), ranges);
        int64_t at = 0, used = 0;
        for (const auto& [begin, end] : ranges) {
          if (begin == end) continue;
          ASSERT_EQ(begin, at) << "n " << n << " grain " << grain;
          at = end;
          ++used;
        }
        EXPECT_EQ(at, n);
        EXPECT_EQ(used, std::min<int64_t>(threads, (n + grain - 1) / grain));
      }
  }
}

TEST(ThreadPool, ARunInsideARunExecutesInline) {
  ThreadPool pool(3), other(2);
  std::vector<int> inner(3, 0), items(3, 0);
  pool.run([&](int outer, int) {
    for (ThreadPool* p : {&pool, &other})
      p->run([&](int thread, int n) {
        EXPECT_EQ(thread, 0);
        EXPECT_EQ(n, 1);
        ++inner[static_cast<size_t>(outer)];
      });
    pool.parallel_for(10, 1, [&](int64_t begin, int64_t end, int thread) {
      EXPECT_EQ(thread, 0);
      items[static_cast<size_t>(outer)] += static_cast<int>(end - begin);
    });
  });
  EXPECT_EQ(inner, std::vector<int>(3, 2));
  EXPECT_EQ(items, std::vector<int>(3, 10));
  int threads = 0;
  pool.run([&](int thread, int n) {
    if (thread == 0) threads = n;
  });
  EXPECT_EQ(threads, 3) << "after the nested run the pool works as before";
}

TEST(ThreadPool, PoolsThatNeverRanOrAreParkedEndAtOnce) {
  for (int i = 0; i < 50; ++i) {
    ThreadPool never(4);
    ThreadPool once(2);
    once.run([](int, int) {});
  }
  ThreadPool nonsense(-3);
  EXPECT_EQ(nonsense.num_threads(), 1);
}

TEST(ThreadPool, WorkersArePinnedToDifferentProcessorsOnlyWhenThereAreEnough) {
  cpu_set_t mine;
  sched_getaffinity(0, sizeof mine, &mine);
  const int cpus = CPU_COUNT(&mine);
  auto masks = [](ThreadPool& pool) {
    std::vector<cpu_set_t> out(static_cast<size_t>(pool.num_threads()));
    run_on_workers(pool,
                   [&](int share, int) { sched_getaffinity(0, sizeof(cpu_set_t), &out[static_cast<size_t>(share)]); });
    return out;
  };
  const int threads = std::min(cpus, default_thread_count());
  ThreadPool pinned(threads), free(threads, false), crowded(cpus + 1);
  std::set<int> used;
  const auto pinned_masks = masks(pinned);
  EXPECT_TRUE(CPU_EQUAL(&pinned_masks[0], &mine)) << "the caller keeps its own mask";
  for (size_t t = 1; t < pinned_masks.size(); ++t) {
    ASSERT_EQ(CPU_COUNT(&pinned_masks[t]), 1);
    for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu)
      if (CPU_ISSET(cpu, &pinned_masks[t])) {
        EXPECT_TRUE(CPU_ISSET(cpu, &mine));
        EXPECT_TRUE(used.insert(cpu).second) << "two workers on processor " << cpu;
      }
  }
  for (const cpu_set_t& m : masks(free)) EXPECT_TRUE(CPU_EQUAL(&m, &mine));
  for (const cpu_set_t& m : masks(crowded)) EXPECT_TRUE(CPU_EQUAL(&m, &mine));
}

TEST(ThreadPool, EveryCoreGetsOneWorkerBeforeASecondHyperthreadIsUsed) {
  using thread_pool_detail::one_per_core_first;
  // Siblings side by side, as on most cloud machines.
  EXPECT_EQ(one_per_core_first({0, 1, 2, 3, 4, 5}, {"a", "a", "b", "b", "c", "c"}),
            (std::vector<int>{0, 2, 4, 1, 3, 5}));
  // Siblings far apart; one core has lost a processor to the mask.
  EXPECT_EQ(one_per_core_first({0, 1, 8, 10}, {"a", "b", "a", "c"}), (std::vector<int>{0, 1, 10, 8}));
  EXPECT_EQ(one_per_core_first({}, {}), std::vector<int>{});
}

TEST(ThreadPool, TheSmallestCgroupQuotaUpToTheRootCounts) {
  const std::string root =
      (std::filesystem::temp_directory_path() / ("deepinfer_cgroup_" + std::to_string(getpid()))).string();
  auto write = [&](const std::string& name, const std::string& text) {
    std::filesystem::create_directories(std::filesystem::path(root + name).parent_path());
    std::ofstream(root + name) << text;
  };
  const int unlimited = 1 << 20;
  auto quota = [&](const std::string& self) {
    write("/self", self);
    return thread_pool_detail::cpu_quota(root, root + "/self");
  };
  EXPECT_EQ(thread_pool_detail::cpu_quota(root, root + "/none"), unlimited) << "no files at all";
  write("/slice/job/cpu.max", "max 100000\n");
  EXPECT_EQ(quota("0::/slice/job\n"), unlimited);
  write("/slice/cpu.max", "350000 100000\n");
  EXPECT_EQ(quota("0::/slice/job\n"), 3) << "the parent limits, rounded down";
  write("/slice/job/cpu.max", "50000 100000\n");
  EXPECT_EQ(quota("0::/slice/job\n"), 1) << "never less than one";
  EXPECT_EQ(quota("0::/other\n"), unlimited);
  write("/cpu/docker/x/cpu.cfs_quota_us", "-1\n");
  write("/cpu/docker/x/cpu.cfs_period_us", "100000\n");
  EXPECT_EQ(quota("3:cpu,cpuacct:/docker/x\n2:memory:/docker\n"), unlimited);
  write("/cpu/docker/cpu.cfs_quota_us", "800000\n");
  write("/cpu/docker/cpu.cfs_period_us", "100000\n");
  EXPECT_EQ(quota("3:cpu,cpuacct:/docker/x\n"), 8);
  EXPECT_EQ(quota("3:cpuset:/docker/x\nnonsense\n:\n"), unlimited);
  write("/cpu.max", "200000 100000\n");
  EXPECT_EQ(quota("0::/\n"), 2);
  write("/cpu.max", "garbage\n");
  EXPECT_EQ(quota("0::/\n"), unlimited);
  std::filesystem::remove_all(root);
}

TEST(ThreadPool, DefaultCountIsWithinTheAffinityMask) {
  cpu_set_t mine, one;
  sched_getaffinity(0, sizeof mine, &mine);
  EXPECT_GE(default_thread_count(), 1);
  EXPECT_LE(default_thread_count(), CPU_COUNT(&mine));
  CPU_ZERO(&one);
  for (int cpu = 0; cpu < CPU_SETSIZE && CPU_COUNT(&one) == 0; ++cpu)
    if (CPU_ISSET(cpu, &mine)) CPU_SET(cpu, &one);
  ASSERT_EQ(sched_setaffinity(0, sizeof one, &one), 0);
  EXPECT_EQ(default_thread_count(), 1);
  sched_setaffinity(0, sizeof mine, &mine);
}

#if !defined(__SANITIZE_THREAD__) && !defined(__SANITIZE_ADDRESS__)  // their own threads and memory need the limit
TEST(ThreadPool, WhereTheSystemRefusesThreadsThePoolIsSmallerAndWorks) {
  const pid_t child = fork();
  if (child == 0) {
    set_log_level(LogLevel::kOff);
    // Each thread reserves a stack: a limit on the address space refuses some of 4096.
    const rlimit limit{512 << 20, 512 << 20};
    if (setrlimit(RLIMIT_AS, &limit) != 0) _exit(1);
    ThreadPool pool(4096);
    const int n = pool.num_threads();
    if (n < 1 || n >= 4096) _exit(2);
    std::vector<int> calls(static_cast<size_t>(n), 0);
    pool.run([&](int thread, int) { ++calls[static_cast<size_t>(thread)]; });
    _exit(std::count(calls.begin(), calls.end(), 1) == n ? 0 : 3);
  }
  int status = 0;
  waitpid(child, &status, 0);
  ASSERT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 0);
}
#endif

// Not a pass/fail of speed, since machines are shared: prints the figure quoted in thread_pool.h.
TEST(ThreadPool, LatencyOfDispatchAndJoinIsPrinted) {
  ThreadPool pool(std::max(2, default_thread_count()));
  std::vector<double> ns;
  for (int batch = 0; batch < 200; ++batch) {
    const auto start = std::chrono::steady_clock::now();
    for (int i = 0; i < 100; ++i) pool.run([](int, int) {});
    ns.push_back(std::chrono::duration<double, std::nano>(std::chrono::steady_clock::now() - start).count() / 100);
  }
  std::sort(ns.begin(), ns.end());
  std::printf("dispatch and join of %d threads: %.0f ns at best, %.0f ns median\n", pool.num_threads(), ns.front(),
              ns[ns.size() / 2]);
  EXPECT_GT(ns.front(), 0);
}

}  // namespace
}  // namespace deepinfer
