#include <algorithm>
#include <cmath>

#include "ops/reference/reference.h"
#include "ops/reference/util.h"

namespace deepinfer::reference {
namespace {

void product(const ops::Weight& w, const std::vector<float>& x, std::vector<float>& row, std::vector<float>& y) {
  row.resize(static_cast<size_t>(w.cols));
  y.resize(static_cast<size_t>(w.rows));
  for (int64_t o = 0; o < w.rows; ++o) {
    weight_row(w, o, row.data());
    double sum = 0;
    for (int64_t i = 0; i < w.cols; ++i) sum += static_cast<double>(x[i]) * row[i];
    y[o] = static_cast<float>(sum);
  }
}

}  // namespace

void moe(const ops::MoeParams& p, ops::Context& ctx) {
  const DType t = p.out.dtype;
  ctx.pool->parallel_for(p.x.rows, 1, [&](int64_t begin, int64_t end, int) {
    std::vector<float> x(static_cast<size_t>(p.x.cols)), a, b, y, row;
    std::vector<double> total;
    auto expert = [&](const ops::ExpertWeights& w, float weight) {
      product(w.w1, x, row, a);
      product(w.w3, x, row, b);
      for (size_t i = 0; i < a.size(); ++i) {
        float g = act(t, a[i]), u = act(t, b[i]);
        if (p.limit > 0) {
          g = std::min(g, p.limit);
          u = std::clamp(u, -p.limit, p.limit);
        }
        a[i] = act(t, static_cast<float>(g / (1.0 + std::exp(-static_cast<double>(g))) * u * weight));
      }
      if (p.quantize) quant8_qdq(a.data(), static_cast<int64_t>(a.size()));
      product(w.w2, a, row, y);
      for (size_t i = 0; i < total.size(); ++i) total[i] += y[i];
    };
    for (int64_t r = begin; r < end; ++r) {
      load_row(p.x, r, 0, p.x.cols, x.data());
      if (p.quantize) quant8_qdq(x.data(), p.x.cols);
      total.assign(static_cast<size_t>(p.out.cols), 0.0);
      std::vector<std::pair<int32_t, float>> chosen;
      for (int i = 0; i < p.top_k; ++i) chosen.emplace_back(p.ids[r * p.top_k + i], p.weights[r * p.top_k + i]);
      std::sort(chosen.begin(), chosen.end());
      for (auto [id, weight] : chosen) expert(p.experts[id], weight);
      if (!p.shared.w1.empty()) expert(p.shared, 1.0f);
      for (int64_t i = 0; i < p.out.cols; ++i) put(p.out, r, i, static_cast<float>(total[i]));
    }
  });
}

}  // namespace deepinfer::reference
