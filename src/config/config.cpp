#include "config/config.h"

#include <simdjson.h>
#include <sys/stat.h>

#include <algorithm>
#include <cmath>

#include "base/mapped_file.h"

namespace deepinfer {
namespace {

using Element = simdjson::dom::element;

std::string show(const Element& e) {
  std::string s = simdjson::to_string(e);
  return s.size() > 60 ? s.substr(0, 57) + "..." : s;
}

// Reads keys of one JSON object; the first fault is kept and every later call is a no-op, so that reading stays a flat
// list.
class Reader {
 public:
  Reader(std::string name, std::string prefix, simdjson::dom::object object, Status& status)
      : name_(std::move(name)), prefix_(std::move(prefix)), object_(object), status_(status) {}

  std::optional<Element> find(const char* key) const {
    Element e;
    if (object_[key].get(e)) return std::nullopt;
    return e;
  }
  bool present(const char* key) const {
    const auto e = find(key);
    return e && !e->is_null();
  }

  void integer(const char* key, int64_t& out, int64_t low, int64_t high, bool required = true) {
    if (!status_) return;
    const auto e = find(key);
    if (!e) {
      if (required) missing(key, "an integer");
      return;
    }
    int64_t v;
    if (e->get_int64().get(v)) return wrong(key, "an integer", *e);
    if (v < low || v > high) return wrong(key, fmt::format("an integer from {} to {}", low, high), *e);
    out = v;
  }

  void number(const char* key, double& out, double low, double high, bool required = true) {
    if (!status_) return;
    const auto e = find(key);
    if (!e) {
      if (required) missing(key, "a number");
      return;
    }
    double v;
    if (!e->is_number() || e->get_double().get(v)) return wrong(key, "a number", *e);
    if (!(v >= low && v <= high)) return wrong(key, fmt::format("a number from {} to {}", low, high), *e);
    out = v;
  }

  void integers(const char* key, std::vector<int64_t>& out, int64_t low, int64_t high, bool required = true) {
    if (!status_) return;
    const auto e = find(key);
    if (!e) {
      if (required) missing(key, "a list of integers");
      return;
    }
    simdjson::dom::array array;
    if (e->get_array().get(array)) return wrong(key, "a list of integers", *e);
    out.clear();
    for (Element item : array) {
      int64_t v;
      if (item.get_int64().get(v) || v < low || v > high)
        return wrong(key, fmt::format("a list of integers from {} to {}", low, high), *e);
      if (out.size() >= 1 << 16) return wrong(key, "a list of at most 65536 integers", *e);
      out.push_back(v);
    }
  }

  void boolean(const char* key, bool& out) {
    if (!status_) return;
    const auto e = find(key);
    if (!e) return;
    if (e->get_bool().get(out)) wrong(key, "true or false", *e);
  }

  // The value must be this JSON text, e.g. "\"silu\"", "false", "[32,32]".
  void exactly(const char* key, const char* want, bool required = true) {
    if (!status_) return;
    const auto e = find(key);
    if (!e) {
      if (required) missing(key, want);
      return;
    }
    std::string found = simdjson::minify(*e);
    if (found == want) return;
    if (std::string_view(want) == "0.0" && e->is_number() && double(*e) == 0) return;
    wrong(key, want, *e);
  }

  std::optional<Reader> object(const char* key, bool required) {
    if (!status_) return std::nullopt;
    const auto e = find(key);
    simdjson::dom::object o;
    if (!e || e->is_null()) {
      if (required) missing(key, "an object");
      return std::nullopt;
    }
    if (e->get_object().get(o)) {
      wrong(key, "an object", *e);
      return std::nullopt;
    }
    return Reader(name_, prefix_ + key + ".", o, status_);
  }

  void missing(const char* key, std::string_view want) {
    if (status_) status_ = fail(ErrorCode::kBadModel, "{}: {}{} is missing, expected {}", name_, prefix_, key, want);
  }
  void wrong(const char* key, std::string_view want, const Element& found) {
    if (status_)
      status_ = fail(ErrorCode::kBadModel, "{}: {}{} is {}, expected {}", name_, prefix_, key, show(found), want);
  }

