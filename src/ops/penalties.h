// penalties: in-place edits of the logits before sampling, in cli.md's order: logit bias, then repetition, frequency
// and presence penalties.
//   bias: z[id] += bias.  repetition r over ids seen in prompt or output: z > 0 ? z / r : z * r.
//   frequency: z[id] -= f * count in output.  presence: z[id] -= p if in output.  (OpenAI and vLLM meaning.)
// Lists are sparse and per row; ids inside one list are unique and ascending.
#pragma once
#include "ops/op.h"

namespace deepinfer::ops {
struct PenaltyRow {
  const int32_t* bias_ids = nullptr;
  const float* bias = nullptr;
  int num_bias = 0;
  const int32_t* seen_ids = nullptr;       // prompt or output
  const int32_t* output_counts = nullptr;  // [num_seen] 0 = only in the prompt
  int num_seen = 0;
  float repetition = 1, frequency = 0, presence = 0;
};
struct PenaltiesParams {
  Mat logits;                        // in/out [rows, vocab] f32
  const PenaltyRow* rows = nullptr;  // [rows]
};
Status check(const PenaltiesParams& p);
}  // namespace deepinfer::ops
