#include "checkpoint/checkpoint.h"

#include <gtest/gtest.h>
#include <simdjson.h>

#include <cstring>
#include <functional>

#include "checkpoint/safetensors.h"
#include "checkpoint/synth.h"
#include "test_folder.h"

namespace deepinfer {
namespace {

// A fresh tiny checkpoint in two or more shards, made once per test and then broken.
class CheckpointTest : public testing::Test {
 protected:
  void SetUp() override {
    ThreadPool pool(1);
    const std::string text = read_file(kTestData + "/config-tiny.json");
    config_ = *ModelConfig::parse(text, "tiny");
    const auto done = write_synthetic(folder_.file("m"), config_, text, {.seed = 1, .shard_bytes = 12'000'000}, pool);
    ASSERT_TRUE(done) << done.error().message;
  }

  Result<Checkpoint> open() { return Checkpoint::open(folder_.file("m"), config_); }

  void replace_in(const std::string& name, const std::string& from, const std::string& to) {
    std::string text = read_file(folder_.file("m/" + name));
    const size_t at = text.find(from);
    ASSERT_NE(at, std::string::npos) << from;
    text.replace(at, from.size(), to);
    write_file(folder_.file("m/" + name), text);
  }

  std::string shard_of(const std::string& tensor) {
    const std::string index = read_file(folder_.file("m/" + kIndex));
    const size_t at = index.find("\"" + tensor + "\":\"") + tensor.size() + 4;
    return index.substr(at, index.find('"', at) - at);
  }

  void expect_refused(std::initializer_list<std::string> words) {
    const auto r = open();
    ASSERT_FALSE(r);
    for (const std::string& word : words)
      EXPECT_NE(r.error().message.find(word), std::string::npos) << word << " in: " << r.error().message;
    EXPECT_LT(r.error().message.size(), 600u);
    EXPECT_EQ(r.error().message.find('\n'), std::string::npos);
  }

