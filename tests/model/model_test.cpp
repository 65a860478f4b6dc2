// The forward step on the bundled model: the same bits for every chunking, thread count, neighbour and repeat, on every
// instruction-set path.
#include "model/model.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>

namespace deepinfer {
namespace {

const std::string kModel = std::string(DEEPINFER_SOURCE_DIR) + "/models/v41-small";

std::vector<int32_t> some_ids(int n, int64_t vocab, uint64_t key = 12345) {
  std::vector<int32_t> ids;
  for (int i = 0; i < n; ++i) {
    key = key * 6364136223846793005ull + 1442695040888963407ull;
    ids.push_back(static_cast<int32_t>((key >> 33) % static_cast<uint64_t>(vocab - 100)) + 50);
  }
  return ids;
}

struct Loaded {
  ThreadPool pool;
  std::unique_ptr<Model> model;
  kv::BlockPool blocks;
  std::unique_ptr<Stepper> stepper;

  Loaded(int threads, Numerics numerics, const std::string& backend = "cpu") : pool(threads) {
    auto loaded = Model::load(kModel, {.numerics = numerics, .backend = backend}, pool);
    if (!loaded) throw std::runtime_error(loaded.error().message);
    model = std::move(*loaded);
    blocks = std::move(*kv::BlockPool::create(model->block_layout().block_bytes, 64));
    stepper = std::make_unique<Stepper>(*model, pool, blocks);
  }
  // All logits of `ids` fed in chunks.
  std::vector<float> logits(const std::vector<int32_t>& ids, int chunk) {
    Sequence seq = model->new_sequence();
    EXPECT_TRUE(model->reserve(seq, blocks, static_cast<int64_t>(ids.size())).has_value());
    std::vector<float> out;
    for (size_t at = 0; at < ids.size(); at += static_cast<size_t>(chunk)) {
      const size_t n = std::min(ids.size() - at, static_cast<size_t>(chunk));
      const StepInput in{&seq, {ids.data() + at, n}, static_cast<int>(n)};
      const auto step = stepper->step({&in, 1});
      out.insert(out.end(), step.begin(), step.end());
    }
    Model::release(seq, blocks);
    return out;
  }
};

class OnEveryIsa : public ::testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    const auto available = available_cpu_isas();
    if (std::find(available.begin(), available.end(), GetParam()) == available.end())
      GTEST_SKIP() << "this processor cannot run " << GetParam();
    setenv("DEEPINFER_CPU_ISA", GetParam().c_str(), 1);
  }
  void TearDown() override { unsetenv("DEEPINFER_CPU_ISA"); }
};

TEST_P(OnEveryIsa, EveryChunkSizeAndThreadCountGivesTheSameBits) {
  for (Numerics numerics : {Numerics::kQuantized, Numerics::kFp32}) {
    Loaded one(1, numerics);
    const auto ids = some_ids(
        300, one.model->config().vocab_size);  // past the window (128), the top-k (64) and both candidate levels
    const auto want = one.logits(ids, 210);
    for (float v : want) ASSERT_TRUE(std::isfinite(v));
    for (int chunk : {1, 7, 64, 133, 209}) EXPECT_EQ(want, one.logits(ids, chunk)) << "chunks of " << chunk;
    EXPECT_EQ(want, one.logits(ids, 210)) << "repeated";
    for (int threads : {2, 4}) {
      Loaded more(threads, numerics);
      for (int chunk : {1, 50, 210})
        EXPECT_EQ(want, more.logits(ids, chunk)) << threads << " threads, chunks of " << chunk;
    }
  }
}

