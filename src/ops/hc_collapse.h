// hc_collapse: fold the streams into a sublayer's input, u = act(sum_s pre[s] X[s]) (fp32 sum), then, if a weight is
// given, out = act(u * rsqrt(mean u^2 + eps) * w) (model.md 4.2 step 7 and the norm that follows).
#pragma once
#include "ops/op.h"

namespace deepinfer::ops {
struct HcCollapseParams {
  Mat streams;  // [rows, m * D] act
  int num_streams = 0;
  const float* pre = nullptr;             // [rows, m]
  const uint16_t* norm_weight = nullptr;  // [D] bf16, null: no norm
  float eps = 0;
  Mat out;  // [rows, D] act
};
Status check(const HcCollapseParams& p);
}  // namespace deepinfer::ops
