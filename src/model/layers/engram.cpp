// Engram: n-gram lookup added to the streams through a gate (model.md 4.9).
#include "model/stepper.h"

namespace deepinfer {

void Stepper::Impl::engram(const EngramWeights& w, ops::Mat streams) {
  const OpTable& op = model.ops();
  const int64_t rows = streams.rows;
  const int columns = static_cast<int>(w.primes.size()), dim = static_cast<int>(c.engram_head_dim);
  int64_t* row_ids = b.engram_rows.at<int64_t>(rows * columns);
  run("engram_hash", op.engram_hash,
      {.lookback = plan.lookback.data(),
       .rows = rows,
       .max_ngram = static_cast<int>(c.engram_max_ngram_size),
       .heads = static_cast<int>(c.engram_n_heads),
       .multipliers = w.multipliers.data(),
       .primes = w.primes.data(),
       .offsets = w.offsets.data(),
       .out = row_ids});
  const ops::Mat values = b.engram_values.mat(act, rows, static_cast<int64_t>(columns) * dim);
  run("engram_gather", op.engram_gather,
      {.table = w.table,
       .scale = w.table_scale,
       .table_rows = w.rows,
       .dim = dim,
       .row_ids = row_ids,
       .columns = columns,
       .out = values});
  const ops::Mat kv = b.engram_kv.mat(act, rows, w.wkv.rows);
  run("linear engram", op.linear, {.x = values, .num_parts = 1, .parts = {part(w.wkv, kv, true)}});
  run("engram_gate", op.engram_gate,
      {.streams = streams,
       .kv = kv,
       .num_streams = static_cast<int>(c.hc_mult),
       .q_weight = w.q_weight,
       .k_weight = w.k_weight,
       .eps = static_cast<float>(c.rms_norm_eps)});
}

}  // namespace deepinfer
