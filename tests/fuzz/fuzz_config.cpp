// Any bytes as config.json: refused in one short line, or a config whose tensors can be listed and which shrinks to
// valid configs.
#include <cstdio>
#include <cstdlib>

#include "checkpoint/names.h"
#include "checkpoint/shrink.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace deepinfer;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto config = ModelConfig::parse(text, "config.json");
  if (!config) {
    if (config.error().message.size() > 600) std::abort();
    return 0;
  }
  for (int64_t i = 0; i < config->num_hidden_layers; ++i)
    if (config->ratio(i) > 0 && (config->kv_source_of(i) < 0 || config->index_source_of(i) < 0)) std::abort();
  for (const auto& multipliers : config->engram_layer_ids.empty()
                                     ? std::vector<std::vector<int64_t>>{}
                                     : config->engram_multipliers(config->engram_compressed_vocab_size))
    for (int64_t m : multipliers)
      if (m < 1) std::abort();
  const int64_t experts = config->num_hidden_layers * config->n_routed_experts +
                          config->num_nextn_predict_layers * config->dspark_n_routed_experts;
  if (experts < 2000)
    for (const ExpectedTensor& t : expected_tensors(*config))
      for (int64_t d : t.shape)
        if (d < 1) std::abort();
  if (config->num_hidden_layers > 64) return 0;
  const int64_t layers = 1 + static_cast<int64_t>(size) % config->num_hidden_layers;
  const auto small = shrink(*config, {.layers = layers, .experts = 1, .draft_layers = 0, .vision = false});
  if (!small) std::abort();
  const auto rewritten = rewrite_config(text, "config.json", *small);
  if (!rewritten) std::abort();
  const auto again = ModelConfig::parse(*rewritten, "again");
  if (!again) {
    std::fprintf(stderr, "%s\n", again.error().message.c_str());
    std::abort();
  }
  return 0;
}
