// hc_mix: hyper-connection coefficients of one sublayer from the streams (model.md 4.2, steps 1-6). All fp32:
//   t = (fn . flatten(X)) * rsqrt(mean(X^2) + norm_eps);  t splits into pre m, post m, comb m*m
//   pre = sigmoid(t*scale[0]+base)+hc_eps; post = 2 sigmoid(t*scale[1]+base)
//   comb = Sinkhorn(t*scale[2]+base): row softmax + hc_eps, columns / (sum + hc_eps), then (iters-1) x (rows, columns)
#pragma once
#include "ops/op.h"

namespace deepinfer::ops {
struct HcMixParams {
  Mat streams;                   // [rows, m * D] act
  int num_streams = 0;           // m
  const float* fn = nullptr;     // [m*(m+2), m*D]
  const float* base = nullptr;   // [m*(m+2)]
  const float* scale = nullptr;  // [3]
  float norm_eps = 0, hc_eps = 0;
  int sinkhorn_iters = 0;  // column passes
  float* pre = nullptr;    // out [rows, m]
  float* post = nullptr;   // out [rows, m]
  float* comb = nullptr;   // out [rows, m, m] (from, to)
};
Status check(const HcMixParams& p);
}  // namespace deepinfer::ops
