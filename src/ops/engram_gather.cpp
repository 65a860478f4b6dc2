#include "ops/engram_gather.h"

#include "ops/check_util.h"

namespace deepinfer::ops {

Status check(const EngramGatherParams& p) {
  OPS_REQUIRE(p.dim > 0 && p.dim % 32 == 0, "engram_gather dim: {}, expected a multiple of 32", p.dim);
  OPS_REQUIRE(p.columns > 0, "engram_gather columns: {}", p.columns);
  OPS_TRY(check_act("engram_gather out", p.out, -1, static_cast<int64_t>(p.columns) * p.dim));
  OPS_TRY(check_pointer("engram_gather table", p.table, p.out.rows));
  OPS_TRY(check_pointer("engram_gather scale", p.scale, p.out.rows));
  OPS_TRY(check_pointer("engram_gather row_ids", p.row_ids, p.out.rows));
  for (int64_t i = 0; i < p.out.rows * p.columns; ++i)
    OPS_REQUIRE(p.row_ids[i] >= 0 && p.row_ids[i] < p.table_rows, "engram_gather row_ids[{}]: {}, expected 0 to {}", i,
                p.row_ids[i], p.table_rows - 1);
  return {};
}

}  // namespace deepinfer::ops
