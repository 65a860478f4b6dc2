#include <cmath>

#include "ops/reference/reference.h"
#include "ops/reference/util.h"

namespace deepinfer::reference {

void store_records(const ops::StoreRecordsParams& p, ops::Context&) {
  const int64_t bytes = record_bytes(p.format, p.dim);
  const int half = p.rope_dim / 2;
  std::vector<float> v(static_cast<size_t>(p.dim));
  for (int64_t r = 0; r < p.x.rows; ++r) {
    if (p.offsets[r] < 0) continue;
    for (int h = 0; h < p.heads; ++h) {
      load_row(p.x, r, static_cast<int64_t>(h) * p.dim, p.dim, v.data());
      if (p.norm_weight) {
        double square = 0;
        for (float a : v) square += static_cast<double>(a) * a;
        const double inv = 1.0 / std::sqrt(square / p.dim + p.eps);
        for (int i = 0; i < p.dim; ++i)
          v[i] = act(p.x.dtype, static_cast<float>(v[i] * inv * bf16_to_float(p.norm_weight[i])));
      }
      if (p.cos) {
        for (int i = 0; i < half; ++i) {
          float& x0 = v[p.dim - p.rope_dim + 2 * i];
          float& x1 = v[p.dim - p.rope_dim + 2 * i + 1];
          const float c = p.cos[r * half + i], s = p.sin[r * half + i];
          const float y0 = x0 * c - x1 * s, y1 = x0 * s + x1 * c;
          x0 = act(p.x.dtype, y0);
          x1 = act(p.x.dtype, y1);
        }
      }
      encode_record(p.format, v.data(), p.dim, p.base + p.offsets[r] + h * bytes);
    }
  }
}

}  // namespace deepinfer::reference
