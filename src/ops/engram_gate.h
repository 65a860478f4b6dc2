// engram_gate: add the looked-up value to every stream through a learned gate (model.md 4.9d). fp32 inside:
//   dot_s = sum_c X[s,c]*qw[s,c]*kw[s,c]*key[s,c] * rsqrt(mean X[s]^2 + eps) * rsqrt(mean key[s]^2 + eps) * D^-0.5
//   gate_s = sigmoid(copysign(sqrt(max(|dot_s|, 1e-6)), dot_s));  X[s] <- act(X[s] + gate_s * value)
// Rows whose skip flag is set (image span tokens) stay as they are.
#pragma once
#include "ops/op.h"

namespace deepinfer::ops {
struct EngramGateParams {
  Mat streams;  // in/out [rows, m * D] act
  Mat kv;       // [rows, (m + 1) * D] act: m keys (stream-major), then the value
  int num_streams = 0;
  const uint16_t* q_weight = nullptr;  // [m, D] bf16
  const uint16_t* k_weight = nullptr;  // [m, D] bf16
  float eps = 0;
  const uint8_t* skip = nullptr;  // [rows] or null
};
Status check(const EngramGateParams& p);
}  // namespace deepinfer::ops
