// sparse_attention: one softmax over window records and selected compressed records, keys = values, shared by all
// heads, with a sink (model.md 4.4).
//   keys of row r: window positions window_begin[r] .. window_end[r]-1 ascending, then selected entries ascending
//   z = (q_h . k) * scale; M = max z (floor -1e30); p = exp(z - M); out_h = act( (sum act(p) k) / (sum p + exp(sink_h -
//   M)) )
// Records are dequantised to act (bf16 in quantized mode) on the fly; a row without keys gives zeros. Draft blocks use
// the same operator: all their rows share one range.
// REQUIRES dim % 32 == 0 for every format (config/ validates head_dim and index_head_dim): kernels work in whole groups
// of 32 values.
#pragma once
#include "ops/op.h"

namespace deepinfer::ops {
struct SparseAttentionParams {
  Mat q;  // [rows, heads * dim] act, rotated
  int heads = 0, dim = 0;
  const int32_t* sequence = nullptr;  // [rows]
  WindowCache window;
  const int32_t* window_begin = nullptr;  // [rows] first position
  const int32_t* window_end = nullptr;    // [rows] behind the last position
  PagedCache compressed;                  // tables null: window only
  const int32_t* selected = nullptr;      // [rows, selected_stride] ascending entries
  const int32_t* num_selected = nullptr;  // [rows]
  int64_t selected_stride = 0;
  const float* sink = nullptr;  // [heads]
  float scale = 1;
  Mat out;  // [rows, heads * dim] act (rotation not undone)
};
Status check(const SparseAttentionParams& p);
}  // namespace deepinfer::ops
