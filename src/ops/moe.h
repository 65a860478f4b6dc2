// moe: routed experts plus the shared expert (model.md 4.7).
//   a = act(w1 x'), b = act(w3 x'), g = min(a, limit), u = clamp(b, -limit, limit), h = act(silu(g) * u * weight_e),
//   y_e = w2 h' x', h' = quant8-dequant8 per 32 channels when `quantize`, else unchanged; shared expert: the same
//   without weight_e out = act(sum over chosen experts in ascending id of y_e, then + y_shared), fp32 sum. limit <= 0:
//   no clamps.
#pragma once
#include "ops/op.h"

namespace deepinfer::ops {
struct ExpertWeights {
  Weight w1, w3, w2;  // [I, D], [I, D], [D, I]
};
struct MoeParams {
  Mat x;                                   // [rows, D] act
  const ExpertWeights* experts = nullptr;  // [num_experts]
  int num_experts = 0;
  ExpertWeights shared;  // empty w1: no shared expert
  int top_k = 0;
  const int32_t* ids = nullptr;    // [rows, top_k]
  const float* weights = nullptr;  // [rows, top_k]
  float limit = 0;
  bool quantize = false;
  Mat out;  // [rows, D] act
};
Status check(const MoeParams& p);
}  // namespace deepinfer::ops
