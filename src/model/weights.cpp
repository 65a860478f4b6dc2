#include "model/weights.h"

#include <algorithm>
#include <atomic>
#include <cstring>

namespace deepinfer {
namespace {

class Binder {
 public:
  Binder(const Checkpoint& checkpoint, const ModelConfig& config, ModelWeights& out)
      : checkpoint_(checkpoint), c(config), out_(out) {}

  // The tensor's data, copied only if it is not aligned for T.
  template <typename T>
  const T* plain(const std::string& name) {
    const TensorRef& t = checkpoint_.get(name);
    return reinterpret_cast<const T*>(aligned(t, sizeof(T)));
  }
  ops::Weight dense(const std::string& name) {  // bf16
    const TensorRef& t = checkpoint_.get(name + ".weight");
    ops::Weight w;
    w.data = aligned(t, 2);
    w.dtype = DType::kBF16;
    w.rows = t.shape[0];
    w.cols = t.shape[1];
    return w;
  }
  ops::Weight scaled(const std::string& name) {  // FP8 or FP4 with its scale
    const TensorRef& t = checkpoint_.get(name + ".weight");
    const TensorRef& s = checkpoint_.get(name + ".scale");
    ops::Weight w;
    w.data = t.data;
    w.scale = s.data;
    w.dtype = t.dtype == DType::kI8 ? DType::kF4E2M1x2 : t.dtype;
    w.rows = t.shape[0];
    w.cols = t.shape[1] * (t.dtype == DType::kI8 ? 2 : 1);
    scales_.push_back({name + ".scale", s.data, s.bytes});
    return w;
  }

  HyperWeights hyper(const std::string& prefix) {
    return {plain<float>(prefix + "_fn"), plain<float>(prefix + "_base"), plain<float>(prefix + "_scale")};
  }
  ops::ExpertWeights expert(const std::string& prefix) {
    return {scaled(prefix + "w1"), scaled(prefix + "w3"), scaled(prefix + "w2")};
  }

  LayerWeights block(const std::string& p, int64_t experts) {
    LayerWeights l;
    l.attn_norm = plain<uint16_t>(p + "attn_norm.weight");
    l.ffn_norm = plain<uint16_t>(p + "ffn_norm.weight");
    l.hc_attn = hyper(p + "hc_attn");
    l.hc_ffn = hyper(p + "hc_ffn");
    const std::string a = p + "attn.";
    l.attn.sink = plain<float>(a + "attn_sink");
    l.attn.wq_a = scaled(a + "wq_a");
    l.attn.wq_b = scaled(a + "wq_b");
    l.attn.wkv = scaled(a + "wkv");
    l.attn.wo_a = scaled(a + "wo_a");
    l.attn.wo_b = scaled(a + "wo_b");
    l.attn.q_norm = plain<uint16_t>(a + "q_norm.weight");
    l.attn.kv_norm = plain<uint16_t>(a + "kv_norm.weight");
    l.ffn.gate = dense(p + "ffn.gate");
    l.ffn.bias = plain<float>(p + "ffn.gate.bias");
    l.ffn.bias_vl = plain<float>(p + "ffn.gate.bias_vl");
    for (int64_t e = 0; e < experts; ++e) l.ffn.experts.push_back(expert(p + "ffn.experts." + std::to_string(e) + "."));
    l.ffn.shared = expert(p + "ffn.shared_experts.");
    return l;
  }

  LayerWeights main_layer(int64_t i) {
    const std::string p = "layers." + std::to_string(i) + ".";
    LayerWeights l = block(p, c.n_routed_experts);
    if (c.is_kv_source(i)) {
      l.attn.compressor_wkv = dense(p + "attn.compressor.wkv");
      if (c.ratio(i) > 1) l.attn.compressor_wgate = dense(p + "attn.compressor.wgate");
      l.attn.compressor_norm = plain<uint16_t>(p + "attn.compressor.norm.weight");
      l.attn.indexer_wk = dense(p + "attn.indexer.wk");
      l.attn.indexer_k_norm = plain<uint16_t>(p + "attn.indexer.k_norm.weight");
    }
    if (c.is_index_source(i)) {
      l.attn.indexer_wq_b = scaled(p + "attn.indexer.wq_b");
      l.attn.indexer_weights_proj = dense(p + "attn.indexer.weights_proj");
    }
    if (const int slot = c.engram_slot(i); slot >= 0) {
      const TensorRef& table = checkpoint_.get(p + "engram.embed.weight");
      const TensorRef& scale = checkpoint_.get(p + "engram.embed.scale");
      l.engram.table = table.data;
      l.engram.table_scale = scale.data;
      l.engram.rows = table.shape[0];
      l.engram.wkv = scaled(p + "engram.wkv");
      l.engram.q_weight = plain<uint16_t>(p + "engram.q_weight");
      l.engram.k_weight = plain<uint16_t>(p + "engram.k_weight");
      l.engram.primes = primes_[static_cast<size_t>(slot)];
      l.engram.multipliers = multipliers_[static_cast<size_t>(slot)];
      int64_t offset = 0;
      for (int64_t prime : l.engram.primes) {
        l.engram.offsets.push_back(offset);
        offset += prime;
      }
    }
    return l;
  }

