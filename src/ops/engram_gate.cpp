#include "ops/engram_gate.h"

#include "ops/check_util.h"

namespace deepinfer::ops {

Status check(const EngramGateParams& p) {
  OPS_TRY(check_streams("engram_gate streams", p.streams, p.num_streams, -1));
  OPS_REQUIRE(p.streams.cols % p.num_streams == 0, "engram_gate streams: {} columns are not {} streams", p.streams.cols,
              p.num_streams);
  OPS_TRY(check_act("engram_gate kv", p.kv, p.streams.rows, p.streams.cols / p.num_streams * (p.num_streams + 1)));
  OPS_TRY(check_same_type("engram_gate streams", p.streams, "kv", p.kv));
  OPS_TRY(check_pointer("engram_gate q_weight", p.q_weight, p.streams.rows));
  return check_pointer("engram_gate k_weight", p.k_weight, p.streams.rows);
}

}  // namespace deepinfer::ops
