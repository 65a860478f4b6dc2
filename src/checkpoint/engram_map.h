// Token id -> compressed id of the engram n-gram hash (model.md 4.9a): tokens that differ only in case, accents, width
// or spacing share a class. v41-small ships the map as engram_meta.json; the official release does not, so it is built
// from tokenizer.json.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "config/config.h"

namespace deepinfer {

// The map of a checkpoint folder, [vocab_size] ids in [0, engram_compressed_vocab_size). Empty when the config has no
// engram layers. From engram_meta.json where it exists (checked against the config, its multipliers against the
// computed ones), else from tokenizer.json.
Result<std::vector<int32_t>> load_token_map(const std::string& folder, const ModelConfig& config);

// Rules 1-4 of model.md 4.9a over ids 0..vocab_size-1 of a Hugging Face byte-level BPE tokenizer.json. Ids without a
// token decode to nothing. Classes are numbered by first appearance. Uses ICU's Unicode tables; the caller compares the
// number of classes with the config.
Result<std::vector<int32_t>> build_token_map(std::string_view tokenizer_json, const std::string& name,
                                             int64_t vocab_size);

// Text of engram_meta.json for a map (what the small model and synthetic checkpoints ship).
std::string engram_meta_json(const ModelConfig& config, const std::vector<int32_t>& token_map);

}  // namespace deepinfer
