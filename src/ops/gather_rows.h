// gather_rows: out[i] = x[index[i]], zeros for an index outside [0, rows) (operators.md row 14). Exact.
#pragma once
#include "ops/op.h"

namespace deepinfer::ops {
struct GatherRowsParams {
  Mat x;                           // [rows, cols] any dtype
  const int32_t* index = nullptr;  // [out.rows]
  Mat out;                         // [n, cols] same dtype
};
Status check(const GatherRowsParams& p);
}  // namespace deepinfer::ops
