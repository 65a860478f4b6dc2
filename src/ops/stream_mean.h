// stream_mean: draft features, out = act(mean over the m streams) with an fp32 mean (model.md 6.1). `out` may be a
// column slice (stride).
#pragma once
#include "ops/op.h"

namespace deepinfer::ops {
struct StreamMeanParams {
  Mat streams;  // [rows, m * D] act
  int num_streams = 0;
  Mat out;  // [rows, D] act
};
Status check(const StreamMeanParams& p);
}  // namespace deepinfer::ops
