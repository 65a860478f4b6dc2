#include "ops/penalties.h"

#include "ops/check_util.h"

namespace deepinfer::ops {

namespace {
Status check_ids(const char* name, const int32_t* ids, int n, int64_t vocab) {
  OPS_REQUIRE(n >= 0, "penalties {}: {} entries", name, n);
  OPS_REQUIRE(n == 0 || ids, "penalties {}: null pointer", name);
  for (int i = 0; i < n; ++i)
    OPS_REQUIRE(ids[i] >= 0 && ids[i] < vocab && (i == 0 || ids[i] > ids[i - 1]),
                "penalties {}[{}]: {}, expected ascending ids below {}", name, i, ids[i], vocab);
  return {};
}
}  // namespace

Status check(const PenaltiesParams& p) {
  OPS_TRY(check_f32("penalties logits", p.logits, -1, -1));
  OPS_TRY(check_pointer("penalties rows", p.rows, p.logits.rows));
  for (int64_t r = 0; r < p.logits.rows; ++r) {
    const PenaltyRow& row = p.rows[r];
    OPS_TRY(check_ids("bias_ids", row.bias_ids, row.num_bias, p.logits.cols));
    OPS_TRY(check_ids("seen_ids", row.seen_ids, row.num_seen, p.logits.cols));
    OPS_REQUIRE(row.num_bias == 0 || row.bias, "penalties bias: null pointer");
    OPS_REQUIRE(row.num_seen == 0 || row.output_counts, "penalties output_counts: null pointer");
    OPS_REQUIRE(row.repetition > 0, "penalties repetition of row {}: {}, expected above 0", r, row.repetition);
  }
  return {};
}

}  // namespace deepinfer::ops
