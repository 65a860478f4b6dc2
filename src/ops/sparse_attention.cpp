#include "ops/sparse_attention.h"

#include "ops/check_util.h"

namespace deepinfer::ops {

Status check(const SparseAttentionParams& p) {
  OPS_REQUIRE(p.heads > 0 && p.dim > 0, "sparse_attention: {} heads of {}", p.heads, p.dim);
  const int64_t width = static_cast<int64_t>(p.heads) * p.dim;
  OPS_TRY(check_act("sparse_attention q", p.q, -1, width));
  OPS_TRY(check_act("sparse_attention out", p.out, p.q.rows, width));
  OPS_TRY(check_same_type("sparse_attention q", p.q, "out", p.out));
  const int64_t rows = p.q.rows;
  OPS_TRY(check_pointer("sparse_attention sequence", p.sequence, rows));
  OPS_TRY(check_pointer("sparse_attention window_begin", p.window_begin, rows));
  OPS_TRY(check_pointer("sparse_attention window_end", p.window_end, rows));
  OPS_TRY(check_pointer("sparse_attention sink", p.sink, rows));
  OPS_TRY(check_format("sparse_attention window", p.window.format, p.window.dim));
  OPS_REQUIRE(p.window.dim == p.dim && p.window.record_bytes == record_bytes(p.window.format, p.dim),
              "sparse_attention window: records of {} values, {} bytes; expected {} and {}", p.window.dim,
              p.window.record_bytes, p.dim, record_bytes(p.window.format, p.dim));
  if (p.compressed.tables) {
    OPS_TRY(check_paged("sparse_attention compressed", p.compressed, p.dim));
    OPS_TRY(check_pointer("sparse_attention selected", p.selected, rows));
    OPS_TRY(check_pointer("sparse_attention num_selected", p.num_selected, rows));
  }
  for (int64_t r = 0; r < rows; ++r) {
    const int32_t s = p.sequence[r], begin = p.window_begin[r], end = p.window_end[r];
    OPS_REQUIRE(s >= 0 && begin >= 0, "sparse_attention row {}: sequence {}, window from {}", r, s, begin);
    if (end > begin) {
      OPS_REQUIRE(p.window.fresh_start && p.window.fresh_first_row, "sparse_attention window: null pointer");
      const int32_t start = p.window.fresh_start[s];
      OPS_REQUIRE(begin >= start || (p.window.rings && p.window.ring_slots > 0),
                  "sparse_attention rings: null pointer");
      OPS_REQUIRE(begin >= start || start - begin <= p.window.ring_slots,
                  "sparse_attention row {}: the window starts {} positions back, the ring has {} slots", r,
                  start - begin, p.window.ring_slots);
    }
    if (!p.compressed.tables) continue;
    OPS_REQUIRE(p.num_selected[r] >= 0 && p.num_selected[r] <= p.selected_stride,
                "sparse_attention num_selected[{}]: {}, expected 0 to {} (stride)", r, p.num_selected[r],
                p.selected_stride);
    for (int32_t i = 0; i < p.num_selected[r]; ++i) {
      const int32_t* e = p.selected + r * p.selected_stride + i;
      OPS_REQUIRE(*e >= 0 && (i == 0 || *e > e[-1]), "sparse_attention selected of row {}: {} at {}, not ascending", r,
                  *e, i);
    }
  }
  return {};
}

}  // namespace deepinfer::ops
