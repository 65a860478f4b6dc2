// Suites of linear and moe.
#include <algorithm>
#include <numeric>

#include "backends/conformance/harness.h"

namespace deepinfer::conformance {
namespace {

constexpr DType kTypes[] = {DType::kF8E4M3, DType::kF4E2M1x2, DType::kBF16, DType::kF32};
bool is_scaled(DType t) { return t == DType::kF8E4M3 || t == DType::kF4E2M1x2; }

// An fp32 sum of k products in any order: about sqrt(k) * 2^-24 of the sum of magnitudes, which is itself about
// sqrt(k)/4 of the largest output of a row.
Tolerance product_tolerance(DType out, int64_t k) {
  const double sum = 2e-7 * std::sqrt(static_cast<double>(k)) + 2e-6;
  return {out == DType::kBF16 ? 0x1p-7 : 2e-6, sum, 1e-37};
}

std::vector<Case> linear_cases(uint64_t seed) {
  std::vector<Case> out;
  Random r(seed);
  struct Shape {
    int64_t rows, n, k;
    int groups = 1;
    Scales scales = Scales::kUsual;
    bool scaled_only = false;
  };
  const std::vector<Shape> shapes = {
      {0, 16, 64},
      {1, 1, 32},
      {1, 130, 96},
      {2, 17, 64},
      {5, 33, 160},
      {13, 50, 1536},
      {40, 96, 256},
      {3, 7, 5120},
      {1, 72, 5120},
      {9, 192, 128, 2},
      {6, 72, 64, 3},
      {70, 19, 96},
      {4, 40, 96, 1, Scales::kAllLow, true},
      {4, 40, 96, 1, Scales::kAllHigh, true},
      {5, 40, 128, 1, Scales::kWide, true},
  };
  for (DType type : kTypes)
    for (DType act : kActs)
      for (const Shape& s : shapes) {
        if (s.scaled_only && !is_scaled(type)) continue;
        auto w = random_weight(r, type, s.n, s.k, s.scales);
        // Extreme scales: inputs that keep the products inside fp32.
        const float range = s.scales == Scales::kAllHigh ? 1e-4f : s.scales == Scales::kAllLow ? 1e4f : 2.0f;
        auto x = random_values(r, act, s.rows, s.k * s.groups, range);
        for (DType type_out : kActs) {
          if (act == DType::kF32 && type_out == DType::kBF16) continue;
          out.push_back({fmt::format("{} x {} {} x {}, {} rows, groups {}, out {}{}", dtype_name(act), dtype_name(type),
                                     s.n, s.k, s.rows, s.groups, dtype_name(type_out),
                                     s.scales == Scales::kUsual ? "" : ", extreme scales"),
                         s.rows, [=](Call& call) {
                           ops::LinearParams p;
                           p.x = call.in(*x, 3);
                           p.num_parts = 1;
                           p.parts[0] = {w->view, call.out("out", type_out, s.n, product_tolerance(type_out, s.k), 5),
                                         s.groups, is_scaled(type) && act == DType::kBF16, false};
                           call(&OpTable::linear, p);
                         }});
        }
      }
  // Rows no multiple of anything with unquantised weights.
  for (DType type : {DType::kBF16, DType::kF32})
    for (DType act : kActs)
      for (int64_t k : {1, 7, 33, 47, 100}) {
        auto w = random_weight(r, type, 19, k);
        auto x = random_values(r, act, 5, k);
        out.push_back({fmt::format("{} x {} 19 x {}, odd", dtype_name(act), dtype_name(type), k), 5, [=](Call& call) {
                         ops::LinearParams p;
                         p.x = call.in(*x, 1);
                         p.num_parts = 1;
                         p.parts[0] = {w->view, call.out("out", DType::kF32, 19, product_tolerance(DType::kF32, k), 2),
                                       1, false, false};
                         call(&OpTable::linear, p);
                       }});
      }
  // All parts at once: every type, quantised and not, accumulating.
  for (DType act : kActs)
    for (int64_t rows : {1, 6, 37}) {
      const int64_t k = 192;
      auto x = random_values(r, act, rows, k);
      std::vector<std::shared_ptr<OwnedWeight>> weights;
      std::vector<std::shared_ptr<Values>> before;
      for (int i = 0; i < ops::LinearParams::kMaxParts; ++i) {
        weights.push_back(random_weight(r, kTypes[i % 4], 3 + 29 * i, k));
        before.push_back(random_values(r, DType::kF32, rows, 3 + 29 * i));
      }
      out.push_back({label(act, rows, k, "six parts"), rows, [=](Call& call) {
                       ops::LinearParams p;
                       p.x = call.in(*x, 0);
                       p.num_parts = ops::LinearParams::kMaxParts;
                       for (int i = 0; i < p.num_parts; ++i) {
                         const bool accumulate = i % 3 == 2;
                         const DType t = i % 3 == 0 ? act : DType::kF32;
                         const int64_t n = weights[static_cast<size_t>(i)]->view.rows;
                         p.parts[i] = {weights[static_cast<size_t>(i)]->view,
                                       call.out("part", t, n, product_tolerance(t, k), 5,
                                                accumulate ? before[static_cast<size_t>(i)].get() : nullptr),
                                       1, is_scaled(kTypes[i % 4]) && act == DType::kBF16 && i != 4, accumulate};
                       }
                       call(&OpTable::linear, p);
                     }});
    }
  return out;
}

std::vector<Case> moe_cases(uint64_t seed) {
  std::vector<Case> out;
  Random r(seed);
  struct Shape {
    int64_t rows, d, inner;
    int experts, top_k;
    bool shared;
    DType routed, of_shared;
  };
  const std::vector<Shape> shapes = {
      {0, 64, 32, 4, 2, true, DType::kF4E2M1x2, DType::kF8E4M3},
      {1, 96, 64, 8, 3, true, DType::kF4E2M1x2, DType::kF8E4M3},
      {7, 160, 96, 5, 5, true, DType::kF4E2M1x2, DType::kF8E4M3},
      {40, 128, 32, 12, 2, false, DType::kF4E2M1x2, DType::kF8E4M3},
      {5, 64, 224, 3, 1, true, DType::kF8E4M3, DType::kF4E2M1x2},
      {33, 96, 64, 2, 1, true, DType::kF4E2M1x2, DType::kF8E4M3},  // every row at one of two experts
      {6, 64, 32, 4, 2, true, DType::kBF16, DType::kBF16},
      {6, 64, 32, 4, 2, true, DType::kF32, DType::kF32},
  };
  for (DType act : kActs)
    for (const Shape& s : shapes) {
      struct Data {
        std::vector<std::shared_ptr<OwnedWeight>> owned;
        std::vector<ops::ExpertWeights> experts;
        ops::ExpertWeights shared;
        std::vector<int32_t> ids;
        std::vector<float> weights;
      };
      auto data = std::make_shared<Data>();
      const auto expert = [&](DType type) {
        ops::ExpertWeights w;
        for (ops::Weight* part : {&w.w1, &w.w3, &w.w2}) {
          const bool last = part == &w.w2;
          data->owned.push_back(random_weight(r, type, last ? s.d : s.inner, last ? s.inner : s.d));
          *part = data->owned.back()->view;
        }
        return w;
      };
      for (int e = 0; e < s.experts; ++e) data->experts.push_back(expert(s.routed));
      if (s.shared) data->shared = expert(s.of_shared);
      std::vector<int32_t> order(static_cast<size_t>(s.experts));
      for (int64_t i = 0; i < s.rows; ++i) {
        std::iota(order.begin(), order.end(), 0);
        std::shuffle(order.begin(), order.end(), r);
        for (int k = 0; k < s.top_k; ++k) {
          data->ids.push_back(order[static_cast<size_t>(k)]);
          data->weights.push_back(uniform(r, 0, 1.5f));
        }
      }
      auto x = random_values(r, act, s.rows, s.d, 1);
      for (float limit : {0.0f, 1.5f}) {
        const bool quantize = act == DType::kBF16 && is_scaled(s.routed);
        out.push_back({fmt::format("{} {} rows, d {}, inner {}, {} of {} experts {}{}{}", dtype_name(act), s.rows, s.d,
                                   s.inner, s.top_k, s.experts, dtype_name(s.routed), s.shared ? ", shared" : "",
                                   limit > 0 ? ", limit" : ""),
                       s.rows, [=](Call& call) {
                         ops::MoeParams p;
                         p.x = call.in(*x, 3);
                         p.experts = data->experts.data();
                         p.num_experts = s.experts;
                         p.shared = data->shared;
                         p.top_k = s.top_k;
                         p.ids = call.in(data->ids, s.top_k);
                         p.weights = call.in(data->weights, s.top_k);
                         p.limit = limit;
                         p.quantize = quantize;
                         const Tolerance t = act == DType::kBF16 ? Tolerance{0x1p-7, 0.02, 1e-30, 4e-3}
                                                                 : Tolerance{1e-5, 2e-5, 1e-30, 2e-6};
                         p.out = call.out("out", act, s.d, t, 5);
                         call(&OpTable::moe, p);
                       }});
      }
    }
  return out;
}

}  // namespace

void add_products(std::vector<Suite>& out) {
  out.push_back(
      {"linear", "one rounding of out, 2e-7 sqrt(k) + 2e-6 of the row for the order of the fp32 sum", linear_cases});
  out.push_back({"moe",
                 "bf16: 2% of the row (inner values may round, then quantise, the other way), rms 0.4%; f32: 2e-5",
                 moe_cases});
}

}  // namespace deepinfer::conformance
