#include "ops/reference/reference.h"
#include "ops/reference/util.h"

namespace deepinfer::reference {

void engram_gather(const ops::EngramGatherParams& p, ops::Context&) {
  for (int64_t r = 0; r < p.out.rows; ++r)
    for (int c = 0; c < p.columns; ++c) {
      const int64_t row = p.row_ids[r * p.columns + c];
      for (int i = 0; i < p.dim; ++i)
        put(p.out, r, static_cast<int64_t>(c) * p.dim + i,
            e4m3_to_float(p.table[row * p.dim + i]) * ue8m0_to_float(p.scale[row * (p.dim / 32) + i / 32]));
    }
}

}  // namespace deepinfer::reference
