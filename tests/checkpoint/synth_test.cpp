#include "checkpoint/synth.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmath>

#include "checkpoint/checkpoint.h"
#include "tensor/float_formats.h"
#include "test_folder.h"

namespace deepinfer {
namespace {

ModelConfig tiny() { return *ModelConfig::load(kTestData + "/config-tiny.json"); }
std::string tiny_text() { return read_file(kTestData + "/config-tiny.json"); }

double deviation(const std::vector<float>& values) {
  double sum = 0, squares = 0;
  for (float v : values) {
    sum += v;
    squares += static_cast<double>(v) * v;
  }
  const double mean = sum / static_cast<double>(values.size());
  return std::sqrt(squares / static_cast<double>(values.size()) - mean * mean);
}

TEST(Synth, what_it_writes_opens_as_a_whole_checkpoint) {
  TestFolder folder;
  ThreadPool pool(2);
  const auto done = write_synthetic(folder.file("m"), tiny(), tiny_text(), {.seed = 7, .shard_bytes = 4'000'000}, pool);
  ASSERT_TRUE(done) << done.error().message;
  EXPECT_GT(done->shards, 4);
  const auto config = ModelConfig::load(folder.file("m"));
  ASSERT_TRUE(config) << config.error().message;
  const auto checkpoint = Checkpoint::open(folder.file("m"), *config);
  ASSERT_TRUE(checkpoint) << checkpoint.error().message;
  EXPECT_EQ(static_cast<int64_t>(checkpoint->num_tensors()), done->tensors);
  EXPECT_EQ(static_cast<int64_t>(checkpoint->total_bytes()), done->bytes);
  const auto map = load_token_map(folder.file("m"), *config);
  ASSERT_TRUE(map) << map.error().message;
  EXPECT_EQ((*map)[901], 1);
  for (const auto& [name, t] : checkpoint->tensors()) {
    EXPECT_EQ(reinterpret_cast<uintptr_t>(t.data) % dtype_size(t.dtype), 0u) << name;
    if (t.dtype == DType::kF8E8M0) {
      for (uint64_t i = 0; i < t.bytes; ++i) ASSERT_NE(t.data[i], 255) << name;
    }
  }
}

TEST(Synth, magnitudes_keep_activations_bounded) {
  TestFolder folder;
  ThreadPool pool(2);
  ASSERT_TRUE(write_synthetic(folder.file("m"), tiny(), tiny_text(), {.seed = 7}, pool));
  const auto c = *Checkpoint::open(folder.file("m"), tiny());
  const auto fp8 = [&](const std::string& name, int rows_per_scale) {
    const TensorRef &w = c.get(name + ".weight"), &s = c.get(name + ".scale");
    std::vector<float> out;
    for (int64_t r = 0; r < w.shape[0]; ++r)
      for (int64_t k = 0; k < w.shape[1]; ++k)
        out.push_back(e4m3_to_float(w.data[r * w.shape[1] + k]) *
                      ue8m0_to_float(s.data[r / rows_per_scale * s.shape[1] + k / 32]));
    return out;
  };
  EXPECT_NEAR(deviation(fp8("layers.3.attn.wq_b", 32)) * std::sqrt(128), 1.2, 0.2);
  EXPECT_NEAR(deviation(fp8("layers.9.attn.wo_b", 32)) * std::sqrt(128), 1.2, 0.2);
  EXPECT_NEAR(deviation(fp8("layers.1.engram.embed", 1)), 0.5, 0.08);
  const TensorRef &w = c.get("layers.0.ffn.experts.3.w2.weight"), &s = c.get("layers.0.ffn.experts.3.w2.scale");
  std::vector<float> fp4;
  for (int64_t r = 0; r < w.shape[0]; ++r)
    for (int64_t k = 0; k < 2 * w.shape[1]; ++k)
      fp4.push_back(e2m1_to_float(static_cast<uint8_t>(w.data[r * w.shape[1] + k / 2] >> (k % 2 * 4))) *
                    ue8m0_to_float(s.data[r * s.shape[1] + k / 32]));
  EXPECT_NEAR(deviation(fp4) * std::sqrt(128), 1.2, 0.2);
  const auto bf16 = [&](const std::string& name) {
    const TensorRef& t = c.get(name);
    std::vector<float> out;
    for (uint64_t i = 0; i < t.bytes / 2; ++i)
      out.push_back(bf16_to_float(reinterpret_cast<const uint16_t*>(t.data)[i]));
    return out;
  };
  EXPECT_NEAR(deviation(bf16("embed.weight")), 1, 0.02);
  EXPECT_NEAR(deviation(bf16("head.weight")) * 16, 1.5, 0.05);
  for (float v : bf16("layers.4.attn_norm.weight")) EXPECT_NEAR(v, 1, 0.5);
}

TEST(Synth, bytes_depend_on_the_seed_and_on_nothing_else) {
  TestFolder folder;
  ThreadPool one(1), three(3);
  ASSERT_TRUE(write_synthetic(folder.file("a"), tiny(), tiny_text(), {.seed = 7}, one));
  ASSERT_TRUE(write_synthetic(folder.file("b"), tiny(), tiny_text(), {.seed = 7, .shard_bytes = 3'000'000}, three));
  ASSERT_TRUE(write_synthetic(folder.file("c"), tiny(), tiny_text(), {.seed = 8}, three));
  const auto a = *Checkpoint::open(folder.file("a"), tiny()), b = *Checkpoint::open(folder.file("b"), tiny()),
             c = *Checkpoint::open(folder.file("c"), tiny());
  size_t other = 0;
  for (const auto& [name, t] : a.tensors()) {
    EXPECT_EQ(std::memcmp(t.data, b.get(name).data, t.bytes), 0) << name;
    other += std::memcmp(t.data, c.get(name).data, t.bytes) != 0;
  }
  EXPECT_GT(other, a.num_tensors() * 9 / 10);
  // Different tensors of one shape differ.
  EXPECT_NE(std::memcmp(a.get("layers.0.attn.wq_b.weight").data, a.get("layers.1.attn.wq_b.weight").data, 4096), 0);
}

TEST(Synth, values_at_an_offset_are_those_of_the_whole) {
  for (const DType dtype : {DType::kF32, DType::kBF16, DType::kF8E4M3, DType::kI8, DType::kF8E8M0}) {
    const TensorValues values({"layers.0.attn.wq_a.weight", dtype, {64, 64}, TensorKind::kAttention}, 3);
    std::vector<uint8_t> whole(4096), part(1000);
    values.fill(0, whole.data(), whole.size());
    for (uint64_t offset : {0, 64, 1088, 2048}) {
      values.fill(offset, part.data(), part.size());
      EXPECT_TRUE(std::equal(part.begin(), part.end(), whole.begin() + static_cast<int64_t>(offset)))
          << dtype_name(dtype) << offset;
    }
  }
}

TEST(Synth, a_folder_with_something_in_it_is_left_alone_without_force) {
  TestFolder folder;
  ThreadPool pool(1);
  write_file(folder.file("notes.txt"), "mine");
  const auto r = write_synthetic(folder.path(), tiny(), tiny_text(), {}, pool);
  ASSERT_FALSE(r);
  EXPECT_EQ(r.error().code, ErrorCode::kInvalidArgument);
  EXPECT_NE(r.error().message.find(folder.path()), std::string::npos);
  EXPECT_FALSE(path_exists(folder.file("config.json")));
  ASSERT_TRUE(write_synthetic(folder.path(), tiny(), tiny_text(), {.shard_bytes = 2'000'000, .force = true}, pool));
  ASSERT_TRUE(write_synthetic(folder.path(), tiny(), tiny_text(), {.force = true}, pool));
  EXPECT_TRUE(Checkpoint::open(folder.path(), tiny()));
  EXPECT_EQ(read_file(folder.file("notes.txt")), "mine");
  int shards = 0;
  for (const auto& entry : std::filesystem::directory_iterator(folder.path()))
    shards += entry.path().extension() == ".safetensors";
  EXPECT_EQ(shards, 1);  // those of the first run are gone
}

TEST(Synth, no_space_is_told_and_leaves_nothing_behind) {
  TestFolder folder;
  // A child process with a limit on the size of files stands for a full disk.
  const pid_t child = fork();
  if (child == 0) {
    signal(SIGXFSZ, SIG_IGN);
    const rlimit limit = {6'000'000, 6'000'000};
    setrlimit(RLIMIT_FSIZE, &limit);
    ThreadPool pool(1);
    const auto r = write_synthetic(folder.file("m"), tiny(), tiny_text(), {.shard_bytes = 5'000'000}, pool);
    const auto big = write_synthetic(folder.file("n"), tiny(), tiny_text(), {}, pool);
    const bool fine = r && !big &&
                      big.error().message.find("/n/model-00001-of-00001.safetensors") != std::string::npos &&
                      big.error().code == ErrorCode::kIo;
    _exit(fine ? 0 : 1);
  }
  int status = 0;
  waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
  EXPECT_TRUE(path_exists(folder.file("m/config.json")));
  EXPECT_FALSE(path_exists(folder.file("n")));
}

TEST(Synth, the_official_config_has_exactly_the_released_tensors) {  // model.md 3.1 and 8
  TestFolder folder;
  ThreadPool pool(1);
  const std::string text = read_file(kTestData + "/config-official.json");
  const auto config = *ModelConfig::parse(text, "official");
  const auto done = write_synthetic(folder.file("m"), config, text, {.sparse = true}, pool);
  ASSERT_TRUE(done) << done.error().message;
  EXPECT_EQ(done->tensors, 96085);
  EXPECT_EQ(done->bytes, 510286023000);
  const auto c = Checkpoint::open(folder.file("m"), config);
  ASSERT_TRUE(c) << c.error().message;
  std::map<std::string, std::pair<int64_t, int64_t>> dtypes;
  std::map<TensorKind, int64_t> kinds;
  for (const auto& [name, t] : c->tensors()) {
    ++dtypes[dtype_name(t.dtype)].first;
    dtypes[dtype_name(t.dtype)].second += static_cast<int64_t>(t.bytes);
    kinds[t.kind] += static_cast<int64_t>(t.bytes);
  }
  const std::map<std::string, std::pair<int64_t, int64_t>> want = {{"BF16", {520, 3952883712}},
                                                                   {"F32", {387, 169229128}},
                                                                   {"F8_E4M3", {357, 204015223296}},
                                                                   {"F8_E8M0", {47589, 23563015184}},
                                                                   {"I8", {47232, 278585671680}}};
  EXPECT_EQ(dtypes, want);
  EXPECT_EQ(kinds[TensorKind::kExpert], 288777830400);
  EXPECT_EQ(kinds[TensorKind::kEngramTable], 202758032400);
  EXPECT_EQ(kinds[TensorKind::kHyper], 157295040);
  EXPECT_EQ(kinds[TensorKind::kIndexer], 45130752);
  EXPECT_EQ(kinds[TensorKind::kVision], 30720 + 823685120 + 146821120);
}

}  // namespace
}  // namespace deepinfer