  const std::string kIndex = "model.safetensors.index.json";
  TestFolder folder_;
  ModelConfig config_;
};

TEST_F(CheckpointTest, tensors_are_found_with_dtype_shape_and_kind) {
  const auto c = open();
  ASSERT_TRUE(c) << c.error().message;
  EXPECT_GE(c->shards().size(), 2u);
  const TensorRef& t = c->get("layers.2.attn.wq_b.scale");
  EXPECT_EQ(t.dtype, DType::kF8E8M0);
  EXPECT_EQ(t.shape, (std::vector<int64_t>{64, 4}));
  EXPECT_EQ(t.bytes, 256u);
  EXPECT_EQ(t.kind, TensorKind::kAttention);
  EXPECT_EQ(c->find("layers.2.attn.wq_b"), nullptr);
  EXPECT_EQ(c->get("mtp.1.confidence_head.proj.weight").shape, (std::vector<int64_t>{1, 288}));
  EXPECT_EQ(c->get("mtp.0.main_proj.weight").shape, (std::vector<int64_t>{256, 768}));
  EXPECT_NE(c->find("image_start"), nullptr);
  EXPECT_EQ(c->find("layers.6.attn.compressor.wgate.weight"), nullptr);  // ratio 1 has no gate
  EXPECT_NE(c->find("layers.4.attn.compressor.wgate.weight"), nullptr);
}

TEST_F(CheckpointTest, the_model_prefix_is_optional) {
  std::string index = read_file(folder_.file("m/" + kIndex));
  for (size_t at = 0; (at = index.find("\"layers.", at)) != std::string::npos; at += 10) index.insert(at + 1, "model.");
  write_file(folder_.file("m/" + kIndex), index);
  const auto c = open();  // prefixed in the index, bare in the shards
  ASSERT_TRUE(c) << c.error().message;
  EXPECT_NE(c->find("layers.0.attn.wq_a.weight"), nullptr);
}

TEST_F(CheckpointTest, both_spellings_of_a_name_are_refused) {
  replace_in(kIndex, "\"weight_map\":{", "\"weight_map\":{\"model.norm.weight\":\"" + shard_of("norm.weight") + "\",");
  expect_refused({kIndex, "norm.weight", "twice"});
}

TEST_F(CheckpointTest, a_single_file_needs_no_index) {
  ThreadPool pool(1);
  ASSERT_TRUE(write_synthetic(folder_.file("one"), config_, read_file(kTestData + "/config-tiny.json"), {}, pool));
  std::filesystem::rename(folder_.file("one/model-00001-of-00001.safetensors"), folder_.file("one/model.safetensors"));
  std::filesystem::remove(folder_.file("one/" + kIndex));
  EXPECT_TRUE(Checkpoint::open(folder_.file("one"), config_));
  std::filesystem::remove(folder_.file("one/model.safetensors"));
  const auto r = Checkpoint::open(folder_.file("one"), config_);
  ASSERT_FALSE(r);
  EXPECT_NE(r.error().message.find(kIndex), std::string::npos);
}

TEST_F(CheckpointTest, linked_shards_work) {
  const std::string shard = shard_of("norm.weight");
  std::filesystem::rename(folder_.file("m/" + shard), folder_.file("elsewhere"));
  std::filesystem::create_symlink(folder_.file("elsewhere"), folder_.file("m/" + shard));
  EXPECT_TRUE(open());
}

TEST_F(CheckpointTest, a_missing_shard_is_named) {
  std::filesystem::remove(folder_.file("m/" + shard_of("norm.weight")));
  expect_refused({shard_of("norm.weight")});
}

TEST_F(CheckpointTest, an_index_must_stay_in_its_folder) {
  replace_in(kIndex, "\"norm.weight\":\"" + shard_of("norm.weight"),
             "\"norm.weight\":\"../m/" + shard_of("norm.weight"));
  expect_refused({kIndex, "../m/"});
}

TEST_F(CheckpointTest, a_tensor_missing_from_the_index_is_named_with_what_was_expected) {
  replace_in(kIndex, "\"norm.weight\":\"" + shard_of("norm.weight") + "\",", "");
  expect_refused({"norm.weight"});
}

TEST_F(CheckpointTest, a_tensor_missing_from_its_shard_is_named_before_the_hole_it_leaves) {
  replace_in(shard_of("layers.0.attn.wkv.weight"), "\"layers.0.attn.wkv.weight\":", "\"__metadata__\"            :");
  expect_refused({shard_of("layers.0.attn.wkv.weight"), "layers.0.attn.wkv.weight", "missing"});
}

TEST_F(CheckpointTest, unknown_tensors_are_named) {
  replace_in(kIndex, "\"weight_map\":{",
             "\"weight_map\":{\"layers.0.attn.mystery.weight\":\"" + shard_of("norm.weight") + "\",");
  expect_refused({"layers.0.attn.mystery.weight", "unknown"});
}

TEST_F(CheckpointTest, unfolded_hyper_connection_norms_are_refused_with_the_reason) {
  replace_in(kIndex, "\"weight_map\":{",
             "\"weight_map\":{\"layers.0.hc_attn_norm.weight\":\"" + shard_of("norm.weight") + "\",");
  expect_refused({"layers.0.hc_attn_norm.weight", "folded"});
}

TEST_F(CheckpointTest, wrong_dtypes_and_shapes_say_expected_and_found) {
  const std::string shard = shard_of("layers.0.attn.attn_sink");
  const std::string whole = read_file(folder_.file("m/" + shard));
  replace_in(shard, "\"layers.0.attn.attn_sink\":{\"dtype\":\"F32\",\"shape\":[4]",
             "\"layers.0.attn.attn_sink\":{\"dtype\":\"I32\",\"shape\":[4]");
  expect_refused({shard, "layers.0.attn.attn_sink", "I32", "F32"});
  write_file(folder_.file("m/" + shard), whole);
  replace_in(shard, "\"layers.0.attn.wq_a.weight\":{\"dtype\":\"F8_E4M3\",\"shape\":[128,256]",
             "\"layers.0.attn.wq_a.weight\":{\"dtype\":\"F8_E4M3\",\"shape\":[256,128]");
  expect_refused({shard, "layers.0.attn.wq_a.weight", "[256, 128]", "[128, 256]"});
}

TEST_F(CheckpointTest, cut_shards_are_refused) {
  const std::string shard = shard_of("norm.weight");
  const auto size = std::filesystem::file_size(folder_.file("m/" + shard));
  for (const auto n : {size - 1, size / 2, uintmax_t{1000}, uintmax_t{7}, uintmax_t{0}}) {
    std::filesystem::resize_file(folder_.file("m/" + shard), n);
    expect_refused({shard});
  }
}

TEST_F(CheckpointTest, a_pipe_in_place_of_a_shard_does_not_hang) {
  const std::string path = folder_.file("m/" + shard_of("norm.weight"));
  std::filesystem::remove(path);
  ASSERT_EQ(mkfifo(path.c_str(), 0600), 0);
  expect_refused({path, "pipe"});
}

TEST_F(CheckpointTest, an_index_that_is_no_index_is_refused) {
  for (const std::string& text : {std::string(), std::string("{}"), std::string("[]"),
                                  std::string("{\"weight_map\":3}"), std::string("{\"weight_map\":{\"a\":3}}"),
                                  std::string("{\"weight_map\":{\"a\":\"\"}}"), std::string(100000, '[')}) {
    write_file(folder_.file("m/" + kIndex), text);
    expect_refused({kIndex});
  }
}

TEST_F(CheckpointTest, without_vision_there_are_no_image_tensors) {
  config_.vision.reset();
  expect_refused({"unknown"});
}

TEST(CheckpointShared, the_shared_checkpoints_open) {
  if (!path_exists(kShared)) GTEST_SKIP() << "no ../shared in this checkout";
  for (const char* name : {"/model/v41-small", "/goldens/random-awkward/checkpoint", "/goldens/random-calm/checkpoint",
                           "/goldens/random-lively/checkpoint"}) {
    const auto config = ModelConfig::load(kShared + name);
    ASSERT_TRUE(config) << config.error().message;
    const auto c = Checkpoint::open(kShared + name, *config);
    EXPECT_TRUE(c) << c.error().message;
  }
}

}  // namespace
}  // namespace deepinfer
