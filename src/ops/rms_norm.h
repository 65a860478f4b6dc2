// rms_norm: out = act(x * rsqrt(mean(x^2) + eps) * w), fp32 inside (model.md 4.0). x and out may be the same memory.
#pragma once
#include "ops/op.h"

namespace deepinfer::ops {
struct RmsNormParams {
  Mat x;                             // [rows, d] act
  const uint16_t* weight = nullptr;  // [d] bf16
  float eps = 0;
  Mat out;  // [rows, d] act
};
Status check(const RmsNormParams& p);
}  // namespace deepinfer::ops
