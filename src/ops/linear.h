// linear: up to kMaxParts products that share one input, out_i = x' W_i^T with fp32 accumulation (model.md 4.0,
// "FP8/FP4 linear", "BF16 linear").
//   x' = x, or quant8-dequant8(x) per 32 channels where the part says quantize (FP8/FP4 weights in quantized mode)
//   groups G > 1: x [rows, G*K], W [G*N, K]; output group g uses input group g (wo_a, model.md 4.4)
//   out is act (rounded once) or f32; accumulate adds to an f32 out (Markov bias on the draft logits)
// Parts share one dispatch, so a decode step pays one barrier for all projections of the same input.
#pragma once
#include "ops/op.h"

namespace deepinfer::ops {
struct LinearParams {
  static constexpr int kMaxParts = 6;
  struct Part {
    Weight weight;  // [G*N, K]
    Mat out;        // [rows, G*N] act or f32
    int groups = 1;
    bool quantize = false;
    bool accumulate = false;
  };
  Mat x;  // [rows, G*K] act
  int num_parts = 0;
  Part parts[kMaxParts];
};
Status check(const LinearParams& p);
}  // namespace deepinfer::ops
