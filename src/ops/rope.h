// rope: rotate the last rope_dim channels of every head in place; pairs (2i, 2i+1) (model.md 4.3), fp32, then act(.):
//   x0' = x0*cos - x1*sin, x1' = x0*sin + x1*cos;  inverse negates sin (attention output).
#pragma once
#include "ops/op.h"

namespace deepinfer::ops {
struct RopeParams {
  Mat x;  // in/out [rows, heads * head_dim] act
  int heads = 0, head_dim = 0, rope_dim = 0;
  const float* cos = nullptr;  // [rows, rope_dim/2], of the row's position
  const float* sin = nullptr;
  bool inverse = false;
};
Status check(const RopeParams& p);
}  // namespace deepinfer::ops
