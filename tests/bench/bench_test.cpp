// Costs against numbers worked out by hand, floors, and every case of `bench ops` run once.
#include "backends/bench/bench.h"

#include <gtest/gtest.h>

#include <set>

#include "base/aligned_buffer.h"

namespace deepinfer {
namespace {

ops::Mat mat(DType type, int64_t rows, int64_t cols) { return {nullptr, type, rows, cols, cols}; }

TEST(Cost, LinearCountsWeightsScalesActivationsAndProducts) {
  ops::LinearParams p{.x = mat(DType::kBF16, 3, 5120), .num_parts = 2};
  p.parts[0] = {.weight = {.dtype = DType::kF8E4M3, .rows = 1280, .cols = 5120}, .out = mat(DType::kBF16, 3, 1280)};
  p.parts[1] = {.weight = {.dtype = DType::kF4E2M1x2, .rows = 64, .cols = 5120}, .out = mat(DType::kF32, 3, 64)};
  const ops::Cost c = ops::cost(p);
  // 1280 * 5120 codes and 40 * 160 scales; 64 * 2560 bytes and 64 * 160 scales
  EXPECT_EQ(c.weight_bytes, 1280 * 5120 + 40 * 160 + 64 * 2560 + 64 * 160);
  EXPECT_EQ(c.io_bytes, 3 * 5120 * 2 + 3 * 1280 * 2 + 3 * 64 * 4);
  EXPECT_EQ(c.flops, 2.0 * 3 * 5120 * (1280 + 64));
  EXPECT_EQ(c.unit, ops::Unit::kMatrix);
  p.x.dtype = DType::kF32;
  EXPECT_EQ(ops::cost(p).unit, ops::Unit::kFma);
}

TEST(Cost, GroupedLinearUsesEachGroupsOwnInputs) {  // wo_a: 8 groups of 4096 -> 1024
  ops::LinearParams p{.x = mat(DType::kBF16, 1, 8 * 4096), .num_parts = 1};
  p.parts[0] = {.weight = {.dtype = DType::kF8E4M3, .rows = 8 * 1024, .cols = 4096},
                .out = mat(DType::kBF16, 1, 8 * 1024),
                .groups = 8};
  EXPECT_EQ(ops::cost(p).flops, 2.0 * 8 * 1024 * 4096);
}

TEST(Cost, MoeCountsOnlyChosenExpertsOnce) {
  ops::ExpertWeights expert{.w1 = {.dtype = DType::kF4E2M1x2, .rows = 64, .cols = 128},
                            .w3 = {.dtype = DType::kF4E2M1x2, .rows = 64, .cols = 128},
                            .w2 = {.dtype = DType::kF4E2M1x2, .rows = 128, .cols = 64}};
  const ops::ExpertWeights experts[4] = {expert, expert, expert, expert};
  const int32_t ids[] = {0, 2, 2, 0, 2, 3};  // three rows choose two each: experts 0, 2 and 3
  const ops::Cost c = ops::cost(ops::MoeParams{.x = mat(DType::kBF16, 3, 128),
                                               .experts = experts,
                                               .num_experts = 4,
                                               .top_k = 2,
                                               .ids = ids,
                                               .out = mat(DType::kBF16, 3, 128)});
  const double one = 3.0 * (64 * 128 / 2 + 64 * 128 / 32);
  EXPECT_EQ(c.weight_bytes, 3 * one);
  EXPECT_EQ(c.flops, 6 * 2.0 * 3 * 64 * 128);
}

TEST(Cost, AttentionSharesWindowRecordsWithinASequence) {
  const int32_t sequence[] = {0, 0, 1}, begin[] = {0, 1, 10}, end[] = {4, 5, 14};
  ops::SparseAttentionParams p{.q = mat(DType::kBF16, 3, 2 * 512), .heads = 2, .dim = 512, .sequence = sequence};
  p.window.format = CacheFormat::kFp8;
  p.window_begin = begin, p.window_end = end;
  p.out = mat(DType::kBF16, 3, 2 * 512);
  const ops::Cost c = ops::cost(p);
  EXPECT_EQ(c.cache_bytes, (5 + 4) * 528);  // positions 0..4 of the first, 10..13 of the second
  EXPECT_EQ(c.flops, 4.0 * 12 * 2 * 512);
}

TEST(Floor, IsTheLargerOfMovingAndComputing) {
  ops::Cost c{.weight_bytes = 100, .cache_bytes = 20, .io_bytes = 10, .flops = 1000, .unit = ops::Unit::kMatrix};
  EXPECT_DOUBLE_EQ(bench::floor_of(c, 10, 20, 1e9).seconds, 12.5);
  EXPECT_STREQ(bench::floor_of(c, 10, 20, 1e9).bound, "read");
  EXPECT_DOUBLE_EQ(bench::floor_of(c, 10, 20, 10).seconds, 100);
  EXPECT_STREQ(bench::floor_of(c, 10, 20, 10).bound, "compute");
  c.weight_bytes = c.cache_bytes = 0;
  EXPECT_STREQ(bench::floor_of(c, 10, 20, 1e9).bound, "activations");
}

class BenchOps : public ::testing::TestWithParam<const char*> {};

TEST_P(BenchOps, EveryOperatorHasACaseThatRuns) {
  const OpTable table = *make_op_table(GetParam());
  ThreadPool pool(2);
  bench::OpsOptions o;
  o.shape = "small", o.rows = {1, 3}, o.seconds = 1e-6, o.working_set = 8 << 20;
  std::set<std::string> seen;
  const Status status = bench::run_ops(table, pool, o, [&](const bench::OpTiming& t) {
    seen.insert(t.op);
    EXPECT_GT(t.seconds, 0) << t.op;
    EXPECT_GT(t.cost.bytes(), 0) << t.op;
    EXPECT_GT(t.floor_seconds, 0) << t.op;
    return true;
  });
  EXPECT_TRUE(status.has_value()) << status.error().message;
#define DEEPINFER_SEEN(name, Params) EXPECT_TRUE(seen.count(#name)) << #name;
  DEEPINFER_OPS(DEEPINFER_SEEN)
#undef DEEPINFER_SEEN
}
INSTANTIATE_TEST_SUITE_P(Backends, BenchOps, ::testing::Values("cpu", "reference"));

TEST(BenchOps, StopsWhenToldAndNamesUnknownOperatorsAndShapes) {
  const OpTable table = *make_op_table("cpu");
  ThreadPool pool(1);
  bench::OpsOptions o;
  o.shape = "small", o.seconds = 1e-6, o.working_set = 8 << 20;
  int calls = 0;
  EXPECT_TRUE(bench::run_ops(table, pool, o, [&](const bench::OpTiming&) { return ++calls < 2; }));
  EXPECT_EQ(calls, 2);
  o.op = "linaer";
  EXPECT_NE(bench::run_ops(table, pool, o, [](const bench::OpTiming&) { return true; }).error().message.find("linaer"),
            std::string::npos);
  o.op = "", o.shape = "large";
  EXPECT_FALSE(bench::run_ops(table, pool, o, [](const bench::OpTiming&) { return true; }));
}

TEST(MachineProbe, MeasuresSomethingOnEveryPath) {
  ThreadPool pool(2);
  AlignedBuffer data(1 << 20);
  for (const std::string& isa : available_cpu_isas()) {
    OpTable table = *make_op_table("cpu");
    table.isa = isa;
    const MachineProbe probe = machine_probe(table);
    EXPECT_GT(probe.read_bandwidth(data.data(), 1 << 20, pool), 1e7) << isa;
    for (ops::Unit unit : {ops::Unit::kFma, ops::Unit::kInt8, ops::Unit::kMatrix})
      EXPECT_GT(probe.peak_flops(unit, pool), 1e7) << isa;
  }
}

}  // namespace
}  // namespace deepinfer
