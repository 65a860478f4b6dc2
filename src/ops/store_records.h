// store_records: norm -> rope -> quantise -> cache record, each stage optional (operators.md row 1; model.md 4.4-4.6).
//   a = norm_weight ? act(rmsnorm(x)) : x;  b = cos ? act(rope(a)) : a;  record = encode_record(format, b)
// One row holds `heads` vectors (index queries: heads > 1), each becomes one record; rotation uses the row's angles.
// Vector (r, h) is written to base + offsets[r] + h * record_bytes(format, dim); offset -1 skips the row. Records are
// bit-exact given a.
#pragma once
#include "ops/op.h"

namespace deepinfer::ops {
struct StoreRecordsParams {
  Mat x;  // [rows, heads * dim] act
  int heads = 1, dim = 0, rope_dim = 0;
  const uint16_t* norm_weight = nullptr;  // [dim] bf16 or null
  float eps = 0;
  const float* cos = nullptr;  // [rows, rope_dim/2] or null
  const float* sin = nullptr;
  CacheFormat format = CacheFormat::kF32;
  uint8_t* base = nullptr;
  const int64_t* offsets = nullptr;  // [rows] bytes from base, -1 = skip
};
Status check(const StoreRecordsParams& p);
}  // namespace deepinfer::ops
