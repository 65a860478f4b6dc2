// The engine options of cli.md, the same on every command that loads a model. What this build does not have yet is
// refused by name.
#pragma once
#include "cli/command.h"
#include "engine/engine.h"

namespace deepinfer::cli {

struct EngineFlags {
  std::string model, backend = "auto", numerics = "quantized", replay = "exact", draft = "off", verify = "scheduled",
                     prefix_cache = "on", deterministic = "on", kv_memory;
  int64_t threads = 0, max_sequences = 0, max_batch_tokens = 512, kv_blocks = 0;
  std::string seed;
};

// Declares the options on a command. The flags must outlive it.
void add_engine_options(CLI::App& command, EngineFlags& flags);
// Checked values; errors name the option.
Result<EngineOptions> engine_options(const EngineFlags& flags);
Result<uint64_t> parse_seed(const std::string& text);

}  // namespace deepinfer::cli
