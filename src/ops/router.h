// router: noaux_tc expert choice (model.md 4.7). s = sqrt(softplus(logit)) (softplus(v) = v above 20); the top_k best
// of s + bias (ties: lower id), by falling rank; weight_e = s_e / (sum of chosen s + 1e-20) * scale (no division when
// top_k == 1).
#pragma once
#include "ops/op.h"

namespace deepinfer::ops {
struct RouterParams {
  Mat logits;                      // [rows, experts] f32
  const float* bias = nullptr;     // [experts], ranks only
  const float* bias_vl = nullptr;  // [experts] for image rows, or null
  const uint8_t* image = nullptr;  // [rows] or null
  int top_k = 0;
  float scale = 1;
  int32_t* ids = nullptr;    // out [rows, top_k]
  float* weights = nullptr;  // out [rows, top_k]
};
Status check(const RouterParams& p);
}  // namespace deepinfer::ops
