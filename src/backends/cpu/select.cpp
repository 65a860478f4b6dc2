// index_topk and candidate_blocks (src/ops/index_topk.h, src/ops/candidate_blocks.h), and the portable top-k.
#include "backends/cpu/select.h"

#include <algorithm>
#include <limits>
#include <vector>

#include "backends/cpu/rows_ops.h"

namespace deepinfer::cpu {

int portable_topk(const float* scores, int n, int k, int32_t* out) {
  constexpr float kNone = -std::numeric_limits<float>::infinity();
  thread_local std::vector<float> values;
  values.clear();
  for (int i = 0; i < n; ++i)
    if (scores[i] > kNone) values.push_back(scores[i]);
  int count = 0;
  if (static_cast<int>(values.size()) <= k) {
    for (int i = 0; i < n; ++i)
      if (scores[i] > kNone) out[count++] = i;
    return count;
  }
  std::nth_element(values.begin(), values.begin() + (k - 1), values.end(), std::greater<>());
  const float threshold = values[static_cast<size_t>(k - 1)];
  int greater = 0;
  for (int i = 0; i < n; ++i) greater += scores[i] > threshold;
  int equal_left = k - greater;
  for (int i = 0; i < n; ++i)
    if (scores[i] > threshold || (scores[i] == threshold && equal_left-- > 0)) out[count++] = i;
  return count;
}

template <Isa isa>
void index_topk(const ops::IndexTopkParams& p, ops::Context& ctx) {
  const RowKernels& k = row_kernels(isa);
  ctx.pool->parallel_for(p.rows, 4, [&](int64_t begin, int64_t end, int) {
    for (int64_t r = begin; r < end; ++r) {
      int32_t* out = p.selected + r * p.k;
      const int n = k.topk(p.scores + r * p.stride, p.num_columns[r], p.k, out);
      if (p.blocks) {
        const int32_t* blocks = p.blocks + r * p.blocks_stride;
        for (int i = 0; i < n; ++i) out[i] = blocks[out[i] / p.block_size] * p.block_size + out[i] % p.block_size;
      }
      std::fill(out + n, out + p.k, -1);
      p.num_selected[r] = n;
    }
  });
}

template <Isa isa>
void candidate_blocks(const ops::CandidateBlocksParams& p, ops::Context& ctx) {
  const RowKernels& k = row_kernels(isa);
  int32_t most = 0;
  for (int64_t r = 0; r < p.rows; ++r) most = std::max(most, p.visible[r]);
  const int64_t stride = (most + p.block_size - 1) / p.block_size + 16;
  float* best = ctx.scratch->alloc<float>(stride * ctx.pool->num_threads());
  ctx.pool->parallel_for(p.rows, 4, [&](int64_t begin, int64_t end, int thread) {
    float* mine = best + thread * stride;
    for (int64_t r = begin; r < end; ++r) {
      const float* s = p.scores + r * p.stride;
      const int n = p.visible[r], blocks = (n + p.block_size - 1) / p.block_size;
      // Finite values only: a block of -infinity entries still ranks, last.
      for (int b = 0; b < blocks; ++b) {
        float top = std::numeric_limits<float>::lowest();
        for (int i = b * p.block_size; i < std::min(n, (b + 1) * p.block_size); ++i) top = std::max(top, s[i]);
        mine[b] = top;
      }
      if (blocks > 0) mine[blocks - 1] = std::numeric_limits<float>::infinity();
      int32_t* out = p.blocks + r * p.keep;
      const int count = k.topk(mine, blocks, p.keep, out);
      std::fill(out + count, out + p.keep, -1);
      p.num_blocks[r] = count;
    }
  });
}

#define DEEPINFER_INSTANTIATE(isa)                                           \
  template void index_topk<isa>(const ops::IndexTopkParams&, ops::Context&); \
  template void candidate_blocks<isa>(const ops::CandidateBlocksParams&, ops::Context&);
DEEPINFER_INSTANTIATE(Isa::kGeneric)
DEEPINFER_INSTANTIATE(Isa::kAvx2)
DEEPINFER_INSTANTIATE(Isa::kAvx512)
DEEPINFER_INSTANTIATE(Isa::kAvx512Bf16)
DEEPINFER_INSTANTIATE(Isa::kAmx)
#undef DEEPINFER_INSTANTIATE

}  // namespace deepinfer::cpu
