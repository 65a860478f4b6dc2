// sample: one token per row, independent of batch, order and drafts (design.md "Numbers"; cli.md "Order of sampling").
//   1. allowed ids: bit set in the mask (null: all) and logit > -infinity
//   2. temperature < 1e-5: lowest id with the largest logit
//   3. p = exact_exp((logit - max) * (1 / temperature)); min_p keeps p >= min_p (relative to the best); top_k keeps the
//   k best by (z falling,
//      id rising); top_p keeps, over what top_k kept, an id if the sum of strictly better ranked ids is <= top_p of the
//      whole: sums are of the integers floor(p * 2^31), so the kept set does not depend on the order of summation
//   4. token = argmax over kept ids of (logit - max) / temperature + Gumbel(seed, choice, position, id); ties: lowest
//   id. Noise is -log(-log(u)) with
//      u = ((v >> 9) + 0.5) * 2^-23 and v a 32-bit output of Philox4x32-10 (ops/philox.h): key = seed, counter = (id /
//      4, position, choice, 0), lane id % 4. A draft at the same position shares the noise. exp and log are those of
//      ops/math.h, so every backend draws the same token.
#pragma once
#include "ops/op.h"

namespace deepinfer::ops {
struct SampleRow {
  float temperature = 1, top_p = 1, min_p = 0;
  int32_t top_k = 0;  // 0 = off
  uint64_t seed = 0;
  uint32_t choice = 0;
  int32_t position = 0;            // absolute position of the token that is drawn
  const uint32_t* mask = nullptr;  // [ceil(vocab/32)] bit 1 = allowed, or null
};
struct SampleParams {
  Mat logits;                       // [rows, vocab] f32
  const SampleRow* rows = nullptr;  // [rows]
  int32_t* tokens = nullptr;        // out [rows]; -1 when nothing is allowed
};
Status check(const SampleParams& p);
}  // namespace deepinfer::ops
