// logprobs: of the raw distribution. lse = log-sum-exp of the row (fixed order); logprob of the given id; the top_n
// best by (logit falling, id rising).
#pragma once
#include "ops/op.h"

namespace deepinfer::ops {
struct LogprobsParams {
  Mat logits;                    // [rows, vocab] f32
  const int32_t* ids = nullptr;  // [rows], -1 = none
  int top_n = 0;
  float* logprob = nullptr;       // out [rows] (0 where id is -1)
  int32_t* top_ids = nullptr;     // out [rows, top_n]
  float* top_logprobs = nullptr;  // out [rows, top_n]
};
Status check(const LogprobsParams& p);
}  // namespace deepinfer::ops
