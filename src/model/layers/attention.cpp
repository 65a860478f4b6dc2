// Attention half (model.md 4.4, 4.5): low-rank queries, one shared latent as key and value, window ring plus selected
// compressed entries, grouped output projection.
#include <cmath>
#include <cstring>

#include "model/stepper.h"

namespace deepinfer {

ops::PagedCache Stepper::Impl::paged(int stream, CacheFormat format, int dim) const {
  const kv::Stream& s = model.block_layout().streams[stream];
  return {.format = format,
          .dim = dim,
          .record_bytes = s.record_bytes,
          .base = blocks.base() + s.offset,
          .block_stride = blocks.block_bytes(),
          .entries_per_block = s.entries_per_block(),
          .tables = plan.tables.data(),
          .table_stride = plan.table_stride};
}

ops::Mat Stepper::Impl::attention(int layer, ops::Mat x) {
  const OpTable& op = model.ops();
  const AttentionWeights& w = model.weights().layers[layer].attn;
  const StateLayout& state = model.state_layout();
  const int ratio = c.ratio(layer);
  const int heads = static_cast<int>(c.num_attention_heads), dim = static_cast<int>(c.head_dim);
  const int rope_dim = static_cast<int>(c.qk_rope_head_dim);
  const float eps = static_cast<float>(c.rms_norm_eps);
  const int64_t rows = x.rows;
  const RopeAngles& angles = ratio > 0 ? plan.compressed : plan.plain;
  const bool kv_source = c.is_kv_source(layer), index_source = c.is_index_source(layer);

  // Everything projected from x in one dispatch, then everything projected from the low-rank query.
  const ops::Mat q_low = b.q_low.mat(act, rows, c.q_lora_rank);
  const ops::Mat kv = b.kv.mat(act, rows, dim);
  ops::Mat latent, score, index_weights, index_query;
  ops::LinearParams from_x{.x = x, .num_parts = 2, .parts = {part(w.wq_a, q_low, true), part(w.wkv, kv, true)}};
  if (kv_source) {
    latent = b.latent.mat(ratio > 1 ? DType::kF32 : act, rows, dim);
    from_x.parts[from_x.num_parts++] = part(w.compressor_wkv, latent, false);
    if (ratio > 1) {
      score = b.score.mat(DType::kF32, rows, dim);
      from_x.parts[from_x.num_parts++] = part(w.compressor_wgate, score, false);
    }
  }
  if (index_source) {
    index_weights = b.index_weights.mat(act, rows, c.index_n_heads);
    from_x.parts[from_x.num_parts++] = part(w.indexer_weights_proj, index_weights, false);
  }
  run("linear attn in", op.linear, from_x);
  run("rms_norm", op.rms_norm, {.x = q_low, .weight = w.q_norm, .eps = eps, .out = q_low});

  const ops::Mat q = b.q.mat(act, rows, static_cast<int64_t>(heads) * dim);
  ops::LinearParams from_q{.x = q_low, .num_parts = 1, .parts = {part(w.wq_b, q, true)}};
  if (index_source) {
    index_query = b.index_query.mat(act, rows, c.index_n_heads * c.index_head_dim);
    from_q.parts[from_q.num_parts++] = part(w.indexer_wq_b, index_query, true);
  }
  run("linear q", op.linear, from_q);
  run("rope", op.rope,
      {.x = q,
       .heads = heads,
       .head_dim = dim,
       .rope_dim = rope_dim,
       .cos = angles.cos.data(),
       .sin = angles.sin.data()});

  // This step's window records; the ring gets them after attention, so early rows still see what late rows will
  // overwrite.
  const int64_t record = state.window_record_bytes;
  uint8_t* fresh = b.fresh.at<uint8_t>(rows * record);
  int64_t* offsets = b.offsets.at<int64_t>(rows);
  for (int64_t r = 0; r < rows; ++r) offsets[r] = r * record;
  run("store_records", op.store_records,
      {.x = kv,
       .dim = dim,
       .rope_dim = rope_dim,
       .norm_weight = w.kv_norm,
       .eps = eps,
       .cos = angles.cos.data(),
       .sin = angles.sin.data(),
       .format = model.window_format(),
       .base = fresh,
       .offsets = offsets});

  if (kv_source) store_compressed(layer, latent, score);
  if (index_source) select_entries(layer, index_query, index_weights);

  ring_pointers.resize(inputs.size());
  for (size_t s = 0; s < inputs.size(); ++s)
    ring_pointers[s] = inputs[s].sequence->state.data() + state.ring_offset[layer];
  const ops::Mat o = b.attention.mat(act, rows, static_cast<int64_t>(heads) * dim);
  ops::SparseAttentionParams attend{.q = q, .heads = heads, .dim = dim, .sequence = plan.sequence.data()};
  attend.window = {.format = model.window_format(),
                   .dim = dim,
                   .record_bytes = record,
                   .ring_slots = state.ring_slots,
                   .rings = ring_pointers.data(),
                   .fresh = fresh,
                   .fresh_first_row = plan.first_row.data(),
                   .fresh_start = plan.start.data()};
  attend.window_begin = plan.window_begin.data();
  attend.window_end = plan.window_end.data();
  if (ratio > 0) {
    attend.compressed = paged(model.compressed_stream(c.kv_source_of(layer)), model.compressed_format(), dim);
    attend.selected = selected;
    attend.num_selected = num_selected;
    attend.selected_stride = c.index_topk;
  }
  attend.sink = w.sink;
  attend.scale = static_cast<float>(1.0 / std::sqrt(static_cast<double>(dim)));
  attend.out = o;
  run("sparse_attention", op.sparse_attention, attend);

  for (int s = 0; s < plan.num_sequences; ++s) {
    const int n = plan.num_tokens[s], keep = std::min(n, state.ring_slots);
    uint8_t* ring = inputs[s].sequence->state.data() + state.ring_offset[layer];
    for (int i = n - keep; i < n; ++i) {
      const int64_t slot = (plan.start[s] + i) % state.ring_slots;
      std::memcpy(ring + slot * record, fresh + (plan.first_row[s] + i) * record, static_cast<size_t>(record));
    }
  }

  run("rope", op.rope,
      {.x = o,
       .heads = heads,
       .head_dim = dim,
       .rope_dim = rope_dim,
       .cos = angles.cos.data(),
       .sin = angles.sin.data(),
       .inverse = true});
  const int groups = static_cast<int>(c.o_groups);
  const ops::Mat low = b.low_rank.mat(act, rows, groups * c.o_lora_rank);
  run("linear wo_a", op.linear, {.x = o, .num_parts = 1, .parts = {part(w.wo_a, low, false, groups)}});
  const ops::Mat y = b.y.mat(act, rows, c.hidden_size);
  run("linear wo_b", op.linear, {.x = low, .num_parts = 1, .parts = {part(w.wo_b, y, true)}});
  return y;
}

// Latents of the entries this step completes -> index keys and compressed KV records in the blocks (model.md 4.5).
void Stepper::Impl::store_compressed(int layer, ops::Mat latent, ops::Mat score) {
  const OpTable& op = model.ops();
  const AttentionWeights& w = model.weights().layers[layer].attn;
  const int ratio = c.ratio(layer), dim = static_cast<int>(c.head_dim), rope_dim = static_cast<int>(c.qk_rope_head_dim);
  const float eps = static_cast<float>(c.rms_norm_eps);
  const EntryPlan& e = plan.entries[ratio];
  const int64_t n = e.count();
  const ops::Mat entry = b.entry.mat(act, n, dim);
  if (ratio > 1) {
    const StateLayout& state = model.state_layout();
    carry_pointers.resize(inputs.size());
    for (size_t s = 0; s < inputs.size(); ++s)
      carry_pointers[s] = reinterpret_cast<float*>(inputs[s].sequence->state.data() + state.carry_offset[layer]);
    run("compress", op.compress,
        {.score = score,
         .latent = latent,
         .ratio = ratio,
         .num_sequences = plan.num_sequences,
         .first_row = plan.first_row.data(),
         .num_tokens = plan.num_tokens.data(),
         .start_position = plan.start.data(),
         .carry = carry_pointers.data(),
         .carry_slots = state.carry_slots,
         .num_entries = static_cast<int>(n),
         .entry_sequence = e.sequence.data(),
         .entry_index = e.index.data(),
         .norm_weight = w.compressor_norm,
         .eps = eps,
         .out = entry});
  } else {  // one entry per token, rows in the same order
    run("rms_norm", op.rms_norm, {.x = latent, .weight = w.compressor_norm, .eps = eps, .out = entry});
  }
  if (n == 0) return;

  const ops::Mat key = b.index_key.mat(act, n, c.index_head_dim);
  run("linear index key", op.linear, {.x = entry, .num_parts = 1, .parts = {part(w.indexer_wk, key, false)}});
  const ops::PagedCache main = paged(model.compressed_stream(layer), model.compressed_format(), dim);
  const ops::PagedCache index =
      paged(model.index_stream(layer), model.index_format(), static_cast<int>(c.index_head_dim));
  int64_t* offsets = b.offsets.at<int64_t>(2 * n);
  for (int64_t i = 0; i < n; ++i) {
    offsets[i] = index.record(e.sequence[i], e.index[i]) - index.base;
    offsets[n + i] = main.record(e.sequence[i], e.index[i]) - main.base;
  }
  run("store_records", op.store_records,
      {.x = key,
       .dim = index.dim,
       .rope_dim = rope_dim,
       .norm_weight = w.indexer_k_norm,
       .eps = eps,
       .cos = e.angles.cos.data(),
       .sin = e.angles.sin.data(),
       .format = index.format,
       .base = index.base,
       .offsets = offsets});
  run("store_records", op.store_records,
      {.x = entry,
       .dim = dim,
       .rope_dim = rope_dim,
       .cos = e.angles.cos.data(),
       .sin = e.angles.sin.data(),
       .format = main.format,
       .base = main.base,
       .offsets = offsets + n});
}

}  // namespace deepinfer
