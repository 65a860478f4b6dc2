#include "ops/router.h"

#include "ops/check_util.h"

namespace deepinfer::ops {

Status check(const RouterParams& p) {
  OPS_TRY(check_f32("router logits", p.logits, -1, -1));
  OPS_REQUIRE(p.top_k >= 1 && (p.top_k <= p.logits.cols || p.logits.rows == 0), "router top_k: {} of {} experts",
              p.top_k, p.logits.cols);
  OPS_TRY(check_pointer("router bias", p.bias, p.logits.rows));
  OPS_TRY(check_pointer("router ids", p.ids, p.logits.rows));
  return check_pointer("router weights", p.weights, p.logits.rows);
}

}  // namespace deepinfer::ops
