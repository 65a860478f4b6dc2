#include "ops/reference/reference.h"
#include "ops/reference/util.h"

namespace deepinfer::reference {

void rope(const ops::RopeParams& p, ops::Context&) {
  const int half = p.rope_dim / 2;
  for (int64_t r = 0; r < p.x.rows; ++r)
    for (int h = 0; h < p.heads; ++h) {
      const int64_t at = static_cast<int64_t>(h + 1) * p.head_dim - p.rope_dim;
      for (int i = 0; i < half; ++i) {
        const float c = p.cos[r * half + i], s = p.inverse ? -p.sin[r * half + i] : p.sin[r * half + i];
        const float x0 = get(p.x, r, at + 2 * i), x1 = get(p.x, r, at + 2 * i + 1);
        put(p.x, r, at + 2 * i, x0 * c - x1 * s);
        put(p.x, r, at + 2 * i + 1, x0 * s + x1 * c);
      }
    }
}

}  // namespace deepinfer::reference
