// The moe operator of the cpu backend on every instruction-set path.
#include <gtest/gtest.h>

#include <algorithm>

#include "product_cases.h"

namespace deepinfer {
namespace {

struct Moe {
  int64_t d, inner;
  int experts, top_k;
  bool shared, quantize;
  std::vector<OwnedWeight> memory;
  std::vector<ops::ExpertWeights> weights;
  ops::ExpertWeights shared_weights;
};

Moe make_moe(Random& r, DType type, int64_t d, int64_t inner, int experts, int top_k, bool shared, bool quantize) {
  Moe m{d, inner, experts, top_k, shared, quantize, {}, {}, {}};
  m.memory.reserve(static_cast<size_t>(3 * experts + 3));
  auto expert = [&](DType t) {
    ops::ExpertWeights w;
    for (ops::Weight* out : {&w.w1, &w.w3, &w.w2}) {
      m.memory.push_back(out == &w.w2 ? random_weight(r, t, d, inner, 118, 121)
                                      : random_weight(r, t, inner, d, 118, 121));
      *out = m.memory.back().view;
    }
    return w;
  };
  for (int e = 0; e < experts; ++e) m.weights.push_back(expert(type));
  if (shared) m.shared_weights = expert(type == DType::kF4E2M1x2 ? DType::kF8E4M3 : type);
  return m;
}

struct Routing {
  std::vector<int32_t> ids;
  std::vector<float> weights;
};
Routing random_routing(Random& r, int64_t rows, int experts, int top_k) {
  Routing out;
  std::vector<int32_t> all(static_cast<size_t>(experts));
  for (int e = 0; e < experts; ++e) all[e] = e;
  for (int64_t i = 0; i < rows; ++i) {
    std::shuffle(all.begin(), all.end(), r);
    for (int k = 0; k < top_k; ++k) {
      out.ids.push_back(all[k]);
      out.weights.push_back(uniform(r, 0.1f, 1.5f));
    }
  }
  return out;
}

ops::MoeParams params_of(const Moe& m, const ops::Mat& x, const Routing& routing, const ops::Mat& out) {
  ops::MoeParams p;
  p.x = x;
  p.experts = m.weights.data();
  p.num_experts = m.experts;
  if (m.shared) p.shared = m.shared_weights;
  p.top_k = m.top_k;
  p.ids = routing.ids.data();
  p.weights = routing.weights.data();
  p.limit = 10;
  p.quantize = m.quantize;
  p.out = out;
  return p;
}

// The definition in moe.h in double, roundings included.
std::vector<double> truth_of(const ops::MoeParams& p) {
  std::vector<double> out;
  auto act = [&](double v) {
    return p.x.dtype == DType::kBF16 ? round_bf16(static_cast<float>(v)) : static_cast<float>(v);
  };
  auto product = [](const ops::Weight& w, const std::vector<float>& x) {
    std::vector<double> y;
    for (int64_t o = 0; o < w.rows; ++o) {
      double s = 0;
      for (int64_t i = 0; i < w.cols; ++i) s += x[static_cast<size_t>(i)] * weight_at(w, o, i);
      y.push_back(s);
    }
    return y;
  };
  for (int64_t r = 0; r < p.x.rows; ++r) {
    std::vector<float> x;
    for (int64_t i = 0; i < p.x.cols; ++i) x.push_back(at(p.x, r, i));
    if (p.quantize) quant8_qdq(x.data(), p.x.cols);
    std::vector<double> total(static_cast<size_t>(p.out.cols), 0.0);
    auto expert = [&](const ops::ExpertWeights& w, float weight) {
      const std::vector<double> a = product(w.w1, x), b = product(w.w3, x);
      std::vector<float> h;
      for (size_t i = 0; i < a.size(); ++i) {
        const double g = std::min<double>(act(a[i]), p.limit), u = std::clamp<double>(act(b[i]), -p.limit, p.limit);
        h.push_back(act(g / (1 + std::exp(-g)) * u * weight));
      }
      if (p.quantize) quant8_qdq(h.data(), static_cast<int64_t>(h.size()));
      const std::vector<double> y = product(w.w2, h);
      for (size_t i = 0; i < y.size(); ++i) total[i] += y[i];
    };
    for (int k = 0; k < p.top_k; ++k) expert(p.experts[p.ids[r * p.top_k + k]], p.weights[r * p.top_k + k]);
    if (!p.shared.w1.empty()) expert(p.shared, 1);
    out.insert(out.end(), total.begin(), total.end());
  }
  return out;
}

TEST(CpuMoe, AgreesWithDoublePrecisionOnEveryPath) {
  for (cpu::Isa isa : runnable_isas()) {
    Engine engine(isa, 2);
    Random random(11);
    for (DType type : {DType::kF4E2M1x2, DType::kF8E4M3, DType::kBF16})
      for (DType act : {DType::kBF16, DType::kF32})
        for (int64_t rows : {1, 2, 5, 23}) {
          const bool quantize = act == DType::kBF16 && type != DType::kBF16;
          const Moe m = make_moe(random, type, 160, 96, 6, 3, rows != 2, quantize);
          const OwnedMat x = random_mat(random, act, rows, m.d, m.d + 1, 1);
          const Routing routing = random_routing(random, rows, m.experts, m.top_k);
          OwnedMat out = empty_mat(DType::kF32, rows, m.d, m.d + 3);
          ops::MoeParams p = params_of(m, x.view, routing, out.view);
          p.out.dtype = DType::kF32;
          if (act == DType::kBF16) {  // act(.) follows the output: compare bf16
            out = empty_mat(DType::kBF16, rows, m.d, m.d + 3);
            p.out = out.view;
          }
          engine.moe(p);
          const std::vector<double> want = truth_of(p);
          double scale = 0;
          for (double v : want) scale = std::max(scale, std::fabs(v));
          // bf16: a rounding of a, b or h may go the other way near a tie, and quant8 may then take the next code.
          const double tolerance = act == DType::kBF16 ? 0.02 * scale : 2e-6 * scale;
          double error = 0;
          for (int64_t r = 0; r < rows; ++r)
            for (int64_t i = 0; i < m.d; ++i) {
              ASSERT_NEAR(at(out.view, r, i), want[r * m.d + i], tolerance)
                  << cpu::isa_name(isa) << " " << dtype_name(type) << " rows " << rows << " row " << r << " column "
                  << i;
              error += std::fabs(at(out.view, r, i) - want[r * m.d + i]);
            }
          EXPECT_LT(error / static_cast<double>(rows * m.d), act == DType::kBF16 ? 0.002 * scale : 4e-7 * scale)
              << cpu::isa_name(isa) << " " << dtype_name(type);
        }
  }
}

TEST(CpuMoe, ATokenHasTheSameBitsAloneInEveryBatchAndWithAnyNumberOfThreads) {
  for (cpu::Isa isa : runnable_isas())
    for (auto [d, inner] : std::vector<std::pair<int64_t, int64_t>>{{256, 128}, {96, 224}}) {
      Engine one(isa, 1), two(isa, 2), four(isa, 4);
      Random random(12);
      const int64_t rows = 41;
      const Moe m = make_moe(random, DType::kF4E2M1x2, d, inner, 16, 4, true, true);
      const OwnedMat x = random_mat(random, DType::kBF16, rows, d, d, 1);
      const Routing routing = random_routing(random, rows, m.experts, m.top_k);
      OwnedMat all = empty_mat(DType::kBF16, rows, d, d);
      one.moe(params_of(m, x.view, routing, all.view));
      for (Engine* engine : {&one, &two, &four})
        for (int64_t batch : {1, 2, 3, 7, 20, 41}) {
          OwnedMat out = empty_mat(DType::kBF16, rows, d, d);
          for (int64_t r = 0; r < rows; r += batch) {
            ops::MoeParams p = params_of(m, x.view, routing, out.view);
            p.x.data = x.view.row<uint16_t>(r);
            p.out.data = out.view.row<uint16_t>(r);
            p.x.rows = p.out.rows = std::min(batch, rows - r);
            p.ids += r * m.top_k;
            p.weights += r * m.top_k;
            engine->moe(p);
          }
          ASSERT_EQ(out.bytes, all.bytes) << cpu::isa_name(isa) << " d " << d << " rows at a time " << batch
                                          << " threads " << engine->pool.num_threads();
        }
    }
}

TEST(CpuMoe, TheOrderOfATokensChoicesDoesNotMatter) {
  for (cpu::Isa isa : runnable_isas())
    for (int64_t rows : {1, 8}) {
      Engine engine(isa, 2);
      Random random(13);
      const Moe m = make_moe(random, DType::kF4E2M1x2, 128, 64, 8, 4, true, true);
      const OwnedMat x = random_mat(random, DType::kBF16, rows, m.d, m.d, 1);
      Routing routing = random_routing(random, rows, m.experts, m.top_k);
      OwnedMat first = empty_mat(DType::kBF16, rows, m.d, m.d), second = empty_mat(DType::kBF16, rows, m.d, m.d);
      engine.moe(params_of(m, x.view, routing, first.view));
      for (int64_t r = 0; r < rows; ++r) {
        std::reverse(routing.ids.begin() + r * m.top_k, routing.ids.begin() + (r + 1) * m.top_k);
        std::reverse(routing.weights.begin() + r * m.top_k, routing.weights.begin() + (r + 1) * m.top_k);
      }
      engine.moe(params_of(m, x.view, routing, second.view));
      EXPECT_EQ(first.bytes, second.bytes) << cpu::isa_name(isa) << " rows " << rows;
    }
}

TEST(CpuMoe, AllTokensOnOneExpertAndNoTokensAtAllAreFine) {
  for (cpu::Isa isa : runnable_isas()) {
    Engine engine(isa, 2);
    Random random(14);
    const Moe m = make_moe(random, DType::kF4E2M1x2, 64, 32, 5, 1, false, true);
    const int64_t rows = 600;
    const OwnedMat x = random_mat(random, DType::kBF16, rows, m.d, m.d, 1);
    Routing routing{std::vector<int32_t>(rows, 4), std::vector<float>(rows, 1.0f)};
    OwnedMat out = empty_mat(DType::kBF16, rows, m.d, m.d), alone = empty_mat(DType::kBF16, 1, m.d, m.d);
    engine.moe(params_of(m, x.view, routing, out.view));
    ops::MoeParams p = params_of(m, x.view, routing, alone.view);
    p.x.data = x.view.row<uint16_t>(599);
    p.x.rows = 1;
    engine.moe(p);
    EXPECT_EQ(0, std::memcmp(alone.bytes.data(), out.view.row<uint16_t>(599), static_cast<size_t>(2 * m.d)))
        << cpu::isa_name(isa);
    p.x.rows = p.out.rows = 0;
    engine.moe(p);
  }
}

}  // namespace
}  // namespace deepinfer
