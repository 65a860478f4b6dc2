// index_scores: lightning-indexer scores (model.md 4.6), fp32:
//   score[r, j] = sum_h relu(q[r,h] . k[j]) * (w[r,h] * weight_scale), heads in ascending order
// q records and k records share one format (kFp4Ue8m0 in quantized mode: the dot of a 32-group is an exact integer
// times a power of two; kF32 in fp32 mode). Without `blocks`: columns j = 0..visible[r]-1. With `blocks`: compact
// columns, column c is entry blocks[r, c / block_size] * block_size + c % block_size; entries >= visible[r] score
// -infinity.
// REQUIRES dim % 32 == 0 for every format (config/ validates head_dim and index_head_dim): kernels work in whole groups
// of 32 values.
#pragma once
#include "ops/op.h"

namespace deepinfer::ops {
struct IndexScoresParams {
  const uint8_t* q = nullptr;  // [rows, heads] records
  CacheFormat format = CacheFormat::kF32;
  int heads = 0, dim = 0;
  Mat weights;             // [rows, heads] act
  float weight_scale = 1;  // dim^-0.5 * heads^-0.5
  PagedCache keys;
  int64_t rows = 0;
  const int32_t* sequence = nullptr;    // [rows]
  const int32_t* visible = nullptr;     // [rows] entries
  const int32_t* blocks = nullptr;      // [rows, blocks_stride] ascending, or null
  const int32_t* num_blocks = nullptr;  // [rows]
  int64_t blocks_stride = 0;
  int block_size = 0;
  float* out = nullptr;    // [rows, out_stride]
  int64_t out_stride = 0;  // >= columns of every row
};
Status check(const IndexScoresParams& p);
}  // namespace deepinfer::ops