 private:
  std::string name_, prefix_;
  simdjson::dom::object object_;
  Status& status_;
};

constexpr int64_t kMaxLayers = 1024, kMaxDim = 1 << 18, kMaxVocab = 1 << 24, kMaxExperts = 1 << 16;
constexpr int64_t kMaxAllExperts = 1 << 20;        // of all layers together: bounds the list of tensors
constexpr int64_t kMaxAllEngramColumns = 1 << 13;  // of all layers together: bounds the search for primes

bool ascending(const std::vector<int64_t>& v) {
  for (size_t i = 1; i < v.size(); ++i)
    if (v[i] <= v[i - 1]) return false;
  return true;
}

bool contains(const std::vector<int64_t>& v, int64_t x) { return std::find(v.begin(), v.end(), x) != v.end(); }

int nearest_at_or_below(const std::vector<int64_t>& v, int64_t layer) {
  int best = -1;
  for (int64_t x : v)
    if (x <= layer) best = static_cast<int>(x);
  return best;
}

void read_text(Reader& r, ModelConfig& c) {
  r.exactly("model_type", "\"deepseek_v41_text\"", false);
  r.exactly("hidden_act", "\"silu\"");
  r.exactly("attention_bias", "false");
  r.exactly("attention_dropout", "0.0");
  r.exactly("num_key_value_heads", "1");
  r.exactly("scoring_func", "\"sqrtsoftplus\"");
  r.exactly("topk_method", "\"noaux_tc\"");
  r.exactly("norm_topk_prob", "true");
  r.exactly("hc_shifted", "true", false);
  r.exactly("dspark_target_attn_input", "true", false);
  r.integer("num_hidden_layers", c.num_hidden_layers, 1, kMaxLayers);
  r.integer("num_nextn_predict_layers", c.num_nextn_predict_layers, 0, kMaxLayers, false);
  r.integer("vocab_size", c.vocab_size, 1, kMaxVocab);
  r.integer("hidden_size", c.hidden_size, 32, kMaxDim);
  r.integer("num_attention_heads", c.num_attention_heads, 1, 65536);
  r.integer("head_dim", c.head_dim, 32, 65536);
  r.integer("qk_rope_head_dim", c.qk_rope_head_dim, 2, 65536);
  r.integer("q_lora_rank", c.q_lora_rank, 32, kMaxDim);
  r.integer("o_lora_rank", c.o_lora_rank, 1, kMaxDim);
  r.integer("o_groups", c.o_groups, 1, 65536);
  r.integer("moe_intermediate_size", c.moe_intermediate_size, 32, kMaxDim);
  r.integer("n_routed_experts", c.n_routed_experts, 1, kMaxExperts);
  r.exactly("n_shared_experts", "1");
  r.integer("num_experts_per_tok", c.num_experts_per_tok, 1, kMaxExperts);
  r.number("routed_scaling_factor", c.routed_scaling_factor, 1e-6, 1e6);
  r.number("swiglu_limit", c.swiglu_limit, 0, 1e9);
  r.number("rms_norm_eps", c.rms_norm_eps, 0, 1);
  r.integer("max_position_embeddings", c.max_position_embeddings, 1, 1 << 28);
  r.number("rope_theta", c.rope_theta, 1, 1e12);
  r.number("compress_rope_theta", c.compress_rope_theta, 1, 1e12);
  r.integer("sliding_window", c.sliding_window, 1, 1 << 20);
  r.integers("compress_ratios", c.compress_ratios, 0, 2);
  r.integers("kv_source_layer_ids", c.kv_source_layer_ids, 0, kMaxLayers);
  r.integers("index_source_layer_ids", c.index_source_layer_ids, 0, kMaxLayers);
  c.index_k_source_layer_ids = c.kv_source_layer_ids;
  if (r.present("index_k_source_layer_ids"))
    r.integers("index_k_source_layer_ids", c.index_k_source_layer_ids, 0, kMaxLayers);
  r.integer("index_n_heads", c.index_n_heads, 1, 65536);
  r.integer("index_head_dim", c.index_head_dim, 32, 65536);
  r.integer("index_topk", c.index_topk, 1, 1 << 24);
  if (!r.find("candidate_source_layer_id")) r.missing("candidate_source_layer_id", "a layer, or null for none");
  if (r.present("candidate_source_layer_id")) {
    r.integer("candidate_source_layer_id", c.candidate_source_layer_id, 0, kMaxLayers);
    r.integer("candidate_topk_blocks", c.candidate_topk_blocks, 1, 1 << 20);
    r.integer("candidate_block_size", c.candidate_block_size, 1, 16);
  }
  r.integer("hc_mult", c.hc_mult, 1, 16);
  r.integer("hc_sinkhorn_iters", c.hc_sinkhorn_iters, 1, 1000);
  r.number("hc_eps", c.hc_eps, 0, 1);
  r.integers("engram_layer_ids", c.engram_layer_ids, 0, kMaxLayers, false);
  if (!c.engram_layer_ids.empty()) {
    r.integers("engram_num_embeddings", c.engram_num_embeddings, 1, int64_t{1} << 40);
    r.integer("engram_max_ngram_size", c.engram_max_ngram_size, 2, 16);
    r.integer("engram_vocab_size", c.engram_vocab_size, 2, int64_t{1} << 36);
    r.integer("engram_n_heads", c.engram_n_heads, 1, 256);
    r.integer("engram_head_dim", c.engram_head_dim, 32, 65536);
    r.integer("engram_pad_token_id", c.engram_pad_token_id, 0, kMaxVocab);
    r.integer("engram_compressed_vocab_size", c.engram_compressed_vocab_size, 1, kMaxVocab);
  }
  if (c.num_nextn_predict_layers > 0) {
    r.integer("dspark_block_size", c.dspark_block_size, 1, 256);
    r.integer("dspark_noise_token_id", c.dspark_noise_token_id, 0, kMaxVocab);
    r.integer("dspark_markov_rank", c.dspark_markov_rank, 1, 65536);
    r.integer("dspark_n_routed_experts", c.dspark_n_routed_experts, 1, kMaxExperts);
    r.integer("dspark_num_experts_per_tok", c.dspark_num_experts_per_tok, 1, kMaxExperts);
    r.integers("dspark_target_layer_ids", c.dspark_target_layer_ids, 0, kMaxLayers);
  }
  r.boolean("use_fp4_sparse_kv", c.use_fp4_sparse_kv);
  if (r.present("gate_temp")) r.exactly("gate_temp", "1.0");
  if (auto s = r.present("rope_scaling") ? r.object("rope_scaling", false) : std::nullopt) {
    if (s->find("factor") || s->find("original_max_position_embeddings")) {
      c.has_yarn = true;
      s->number("factor", c.rope_factor, 1e-3, 1e6);
      s->number("beta_fast", c.rope_beta_fast, 1e-6, 1e6, false);
      s->number("beta_slow", c.rope_beta_slow, 1e-6, 1e6, false);
      s->number("original_max_position_embeddings", c.rope_original, 1, 1e12);
    }
  }
}

// Rules between keys (model.md 2.4). `bad(key, text)` is the fault.
template <typename Bad>
Status check_rules(const ModelConfig& c, Bad bad) {
  const int64_t layers = c.num_hidden_layers;
  if (static_cast<int64_t>(c.compress_ratios.size()) != c.total_layers())
    return bad("compress_ratios",
               fmt::format("has {} entries, expected num_hidden_layers + num_nextn_predict_layers = {}",
                           c.compress_ratios.size(), c.total_layers()));
  for (int64_t i = layers; i < c.total_layers(); ++i)
    if (c.ratio(i) != 0)
      return bad("compress_ratios", fmt::format("entry {} (draft layer) is {}, expected 0", i, c.ratio(i)));
  if (c.first_decoder_layer() < 0)
    return bad("compress_ratios", "has no layer of ratio 1, expected at least one (it starts the decoder half)");
  struct Map {
    const char* key;
    const std::vector<int64_t>& ids;
  };
  for (const Map& m :
       {Map{"kv_source_layer_ids", c.kv_source_layer_ids}, Map{"index_k_source_layer_ids", c.index_k_source_layer_ids},
        Map{"index_source_layer_ids", c.index_source_layer_ids}, Map{"engram_layer_ids", c.engram_layer_ids},
        Map{"dspark_target_layer_ids", c.dspark_target_layer_ids}}) {
    if (!ascending(m.ids)) return bad(m.key, "is not in rising order");
    for (int64_t id : m.ids)
      if (id >= layers) return bad(m.key, fmt::format("names layer {}, but there are only {}", id, layers));
  }
  for (const Map& m :
       {Map{"kv_source_layer_ids", c.kv_source_layer_ids}, Map{"index_source_layer_ids", c.index_source_layer_ids}})
    for (int64_t id : m.ids)
      if (c.ratio(id) == 0) return bad(m.key, fmt::format("names layer {}, whose compress ratio is 0", id));
  for (int64_t id : c.kv_source_layer_ids)
    if (!contains(c.index_k_source_layer_ids, id))
      return bad("index_k_source_layer_ids", fmt::format("lacks layer {} of kv_source_layer_ids", id));
  for (int64_t id : c.index_k_source_layer_ids)
    if (!contains(c.index_source_layer_ids, id))
      return bad("index_source_layer_ids", fmt::format("lacks layer {} of index_k_source_layer_ids", id));
  if (c.index_k_source_layer_ids != c.kv_source_layer_ids)
    return bad("index_k_source_layer_ids",
               "differs from kv_source_layer_ids, which no released checkpoint does; not supported");
  for (int64_t i = 0; i < layers; ++i) {
    if (c.ratio(i) == 0) continue;
    for (const Map& m :
         {Map{"kv_source_layer_ids", c.kv_source_layer_ids}, Map{"index_source_layer_ids", c.index_source_layer_ids}}) {
      const int source = nearest_at_or_below(m.ids, i);
      if (source < 0)
        return bad(m.key, fmt::format("has no source at or below layer {}, which reads compressed KV", i));
      if (c.ratio(source) != c.ratio(i))
        return bad(m.key, fmt::format("gives layer {} (compress ratio {}) the source {} (compress_ratios: {})", i,
                                      c.ratio(i), source, c.ratio(source)));
    }
  }
  if (!c.is_kv_source(c.first_decoder_layer()))
    return bad("kv_source_layer_ids", fmt::format("lacks layer {}, the first of ratio 1", c.first_decoder_layer()));

  if (c.candidate_source_layer_id >= 0) {
    if (!c.is_index_source(c.candidate_source_layer_id))
      return bad("candidate_source_layer_id",
                 fmt::format("is {}, which is not in index_source_layer_ids", c.candidate_source_layer_id));
    if (c.candidate_topk_blocks % 8 != 0)
      return bad("candidate_topk_blocks", fmt::format("is {}, expected a multiple of 8", c.candidate_topk_blocks));
    if ((c.candidate_topk_blocks - 1) * c.candidate_block_size + 1 < c.index_topk)
      return bad("index_topk",
                 fmt::format("is {}, more than candidate_topk_blocks x candidate_block_size = {} x {} can hold",
                             c.index_topk, c.candidate_topk_blocks, c.candidate_block_size));
    for (int64_t id : c.index_source_layer_ids)
      if (id > c.candidate_source_layer_id && (c.ratio(id) != c.ratio(c.candidate_source_layer_id) ||
                                               c.kv_source_of(id) != c.kv_source_of(c.candidate_source_layer_id)))
        return bad("candidate_source_layer_id",
                   fmt::format("is {}, but index source {} reads another cache", c.candidate_source_layer_id, id));
  }
  auto multiple = [](int64_t v, int64_t of) { return v % of == 0; };
  if (!multiple(c.hidden_size, 32))
    return bad("hidden_size", fmt::format("is {}, expected a multiple of 32", c.hidden_size));
  if (!multiple(c.head_dim, 32)) return bad("head_dim", fmt::format("is {}, expected a multiple of 32", c.head_dim));
  if (!multiple(c.index_head_dim, 32))
    return bad("index_head_dim", fmt::format("is {}, expected a multiple of 32", c.index_head_dim));
  if (!multiple(c.q_lora_rank, 32))
    return bad("q_lora_rank", fmt::format("is {}, expected a multiple of 32", c.q_lora_rank));
  if (!multiple(c.moe_intermediate_size, 32))
    return bad("moe_intermediate_size", fmt::format("is {}, expected a multiple of 32", c.moe_intermediate_size));
  if (!multiple(c.qk_rope_head_dim, 2) || c.qk_rope_head_dim > std::min(c.head_dim, c.index_head_dim))
    return bad("qk_rope_head_dim",
               fmt::format("is {}, expected an even number up to head_dim and index_head_dim", c.qk_rope_head_dim));
  if (!multiple(c.num_attention_heads, c.o_groups))
    return bad("o_groups",
               fmt::format("is {}, which does not divide num_attention_heads = {}", c.o_groups, c.num_attention_heads));
  if (!multiple(c.o_groups * c.o_lora_rank, 32))
    return bad("o_lora_rank",
               fmt::format("is {}, expected o_groups x o_lora_rank to be a multiple of 32", c.o_lora_rank));
  if (c.num_experts_per_tok > c.n_routed_experts)
    return bad("num_experts_per_tok",
               fmt::format("is {}, more than n_routed_experts = {}", c.num_experts_per_tok, c.n_routed_experts));
  if (layers * c.n_routed_experts > kMaxAllExperts)
    return bad("n_routed_experts", fmt::format("is {} in each of {} layers, more than {} experts in all",
                                               c.n_routed_experts, layers, kMaxAllExperts));
  for (auto [key, id] :
       {std::pair{"bos_token_id", c.bos_token_id}, {"eos_token_id", c.eos_token_id}, {"pad_token_id", c.pad_token_id}})
    if (id < 0 || id >= c.vocab_size)
      return bad(key, fmt::format("is {}, outside the vocabulary of {}", id, c.vocab_size));

  if (c.image_token_id && *c.image_token_id >= c.vocab_size)
    return bad("image_token_id", fmt::format("is {}, outside the vocabulary of {}", *c.image_token_id, c.vocab_size));

  if (!c.engram_layer_ids.empty()) {
    if (!multiple(c.engram_head_dim, 32))
      return bad("engram_head_dim", fmt::format("is {}, expected a multiple of 32", c.engram_head_dim));
    if (c.engram_pad_token_id >= c.vocab_size)
      return bad("engram_pad_token_id",
                 fmt::format("is {}, outside the vocabulary of {}", c.engram_pad_token_id, c.vocab_size));
    if (c.engram_compressed_vocab_size > c.vocab_size)
      return bad("engram_compressed_vocab_size",
                 fmt::format("is {}, more than vocab_size = {}", c.engram_compressed_vocab_size, c.vocab_size));
    if (c.engram_num_embeddings.size() != c.engram_layer_ids.size())
      return bad("engram_num_embeddings", fmt::format("has {} entries, expected one per engram layer ({})",
                                                      c.engram_num_embeddings.size(), c.engram_layer_ids.size()));
    if (static_cast<int64_t>(c.engram_layer_ids.size()) * c.engram_columns() > kMaxAllEngramColumns)
      return bad("engram_n_heads", fmt::format("is {}, which makes more than {} columns in all engram layers",
                                               c.engram_n_heads, kMaxAllEngramColumns));
    const auto primes = c.engram_primes();
    for (size_t i = 0; i < primes.size(); ++i) {
      int64_t sum = 0;
      for (int64_t p : primes[i]) sum += p;
      if (sum != c.engram_num_embeddings[i])
        return bad("engram_num_embeddings",
                   fmt::format("entry {} is {}, expected {}, the sum of its {} primes from engram_vocab_size = {} on",
                               i, c.engram_num_embeddings[i], sum, primes[i].size(), c.engram_vocab_size));
    }
  }
  if (c.num_nextn_predict_layers > 0) {
    if (c.dspark_target_layer_ids.empty())
      return bad("dspark_target_layer_ids", "is empty, expected at least one layer");
    if (c.dspark_noise_token_id >= c.vocab_size)
      return bad("dspark_noise_token_id",
                 fmt::format("is {}, outside the vocabulary of {}", c.dspark_noise_token_id, c.vocab_size));
    if (c.dspark_num_experts_per_tok > c.dspark_n_routed_experts)
      return bad("dspark_num_experts_per_tok", fmt::format("is {}, more than dspark_n_routed_experts = {}",
                                                           c.dspark_num_experts_per_tok, c.dspark_n_routed_experts));
    if (c.num_nextn_predict_layers * c.dspark_n_routed_experts > kMaxAllExperts)
      return bad("dspark_n_routed_experts",
                 fmt::format("is {} in each of {} draft layers, more than {} experts in all", c.dspark_n_routed_experts,
                             c.num_nextn_predict_layers, kMaxAllExperts));
  }
  return {};
}

}  // namespace

bool ModelConfig::is_kv_source(int64_t layer) const { return contains(kv_source_layer_ids, layer); }
bool ModelConfig::is_index_source(int64_t layer) const { return contains(index_source_layer_ids, layer); }
int ModelConfig::kv_source_of(int64_t layer) const { return nearest_at_or_below(kv_source_layer_ids, layer); }
int ModelConfig::index_source_of(int64_t layer) const { return nearest_at_or_below(index_source_layer_ids, layer); }

int ModelConfig::engram_slot(int64_t layer) const {
  const auto at = std::find(engram_layer_ids.begin(), engram_layer_ids.end(), layer);
  return at == engram_layer_ids.end() ? -1 : static_cast<int>(at - engram_layer_ids.begin());
}

int ModelConfig::first_decoder_layer() const {
  for (int64_t i = 0; i < num_hidden_layers; ++i)
    if (ratio(i) == 1) return static_cast<int>(i);
  return -1;
}

Result<ModelConfig> ModelConfig::load(const std::string& path) {
  struct stat st = {};
  std::string file = path;
  if (stat(path.c_str(), &st) != 0)
    return fail(ErrorCode::kNotFound, "{}: no such folder; give a model folder with config.json", path);
  if (S_ISDIR(st.st_mode)) file += "/config.json";
  DI_TRY(MappedFile mapped, MappedFile::open(file));
  return parse(mapped.text(), file);
}

Result<ModelConfig> ModelConfig::parse(std::string_view json, const std::string& name) {
  simdjson::dom::parser parser;
  Element root;
  if (const auto e = parser.parse(json.data(), json.size()).get(root))
    return fail(ErrorCode::kBadModel, "{}: not valid JSON: {}", name, simdjson::error_message(e));
  simdjson::dom::object object;
  if (root.get_object().get(object)) return fail(ErrorCode::kBadModel, "{}: expected a JSON object at the top", name);

  ModelConfig c;
  Status status;
  Reader r(name, "", object, status);
  r.exactly("architectures", "[\"DeepseekV41ForCausalLM\"]");
  r.exactly("model_type", "\"deepseek_v41\"");
  r.exactly(r.find("dtype") ? "dtype" : "torch_dtype", "\"bfloat16\"");
  if (auto q = r.object("quantization_config", true)) {
    q->exactly("quant_method", "\"fp8\"");
    q->exactly("activation_scheme", "\"dynamic\"");
    q->exactly("weight_block_size", "[32,32]");
    q->exactly("scale_fmt", "\"ue8m0\"");
    q->exactly("expert_dtype", "\"fp4\"");
  }
  r.integer("bos_token_id", c.bos_token_id, 0, kMaxVocab);
  r.integer("eos_token_id", c.eos_token_id, 0, kMaxVocab);
  r.integer("pad_token_id", c.pad_token_id, 0, kMaxVocab);
  if (r.present("image_token_id")) {
    int64_t id = 0;
    r.integer("image_token_id", id, 0, kMaxVocab);
    c.image_token_id = id;
  }
  std::string prefix;
  if (auto t = r.object("text_config", true)) {
    prefix = "text_config.";
    read_text(*t, c);
  }
  if (r.present("vision_config")) {
    if (auto v = r.object("vision_config", false)) {
      VisionConfig vision;
      v->integer("num_hidden_layers", vision.num_hidden_layers, 1, kMaxLayers);
      v->integer("hidden_size", vision.hidden_size, 1, kMaxDim);
      v->integer("num_attention_heads", vision.num_attention_heads, 1, 65536);
      v->integer("intermediate_size", vision.intermediate_size, 1, kMaxDim);
      v->integer("patch_size", vision.patch_size, 1, 4096);
      v->integer("downsample_ratio", vision.downsample_ratio, 1, 64);
      v->integer("max_image_tokens", vision.max_image_tokens, 1, 1 << 24);
      v->integer("min_pixels", vision.min_pixels, 1, int64_t{1} << 40);
      v->number("rope_theta", vision.rope_theta, 1, 1e12, false);
      if (v->present("max_wh_ratio")) {
        double ratio = 1;
        v->number("max_wh_ratio", ratio, 1, 1e9);
        vision.max_wh_ratio = ratio;
      }
      v->exactly("model_type", "\"deepseek_v41_vision\"", false);
      if (vision.num_attention_heads > 0 && vision.hidden_size % (4 * vision.num_attention_heads) != 0 && status)
        status = fail(ErrorCode::kBadModel,
                      "{}: vision_config.num_attention_heads is {}, expected heads of a multiple of 4 channels of "
                      "hidden_size = {}",
                      name, vision.num_attention_heads, vision.hidden_size);
      if (!r.present("image_token_id")) r.missing("image_token_id", "an id, because there is a vision_config");
      c.vision = vision;
    }
  }
  if (!status) return tl::unexpected<Error>(status.error());
  status = check_rules(c, [&](const char* key, const std::string& text) -> Status {
    bool root = false;
    for (std::string_view k : {"bos_token_id", "eos_token_id", "pad_token_id", "image_token_id"}) root |= k == key;
    return fail(ErrorCode::kBadModel, "{}: {}{} {}", name, root ? "" : prefix, key, text);
  });
  if (!status) return tl::unexpected<Error>(status.error());
  return c;
}

}  // namespace deepinfer
