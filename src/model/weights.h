// Pointers to the tensors of a checkpoint, by layer, as the operators take them. Nothing is copied except tensors that
// lie misaligned in their file.
#pragma once
#include <vector>

#include "base/aligned_buffer.h"
#include "base/thread_pool.h"
#include "checkpoint/checkpoint.h"
#include "config/config.h"
#include "ops/all.h"

namespace deepinfer {

struct HyperWeights {
  const float* fn = nullptr;     // [m*(m+2), m*D]
  const float* base = nullptr;   // [m*(m+2)]
  const float* scale = nullptr;  // [3]
};

struct AttentionWeights {
  const float* sink = nullptr;
  ops::Weight wq_a, wq_b, wkv, wo_a, wo_b;
  const uint16_t* q_norm = nullptr;
  const uint16_t* kv_norm = nullptr;
  // KV source layers
  ops::Weight compressor_wkv, compressor_wgate, indexer_wk;
  const uint16_t* compressor_norm = nullptr;
  const uint16_t* indexer_k_norm = nullptr;
  // index source layers
  ops::Weight indexer_wq_b, indexer_weights_proj;
};

struct EngramWeights {
  const uint8_t* table = nullptr;
  const uint8_t* table_scale = nullptr;
  int64_t rows = 0;
  ops::Weight wkv;
  const uint16_t* q_weight = nullptr;
  const uint16_t* k_weight = nullptr;
  std::vector<int64_t> multipliers, primes, offsets;
};

struct FfnWeights {
  ops::Weight gate;
  const float* bias = nullptr;
  const float* bias_vl = nullptr;
  std::vector<ops::ExpertWeights> experts;
  ops::ExpertWeights shared;
};

struct LayerWeights {
  const uint16_t* attn_norm = nullptr;
  const uint16_t* ffn_norm = nullptr;
  HyperWeights hc_attn, hc_ffn;
  AttentionWeights attn;
  EngramWeights engram;  // table null: none
  FfnWeights ffn;
};

struct DraftWeights {
  std::vector<LayerWeights> layers;
  ops::Weight main_proj;
  const uint16_t* main_norm = nullptr;
  const uint16_t* norm = nullptr;
  ops::Weight markov_embed, markov_head;
  const uint16_t* confidence = nullptr;  // [D + rank]
};

struct ModelWeights {
  ops::Weight embed, head;
  const uint16_t* norm = nullptr;
  std::vector<LayerWeights> layers;
  DraftWeights draft;
  std::vector<AlignedBuffer> aligned_copies;  // of tensors whose place in the file is not aligned for their type
};

// Binds every text tensor and checks what only the data can tell (NaN scales, model.md 3.2).
Result<ModelWeights> bind_weights(const Checkpoint& checkpoint, const ModelConfig& config, ThreadPool& pool);

}  // namespace deepinfer
