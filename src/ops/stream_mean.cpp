#include "ops/stream_mean.h"

#include "ops/check_util.h"

namespace deepinfer::ops {

Status check(const StreamMeanParams& p) {
  OPS_TRY(check_act("stream_mean out", p.out, -1, -1));
  OPS_TRY(check_streams("stream_mean streams", p.streams, p.num_streams, p.out.cols));
  OPS_REQUIRE(p.streams.rows == p.out.rows, "stream_mean streams: {} rows, expected {}", p.streams.rows, p.out.rows);
  return check_same_type("stream_mean streams", p.streams, "out", p.out);
}

}  // namespace deepinfer::ops
