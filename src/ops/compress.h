// compress: gated pooling of ratio-r source layers and upkeep of the carry state (model.md 4.5; operators.md rows 4,
// 5). Token t's (score, latent) pair of d floats each lies in the carry ring of its sequence at slot position %
// carry_slots, or in this step's rows. For every entry completed in this step (its last token is in this step): per
// channel w = softmax over its r tokens of score, out = act(rmsnorm(act(sum w*latent))). Then the last min(tokens,
// carry_slots) tokens of every sequence are written to its ring. REQUIRES carry_slots >= ratio.
// REQUIRES ratio 1 or 2 (all that model.md 2.4 allows); check() refuses others.
#pragma once
#include "ops/op.h"

namespace deepinfer::ops {
struct CompressParams {
  Mat score;   // [rows, d] f32
  Mat latent;  // [rows, d] f32
  int ratio = 2;
  int num_sequences = 0;
  const int32_t* first_row = nullptr;       // [num_sequences] row of the first token of the step
  const int32_t* num_tokens = nullptr;      // [num_sequences]
  const int32_t* start_position = nullptr;  // [num_sequences]
  float* const* carry = nullptr;            // [num_sequences] -> [carry_slots, 2, d]: score, latent
  int carry_slots = 0;
  int num_entries = 0;                      // completed in this step, sequence by sequence, ascending
  const int32_t* entry_sequence = nullptr;  // [num_entries]
  const int32_t* entry_index = nullptr;     // [num_entries] j: tokens j*ratio .. j*ratio+ratio-1
  const uint16_t* norm_weight = nullptr;    // [d] bf16
  float eps = 0;
  Mat out;  // [num_entries, d] act
};
Status check(const CompressParams& p);
}  // namespace deepinfer::ops
