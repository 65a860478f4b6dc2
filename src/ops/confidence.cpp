#include "ops/confidence.h"

#include "ops/check_util.h"

namespace deepinfer::ops {

Status check(const ConfidenceParams& p) {
  OPS_TRY(check_act("confidence h", p.h, -1, -1));
  OPS_TRY(check_act("confidence e", p.e, p.h.rows, -1));
  OPS_TRY(check_pointer("confidence weight", p.weight, p.h.rows));
  OPS_TRY(check_pointer("confidence out", p.out, p.h.rows));
  OPS_REQUIRE(p.temperature > 0, "confidence temperature: {}, expected above 0", p.temperature);
  return {};
}

}  // namespace deepinfer::ops
