// A checkpoint larger than the memory a process may use is read through the page cache. With a cgroup v2 memory
// controller below this process's own group the limit is real; without one (a printed reason) the test checks what
// makes it work: weights are file pages that the kernel may drop, and nothing of their size is allocated.
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "checkpoint/checkpoint.h"
#include "checkpoint/shrink.h"
#include "checkpoint/synth.h"
#include "test_folder.h"

namespace deepinfer {
namespace {

constexpr int64_t kLimit = int64_t{64} << 20;

int64_t status_kb(const char* field) {
  std::ifstream in("/proc/self/status");
  for (std::string line; std::getline(in, line);)
    if (line.rfind(field, 0) == 0) return std::stoll(line.substr(line.find(':') + 1));
  return -1;
}

// A group of our own below the current one, limited; empty if this system has none to give.
std::string limited_group() {
  std::ifstream in("/proc/self/cgroup");
  for (std::string line; std::getline(in, line);)
    if (line.rfind("0::", 0) == 0) {
      // A cgroup v2 tree at its usual place; on others (v1, hybrid) there is nothing for a test to take.
      if (!path_exists("/sys/fs/cgroup/cgroup.controllers")) return "";
      const std::string group = "/sys/fs/cgroup" + line.substr(3) + "/deepinfer-test-" + std::to_string(getpid());
      if (mkdir(group.c_str(), 0755) != 0) return "";
      if (!path_exists(group + "/memory.max")) {  // the controller is not handed down
        rmdir(group.c_str());
        return "";
      }
      if (path_exists(group + "/memory.swap.max")) write_file(group + "/memory.swap.max", "0");
      std::ofstream limit(group + "/memory.max");
      limit << kLimit << std::flush;
      if (limit.good()) return group;
      rmdir(group.c_str());
      return "";
    }
  return "";
}

uint64_t sum_of(const Checkpoint& checkpoint) {
  uint64_t sum = 0;
  for (const auto& [name, t] : checkpoint.tensors())
    for (uint64_t i = 0; i < t.bytes; i += 512) sum += t.data[i];
  return sum;
}

TEST(LargerThanMemory, every_weight_is_read_though_only_a_part_fits) {
  TestFolder folder;
  const std::string text = read_file(kTestData + "/config-tiny.json");
  const auto config = shrink(*ModelConfig::parse(text, "tiny"), {.engram_rows = 700'000});
  ASSERT_TRUE(config) << config.error().message;
  ThreadPool pool(1);
  const auto done = write_synthetic(folder.file("m"), *config, *rewrite_config(text, "tiny", *config), {}, pool);
  ASSERT_TRUE(done) << done.error().message;
  ASSERT_GT(done->bytes, 3 * kLimit);
  const std::string group = limited_group();
  if (group.empty())
    std::printf(
        "no cgroup v2 memory controller below this process's group: the limit itself is not tried, only what is "
        "allocated\n");

  const pid_t child = fork();
  if (child == 0) {
    if (!group.empty()) {
      std::ofstream procs(group + "/cgroup.procs");
      procs << getpid() << std::flush;
      if (!procs.good()) _exit(10);
    }
    const auto checkpoint = Checkpoint::open(folder.file("m"), *config);
    if (!checkpoint) _exit(11);
    const int64_t before = status_kb("RssAnon");
    const int64_t opened = status_kb("RssFile");
    if (opened > 32 * 1024) _exit(12);  // open() has read weights
    const uint64_t first = sum_of(*checkpoint);
    if (group.empty() && status_kb("RssFile") < done->bytes / 2048) _exit(13);  // read, and as file pages
    for (const MappedFile& shard : checkpoint->shards()) shard.advise(MADV_DONTNEED);
    if (status_kb("RssFile") > 32 * 1024) _exit(14);  // and they can be dropped
    if (sum_of(*checkpoint) != first) _exit(15);
#if !defined(__SANITIZE_THREAD__) && \
    !defined(__SANITIZE_ADDRESS__)  // their shadow memory grows with every page touched
    if (status_kb("RssAnon") - before > 8 * 1024) _exit(16);
#else
    (void)before;
#endif
    _exit(0);
  }
  int status = 0;
  waitpid(child, &status, 0);
  if (!group.empty()) rmdir(group.c_str());
  EXPECT_TRUE(WIFEXITED(status)) << "signal " << WTERMSIG(status);
  EXPECT_EQ(WEXITSTATUS(status), 0);
}

}  // namespace
}  // namespace deepinfer
