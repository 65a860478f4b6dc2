#include "cli/memory_plan.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include "model/model.h"

namespace deepinfer::cli {
namespace {

ModelConfig official() { return *ModelConfig::load(DEEPINFER_SOURCE_DIR "/tests/data/config-official.json"); }

TEST(MemoryPlan, the_official_config_stores_890_bytes_per_token) {  // model.md 5.1
  const MemoryPlan plan = MemoryPlan::make(official());
  EXPECT_EQ(plan.bytes_per_token, 890);
  EXPECT_EQ(plan.block.block_bytes, 113920);
  EXPECT_EQ(plan.ring_slots, 134);
  EXPECT_EQ(plan.window_bytes, 3042336 + 43 * (70784 - 70752));  // rings of 70,752 bytes, aligned to 64
  ASSERT_EQ(plan.layers.size(), 43u);
  EXPECT_EQ(plan.layers[2].compressed_record, 288);
  EXPECT_EQ(plan.layers[2].index_record, 68);
  EXPECT_EQ(plan.layers[2].window_record, 528);
  EXPECT_EQ(plan.layers[2].bytes_per_token(), 144 + 34);
  EXPECT_EQ(plan.layers[20].bytes_per_token(), 288 + 68);
  EXPECT_EQ(plan.layers[3].bytes_per_token(), 0);
  EXPECT_EQ(plan.layers[42].name, "mtp.2");
  double sum = 0;
  for (const LayerStore& l : plan.layers) sum += l.bytes_per_token();
  EXPECT_EQ(sum, 890);
}

TEST(MemoryPlan, fp8_records_make_1490_bytes_per_token) {
  ModelConfig c = official();
  c.use_fp4_sparse_kv = false;
  EXPECT_EQ(MemoryPlan::make(c).bytes_per_token, 1490);
}

TEST(MemoryPlan, a_million_tokens_and_a_batch_are_counted_in_whole_blocks) {
  const MemoryPlan plan = MemoryPlan::make(official());
  EXPECT_EQ(plan.blocks(1048576, 1), 8192);
  EXPECT_EQ(plan.blocks(1, 1), 1);
  EXPECT_EQ(plan.blocks(129, 3), 6);
  EXPECT_EQ(plan.bytes(129, 3), 6 * 113920 + 3 * plan.state_bytes());
}

TEST(MemoryPlan, it_is_what_the_engine_allocates) {
  for (const char* name :
       {"/model/v41-small", "/goldens/random-awkward/checkpoint", "/goldens/random-lively/checkpoint"}) {
    const std::string folder = std::string(DEEPINFER_SOURCE_DIR "/../shared") + name;
    struct stat st = {};
    if (stat(folder.c_str(), &st) != 0) GTEST_SKIP() << "no ../shared in this checkout";
    ThreadPool pool(1);
    const auto model = Model::load(folder, {}, pool);
    ASSERT_TRUE(model) << model.error().message;
    const MemoryPlan plan = MemoryPlan::make((*model)->config());
    EXPECT_EQ(plan.block.block_bytes, (*model)->block_layout().block_bytes) << name;
    EXPECT_EQ(plan.bytes_per_token, (*model)->block_layout().bytes_per_token()) << name;
    EXPECT_EQ(plan.ring_slots, (*model)->state_layout().ring_slots) << name;
    EXPECT_EQ(plan.window_bytes + plan.carry_bytes, (*model)->state_layout().bytes) << name;
  }
}

}  // namespace
}  // namespace deepinfer::cli
