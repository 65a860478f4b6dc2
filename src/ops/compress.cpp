#include "ops/compress.h"

#include "ops/check_util.h"

namespace deepinfer::ops {

Status check(const CompressParams& p) {
  OPS_TRY(check_f32("compress score", p.score, -1, -1));
  OPS_TRY(check_f32("compress latent", p.latent, p.score.rows, p.score.cols));
  OPS_REQUIRE(p.ratio == 1 || p.ratio == 2, "compress ratio: {}, expected 1 or 2 (model.md 4.5)", p.ratio);
  OPS_REQUIRE(p.carry_slots >= p.ratio, "compress carry_slots: {}, expected at least the ratio {}", p.carry_slots,
              p.ratio);
  OPS_REQUIRE(p.num_sequences >= 0 && p.num_entries >= 0, "compress: {} sequences, {} entries", p.num_sequences,
              p.num_entries);
  OPS_TRY(check_pointer("compress first_row", p.first_row, p.num_sequences));
  OPS_TRY(check_pointer("compress num_tokens", p.num_tokens, p.num_sequences));
  OPS_TRY(check_pointer("compress start_position", p.start_position, p.num_sequences));
  OPS_TRY(check_pointer("compress carry", p.carry, p.num_sequences));
  for (int s = 0; s < p.num_sequences; ++s) {
    OPS_REQUIRE(p.num_tokens[s] >= 0 && p.first_row[s] >= 0 && p.first_row[s] + p.num_tokens[s] <= p.score.rows,
                "compress sequence {}: rows {} to {} of {}", s, p.first_row[s], p.first_row[s] + p.num_tokens[s],
                p.score.rows);
    OPS_REQUIRE(p.start_position[s] >= 0, "compress start_position[{}]: {}", s, p.start_position[s]);
    OPS_TRY(check_pointer("compress carry of a sequence", p.carry[s], 1));
  }
  if (p.num_entries == 0) return {};
  OPS_TRY(check_act("compress out", p.out, p.num_entries, p.score.cols));
  OPS_TRY(check_pointer("compress entry_sequence", p.entry_sequence, p.num_entries));
  OPS_TRY(check_pointer("compress entry_index", p.entry_index, p.num_entries));
  OPS_TRY(check_pointer("compress norm_weight", p.norm_weight, p.num_entries));
  for (int e = 0; e < p.num_entries; ++e) {
    const int32_t s = p.entry_sequence[e];
    OPS_REQUIRE(s >= 0 && s < p.num_sequences, "compress entry_sequence[{}]: {} of {}", e, s, p.num_sequences);
    const int64_t last = static_cast<int64_t>(p.entry_index[e]) * p.ratio + p.ratio - 1;
    OPS_REQUIRE(last >= p.start_position[s] && last < p.start_position[s] + p.num_tokens[s],
                "compress entry {} ends at token {}, which is not in this step ({} to {})", e, last,
                p.start_position[s], p.start_position[s] + p.num_tokens[s]);
  }
  return {};
}

}  // namespace deepinfer::ops
