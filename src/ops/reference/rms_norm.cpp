#include <cmath>

#include "ops/reference/reference.h"
#include "ops/reference/util.h"

namespace deepinfer::reference {

void rms_norm(const ops::RmsNormParams& p, ops::Context&) {
  const int64_t d = p.x.cols;
  for (int64_t r = 0; r < p.x.rows; ++r) {
    double square = 0;
    for (int64_t i = 0; i < d; ++i) square += static_cast<double>(get(p.x, r, i)) * get(p.x, r, i);
    const double inv = 1.0 / std::sqrt(square / static_cast<double>(d) + p.eps);
    for (int64_t i = 0; i < d; ++i)
      put(p.out, r, i, static_cast<float>(get(p.x, r, i) * inv * bf16_to_float(p.weight[i])));
  }
}

}  // namespace deepinfer::reference
