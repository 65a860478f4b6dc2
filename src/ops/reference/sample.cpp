#include <algorithm>
#include <cmath>
#include <limits>

#include "ops/math.h"
#include "ops/philox.h"
#include "ops/reference/reference.h"
#include "ops/reference/util.h"

namespace deepinfer::reference {
namespace {

float gumbel(const ops::SampleRow& row, int32_t id) {
  const auto v = ops::philox4x32({static_cast<uint32_t>(id) / 4, static_cast<uint32_t>(row.position), row.choice, 0},
                                 {static_cast<uint32_t>(row.seed), static_cast<uint32_t>(row.seed >> 32)});
  // 23 bits and a half step: u lies strictly inside (0, 1) and every value is an exact fp32 number (with 24 bits the
  // half step would round the last value to 1, whose noise is not finite).
  const float u = (static_cast<float>(v[id % 4] >> 9) + 0.5f) * 0x1p-23f;
  return -ops::exact_log(-ops::exact_log(u));
}

}  // namespace

void sample(const ops::SampleParams& p, ops::Context& ctx) {
  const int32_t vocab = static_cast<int32_t>(p.logits.cols);
  ctx.pool->parallel_for(p.logits.rows, 1, [&](int64_t begin, int64_t end, int) {
    std::vector<int32_t> kept;
    std::vector<float> prob;
    for (int64_t r = begin; r < end; ++r) {
      const float* z = p.logits.row<float>(r);
      const ops::SampleRow& row = p.rows[r];
      kept.clear();
      for (int32_t id = 0; id < vocab; ++id)
        if ((!row.mask || (row.mask[id / 32] >> (id % 32) & 1)) && z[id] > -std::numeric_limits<float>::infinity())
          kept.push_back(id);
      p.tokens[r] = -1;
      if (kept.empty()) continue;
      int32_t best = kept[0];
      for (int32_t id : kept)
        if (z[id] > z[best]) best = id;
      if (row.temperature < 1e-5f) {
        p.tokens[r] = best;
        continue;
      }
      const float inverse = 1.0f / row.temperature, top = z[best];
      auto weight = [&](int32_t id) { return ops::exact_exp((z[id] - top) * inverse); };
      if (row.min_p > 0)
        kept.erase(std::remove_if(kept.begin(), kept.end(), [&](int32_t id) { return weight(id) < row.min_p; }),
                   kept.end());
      if (row.top_k > 0 || row.top_p < 1) {
        std::stable_sort(kept.begin(), kept.end(), [&](int32_t a, int32_t b) { return z[a] > z[b]; });
        if (row.top_k > 0 && static_cast<int32_t>(kept.size()) > row.top_k) kept.resize(static_cast<size_t>(row.top_k));
        if (row.top_p < 1) {
          uint64_t total = 0, before = 0;
          for (int32_t id : kept) total += static_cast<uint64_t>(weight(id) * 0x1p31f);
          const double limit = static_cast<double>(row.top_p) * static_cast<double>(total);
          size_t n = 0;
          for (; n < kept.size() && (n == 0 || static_cast<double>(before) <= limit); ++n)
            before += static_cast<uint64_t>(weight(kept[n]) * 0x1p31f);
          kept.resize(n);
        }
        std::sort(kept.begin(), kept.end());
      }
      float score = -std::numeric_limits<float>::infinity();
      for (int32_t id : kept) {
        const float s = (z[id] - top) * inverse + gumbel(row, id);
        if (s > score) {
          score = s;
          p.tokens[r] = id;
        }
      }
    }
  });
}

}  // namespace deepinfer::reference
