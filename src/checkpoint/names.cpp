#include "checkpoint/names.h"

namespace deepinfer {
namespace {

class Enumerator {
 public:
  explicit Enumerator(const ModelConfig& config) : c(config) {}

  void add(std::string name, DType dtype, std::vector<int64_t> shape, TensorKind kind) {
    out.push_back({std::move(name), dtype, std::move(shape), kind});
  }
  void bf16(const std::string& name, std::vector<int64_t> shape, TensorKind kind) {
    add(name, DType::kBF16, std::move(shape), kind);
  }
  void f32(const std::string& name, std::vector<int64_t> shape, TensorKind kind) {
    add(name, DType::kF32, std::move(shape), kind);
  }
  void fp8(const std::string& name, int64_t rows, int64_t cols, TensorKind kind) {
    add(name + ".weight", DType::kF8E4M3, {rows, cols}, kind);
    add(name + ".scale", DType::kF8E8M0, {(rows + 31) / 32, (cols + 31) / 32}, kind);
  }
  void fp4(const std::string& name, int64_t rows, int64_t cols, TensorKind kind) {
    add(name + ".weight", DType::kI8, {rows, cols / 2}, kind);
    add(name + ".scale", DType::kF8E8M0, {rows, cols / 32}, kind);
  }

  // The tensors that main and draft layers share in shape. kinds: main layers tell parts apart, drafts are one kind.
  void block(const std::string& p, int64_t experts, bool draft) {
    auto kind = [&](TensorKind k) { return draft ? TensorKind::kDraft : k; };
    const int64_t d = c.hidden_size, m = c.hc_mult;
    bf16(p + "attn_norm.weight", {d}, kind(TensorKind::kNorm));
    bf16(p + "ffn_norm.weight", {d}, kind(TensorKind::kNorm));
    for (const char* half : {"attn", "ffn"}) {
      f32(p + "hc_" + half + "_fn", {c.hc_mix(), m * d}, kind(TensorKind::kHyper));
      f32(p + "hc_" + half + "_base", {c.hc_mix()}, kind(TensorKind::kHyper));
      f32(p + "hc_" + half + "_scale", {3}, kind(TensorKind::kHyper));
    }
    const TensorKind attn = kind(TensorKind::kAttention);
    const int64_t heads = c.num_attention_heads, hd = c.head_dim, low = c.o_groups * c.o_lora_rank;
    f32(p + "attn.attn_sink", {heads}, attn);
    fp8(p + "attn.wq_a", c.q_lora_rank, d, attn);
    bf16(p + "attn.q_norm.weight", {c.q_lora_rank}, attn);
    fp8(p + "attn.wq_b", heads * hd, c.q_lora_rank, attn);
    fp8(p + "attn.wkv", hd, d, attn);
    bf16(p + "attn.kv_norm.weight", {hd}, attn);
    fp8(p + "attn.wo_a", low, heads * hd / c.o_groups, attn);
    fp8(p + "attn.wo_b", d, low, attn);
    bf16(p + "ffn.gate.weight", {experts, d}, kind(TensorKind::kRouter));
    f32(p + "ffn.gate.bias", {experts}, kind(TensorKind::kRouter));
    f32(p + "ffn.gate.bias_vl", {experts}, kind(TensorKind::kRouter));
    const int64_t inner = c.moe_intermediate_size;
    for (int64_t e = 0; e < experts; ++e) {
      const std::string q = p + "ffn.experts." + std::to_string(e) + ".";
      fp4(q + "w1", inner, d, kind(TensorKind::kExpert));
      fp4(q + "w2", d, inner, kind(TensorKind::kExpert));
      fp4(q + "w3", inner, d, kind(TensorKind::kExpert));
    }
    fp8(p + "ffn.shared_experts.w1", inner, d, kind(TensorKind::kSharedExpert));
    fp8(p + "ffn.shared_experts.w2", d, inner, kind(TensorKind::kSharedExpert));
    fp8(p + "ffn.shared_experts.w3", inner, d, kind(TensorKind::kSharedExpert));
  }

