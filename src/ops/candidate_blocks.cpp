#include "ops/candidate_blocks.h"

#include "ops/check_util.h"

namespace deepinfer::ops {

Status check(const CandidateBlocksParams& p) {
  OPS_REQUIRE(p.rows >= 0, "candidate_blocks rows: {}", p.rows);
  OPS_REQUIRE(p.block_size > 0, "candidate_blocks block_size: {}, expected at least 1", p.block_size);
  OPS_REQUIRE(p.keep > 0, "candidate_blocks keep: {}, expected at least 1", p.keep);
  OPS_TRY(check_pointer("candidate_blocks visible", p.visible, p.rows));
  OPS_TRY(check_pointer("candidate_blocks blocks", p.blocks, p.rows));
  OPS_TRY(check_pointer("candidate_blocks num_blocks", p.num_blocks, p.rows));
  for (int64_t r = 0; r < p.rows; ++r) {
    OPS_REQUIRE(p.visible[r] >= 0 && p.visible[r] <= p.stride,
                "candidate_blocks visible[{}]: {}, expected 0 to {} (stride)", r, p.visible[r], p.stride);
    OPS_REQUIRE(p.visible[r] == 0 || p.scores, "candidate_blocks scores: null pointer");
  }
  return {};
}

}  // namespace deepinfer::ops
