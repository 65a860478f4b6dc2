#include <algorithm>
#include <cmath>

#include "ops/reference/reference.h"
#include "ops/reference/util.h"

namespace deepinfer::reference {

void confidence(const ops::ConfidenceParams& p, ops::Context&) {
  for (int64_t r = 0; r < p.h.rows; ++r) {
    double dot = 0;
    for (int64_t i = 0; i < p.h.cols; ++i) dot += static_cast<double>(get(p.h, r, i)) * bf16_to_float(p.weight[i]);
    for (int64_t i = 0; i < p.e.cols; ++i)
      dot += static_cast<double>(get(p.e, r, i)) * bf16_to_float(p.weight[p.h.cols + i]);
    p.out[r] = static_cast<float>(1.0 / (1.0 + std::exp(-std::clamp(dot / p.temperature, -60.0, 60.0))));
  }
}

}  // namespace deepinfer::reference
