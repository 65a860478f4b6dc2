// Lightning indexer with two-level top-k (model.md 4.6): Full and Reindex layers choose entries, the layers behind them
// reuse the list.
#include <algorithm>
#include <cmath>

#include "model/stepper.h"

namespace deepinfer {
namespace {

// Scores of one tile of rows: large enough to keep the threads busy, small against the caches of a long context.
constexpr int64_t kScoreTileBytes = 32 << 20;

}  // namespace

void Stepper::Impl::select_entries(int layer, ops::Mat index_query, ops::Mat index_weights) {
  const OpTable& op = model.ops();
  const int64_t rows = index_query.rows;
  const int ratio = c.ratio(layer), heads = static_cast<int>(c.index_n_heads), dim = static_cast<int>(c.index_head_dim);
  const int k = static_cast<int>(c.index_topk);
  const int block_size = static_cast<int>(c.candidate_block_size), keep = static_cast<int>(c.candidate_topk_blocks);
  const bool has_candidates = c.candidate_source_layer_id >= 0;
  const bool builds = has_candidates && layer == c.candidate_source_layer_id;
  const bool restricted = has_candidates && layer > c.candidate_source_layer_id;
  const std::vector<int32_t>& visible = plan.visible[ratio];

  int32_t* sel = b.selected.at<int32_t>(rows * k);
  int32_t* num_sel = b.num_selected.at<int32_t>(rows);
  int32_t* blocks_of = has_candidates ? b.candidates.at<int32_t>(rows * keep) : nullptr;
  int32_t* num_blocks = has_candidates ? b.num_candidates.at<int32_t>(rows) : nullptr;
  selected = sel;
  num_selected = num_sel;

  // Query records in the format of the keys.
  const CacheFormat format = model.index_format();
  const int64_t record = record_bytes(format, dim);
  uint8_t* query = b.index_records.at<uint8_t>(rows * heads * record);
  int64_t* offsets = b.offsets.at<int64_t>(rows);
  for (int64_t r = 0; r < rows; ++r) offsets[r] = r * heads * record;
  run("store_records", op.store_records,
      {.x = index_query,
       .heads = heads,
       .dim = dim,
       .rope_dim = static_cast<int>(c.qk_rope_head_dim),
       .cos = plan.compressed.cos.data(),
       .sin = plan.compressed.sin.data(),
       .format = format,
       .base = query,
       .offsets = offsets});

  const ops::PagedCache keys = paged(model.index_stream(c.kv_source_of(layer)), format, dim);
  int32_t* columns = b.columns.at<int32_t>(rows);
  for (int64_t first = 0; first < rows;) {
    // Rows until the tile is full; a row whose entries all fit the top-k (and the candidate blocks) needs no scores.
    auto needs_scores = [&](int64_t r) {
      const int64_t n = visible[r];
      return n > k || (builds && (n + block_size - 1) / block_size > keep);
    };
    const bool scoring = needs_scores(first);
    int64_t last = first, width = 0;
    for (; last < rows && needs_scores(last) == scoring; ++last) {
      const int64_t w = restricted ? static_cast<int64_t>(num_blocks[last]) * block_size : visible[last];
      const int64_t wider = std::max(width, (w + 15) / 16 * 16);
      if (last > first && scoring && wider * (last - first + 1) * 4 > kScoreTileBytes) break;
      width = wider;
    }
    const int64_t n = last - first;
    if (!scoring) {
      for (int64_t r = first; r < last; ++r) {
        int32_t* out = sel + r * k;
        for (int i = 0; i < k; ++i) out[i] = i < visible[r] ? i : -1;
        num_sel[r] = visible[r];
        if (builds) {
          num_blocks[r] = (visible[r] + block_size - 1) / block_size;
          for (int i = 0; i < keep; ++i) blocks_of[r * keep + i] = i < num_blocks[r] ? i : -1;
        }
      }
      first = last;
      continue;
    }

    float* scores = b.scores.at<float>(n * width);
    ops::IndexScoresParams score{.q = query + first * heads * record, .format = format, .heads = heads, .dim = dim};
    score.weights = {
        index_weights.row<uint8_t>(0) + first * index_weights.stride * static_cast<int64_t>(dtype_size(act)), act, n,
        heads, index_weights.stride};
    score.weight_scale =
        static_cast<float>(1.0 / std::sqrt(static_cast<double>(dim)) / std::sqrt(static_cast<double>(heads)));
    score.keys = keys;
    score.rows = n;
    score.sequence = plan.sequence.data() + first;
    score.visible = visible.data() + first;
    if (restricted) {
      score.blocks = blocks_of + first * keep;
      score.num_blocks = num_blocks + first;
      score.blocks_stride = keep;
      score.block_size = block_size;
    }
    score.out = scores;
    score.out_stride = width;
    run("index_scores", op.index_scores, score);

    if (builds)
      run("candidate_blocks", op.candidate_blocks,
          {.scores = scores,
           .stride = width,
           .rows = n,
           .visible = visible.data() + first,
           .block_size = block_size,
           .keep = keep,
           .blocks = blocks_of + first * keep,
           .num_blocks = num_blocks + first});
    for (int64_t i = 0; i < n; ++i) columns[i] = restricted ? num_blocks[first + i] * block_size : visible[first + i];
    run("index_topk", op.index_topk,
        {.scores = scores,
         .stride = width,
         .rows = n,
         .num_columns = columns,
         .k = k,
         .blocks = restricted ? blocks_of + first * keep : nullptr,
         .blocks_stride = keep,
         .block_size = block_size,
         .selected = sel + first * k,
         .num_selected = num_sel + first});
    first = last;
  }
}

}  // namespace deepinfer
