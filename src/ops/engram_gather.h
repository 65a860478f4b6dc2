// engram_gather: fetch table rows and dequantise, out[r, c*dim + i] = act(e4m3(table[row,i]) * 2^(scale[row,i/32]-127))
// (model.md 4.9d). Exact. The table (101 GB each in the release) stays in the mapped file; neighbouring rows may be
// fetched ahead.
#pragma once
#include "ops/op.h"

namespace deepinfer::ops {
struct EngramGatherParams {
  const uint8_t* table = nullptr;  // [table_rows, dim] e4m3
  const uint8_t* scale = nullptr;  // [table_rows, dim/32] UE8M0
  int64_t table_rows = 0;
  int dim = 0;
  const int64_t* row_ids = nullptr;  // [rows, columns]
  int columns = 0;
  Mat out;  // [rows, columns * dim] act
};
Status check(const EngramGatherParams& p);
}  // namespace deepinfer::ops
