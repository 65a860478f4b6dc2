#include "ops/reference/reference.h"
#include "ops/reference/util.h"

namespace deepinfer::reference {

void stream_mean(const ops::StreamMeanParams& p, ops::Context&) {
  const int64_t m = p.num_streams, d = p.out.cols;
  for (int64_t r = 0; r < p.streams.rows; ++r)
    for (int64_t i = 0; i < d; ++i) {
      double sum = 0;
      for (int64_t s = 0; s < m; ++s) sum += get(p.streams, r, s * d + i);
      put(p.out, r, i, static_cast<float>(sum / static_cast<double>(m)));
    }
}

}  // namespace deepinfer::reference
