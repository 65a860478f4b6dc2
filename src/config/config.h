// config.json of a DeepSeek-V4.1 checkpoint: every key of model.md 2.1-2.3 under its own name, validated (2.4), plus
// what follows from it. A plain value; errors name file, key, expected and found. DeepInfer's kernel-only limits are
// not checked: any sizes that obey the rules load.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace deepinfer {

struct VisionConfig {
  int64_t num_hidden_layers = 0, hidden_size = 0, num_attention_heads = 0, intermediate_size = 0;
  int64_t patch_size = 0, downsample_ratio = 0, max_image_tokens = 0, min_pixels = 0;
  double rope_theta = 10000;
  std::optional<double> max_wh_ratio;
};

struct ModelConfig {
  // root
  int64_t bos_token_id = 0, eos_token_id = 1, pad_token_id = 2;
  std::optional<int64_t> image_token_id;
  // text_config
  int64_t vocab_size = 0, hidden_size = 0, num_hidden_layers = 0, num_attention_heads = 0, head_dim = 0,
          qk_rope_head_dim = 0;
  int64_t q_lora_rank = 0, o_lora_rank = 0, o_groups = 0;
  int64_t moe_intermediate_size = 0, n_routed_experts = 0, n_shared_experts = 1, num_experts_per_tok = 0;
  double routed_scaling_factor = 1, swiglu_limit = 0, rms_norm_eps = 0;
  int64_t max_position_embeddings = 0;
  double rope_theta = 0, compress_rope_theta = 0;
  bool has_yarn = false;
  double rope_factor = 1, rope_beta_fast = 32, rope_beta_slow = 1, rope_original = 0;
  int64_t sliding_window = 0;
  std::vector<int64_t> compress_ratios;  // layers, then draft layers
  std::vector<int64_t> kv_source_layer_ids, index_k_source_layer_ids, index_source_layer_ids;
  int64_t index_n_heads = 0, index_head_dim = 0, index_topk = 0;
  int64_t candidate_source_layer_id = -1;  // -1: off (null in the file)
  int64_t candidate_topk_blocks = 0, candidate_block_size = 0;
  int64_t hc_mult = 0, hc_sinkhorn_iters = 0;
  double hc_eps = 0;
  std::vector<int64_t> engram_layer_ids, engram_num_embeddings;
  int64_t engram_max_ngram_size = 0, engram_vocab_size = 0, engram_n_heads = 0, engram_head_dim = 0,
          engram_pad_token_id = 0;
  int64_t engram_compressed_vocab_size = 0;  // classes of the token map
  int64_t num_nextn_predict_layers = 0;
  int64_t dspark_block_size = 0, dspark_noise_token_id = 0, dspark_markov_rank = 0, dspark_n_routed_experts = 0,
          dspark_num_experts_per_tok = 0;
  std::vector<int64_t> dspark_target_layer_ids;
  bool use_fp4_sparse_kv = true;
  std::optional<VisionConfig> vision;

  // `path` is a checkpoint folder or a config file.
  static Result<ModelConfig> load(const std::string& path);
  static Result<ModelConfig> parse(std::string_view json, const std::string& name);

  int64_t total_layers() const { return num_hidden_layers + num_nextn_predict_layers; }
  int ratio(int64_t layer) const { return static_cast<int>(compress_ratios[static_cast<size_t>(layer)]); }
  bool is_kv_source(int64_t layer) const;
  bool is_index_source(int64_t layer) const;
  // Nearest source at or below the layer. REQUIRES ratio(layer) > 0.
  int kv_source_of(int64_t layer) const;
  int index_source_of(int64_t layer) const;
  // Position in engram_layer_ids, or -1.
  int engram_slot(int64_t layer) const;
  // First layer with ratio 1 (boundary between encoder and decoder half).
  int first_decoder_layer() const;
  int64_t hc_mix() const { return hc_mult * (hc_mult + 2); }
  int64_t engram_columns() const { return (engram_max_ngram_size - 1) * engram_n_heads; }
  // Per engram layer its engram_columns() moduli: consecutive primes from engram_vocab_size upwards (model.md 4.9b).
  std::vector<std::vector<int64_t>> engram_primes() const;
  // Per engram layer its engram_max_ngram_size odd multipliers (model.md 4.9b, appendix A).
  std::vector<std::vector<int64_t>> engram_multipliers(int64_t compressed_vocab) const;
};

// numpy's default_rng(seed).integers(0, bound, count), for bound > 2^32 (model.md appendix A).
std::vector<int64_t> numpy_integers(uint64_t seed, uint64_t bound, int count);
bool is_prime(int64_t n);

}  // namespace deepinfer
