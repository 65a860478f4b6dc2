#include <algorithm>
#include <cmath>

#include "ops/reference/reference.h"
#include "ops/reference/util.h"

namespace deepinfer::reference {

void compress(const ops::CompressParams& p, ops::Context&) {
  const int64_t d = p.score.cols;
  // Pair (score, latent) of a position: this step's rows, or the carry ring.
  auto pair_of = [&](int32_t seq, int64_t position) -> std::pair<const float*, const float*> {
    const int64_t row = p.first_row[seq] + position - p.start_position[seq];
    if (position >= p.start_position[seq]) return {p.score.row<float>(row), p.latent.row<float>(row)};
    const float* slot = p.carry[seq] + (position % p.carry_slots) * 2 * d;
    return {slot, slot + d};
  };
  std::vector<float> pooled(static_cast<size_t>(d));
  for (int e = 0; e < p.num_entries; ++e) {
    const int64_t first = static_cast<int64_t>(p.entry_index[e]) * p.ratio;
    double square = 0;
    for (int64_t i = 0; i < d; ++i) {
      double top = -INFINITY, sum = 0, value = 0;
      for (int t = 0; t < p.ratio; ++t)
        top = std::max(top, static_cast<double>(pair_of(p.entry_sequence[e], first + t).first[i]));
      for (int t = 0; t < p.ratio; ++t) {
        const auto [score, latent] = pair_of(p.entry_sequence[e], first + t);
        const double w = std::exp(score[i] - top);
        sum += w;
        value += w * latent[i];
      }
      pooled[i] = act(p.out.dtype, static_cast<float>(value / sum));
      square += static_cast<double>(pooled[i]) * pooled[i];
    }
    const double inv = 1.0 / std::sqrt(square / static_cast<double>(d) + p.eps);
    for (int64_t i = 0; i < d; ++i)
      put(p.out, e, i, static_cast<float>(pooled[i] * inv * bf16_to_float(p.norm_weight[i])));
  }
  for (int s = 0; s < p.num_sequences; ++s)
    for (int i = std::max(0, p.num_tokens[s] - p.carry_slots); i < p.num_tokens[s]; ++i) {
      float* slot = p.carry[s] + static_cast<int64_t>((p.start_position[s] + i) % p.carry_slots) * 2 * d;
      const int64_t row = p.first_row[s] + i;
      std::copy_n(p.score.row<float>(row), d, slot);
      std::copy_n(p.latent.row<float>(row), d, slot + d);
    }
}

}  // namespace deepinfer::reference
