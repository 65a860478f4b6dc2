#include "ops/hc_collapse.h"

#include "ops/check_util.h"

namespace deepinfer::ops {

Status check(const HcCollapseParams& p) {
  OPS_TRY(check_act("hc_collapse out", p.out, -1, -1));
  OPS_TRY(check_streams("hc_collapse streams", p.streams, p.num_streams, p.out.cols));
  OPS_REQUIRE(p.streams.rows == p.out.rows, "hc_collapse streams: {} rows, expected {}", p.streams.rows, p.out.rows);
  OPS_TRY(check_same_type("hc_collapse streams", p.streams, "out", p.out));
  return check_pointer("hc_collapse pre", p.pre, p.out.rows);
}

}  // namespace deepinfer::ops
