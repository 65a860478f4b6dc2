// confidence: draft confidence head (model.md 6.3), out = sigmoid(clamp(w . [h ; e] / temperature, -60, 60)), fp32.
#pragma once
#include "ops/op.h"

namespace deepinfer::ops {
struct ConfidenceParams {
  Mat h;                             // [rows, D] act
  Mat e;                             // [rows, rank] act or bf16: Markov embedding of the previous token
  const uint16_t* weight = nullptr;  // [D + rank] bf16
  float temperature = 1;
  float* out = nullptr;  // [rows]
};
Status check(const ConfidenceParams& p);
}  // namespace deepinfer::ops
