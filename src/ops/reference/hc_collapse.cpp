#include <cmath>

#include "ops/reference/reference.h"
#include "ops/reference/util.h"

namespace deepinfer::reference {

void hc_collapse(const ops::HcCollapseParams& p, ops::Context& ctx) {
  const int64_t m = p.num_streams, d = p.out.cols;
  ctx.pool->parallel_for(p.streams.rows, 1, [&](int64_t begin, int64_t end, int) {
    std::vector<float> u(static_cast<size_t>(d));
    for (int64_t r = begin; r < end; ++r) {
      double square = 0;
      for (int64_t i = 0; i < d; ++i) {
        double sum = 0;
        for (int64_t s = 0; s < m; ++s) sum += static_cast<double>(p.pre[r * m + s]) * get(p.streams, r, s * d + i);
        u[i] = act(p.out.dtype, static_cast<float>(sum));
        square += static_cast<double>(u[i]) * u[i];
      }
      const double inv = 1.0 / std::sqrt(square / static_cast<double>(d) + p.eps);
      for (int64_t i = 0; i < d; ++i)
        put(p.out, r, i, p.norm_weight ? static_cast<float>(u[i] * inv * bf16_to_float(p.norm_weight[i])) : u[i]);
    }
  });
}

}  // namespace deepinfer::reference
