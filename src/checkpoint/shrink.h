// Makes a smaller config of the same kind: fewer layers, experts, engram rows, drafts; still valid by every rule of
// model.md 2.4. For synthetic checkpoints that keep the real widths but fit a test machine.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "config/config.h"

namespace deepinfer {

struct ShrinkOptions {
  std::optional<int64_t> layers{};        // 1 .. num_hidden_layers
  std::optional<int64_t> experts{};       // per layer, also the most per draft layer
  std::optional<int64_t> engram_rows{};   // per table, about
  std::optional<int64_t> draft_layers{};  // 0 .. num_nextn_predict_layers
  bool vision = true;                     // false: without vision_config
};

// Which layers stay, in order of need: the first ratio-1 layer (it starts the decoder half), a ratio-2 KV source (with
// engram if one has it), a window-only layer (with engram if one has it), a second index source of the decoder half, a
// consumer in each half; then the rest from the front of each half in turn, sources before their consumers. Kept layers
// keep their roles and are renumbered. Draft features come from the last layers, as many as before where there are that
// many. Engram tables keep their place in the list, their primes are found anew. 2 layers of the official config are
// its layers 14 and 20.
Result<ModelConfig> shrink(const ModelConfig& config, const ShrinkOptions& options);

// `original` (text of a config.json) with the values of `config` where shrink() may have changed them; everything else
// as it was.
Result<std::string> rewrite_config(std::string_view original, const std::string& name, const ModelConfig& config);

}  // namespace deepinfer
