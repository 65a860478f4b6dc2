#include "ops/reference/reference.h"
#include "ops/reference/util.h"

namespace deepinfer::reference {

void embed(const ops::EmbedParams& p, ops::Context& ctx) {
  const int64_t d = p.table.cols;
  ctx.pool->parallel_for(p.streams.rows, 1, [&](int64_t begin, int64_t end, int) {
    std::vector<float> row(static_cast<size_t>(d));
    for (int64_t r = begin; r < end; ++r) {
      weight_row(p.table, p.ids[r], row.data());
      for (int s = 0; s < p.num_streams; ++s)
        for (int64_t i = 0; i < d; ++i) put(p.streams, r, s * d + i, row[i]);
    }
  });
}

}  // namespace deepinfer::reference
