#include <cmath>

#include "ops/reference/reference.h"
#include "ops/reference/util.h"

namespace deepinfer::reference {

void engram_gate(const ops::EngramGateParams& p, ops::Context& ctx) {
  const int64_t m = p.num_streams, d = p.streams.cols / m;
  ctx.pool->parallel_for(p.streams.rows, 1, [&](int64_t begin, int64_t end, int) {
    for (int64_t r = begin; r < end; ++r) {
      if (p.skip && p.skip[r]) continue;
      for (int64_t s = 0; s < m; ++s) {
        double dot = 0, xx = 0, kk = 0;
        for (int64_t i = 0; i < d; ++i) {
          const double x = get(p.streams, r, s * d + i), k = get(p.kv, r, s * d + i);
          dot += x * bf16_to_float(p.q_weight[s * d + i]) * bf16_to_float(p.k_weight[s * d + i]) * k;
          xx += x * x;
          kk += k * k;
        }
        const double inv_d = 1.0 / static_cast<double>(d);
        dot *= 1.0 / std::sqrt(xx * inv_d + p.eps) / std::sqrt(kk * inv_d + p.eps) * std::sqrt(inv_d);
        const double root = std::copysign(std::sqrt(std::max(std::fabs(dot), 1e-6)), dot);
        const float gate = static_cast<float>(1.0 / (1.0 + std::exp(-root)));
        for (int64_t i = 0; i < d; ++i)
          put(p.streams, r, s * d + i, get(p.streams, r, s * d + i) + gate * get(p.kv, r, m * d + i));
      }
    }
  });
}

}  // namespace deepinfer::reference
