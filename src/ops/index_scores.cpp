#include "ops/index_scores.h"

#include "ops/check_util.h"

namespace deepinfer::ops {

Status check(const IndexScoresParams& p) {
  OPS_REQUIRE(p.rows >= 0, "index_scores rows: {}", p.rows);
  OPS_REQUIRE(p.heads > 0, "index_scores heads: {}, expected at least 1", p.heads);
  OPS_TRY(check_format("index_scores q", p.format, p.dim));
  OPS_REQUIRE(p.format == p.keys.format, "index_scores: queries are {}, keys {}: expected one format",
              cache_format_name(p.format), cache_format_name(p.keys.format));
  OPS_TRY(check_paged("index_scores keys", p.keys, p.dim));
  OPS_TRY(check_act("index_scores weights", p.weights, p.rows, p.heads));
  OPS_TRY(check_pointer("index_scores q", p.q, p.rows));
  OPS_TRY(check_pointer("index_scores sequence", p.sequence, p.rows));
  OPS_TRY(check_pointer("index_scores visible", p.visible, p.rows));
  OPS_TRY(check_pointer("index_scores out", p.out, p.rows));
  if (p.blocks) {
    OPS_REQUIRE(p.block_size > 0, "index_scores block_size: {}, expected at least 1", p.block_size);
    OPS_TRY(check_pointer("index_scores num_blocks", p.num_blocks, p.rows));
  }
  for (int64_t r = 0; r < p.rows; ++r) {
    const int64_t columns = p.blocks ? static_cast<int64_t>(p.num_blocks[r]) * p.block_size : p.visible[r];
    OPS_REQUIRE(columns >= 0 && columns <= p.out_stride, "index_scores row {}: {} columns, expected 0 to {} (stride)",
                r, columns, p.out_stride);
    OPS_REQUIRE(!p.blocks || p.num_blocks[r] <= p.blocks_stride, "index_scores num_blocks[{}]: {}, stride {}", r,
                p.num_blocks[r], p.blocks_stride);
    OPS_REQUIRE(p.visible[r] == 0 || (p.keys.base && p.keys.tables), "index_scores keys: null pointer");
    for (int32_t b = 0; p.blocks && b < p.num_blocks[r]; ++b)
      OPS_REQUIRE(p.blocks[r * p.blocks_stride + b] >= 0, "index_scores blocks of row {}: {} at {}", r,
                  p.blocks[r * p.blocks_stride + b], b);
  }
  return {};
}

}  // namespace deepinfer::ops
