#include <algorithm>
#include <cmath>

#include "ops/reference/reference.h"
#include "ops/reference/util.h"

namespace deepinfer::reference {

void sparse_attention(const ops::SparseAttentionParams& p, ops::Context& ctx) {
  const DType t = p.out.dtype;
  ctx.pool->parallel_for(p.q.rows, 1, [&](int64_t begin, int64_t end, int) {
    std::vector<float> keys, z;
    for (int64_t r = begin; r < end; ++r) {
      const int window = std::max(0, p.window_end[r] - p.window_begin[r]);
      const int chosen = p.compressed.tables ? p.num_selected[r] : 0;
      const int n = window + chosen;
      keys.resize(static_cast<size_t>(n) * p.dim);
      z.resize(static_cast<size_t>(n));
      for (int i = 0; i < n; ++i) {
        float* k = &keys[static_cast<size_t>(i) * p.dim];
        if (i < window)
          decode_record(p.window.format, p.window.record(p.sequence[r], p.window_begin[r] + i), p.dim, k);
        else
          decode_record(p.compressed.format,
                        p.compressed.record(p.sequence[r], p.selected[r * p.selected_stride + i - window]), p.dim, k);
        for (int j = 0; j < p.dim; ++j) k[j] = act(t, k[j]);
      }
      for (int h = 0; h < p.heads; ++h) {
        float top = -1e30f;
        for (int i = 0; i < n; ++i) {
          double dot = 0;
          for (int j = 0; j < p.dim; ++j)
            dot += static_cast<double>(get(p.q, r, static_cast<int64_t>(h) * p.dim + j)) *
                   keys[static_cast<size_t>(i) * p.dim + j];
          z[i] = static_cast<float>(dot * p.scale);
          top = std::max(top, z[i]);
        }
        double sum = std::exp(static_cast<double>(p.sink[h]) - top);
        for (int i = 0; i < n; ++i) {
          const float e = static_cast<float>(std::exp(static_cast<double>(z[i]) - top));
          sum += e;
          z[i] = act(t, e);
        }
        for (int j = 0; j < p.dim; ++j) {
          double value = 0;
          for (int i = 0; i < n; ++i) value += static_cast<double>(z[i]) * keys[static_cast<size_t>(i) * p.dim + j];
          put(p.out, r, static_cast<int64_t>(h) * p.dim + j, n == 0 ? 0.0f : static_cast<float>(value / sum));
        }
      }
    }
  });
}

}  // namespace deepinfer::reference
