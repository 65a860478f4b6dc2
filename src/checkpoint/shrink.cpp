#include "checkpoint/shrink.h"

#include <simdjson.h>

#include <algorithm>
#include <functional>
#include <map>

#include "base/json_writer.h"

namespace deepinfer {
namespace {

std::vector<int64_t> choose_layers(const ModelConfig& c, int64_t count) {
  const int64_t layers = c.num_hidden_layers, boundary = c.first_decoder_layer();
  std::vector<char> kept(static_cast<size_t>(layers), 0);
  int64_t num_kept = 0;
  auto keep = [&](int64_t i) {
    if (i < 0 || num_kept >= count || kept[static_cast<size_t>(i)]) return;
    kept[static_cast<size_t>(i)] = 1;
    ++num_kept;
  };
  // First layer of [begin, end) that fits, one with engram if there is one.
  auto first = [&](int64_t begin, int64_t end, const std::function<bool(int64_t)>& fits) {
    int64_t found = -1;
    for (int64_t i = end - 1; i >= begin; --i)
      if (fits(i) && (found < 0 || c.engram_slot(i) >= 0 || c.engram_slot(found) < 0)) found = i;
    return found;
  };
  auto sources_kept = [&](int64_t i) {
    return c.ratio(i) == 0 || ((c.kv_source_of(i) == i || kept[static_cast<size_t>(c.kv_source_of(i))]) &&
                               (c.index_source_of(i) == i || kept[static_cast<size_t>(c.index_source_of(i))]));
  };
  keep(boundary);
  if (c.candidate_source_layer_id >= 0 && sources_kept(c.candidate_source_layer_id)) keep(c.candidate_source_layer_id);
  keep(first(0, boundary, [&](int64_t i) { return c.ratio(i) > 1 && c.is_kv_source(i); }));
  keep(first(0, layers, [&](int64_t i) { return c.ratio(i) == 0; }));
  keep(first(boundary + 1, layers, [&](int64_t i) { return c.is_index_source(i) && sources_kept(i); }));
  keep(first(boundary + 1, layers,
             [&](int64_t i) { return c.ratio(i) > 0 && !c.is_index_source(i) && sources_kept(i); }));
  keep(first(0, boundary, [&](int64_t i) { return c.ratio(i) > 0 && !c.is_index_source(i) && sources_kept(i); }));
  while (num_kept < count) {
    const int64_t before = num_kept;
    for (auto [begin, end] : {std::pair{int64_t{0}, boundary}, std::pair{boundary, layers}})
      for (int64_t i = begin; i < end; ++i)
        if (!kept[static_cast<size_t>(i)] && sources_kept(i)) {
          keep(i);
          break;
        }
    if (num_kept == before) break;
  }
  std::vector<int64_t> out;
  for (int64_t i = 0; i < layers; ++i)
    if (kept[static_cast<size_t>(i)]) out.push_back(i);
  return out;
}

Status out_of_range(const char* what, int64_t value, int64_t low, int64_t high) {
  if (value >= low && value <= high) return {};
  return fail(ErrorCode::kInvalidArgument, "{} {}: expected {} to {} for this config", what, value, low, high);
}

}  // namespace

Result<ModelConfig> shrink(const ModelConfig& config, const ShrinkOptions& o) {
  ModelConfig c = config;
  if (o.draft_layers) {
    DI_TRY_STATUS(out_of_range("--draft-layers", *o.draft_layers, 0, c.num_nextn_predict_layers));
    c.num_nextn_predict_layers = *o.draft_layers;
    c.compress_ratios.resize(static_cast<size_t>(c.total_layers()));
  }
  if (o.layers) {
    DI_TRY_STATUS(out_of_range("--layers", *o.layers, 1, config.num_hidden_layers));
    const std::vector<int64_t> kept = choose_layers(config, *o.layers);
    auto renumber = [&](std::vector<int64_t>& ids) {
      std::vector<int64_t> out;
      for (size_t i = 0; i < kept.size(); ++i)
        if (std::find(ids.begin(), ids.end(), kept[i]) != ids.end()) out.push_back(static_cast<int64_t>(i));
      ids = out;
    };
    c.num_hidden_layers = static_cast<int64_t>(kept.size());
    c.compress_ratios.clear();
    for (int64_t layer : kept) c.compress_ratios.push_back(config.ratio(layer));
    c.compress_ratios.resize(static_cast<size_t>(c.total_layers()), 0);
    renumber(c.kv_source_layer_ids);
    renumber(c.index_k_source_layer_ids);
    renumber(c.index_source_layer_ids);
    renumber(c.engram_layer_ids);
    std::vector<int64_t> candidates;
    if (c.candidate_source_layer_id >= 0) candidates.push_back(c.candidate_source_layer_id);
    renumber(candidates);
    c.candidate_source_layer_id = candidates.empty() ? -1 : candidates[0];
    const int64_t targets =
        std::min<int64_t>(static_cast<int64_t>(c.dspark_target_layer_ids.size()), c.num_hidden_layers);
    c.dspark_target_layer_ids.clear();
    for (int64_t i = c.num_hidden_layers - targets; i < c.num_hidden_layers; ++i)
      c.dspark_target_layer_ids.push_back(i);
  }
  if (o.experts) {
    DI_TRY_STATUS(out_of_range("--experts", *o.experts, 1, config.n_routed_experts));
    c.n_routed_experts = *o.experts;
    c.num_experts_per_tok = std::min(c.num_experts_per_tok, *o.experts);
    c.dspark_n_routed_experts = std::min(c.dspark_n_routed_experts, *o.experts);
    c.dspark_num_experts_per_tok = std::min(c.dspark_num_experts_per_tok, c.dspark_n_routed_experts);
  }
  if (o.engram_rows && !c.engram_layer_ids.empty()) {
    DI_TRY_STATUS(out_of_range("--engram-rows", *o.engram_rows, 2 * c.engram_columns(), int64_t{1} << 36));
    // The start of the primes for which the tables have that many rows on average, at most.
    int64_t low = 2, high = *o.engram_rows / c.engram_columns();
    while (low < high) {
      c.engram_vocab_size = low + (high - low + 1) / 2;
      int64_t rows = 0;
      for (const auto& primes : c.engram_primes())
        for (int64_t p : primes) rows += p;
      if (rows > *o.engram_rows * static_cast<int64_t>(c.engram_layer_ids.size()))
        high = c.engram_vocab_size - 1;
      else
        low = c.engram_vocab_size;
    }
    c.engram_vocab_size = low;
  }
  c.engram_num_embeddings.clear();
  for (const auto& primes : c.engram_primes()) {
    int64_t rows = 0;
    for (int64_t p : primes) rows += p;
    c.engram_num_embeddings.push_back(rows);
  }
  if (!o.vision) c.vision.reset();
  return c;
}

namespace {

using simdjson::dom::element;

void write(JsonWriter& w, const element& e, const std::map<std::string_view, std::string>* changed, bool vision,
           bool root) {
  if (e.is_object()) {
    w.begin_object();
    for (auto [key, value] : simdjson::dom::object(e)) {
      if (root && key == "vision_config" && !vision) continue;
      w.key(key);
      if (changed && changed->count(key))
        w.raw(changed->at(key));
      else
        write(w, value, nullptr, true, false);
    }
    w.end_object();
  } else if (e.is_array()) {
    w.begin_array();
    for (element item : simdjson::dom::array(e)) write(w, item, nullptr, true, false);
    w.end_array();
  } else {
    w.raw(simdjson::minify(e));
  }
}

std::string list(const std::vector<int64_t>& values) {
  JsonWriter w;
  w.array(values);
  return w.take();
}

}  // namespace

Result<std::string> rewrite_config(std::string_view original, const std::string& name, const ModelConfig& c) {
  simdjson::dom::parser parser;
  element root, text;
  if (const auto e = parser.parse(original.data(), original.size()).get(root))
    return fail(ErrorCode::kBadModel, "{}: not valid JSON: {}", name, simdjson::error_message(e));
  if (!root.is_object() || root["text_config"].get(text))
    return fail(ErrorCode::kBadModel, "{}: text_config is missing", name);
  const std::map<std::string_view, std::string> changed = {
      {"num_hidden_layers", std::to_string(c.num_hidden_layers)},
      {"num_nextn_predict_layers", std::to_string(c.num_nextn_predict_layers)},
      {"compress_ratios", list(c.compress_ratios)},
      {"kv_source_layer_ids", list(c.kv_source_layer_ids)},
      {"index_k_source_layer_ids", list(c.index_k_source_layer_ids)},
      {"index_source_layer_ids", list(c.index_source_layer_ids)},
      {"candidate_source_layer_id",
       c.candidate_source_layer_id < 0 ? "null" : std::to_string(c.candidate_source_layer_id)},
      {"engram_layer_ids", list(c.engram_layer_ids)},
      {"engram_num_embeddings", list(c.engram_num_embeddings)},
      {"engram_vocab_size", std::to_string(c.engram_vocab_size)},
      {"n_routed_experts", std::to_string(c.n_routed_experts)},
      {"num_experts_per_tok", std::to_string(c.num_experts_per_tok)},
      {"dspark_n_routed_experts", std::to_string(c.dspark_n_routed_experts)},
      {"dspark_num_experts_per_tok", std::to_string(c.dspark_num_experts_per_tok)},
      {"dspark_target_layer_ids", list(c.dspark_target_layer_ids)},
  };
  JsonWriter w, inner;
  write(inner, text, &changed, true, false);
  const std::map<std::string_view, std::string> replaced = {{"text_config", inner.take()}};
  write(w, root, &replaced, c.vision.has_value(), true);
  return w.take() + "\n";
}

}  // namespace deepinfer
