#include <algorithm>
#include <cmath>

#include "ops/reference/reference.h"
#include "ops/reference/util.h"

namespace deepinfer::reference {

void logprobs(const ops::LogprobsParams& p, ops::Context& ctx) {
  const int32_t vocab = static_cast<int32_t>(p.logits.cols);
  ctx.pool->parallel_for(p.logits.rows, 1, [&](int64_t begin, int64_t end, int) {
    std::vector<int32_t> order(static_cast<size_t>(vocab));
    for (int64_t r = begin; r < end; ++r) {
      const float* z = p.logits.row<float>(r);
      const float top = *std::max_element(z, z + vocab);
      double sum = 0;
      for (int32_t i = 0; i < vocab; ++i) sum += std::exp(static_cast<double>(z[i]) - top);
      const double lse = top + std::log(sum);
      p.logprob[r] = p.ids[r] < 0 ? 0.0f : static_cast<float>(z[p.ids[r]] - lse);
      if (p.top_n == 0) continue;
      for (int32_t i = 0; i < vocab; ++i) order[i] = i;
      const int n = std::min(p.top_n, vocab);
      std::partial_sort(order.begin(), order.begin() + n, order.end(),
                        [&](int32_t a, int32_t b) { return z[a] != z[b] ? z[a] > z[b] : a < b; });
      for (int i = 0; i < p.top_n; ++i) {
        p.top_ids[r * p.top_n + i] = i < n ? order[i] : -1;
        p.top_logprobs[r * p.top_n + i] = i < n ? static_cast<float>(z[order[i]] - lse) : 0.0f;
      }
    }
  });
}

}  // namespace deepinfer::reference
