#include "ops/reference/reference.h"
#include "ops/reference/util.h"

namespace deepinfer::reference {

void penalties(const ops::PenaltiesParams& p, ops::Context&) {
  for (int64_t r = 0; r < p.logits.rows; ++r) {
    float* z = p.logits.row<float>(r);
    const ops::PenaltyRow& row = p.rows[r];
    for (int i = 0; i < row.num_bias; ++i) z[row.bias_ids[i]] += row.bias[i];
    for (int i = 0; i < row.num_seen; ++i) {
      float& v = z[row.seen_ids[i]];
      if (row.repetition != 1) v = v > 0 ? v / row.repetition : v * row.repetition;
      if (row.output_counts[i] > 0) {
        v -= row.frequency * static_cast<float>(row.output_counts[i]);
        v -= row.presence;
      }
    }
  }
}

}  // namespace deepinfer::reference
