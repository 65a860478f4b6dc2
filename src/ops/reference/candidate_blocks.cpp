#include <algorithm>
#include <limits>

#include "ops/reference/reference.h"
#include "ops/reference/util.h"

namespace deepinfer::reference {

void candidate_blocks(const ops::CandidateBlocksParams& p, ops::Context& ctx) {
  ctx.pool->parallel_for(p.rows, 1, [&](int64_t begin, int64_t end, int) {
    std::vector<float> best;
    std::vector<int32_t> order;
    for (int64_t r = begin; r < end; ++r) {
      const int32_t n = p.visible[r], blocks = (n + p.block_size - 1) / p.block_size;
      best.assign(static_cast<size_t>(blocks), -std::numeric_limits<float>::infinity());
      for (int32_t c = 0; c < n; ++c)
        best[c / p.block_size] = std::max(best[c / p.block_size], p.scores[r * p.stride + c]);
      if (blocks > 0) best[blocks - 1] = std::numeric_limits<float>::infinity();
      order.resize(static_cast<size_t>(blocks));
      for (int32_t i = 0; i < blocks; ++i) order[i] = i;
      std::stable_sort(order.begin(), order.end(), [&](int32_t a, int32_t b) { return best[a] > best[b]; });
      if (blocks > p.keep) order.resize(static_cast<size_t>(p.keep));
      std::sort(order.begin(), order.end());
      for (int i = 0; i < p.keep; ++i) p.blocks[r * p.keep + i] = i < static_cast<int>(order.size()) ? order[i] : -1;
      p.num_blocks[r] = static_cast<int32_t>(order.size());
    }
  });
}

}  // namespace deepinfer::reference
