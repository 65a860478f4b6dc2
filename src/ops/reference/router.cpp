#include <algorithm>
#include <cmath>

#include "ops/reference/reference.h"
#include "ops/reference/util.h"

namespace deepinfer::reference {

void router(const ops::RouterParams& p, ops::Context&) {
  const int experts = static_cast<int>(p.logits.cols);
  std::vector<float> score(static_cast<size_t>(experts)), rank(static_cast<size_t>(experts));
  std::vector<int32_t> order(static_cast<size_t>(experts));
  for (int64_t r = 0; r < p.logits.rows; ++r) {
    const float* bias = p.image && p.image[r] && p.bias_vl ? p.bias_vl : p.bias;
    for (int e = 0; e < experts; ++e) {
      const double v = get(p.logits, r, e);
      score[e] = static_cast<float>(std::sqrt(v > 20 ? v : std::log1p(std::exp(v))));
      rank[e] = score[e] + bias[e];
      order[e] = e;
    }
    std::stable_sort(order.begin(), order.end(), [&](int32_t a, int32_t b) { return rank[a] > rank[b]; });
    double sum = 1e-20;
    for (int i = 0; i < p.top_k; ++i) sum += score[order[i]];
    for (int i = 0; i < p.top_k; ++i) {
      p.ids[r * p.top_k + i] = order[i];
      p.weights[r * p.top_k + i] =
          static_cast<float>((p.top_k == 1 ? score[order[i]] : score[order[i]] / sum) * p.scale);
    }
  }
}

}  // namespace deepinfer::reference
