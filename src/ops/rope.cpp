#include "ops/rope.h"

#include "ops/check_util.h"

namespace deepinfer::ops {

Status check(const RopeParams& p) {
  OPS_REQUIRE(p.heads > 0 && p.head_dim > 0, "rope: {} heads of {}", p.heads, p.head_dim);
  OPS_REQUIRE(p.rope_dim > 0 && p.rope_dim % 2 == 0 && p.rope_dim <= p.head_dim,
              "rope rope_dim: {}, expected even and at most head_dim {}", p.rope_dim, p.head_dim);
  OPS_TRY(check_act("rope x", p.x, -1, static_cast<int64_t>(p.heads) * p.head_dim));
  OPS_TRY(check_pointer("rope cos", p.cos, p.x.rows));
  return check_pointer("rope sin", p.sin, p.x.rows);
}

}  // namespace deepinfer::ops
