// index_topk: the k best finite columns of every row as ascending entry indices, -1 behind them (model.md 4.6). Exact
// ties: lower index first. With `blocks` the columns are compact (see index_scores) and are mapped back to entries.
#pragma once
#include "ops/op.h"

namespace deepinfer::ops {
struct IndexTopkParams {
  const float* scores = nullptr;  // [rows, stride]
  int64_t stride = 0, rows = 0;
  const int32_t* num_columns = nullptr;  // [rows] (compact: num_blocks * block_size)
  int k = 0;
  const int32_t* blocks = nullptr;  // [rows, blocks_stride] or null
  int64_t blocks_stride = 0;
  int block_size = 0;
  int32_t* selected = nullptr;      // out [rows, k]
  int32_t* num_selected = nullptr;  // out [rows]
};
Status check(const IndexTopkParams& p);
}  // namespace deepinfer::ops
