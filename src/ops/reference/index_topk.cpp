#include <algorithm>
#include <limits>

#include "ops/reference/reference.h"
#include "ops/reference/util.h"

namespace deepinfer::reference {

void index_topk(const ops::IndexTopkParams& p, ops::Context& ctx) {
  ctx.pool->parallel_for(p.rows, 1, [&](int64_t begin, int64_t end, int) {
    std::vector<int32_t> order;
    for (int64_t r = begin; r < end; ++r) {
      const float* s = p.scores + r * p.stride;
      order.clear();
      for (int32_t c = 0; c < p.num_columns[r]; ++c)
        if (s[c] > -std::numeric_limits<float>::infinity()) order.push_back(c);
      std::stable_sort(order.begin(), order.end(), [&](int32_t a, int32_t b) { return s[a] > s[b]; });
      if (static_cast<int>(order.size()) > p.k) order.resize(static_cast<size_t>(p.k));
      std::sort(order.begin(), order.end());
      int32_t* out = p.selected + r * p.k;
      for (int i = 0; i < p.k; ++i) {
        if (i >= static_cast<int>(order.size())) {
          out[i] = -1;
        } else {
          const int32_t c = order[i];
          out[i] = p.blocks ? p.blocks[r * p.blocks_stride + c / p.block_size] * p.block_size + c % p.block_size : c;
        }
      }
      p.num_selected[r] = static_cast<int32_t>(order.size());
    }
  });
}

}  // namespace deepinfer::reference
