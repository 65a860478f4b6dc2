#include "ops/linear.h"

#include "ops/check_util.h"

namespace deepinfer::ops {

Status check(const LinearParams& p) {
  OPS_TRY(check_act("linear x", p.x, -1, -1));
  OPS_REQUIRE(p.num_parts >= 1 && p.num_parts <= LinearParams::kMaxParts, "linear: {} parts, expected 1 to {}",
              p.num_parts, LinearParams::kMaxParts);
  for (int i = 0; i < p.num_parts; ++i) {
    const LinearParams::Part& part = p.parts[i];
    OPS_TRY(check_weight("linear weight", part.weight, -1, -1));
    OPS_REQUIRE(part.groups >= 1 && part.weight.rows % part.groups == 0, "linear part {}: {} rows are not {} groups", i,
                part.weight.rows, part.groups);
    OPS_REQUIRE(part.weight.cols * part.groups == p.x.cols, "linear part {}: {} groups of {} columns, x has {}", i,
                part.groups, part.weight.cols, p.x.cols);
    OPS_TRY(check_act("linear out", part.out, p.x.rows, part.weight.rows));
    OPS_REQUIRE(part.out.dtype == p.x.dtype || part.out.dtype == DType::kF32,
                "linear part {}: out is {}, expected {} or F32", i, dtype_name(part.out.dtype), dtype_name(p.x.dtype));
    OPS_REQUIRE(!part.accumulate || part.out.dtype == DType::kF32, "linear part {}: only an F32 out accumulates", i);
    OPS_REQUIRE(!part.quantize || part.weight.cols % 32 == 0,
                "linear part {}: {} columns, a quantised input needs a multiple of 32", i, part.weight.cols);
  }
  return {};
}

}  // namespace deepinfer::ops
