#include "ops/hc_expand.h"

#include "ops/check_util.h"

namespace deepinfer::ops {

Status check(const HcExpandParams& p) {
  OPS_TRY(check_act("hc_expand y", p.y, -1, -1));
  OPS_TRY(check_streams("hc_expand streams", p.streams, p.num_streams, p.y.cols));
  OPS_REQUIRE(p.streams.rows == p.y.rows, "hc_expand streams: {} rows, expected {}", p.streams.rows, p.y.rows);
  OPS_TRY(check_same_type("hc_expand streams", p.streams, "y", p.y));
  OPS_TRY(check_pointer("hc_expand post", p.post, p.y.rows));
  return check_pointer("hc_expand comb", p.comb, p.y.rows);
}

}  // namespace deepinfer::ops
