// candidate_blocks: first level of the two-level search (model.md 4.6). Block score = maximum over its visible entries;
// the block of the newest visible entry always wins; keep the `keep` best blocks (ties: lower block first), ascending,
// -1 behind them.
#pragma once
#include "ops/op.h"

namespace deepinfer::ops {
struct CandidateBlocksParams {
  const float* scores = nullptr;  // [rows, stride] full scores
  int64_t stride = 0, rows = 0;
  const int32_t* visible = nullptr;  // [rows] entries
  int block_size = 0, keep = 0;
  int32_t* blocks = nullptr;      // out [rows, keep]
  int32_t* num_blocks = nullptr;  // out [rows]
};
Status check(const CandidateBlocksParams& p);
}  // namespace deepinfer::ops
