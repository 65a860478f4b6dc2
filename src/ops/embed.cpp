#include "ops/embed.h"

#include "ops/check_util.h"

namespace deepinfer::ops {

Status check(const EmbedParams& p) {
  OPS_TRY(check_weight("embed table", p.table, -1, -1));
  OPS_REQUIRE(p.table.dtype == DType::kBF16, "embed table: type {}, expected BF16", dtype_name(p.table.dtype));
  OPS_TRY(check_streams("embed streams", p.streams, p.num_streams, p.table.cols));
  OPS_TRY(check_pointer("embed ids", p.ids, p.streams.rows));
  for (int64_t r = 0; r < p.streams.rows; ++r)
    OPS_REQUIRE(p.ids[r] >= 0 && p.ids[r] < p.table.rows, "embed ids[{}]: {}, expected 0 to {}", r, p.ids[r],
                p.table.rows - 1);
  return {};
}

}  // namespace deepinfer::ops