  void drafts() {
    const int64_t n = c.num_nextn_predict_layers;
    if (n == 0) return;
    DraftWeights& d = out_.draft;
    for (int64_t k = 0; k < n; ++k)
      d.layers.push_back(block("mtp." + std::to_string(k) + ".", c.dspark_n_routed_experts));
    const std::string last = "mtp." + std::to_string(n - 1) + ".";
    d.main_proj = scaled("mtp.0.main_proj");
    d.main_norm = plain<uint16_t>("mtp.0.main_norm.weight");
    d.norm = plain<uint16_t>(last + "norm.weight");
    d.markov_embed = dense(last + "markov_head.embed");
    d.markov_head = dense(last + "markov_head.head");
    d.confidence = plain<uint16_t>(last + "confidence_head.proj.weight");
  }

  void bind() {
    if (!c.engram_layer_ids.empty()) {
      primes_ = c.engram_primes();
      multipliers_ = c.engram_multipliers(c.engram_compressed_vocab_size);
    }
    out_.embed = dense("embed");
    out_.head = dense("head");
    out_.norm = plain<uint16_t>("norm.weight");
    for (int64_t i = 0; i < c.num_hidden_layers; ++i) out_.layers.push_back(main_layer(i));
    drafts();
  }

  // Scales of all FP8 and FP4 linears: 255 is NaN (rejected); weights whose scales leave the comfortable range lose the
  // fast path.
  Status check_scales(ThreadPool& pool) {
    std::atomic<int64_t> bad{-1};
    std::vector<uint8_t> plain_of(scales_.size(), 1);
    pool.parallel_for(static_cast<int64_t>(scales_.size()), 8, [&](int64_t begin, int64_t end, int) {
      for (int64_t i = begin; i < end; ++i) {
        const Scale& s = scales_[static_cast<size_t>(i)];
        uint8_t low = 255, high = 0;
        for (uint64_t j = 0; j < s.bytes; ++j) {
          low = std::min(low, s.data[j]);
          high = std::max(high, s.data[j]);
        }
        if (high == 255) bad.store(i);
        plain_of[static_cast<size_t>(i)] = low >= kPlainLow && high <= kPlainHigh;
      }
    });
    if (const int64_t i = bad.load(); i >= 0) {
      const Scale& s = scales_[static_cast<size_t>(i)];
      const TensorRef& t = checkpoint_.get(s.name);
      const uint64_t at = static_cast<uint64_t>(std::find(s.data, s.data + s.bytes, 255) - s.data);
      return fail(ErrorCode::kBadModel,
                  "{}: tensor {} holds the NaN scale byte 255 at element {}; the shard is damaged, copy it again",
                  checkpoint_.shards()[static_cast<size_t>(t.shard)].path(), s.name, at);
    }
    std::unordered_map<const uint8_t*, bool> plain_scale;
    for (size_t i = 0; i < scales_.size(); ++i) plain_scale[scales_[i].data] = plain_of[i];
    auto mark = [&](ops::Weight& w) {
      if (w.scale) w.plain_scales = plain_scale[w.scale];
    };
    auto mark_expert = [&](ops::ExpertWeights& e) {
      mark(e.w1);
      mark(e.w2);
      mark(e.w3);
    };
    auto mark_layer = [&](LayerWeights& l) {
      for (ops::Weight* w :
           {&l.attn.wq_a, &l.attn.wq_b, &l.attn.wkv, &l.attn.wo_a, &l.attn.wo_b, &l.attn.indexer_wq_b, &l.engram.wkv})
        mark(*w);
      for (ops::ExpertWeights& e : l.ffn.experts) mark_expert(e);
      mark_expert(l.ffn.shared);
    };
    for (LayerWeights& l : out_.layers) mark_layer(l);
    for (LayerWeights& l : out_.draft.layers) mark_layer(l);
    mark(out_.draft.main_proj);
    return {};
  }

 private:
  static constexpr uint8_t kPlainLow = 64, kPlainHigh = 190;  // see ops::Weight::plain_scales
  struct Scale {
    std::string name;
    const uint8_t* data;
    uint64_t bytes;
  };

  const void* aligned(const TensorRef& t, size_t alignment) {
    if (reinterpret_cast<uintptr_t>(t.data) % alignment == 0) return t.data;
    AlignedBuffer copy(t.bytes);
    std::memcpy(copy.data(), t.data, t.bytes);
    out_.aligned_copies.push_back(std::move(copy));
    return out_.aligned_copies.back().data();
  }

  const Checkpoint& checkpoint_;
  const ModelConfig& c;
  ModelWeights& out_;
  std::vector<std::vector<int64_t>> primes_, multipliers_;
  std::vector<Scale> scales_;
};

}  // namespace

Result<ModelWeights> bind_weights(const Checkpoint& checkpoint, const ModelConfig& config, ThreadPool& pool) {
  ModelWeights weights;
  Binder binder(checkpoint, config, weights);
  binder.bind();
  DI_TRY_STATUS(binder.check_scales(pool));
  return weights;
}

}  // namespace deepinfer
