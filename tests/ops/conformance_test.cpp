// The conformance suites: they pass for the reference and for every path of the cpu backend that this processor has,
// and they catch backends that are wrong on purpose.
#include "backends/conformance/conformance.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>

#include "ops/reference/reference.h"

namespace deepinfer {
namespace {

using conformance::run_suites;
using conformance::SuiteReport;

void expect_all_pass(const OpTable& table) {
  const auto reports = run_suites(table);
  ASSERT_TRUE(reports.has_value()) << reports.error().message;
  for (const SuiteReport& r : *reports) {
    EXPECT_EQ(r.failed, 0) << table.backend << " " << table.isa << " " << r.op << ": " << r.first_failure;
    EXPECT_GE(r.passed, 4) << r.op;
  }
}

TEST(Conformance, EveryOperatorHasASuite) {
  EXPECT_EQ(conformance::operators_without_suite(), std::vector<std::string>{});
}

TEST(Conformance, TheReferencePassesItsOwnSuites) { expect_all_pass(make_op_table("reference").value()); }

TEST(Conformance, AnUnknownOperatorIsAnError) {
  const auto reports = run_suites(make_op_table("reference").value(), "no_such_operator");
  ASSERT_FALSE(reports.has_value());
  EXPECT_NE(reports.error().message.find("no_such_operator"), std::string::npos);
}

class CpuConformance : public ::testing::TestWithParam<const char*> {};

TEST_P(CpuConformance, PassesEverySuite) {
  const auto available = available_cpu_isas();
  if (std::find(available.begin(), available.end(), GetParam()) == available.end())
    GTEST_SKIP() << GetParam() << ": this processor cannot run it";
  setenv("DEEPINFER_CPU_ISA", GetParam(), 1);
  const auto table = make_op_table("cpu");
  unsetenv("DEEPINFER_CPU_ISA");
  ASSERT_TRUE(table.has_value()) << table.error().message;
  expect_all_pass(*table);
}
INSTANTIATE_TEST_SUITE_P(Isa, CpuConformance, ::testing::Values("generic", "avx2", "avx512", "avx512_bf16", "amx"),
                         [](const auto& info) { return std::string(info.param); });

// ---- backends that are wrong on purpose

std::string failure_of(void (*wrong)(const ops::RmsNormParams&, ops::Context&)) {
  OpTable table = make_op_table("reference").value();
  table.rms_norm = wrong;
  const auto reports = run_suites(table, "rms_norm").value();
  return reports[0].failed > 0 ? reports[0].first_failure : "";
}

TEST(Conformance, CatchesAValueThatIsSlightlyOff) {
  const std::string f = failure_of([](const ops::RmsNormParams& p, ops::Context& ctx) {
    reference::rms_norm(p, ctx);
    if (p.out.rows > 2 && p.out.dtype == DType::kF32) p.out.row<float>(2)[p.out.cols - 1] += 1e-3f;
  });
  EXPECT_NE(f.find("times the tolerance"), std::string::npos) << f;
}

TEST(Conformance, CatchesAValueThatIsNotWritten) {
  const std::string f = failure_of([](const ops::RmsNormParams& p, ops::Context& ctx) {
    ops::RmsNormParams q = p;
    if (q.out.rows > 1) q.x.rows = q.out.rows = q.out.rows - 1;
    reference::rms_norm(q, ctx);
  });
  EXPECT_NE(f.find("nan"), std::string::npos) << f;
}

TEST(Conformance, CatchesAWriteBetweenTheRowsBehindThemAndBeforeThem) {
  for (int where : {0, 1, 2}) {
    static int place;
    place = where;
    const std::string f = failure_of([](const ops::RmsNormParams& p, ops::Context& ctx) {
      reference::rms_norm(p, ctx);
      if (p.out.rows == 0 || p.out.dtype != DType::kBF16) return;
      if (place == 0) p.out.row<uint16_t>(0)[p.out.cols] = 0;
      if (place == 1) p.out.row<uint16_t>(p.out.rows)[0] = 0;
      if (place == 2) p.out.row<uint16_t>(0)[-1] = 0;
    });
    EXPECT_NE(f.find("outside the output"), std::string::npos) << where << ": " << f;
  }
}

TEST(Conformance, CatchesResultsThatChangeFromRunToRun) {
  const std::string f = failure_of([](const ops::RmsNormParams& p, ops::Context& ctx) {
    static int calls = 0;
    reference::rms_norm(p, ctx);
    if (p.out.rows > 0 && p.out.dtype == DType::kBF16) p.out.row<uint16_t>(0)[0] ^= static_cast<uint16_t>(calls++ & 1);
  });
  EXPECT_NE(f.find("other bits"), std::string::npos) << f;
}

TEST(Conformance, CatchesARowThatDependsOnTheBatch) {
  const std::string f = failure_of([](const ops::RmsNormParams& p, ops::Context& ctx) {
    reference::rms_norm(p, ctx);
    if (p.out.rows == 1 && p.out.dtype == DType::kF32) p.out.row<float>(0)[0] *= 1.0000002f;
  });
  EXPECT_NE(f.find("other bits"), std::string::npos) << f;
}

TEST(Conformance, CatchesAWrongIndexAndAWrongToken) {
  OpTable table = make_op_table("reference").value();
  table.index_topk = [](const ops::IndexTopkParams& p, ops::Context& ctx) {
    reference::index_topk(p, ctx);
    if (p.rows > 2 && p.num_selected[2] > 0) p.selected[2 * p.k] += 1;
  };
  table.sample = [](const ops::SampleParams& p, ops::Context& ctx) {
    reference::sample(p, ctx);
    if (p.logits.rows > 7) p.tokens[7] ^= 1;
  };
  EXPECT_GT(run_suites(table, "index_topk").value()[0].failed, 0);
  EXPECT_GT(run_suites(table, "sample").value()[0].failed, 0);
}

}  // namespace
}  // namespace deepinfer
