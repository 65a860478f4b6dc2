#include "ops/moe.h"

#include "ops/check_util.h"

namespace deepinfer::ops {

namespace {
Status check_expert(const ExpertWeights& w, int64_t dim) {
  OPS_TRY(check_weight("moe w1", w.w1, -1, dim));
  OPS_TRY(check_weight("moe w3", w.w3, w.w1.rows, dim));
  return check_weight("moe w2", w.w2, dim, w.w1.rows);
}
}  // namespace

Status check(const MoeParams& p) {
  OPS_TRY(check_act("moe x", p.x, -1, -1));
  OPS_TRY(check_act("moe out", p.out, p.x.rows, p.x.cols));
  OPS_TRY(check_same_type("moe x", p.x, "out", p.out));
  OPS_REQUIRE(p.num_experts >= 0 && p.top_k >= 0 && p.top_k <= p.num_experts, "moe top_k: {} of {} experts", p.top_k,
              p.num_experts);
  OPS_TRY(check_pointer("moe experts", p.experts, p.num_experts));
  if (p.top_k > 0) {
    OPS_TRY(check_pointer("moe ids", p.ids, p.x.rows));
    OPS_TRY(check_pointer("moe weights", p.weights, p.x.rows));
  }
  for (int e = 0; e < p.num_experts; ++e) OPS_TRY(check_expert(p.experts[e], p.x.cols));
  if (!p.shared.w1.empty()) OPS_TRY(check_expert(p.shared, p.x.cols));
  OPS_REQUIRE(!p.quantize || p.x.cols % 32 == 0, "moe x: {} columns, quantised ones need a multiple of 32", p.x.cols);
  for (int64_t r = 0; r < p.x.rows; ++r)
    for (int i = 0; i < p.top_k; ++i) {
      const int32_t id = p.ids[r * p.top_k + i];
      OPS_REQUIRE(id >= 0 && id < p.num_experts, "moe ids of row {}: {}, expected 0 to {}", r, id, p.num_experts - 1);
      for (int j = 0; j < i; ++j)
        OPS_REQUIRE(p.ids[r * p.top_k + j] != id, "moe ids of row {}: expert {} twice", r, id);
    }
  return {};
}

}  // namespace deepinfer::ops
