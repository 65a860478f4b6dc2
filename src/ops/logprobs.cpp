#include "ops/logprobs.h"

#include "ops/check_util.h"

namespace deepinfer::ops {

Status check(const LogprobsParams& p) {
  OPS_TRY(check_f32("logprobs logits", p.logits, -1, -1));
  OPS_REQUIRE(p.logits.cols > 0 || p.logits.rows == 0, "logprobs logits: no columns");
  OPS_REQUIRE(p.top_n >= 0, "logprobs top_n: {}", p.top_n);
  OPS_TRY(check_pointer("logprobs ids", p.ids, p.logits.rows));
  OPS_TRY(check_pointer("logprobs logprob", p.logprob, p.logits.rows));
  if (p.top_n > 0) {
    OPS_TRY(check_pointer("logprobs top_ids", p.top_ids, p.logits.rows));
    OPS_TRY(check_pointer("logprobs top_logprobs", p.top_logprobs, p.logits.rows));
  }
  for (int64_t r = 0; r < p.logits.rows; ++r)
    OPS_REQUIRE(p.ids[r] >= -1 && p.ids[r] < p.logits.cols, "logprobs ids[{}]: {}, expected -1 to {}", r, p.ids[r],
                p.logits.cols - 1);
  return {};
}

}  // namespace deepinfer::ops