TEST_P(OnEveryIsa, ASequenceGivesTheSameBitsAloneAndAmongNeighbours) {
  Loaded l(2, Numerics::kQuantized);
  const int64_t vocab = l.model->config().vocab_size;
  constexpr int kSequences = 5, kTokens = 150;
  std::vector<std::vector<int32_t>> ids;
  std::vector<std::vector<float>> alone, together(kSequences);
  for (int s = 0; s < kSequences; ++s) {
    ids.push_back(some_ids(kTokens + 13 * s, vocab, 99 + s));
    alone.push_back(l.logits(ids.back(), 64));
  }
  std::vector<Sequence> seqs;
  for (int s = 0; s < kSequences; ++s) {
    seqs.push_back(l.model->new_sequence());
    ASSERT_TRUE(l.model->reserve(seqs.back(), l.blocks, kTokens + 13 * s).has_value());
  }
  // Ragged steps: some sequences prefill while others decode.
  for (int step = 0;; ++step) {
    std::vector<StepInput> in;
    std::vector<int> who;
    for (int s = 0; s < kSequences; ++s) {
      const size_t at = static_cast<size_t>(seqs[s].position), left = ids[s].size() - at;
      const size_t n = std::min<size_t>(left, (step + s) % 3 == 0 ? 1 : 17 + 5 * s);
      if (n == 0) continue;
      in.push_back({&seqs[s], {ids[s].data() + at, n}, static_cast<int>(n)});
      who.push_back(s);
    }
    if (in.empty()) break;
    auto logits = l.stepper->step(in);
    for (size_t i = 0; i < in.size(); ++i) {
      const size_t n = in[i].tokens.size() * static_cast<size_t>(vocab);
      together[who[i]].insert(together[who[i]].end(), logits.begin(), logits.begin() + n);
      logits = logits.subspan(n);
    }
  }
  for (int s = 0; s < kSequences; ++s) {
    EXPECT_EQ(alone[s], together[s]) << "sequence " << s;
    Model::release(seqs[s], l.blocks);
  }
  EXPECT_EQ(l.blocks.num_free(), l.blocks.num_blocks());
}

TEST_P(OnEveryIsa, AForkGoesOnAsItsOriginal) {
  Loaded l(2, Numerics::kQuantized);
  const auto ids = some_ids(201, l.model->config().vocab_size);
  const auto want = l.logits(ids, 64);
  Sequence a = l.model->new_sequence();
  ASSERT_TRUE(l.model->reserve(a, l.blocks, 201).has_value());
  const StepInput first{&a, {ids.data(), 181}, 0};
  l.stepper->step({&first, 1});
  auto b = l.model->fork(a, l.blocks, 201);
  ASSERT_TRUE(b.has_value());
  for (Sequence* s : {&*b, &a}) {
    const StepInput rest{s, {ids.data() + 181, 20}, 20};
    const auto got = l.stepper->step({&rest, 1});
    EXPECT_TRUE(std::equal(got.begin(), got.end(), want.end() - static_cast<int64_t>(got.size())));
  }
  Model::release(a, l.blocks);
  Model::release(*b, l.blocks);
}

TEST_P(OnEveryIsa, AgreesWithTheReferenceBackend) {
  Loaded cpu(2, Numerics::kFp32), reference(2, Numerics::kFp32, "reference");
  const auto ids = some_ids(140, cpu.model->config().vocab_size);
  const auto a = cpu.logits(ids, 140), b = reference.logits(ids, 140);
  ASSERT_EQ(a.size(), b.size());
  float worst = 0;
  for (size_t i = 0; i < a.size(); ++i) worst = std::max(worst, std::fabs(a[i] - b[i]));
  EXPECT_LT(worst, 2e-3f);  // goldens/README.md
}

INSTANTIATE_TEST_SUITE_P(Cpu, OnEveryIsa, ::testing::Values("generic", "avx2", "avx512", "avx512_bf16", "amx"),
                         [](const auto& info) { return info.param; });

TEST(Model, RefusesMoreTokensThanTheCacheHolds) {
  Loaded l(1, Numerics::kQuantized);
  Sequence seq = l.model->new_sequence();
  const Status s = l.model->reserve(seq, l.blocks, 64 * 128 + 1);
  ASSERT_FALSE(s.has_value());
  EXPECT_NE(s.error().message.find("65"), std::string::npos) << s.error().message;
  EXPECT_TRUE(seq.blocks.empty());
}

TEST(Model, StoresThePublishedBytesPerToken) {
  Loaded l(1, Numerics::kQuantized);
  // Two ratio-2 sources and one of ratio 1: 2 x (288 + 68) / 2 + 288 + 68 (model.md 5.1).
  EXPECT_EQ(l.model->block_layout().bytes_per_token(), 712);
  EXPECT_EQ(l.model->state_layout().window_record_bytes, 528);
}

}  // namespace
}  // namespace deepinfer
