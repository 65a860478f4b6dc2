#include "cli/memory_plan.h"

#include "tensor/quant.h"

namespace deepinfer::cli {
namespace {
int64_t align64(int64_t n) { return (n + 63) / 64 * 64; }
}  // namespace

MemoryPlan MemoryPlan::make(const ModelConfig& c) {
  MemoryPlan plan;
  const int64_t window_record = record_bytes(CacheFormat::kFp8, c.head_dim);
  const int64_t compressed_record =
      record_bytes(c.use_fp4_sparse_kv ? CacheFormat::kFp4E4m3 : CacheFormat::kFp8, c.head_dim);
  const int64_t index_record = record_bytes(CacheFormat::kFp4Ue8m0, c.index_head_dim);
  std::vector<kv::Stream> streams;
  const int64_t slack =
      c.dspark_block_size + 1;  // slots for a rejected draft block and the token before it, as in Model::load
  for (int64_t i = 0; i < c.total_layers(); ++i) {
    LayerStore layer;
    const bool draft = i >= c.num_hidden_layers;
    layer.name = draft ? fmt::format("mtp.{}", i - c.num_hidden_layers) : fmt::format("layers.{}", i);
    layer.ratio = c.ratio(i);
    layer.window_record = window_record;
    if (!draft) layer.engram = c.engram_slot(i) >= 0;
    if (layer.ratio > 0) {
      layer.kv_source = c.kv_source_of(i);
      layer.index_source = c.index_source_of(i);
      layer.candidates = i == c.candidate_source_layer_id;
      layer.reindex = c.is_index_source(i) && c.candidate_source_layer_id >= 0 && i > c.candidate_source_layer_id;
      if (c.is_kv_source(i)) {
        layer.compressed_record = compressed_record;
        layer.index_record = index_record;
        streams.push_back({layer.name + ".compressed", layer.ratio, compressed_record});
        streams.push_back({layer.name + ".index", layer.ratio, index_record});
        if (layer.ratio > 1) {
          // Score and latent in fp32 of every token of the group and of those that a rejected draft may bring back.
          plan.carry_bytes += align64((2 + slack) * 2 * c.head_dim * 4);
        }
      }
    }
    plan.layers.push_back(std::move(layer));
  }
  plan.block = kv::BlockLayout::make(std::move(streams));
  plan.bytes_per_token = plan.block.bytes_per_token();
  plan.ring_slots = c.sliding_window + slack;
  plan.window_bytes = align64(plan.ring_slots * window_record) * c.total_layers();
  if (!c.engram_layer_ids.empty()) plan.history_bytes = 4 * (c.engram_max_ngram_size - 1);
  return plan;
}

int64_t MemoryPlan::blocks(int64_t context, int64_t sequences) const {
  return (context + kv::kBlockTokens - 1) / kv::kBlockTokens * sequences;
}

}  // namespace deepinfer::cli
