#include "model/model.h"

#include <cstring>

namespace deepinfer {
namespace {

constexpr int kMaxRatio = 2;  // model.md 2.4 rule 2

int64_t align64(int64_t n) { return (n + 63) / 64 * 64; }

}  // namespace

CacheFormat Model::window_format() const {
  return numerics_ == Numerics::kFp32 ? CacheFormat::kF32 : CacheFormat::kFp8;
}
CacheFormat Model::compressed_format() const {
  if (numerics_ == Numerics::kFp32) return CacheFormat::kF32;
  return config_.use_fp4_sparse_kv ? CacheFormat::kFp4E4m3 : CacheFormat::kFp8;
}
CacheFormat Model::index_format() const {
  return numerics_ == Numerics::kFp32 ? CacheFormat::kF32 : CacheFormat::kFp4Ue8m0;
}

Result<std::unique_ptr<Model>> Model::load(const std::string& folder, const ModelOptions& options, ThreadPool& pool) {
  auto model = std::make_unique<Model>();
  model->numerics_ = options.numerics;
  DI_TRY(model->ops_, make_op_table(options.backend));
  DI_TRY(model->config_, ModelConfig::load(folder));
  const ModelConfig& c = model->config_;
  DI_TRY(Checkpoint checkpoint, Checkpoint::open(folder, c));
  model->checkpoint_ = std::make_unique<Checkpoint>(std::move(checkpoint));
  model->weight_bytes_ = static_cast<int64_t>(model->checkpoint_->total_bytes());
  DI_TRY(model->token_map_, load_token_map(folder, c));
  DI_TRY(model->weights_, bind_weights(*model->checkpoint_, c, pool));

  // Growing cache: one compressed and one index-key stream per KV source layer.
  std::vector<kv::Stream> streams;
  model->compressed_stream_.assign(static_cast<size_t>(c.num_hidden_layers), -1);
  model->index_stream_.assign(static_cast<size_t>(c.num_hidden_layers), -1);
  for (int64_t layer : c.kv_source_layer_ids) {
    const std::string p = "layers." + std::to_string(layer);
    model->compressed_stream_[static_cast<size_t>(layer)] = static_cast<int>(streams.size());
    streams.push_back({.name = p + ".compressed",
                       .tokens_per_entry = c.ratio(layer),
                       .record_bytes = record_bytes(model->compressed_format(), c.head_dim)});
    model->index_stream_[static_cast<size_t>(layer)] = static_cast<int>(streams.size());
    streams.push_back({.name = p + ".index",
                       .tokens_per_entry = c.ratio(layer),
                       .record_bytes = record_bytes(model->index_format(), c.index_head_dim)});
  }
  model->block_layout_ = kv::BlockLayout::make(std::move(streams));

  // Constant state: a window ring per layer and a carry ring per gated compressor. Both keep room for a rejected draft
  // block.
  StateLayout& s = model->state_layout_;
  const int slack = static_cast<int>(c.dspark_block_size) + 1;
  s.ring_slots = static_cast<int>(c.sliding_window) + slack;
  s.window_record_bytes = record_bytes(model->window_format(), c.head_dim);
  for (int64_t i = 0; i < c.total_layers(); ++i) {
    s.ring_offset.push_back(s.bytes);
    s.bytes += align64(s.ring_slots * s.window_record_bytes);
  }
  s.carry_slots = kMaxRatio + slack;
  for (int64_t i = 0; i < c.total_layers(); ++i) {
    const bool carries = i < c.num_hidden_layers && c.is_kv_source(i) && c.ratio(i) > 1;
    s.carry_offset.push_back(carries ? s.bytes : -1);
    if (carries) s.bytes += align64(s.carry_slots * 2 * c.head_dim * 4);
  }
  return model;
}

Sequence Model::new_sequence() const {
  Sequence seq;
  seq.state = AlignedBuffer(static_cast<size_t>(state_layout_.bytes));
  if (!token_map_.empty())
    seq.ngram_history.assign(static_cast<size_t>(config_.engram_max_ngram_size - 1),
                             token_map_[static_cast<size_t>(config_.engram_pad_token_id)]);
  return seq;
}

Status Model::reserve(Sequence& seq, kv::BlockPool& pool, int64_t num_tokens) const {
  const int64_t need = (num_tokens + kv::kBlockTokens - 1) / kv::kBlockTokens - static_cast<int64_t>(seq.blocks.size());
  if (need > pool.num_free())
    return fail(ErrorCode::kOutOfMemory,
                "{} tokens need {} more cache blocks, {} are free; raise --kv-blocks or --kv-memory", num_tokens, need,
                pool.num_free());
  for (int64_t i = 0; i < need; ++i) seq.blocks.push_back(pool.allocate());
  return {};
}

Result<Sequence> Model::fork(const Sequence& seq, kv::BlockPool& pool, int64_t num_tokens) const {
  Sequence copy = new_sequence();
  DI_TRY_STATUS(reserve(copy, pool, num_tokens));
  copy.position = seq.position;
  copy.ngram_history = seq.ngram_history;
  std::memcpy(copy.state.data(), seq.state.data(), seq.state.size());
  const int64_t used = (seq.position + kv::kBlockTokens - 1) / kv::kBlockTokens;
  for (int64_t i = 0; i < used; ++i)
    std::memcpy(pool.base() + copy.blocks[static_cast<size_t>(i)] * pool.block_bytes(),
                pool.base() + seq.blocks[static_cast<size_t>(i)] * pool.block_bytes(),
                static_cast<size_t>(pool.block_bytes()));
  return copy;
}

void Model::release(Sequence& seq, kv::BlockPool& pool) {
  for (int32_t block : seq.blocks) pool.release(block);
  seq.blocks.clear();
}

}  // namespace deepinfer
