#include "ops/store_records.h"

#include "ops/check_util.h"

namespace deepinfer::ops {

Status check(const StoreRecordsParams& p) {
  OPS_REQUIRE(p.heads > 0, "store_records heads: {}, expected at least 1", p.heads);
  OPS_TRY(check_format("store_records", p.format, p.dim));
  OPS_TRY(check_act("store_records x", p.x, -1, static_cast<int64_t>(p.heads) * p.dim));
  OPS_REQUIRE((p.cos == nullptr) == (p.sin == nullptr), "store_records: one of cos and sin is null");
  OPS_REQUIRE(!p.cos || (p.rope_dim > 0 && p.rope_dim % 2 == 0 && p.rope_dim <= p.dim),
              "store_records rope_dim: {}, expected even and at most {}", p.rope_dim, p.dim);
  OPS_TRY(check_pointer("store_records base", p.base, p.x.rows));
  OPS_TRY(check_pointer("store_records offsets", p.offsets, p.x.rows));
  for (int64_t r = 0; r < p.x.rows; ++r)
    OPS_REQUIRE(p.offsets[r] >= -1, "store_records offsets[{}]: {}, expected -1 or more", r, p.offsets[r]);
  return {};
}

}  // namespace deepinfer::ops
