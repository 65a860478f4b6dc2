#include "ops/index_topk.h"

#include "ops/check_util.h"

namespace deepinfer::ops {

Status check(const IndexTopkParams& p) {
  OPS_REQUIRE(p.rows >= 0, "index_topk rows: {}", p.rows);
  OPS_REQUIRE(p.k > 0, "index_topk k: {}, expected at least 1", p.k);
  OPS_TRY(check_pointer("index_topk num_columns", p.num_columns, p.rows));
  OPS_TRY(check_pointer("index_topk selected", p.selected, p.rows));
  OPS_TRY(check_pointer("index_topk num_selected", p.num_selected, p.rows));
  OPS_REQUIRE(!p.blocks || p.block_size > 0, "index_topk block_size: {}, expected at least 1", p.block_size);
  for (int64_t r = 0; r < p.rows; ++r) {
    OPS_REQUIRE(p.num_columns[r] >= 0 && p.num_columns[r] <= p.stride,
                "index_topk num_columns[{}]: {}, expected 0 to {} (stride)", r, p.num_columns[r], p.stride);
    OPS_REQUIRE(!p.blocks || p.num_columns[r] <= p.blocks_stride * p.block_size,
                "index_topk num_columns[{}]: {}, but {} blocks of {}", r, p.num_columns[r], p.blocks_stride,
                p.block_size);
    OPS_REQUIRE(p.num_columns[r] == 0 || p.scores, "index_topk scores: null pointer");
  }
  return {};
}

}  // namespace deepinfer::ops
