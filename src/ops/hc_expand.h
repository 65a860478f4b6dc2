// hc_expand: put a sublayer's output back into the streams (model.md 4.2 step 8), fp32 sums, then act(.):
//   X'[j] = act(post[j]*y + sum_i comb[i,j]*X[i])
#pragma once
#include "ops/op.h"

namespace deepinfer::ops {
struct HcExpandParams {
  Mat streams;  // in/out [rows, m * D] act
  int num_streams = 0;
  Mat y;                        // [rows, D] act
  const float* post = nullptr;  // [rows, m]
  const float* comb = nullptr;  // [rows, m, m] (from, to)
};
Status check(const HcExpandParams& p);
}  // namespace deepinfer::ops
