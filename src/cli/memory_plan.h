// What a sequence costs in memory, exactly, from the config alone (model.md 5.1): bytes per token that grow with the
// context, layer by layer, blocks of 128 tokens, constant state, and the sum for a context length and a number of
// sequences. Used by `inspect`.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "config/config.h"
#include "kv/layout.h"

namespace deepinfer::cli {

// What one layer keeps. Records are bytes; a compressed or index record is shared by `ratio` tokens.
struct LayerStore {
  std::string name;    // "layers.2", "mtp.0"
  int ratio = 0;       // tokens per compressed entry; 0: window only
  int kv_source = -1;  // layer whose compressed KV it reads, -1: none
  int index_source = -1;
  bool engram = false, candidates = false, reindex = false;
  int64_t compressed_record = 0, index_record = 0;  // of this layer's own streams, 0: none
  int64_t window_record = 0;
  double bytes_per_token() const { return ratio ? static_cast<double>(compressed_record + index_record) / ratio : 0; }
};

struct MemoryPlan {
  std::vector<LayerStore> layers;  // main, then draft layers
  kv::BlockLayout block;           // one block of 128 tokens, streams aligned as the engine stores them
  double bytes_per_token = 0;      // without alignment: 890 for the release
  int64_t ring_slots = 0;          // window + room for one rejected draft block and the token before it
  int64_t window_bytes = 0;        // rings of all layers, one sequence
  int64_t carry_bytes = 0;         // unfinished groups of the ratio-2 sources, one sequence
  int64_t history_bytes = 0;       // last compressed ids of the n-gram hash
  int64_t state_bytes() const { return window_bytes + carry_bytes + history_bytes; }

  // Blocks and bytes of `sequences` sequences of `context` tokens each, constant state included.
  int64_t blocks(int64_t context, int64_t sequences) const;
  int64_t bytes(int64_t context, int64_t sequences) const {
    return blocks(context, sequences) * block.block_bytes + sequences * state_bytes();
  }

  static MemoryPlan make(const ModelConfig& config);
};

}  // namespace deepinfer::cli