  void main_layer(int64_t i) {
    const std::string p = "layers." + std::to_string(i) + ".";
    block(p, c.n_routed_experts, false);
    const int64_t d = c.hidden_size;
    if (c.is_kv_source(i)) {
      bf16(p + "attn.compressor.wkv.weight", {c.head_dim, d}, TensorKind::kCompressor);
      if (c.ratio(i) > 1) bf16(p + "attn.compressor.wgate.weight", {c.head_dim, d}, TensorKind::kCompressor);
      bf16(p + "attn.compressor.norm.weight", {c.head_dim}, TensorKind::kCompressor);
      bf16(p + "attn.indexer.wk.weight", {c.index_head_dim, c.head_dim}, TensorKind::kIndexer);
      bf16(p + "attn.indexer.k_norm.weight", {c.index_head_dim}, TensorKind::kIndexer);
    }
    if (c.is_index_source(i)) {
      fp8(p + "attn.indexer.wq_b", c.index_n_heads * c.index_head_dim, c.q_lora_rank, TensorKind::kIndexer);
      bf16(p + "attn.indexer.weights_proj.weight", {c.index_n_heads, d}, TensorKind::kIndexer);
    }
    if (const int slot = c.engram_slot(i); slot >= 0) {
      const int64_t rows = c.engram_num_embeddings[static_cast<size_t>(slot)];
      add(p + "engram.embed.weight", DType::kF8E4M3, {rows, c.engram_head_dim}, TensorKind::kEngramTable);
      add(p + "engram.embed.scale", DType::kF8E8M0, {rows, c.engram_head_dim / 32}, TensorKind::kEngramTable);
      fp8(p + "engram.wkv", d * (c.hc_mult + 1), c.engram_columns() * c.engram_head_dim, TensorKind::kEngram);
      bf16(p + "engram.q_weight", {c.hc_mult, d}, TensorKind::kEngram);
      bf16(p + "engram.k_weight", {c.hc_mult, d}, TensorKind::kEngram);
    }
  }

  void drafts() {
    const int64_t n = c.num_nextn_predict_layers, d = c.hidden_size;
    for (int64_t k = 0; k < n; ++k) block("mtp." + std::to_string(k) + ".", c.dspark_n_routed_experts, true);
    if (n == 0) return;
    const std::string last = "mtp." + std::to_string(n - 1) + ".";
    fp8("mtp.0.main_proj", d, static_cast<int64_t>(c.dspark_target_layer_ids.size()) * d, TensorKind::kDraft);
    bf16("mtp.0.main_norm.weight", {d}, TensorKind::kDraft);
    bf16(last + "norm.weight", {d}, TensorKind::kDraft);
    bf16(last + "markov_head.embed.weight", {c.vocab_size, c.dspark_markov_rank}, TensorKind::kDraft);
    bf16(last + "markov_head.head.weight", {c.vocab_size, c.dspark_markov_rank}, TensorKind::kDraft);
    bf16(last + "confidence_head.proj.weight", {1, d + c.dspark_markov_rank}, TensorKind::kDraft);
  }

  void vision(const VisionConfig& v) {
    const int64_t w = v.hidden_size, d = c.hidden_size, patch = 3 * v.patch_size * v.patch_size;
    const TensorKind k = TensorKind::kVision;
    for (const char* name : {"image_start", "image_end", "image_newline"}) bf16(name, {d}, k);
    bf16("vision.patch_embed.proj.weight", {w, patch}, k);
    bf16("vision.patch_embed.proj.bias", {w}, k);
    for (int64_t i = 0; i < v.num_hidden_layers; ++i) {
      const std::string p = "vision.blocks." + std::to_string(i) + ".";
      bf16(p + "norm1.weight", {w}, k);
      bf16(p + "norm2.weight", {w}, k);
      bf16(p + "attn.wqkv.weight", {3 * w, w}, k);
      bf16(p + "attn.wqkv.bias", {3 * w}, k);
      bf16(p + "attn.wo.weight", {w, w}, k);
      bf16(p + "attn.wo.bias", {w}, k);
      bf16(p + "mlp.w1.weight", {2 * v.intermediate_size, w}, k);
      bf16(p + "mlp.w2.weight", {w, v.intermediate_size}, k);
    }
    bf16("vision.norm.weight", {w}, k);
    const int64_t cell = v.downsample_ratio * v.downsample_ratio * w;
    bf16("aligner.w1.weight", {d, cell}, k);
    bf16("aligner.w1.bias", {d}, k);
    bf16("aligner.w2.weight", {d, d}, k);
    bf16("aligner.w2.bias", {d}, k);
  }

  const ModelConfig& c;
  std::vector<ExpectedTensor> out;
};

}  // namespace

const char* tensor_kind_name(TensorKind kind) {
  constexpr const char* kNames[kNumTensorKinds] = {"embedding",         "head",           "norms",
                                                   "hyper-connections", "attention",      "compressors",
                                                   "indexers",          "engram tables",  "engram projections",
                                                   "routers",           "routed experts", "shared experts",
                                                   "drafts (DSpark)",   "vision"};
  return kNames[static_cast<int>(kind)];
}

std::vector<ExpectedTensor> expected_tensors(const ModelConfig& c) {
  Enumerator e(c);
  e.bf16("embed.weight", {c.vocab_size, c.hidden_size}, TensorKind::kEmbedding);
  e.bf16("head.weight", {c.vocab_size, c.hidden_size}, TensorKind::kHead);
  e.bf16("norm.weight", {c.hidden_size}, TensorKind::kNorm);
  for (int64_t i = 0; i < c.num_hidden_layers; ++i) e.main_layer(i);
  e.drafts();
  if (c.vision) e.vision(*c.vision);
  return std::move(e.out);
}

}  // namespace deepinfer
