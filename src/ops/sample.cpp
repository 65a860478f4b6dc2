#include "ops/sample.h"

#include "ops/check_util.h"

namespace deepinfer::ops {

Status check(const SampleParams& p) {
  OPS_TRY(check_f32("sample logits", p.logits, -1, -1));
  OPS_TRY(check_pointer("sample rows", p.rows, p.logits.rows));
  OPS_TRY(check_pointer("sample tokens", p.tokens, p.logits.rows));
  for (int64_t r = 0; r < p.logits.rows; ++r) {
    OPS_REQUIRE(p.rows[r].temperature >= 0, "sample temperature of row {}: {}, expected at least 0", r,
                p.rows[r].temperature);
    OPS_REQUIRE(p.rows[r].top_p >= 0 && p.rows[r].min_p >= 0 && p.rows[r].top_k >= 0,
                "sample row {}: top_p {}, min_p {}, top_k {}: expected none below 0", r, p.rows[r].top_p,
                p.rows[r].min_p, p.rows[r].top_k);
  }
  return {};
}

}  // namespace deepinfer::ops
