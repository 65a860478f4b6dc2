#include <cmath>
#include <limits>

#include "ops/reference/reference.h"
#include "ops/reference/util.h"

namespace deepinfer::reference {

void index_scores(const ops::IndexScoresParams& p, ops::Context& ctx) {
  const int64_t record = record_bytes(p.format, p.dim);
  ctx.pool->parallel_for(p.rows, 1, [&](int64_t begin, int64_t end, int) {
    std::vector<float> q(static_cast<size_t>(p.heads) * p.dim), k(static_cast<size_t>(p.dim));
    for (int64_t r = begin; r < end; ++r) {
      for (int h = 0; h < p.heads; ++h) decode_record(p.format, p.q + (r * p.heads + h) * record, p.dim, &q[h * p.dim]);
      const int64_t columns = p.blocks ? static_cast<int64_t>(p.num_blocks[r]) * p.block_size : p.visible[r];
      for (int64_t c = 0; c < columns; ++c) {
        const int64_t entry =
            p.blocks ? static_cast<int64_t>(p.blocks[r * p.blocks_stride + c / p.block_size]) * p.block_size +
                           c % p.block_size
                     : c;
        float& out = p.out[r * p.out_stride + c];
        if (entry >= p.visible[r]) {
          out = -std::numeric_limits<float>::infinity();
          continue;
        }
        decode_record(p.format, p.keys.record(p.sequence[r], entry), p.dim, k.data());
        float sum = 0;
        for (int h = 0; h < p.heads; ++h) {
          double dot = 0;
          for (int i = 0; i < p.dim; ++i) dot += static_cast<double>(q[h * p.dim + i]) * k[i];
          const float relu = dot > 0 ? static_cast<float>(dot) : 0.0f;
          sum = std::fma(relu, get(p.weights, r, h) * p.weight_scale, sum);
        }
        out = sum;
      }
    }
  });
}

}  // namespace deepinfer::reference
