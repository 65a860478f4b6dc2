// sparse_attention and index_scores of the cpu backend (src/ops/sparse_attention.h, src/ops/index_scores.h).
//
// Records are decoded into key rows (bf16 or f32 by the kernels' arithmetic), each at most once per call when several
// rows need it. The arithmetic of a row depends only on its own list of keys: scores are dot products with a fixed
// tree, weights and sums run over the list in order, values pair neighbours of the list. So decoding, prefill in any
// chunks and batches give the same bits.
#pragma once
#include "backends/cpu/cpu.h"

namespace deepinfer::cpu {

struct AttentionKernels {
  int64_t value_bytes;  // per value of a key row and of the weights: 2 (bf16) or 4 (f32)
  // Cache record -> key row of dim values. REQUIRES dim % 32 == 0.
  void (*decode)(CacheFormat format, const uint8_t* record, int dim, uint8_t* key);
  // z[h * z_stride + i] = (q_h . key_i) * scale for `heads` heads (q_h at q + h * dim values) and n keys.
  void (*scores)(const uint8_t* q, int heads, int dim, const uint8_t* const* keys, int n, float scale, float* z,
                 int64_t z_stride);
  // One head: z[0..n) -> weights p[0..n] (exp(z - max), rounded to the type; p[n] = 0) and 1 / (sum of unrounded +
  // exp(sink - max)); 0 keys: 0.
  float (*weights)(const float* z, int n, float sink, uint8_t* p);
  // Dims [begin, end) of `heads` heads: out_h = act(inverse[h] * sum_i p_h[i] key_i). p_h at p + h * p_stride bytes,
  // out_h at out + h * dim values. REQUIRES begin, end multiples of 32.
  void (*values)(const uint8_t* p, int64_t p_stride, const float* inverse, int heads, int dim,
                 const uint8_t* const* keys, int n, int begin, int end, uint8_t* out);
};

// One tile of index scores: for every head dots of one query with up to 16 keys, summed as src/ops/index_scores.h says.
struct IndexKernels {
  int keys;  // keys per block
  // Room for one decoded block of keys, and for one decoded query (all heads).
  int64_t (*block_bytes)(int dim);
  int64_t (*query_bytes)(int heads, int dim);
  void (*decode_keys)(CacheFormat format, const uint8_t* const* records, int n, int dim, uint8_t* block);
  void (*decode_query)(CacheFormat format, const uint8_t* records, int heads, int dim, uint8_t* query);
  // out[0..n) = sum over heads of relu(dot) * weights[h]
  void (*score)(const uint8_t* query, const uint8_t* block, int heads, int dim, const float* weights, int n,
                float* out);
};

const AttentionKernels& attention_kernels(Isa isa, DType act);
const IndexKernels& index_kernels(Isa isa, CacheFormat format, int dim);

extern const AttentionKernels kAttentionF32Generic, kAttentionF32Avx2, kAttentionF32Avx512, kAttentionAvx512Bf16;
// In quantized mode without bf16 arithmetic: fp32 arithmetic, but values and weights rounded to bf16 as the operator
// says.
extern const AttentionKernels kAttentionRoundedGeneric, kAttentionRoundedAvx2, kAttentionRoundedAvx512;
extern const IndexKernels kIndexF32Generic, kIndexF32Avx2, kIndexF32Avx512, kIndexAvx512Vnni;

template <Isa isa>
void sparse_attention(const ops::SparseAttentionParams& p, ops::Context& ctx);
template <Isa isa>
void index_scores(const ops::IndexScoresParams& p, ops::Context& ctx);

}  // namespace deepinfer::cpu
