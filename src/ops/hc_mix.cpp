#include "ops/hc_mix.h"

#include "ops/check_util.h"

namespace deepinfer::ops {

Status check(const HcMixParams& p) {
  OPS_TRY(check_streams("hc_mix streams", p.streams, p.num_streams, -1));
  OPS_REQUIRE(p.streams.cols % p.num_streams == 0, "hc_mix streams: {} columns are not {} streams", p.streams.cols,
              p.num_streams);
  OPS_REQUIRE(p.sinkhorn_iters >= 1, "hc_mix sinkhorn_iters: {}, expected at least 1", p.sinkhorn_iters);
  const int64_t rows = p.streams.rows;
  OPS_TRY(check_pointer("hc_mix fn", p.fn, rows));
  OPS_TRY(check_pointer("hc_mix base", p.base, rows));
  OPS_TRY(check_pointer("hc_mix scale", p.scale, rows));
  OPS_TRY(check_pointer("hc_mix pre", p.pre, rows));
  OPS_TRY(check_pointer("hc_mix post", p.post, rows));
  return check_pointer("hc_mix comb", p.comb, rows);
}

}  // namespace deepinfer::ops
