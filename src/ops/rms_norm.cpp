#include "ops/rms_norm.h"

#include "ops/check_util.h"

namespace deepinfer::ops {

Status check(const RmsNormParams& p) {
  OPS_TRY(check_act("rms_norm x", p.x, -1, -1));
  OPS_TRY(check_act("rms_norm out", p.out, p.x.rows, p.x.cols));
  OPS_TRY(check_same_type("rms_norm x", p.x, "out", p.out));
  return check_pointer("rms_norm weight", p.weight, p.x.rows);
}

}  // namespace deepinfer::ops
