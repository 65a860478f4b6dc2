#include "ops/reference/reference.h"
#include "ops/reference/util.h"

namespace deepinfer::reference {

void hc_expand(const ops::HcExpandParams& p, ops::Context& ctx) {
  const int64_t m = p.num_streams, d = p.y.cols;
  ctx.pool->parallel_for(p.streams.rows, 1, [&](int64_t begin, int64_t end, int) {
    std::vector<double> old(static_cast<size_t>(m));
    for (int64_t r = begin; r < end; ++r)
      for (int64_t i = 0; i < d; ++i) {
        for (int64_t s = 0; s < m; ++s) old[s] = get(p.streams, r, s * d + i);
        for (int64_t j = 0; j < m; ++j) {
          double sum = static_cast<double>(p.post[r * m + j]) * get(p.y, r, i);
          for (int64_t s = 0; s < m; ++s) sum += p.comb[(r * m + s) * m + j] * old[s];
          put(p.streams, r, j * d + i, static_cast<float>(sum));
        }
      }
  });
}

}  // namespace deepinfer::reference
