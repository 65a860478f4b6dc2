// `deepinfer inspect DIR`: checks a checkpoint folder against every rule of model.md 2.4 and 3 without reading weights,
// and prints what it holds: config in words, tensors by kind, what each layer stores per token, the memory a context
// and batch need. --json for scripts.
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <map>

#include "base/json_writer.h"
#include "checkpoint/checkpoint.h"
#include "cli/command.h"
#include "cli/default_model.h"
#include "cli/memory_plan.h"
#include "tokenizer/tokenizer.h"

namespace deepinfer::cli {
namespace {

struct Options {
  std::string dir, model;
  bool json = false;
  int64_t context = 0, batch = 1;
};

struct Total {
  int64_t tensors = 0, bytes = 0, parameters = 0;
  void add(const TensorRef& t) {
    int64_t elements = 1;
    for (int64_t d : t.shape) elements *= d;
    ++tensors;
    bytes += static_cast<int64_t>(t.bytes);
    if (t.dtype == DType::kI8) elements *= 2;               // two FP4 weights a byte
    if (t.dtype != DType::kF8E8M0) parameters += elements;  // scales are part of their weights
  }
};

struct Contents {
  std::array<Total, kNumTensorKinds> kinds;
  std::map<std::string, Total> dtypes;
  Total all;
  size_t shards = 0;
  std::string token_map;  // where the n-gram hash's token map comes from
};

int64_t machine_memory() { return static_cast<int64_t>(sysconf(_SC_PHYS_PAGES)) * sysconf(_SC_PAGESIZE); }

bool is_file(const std::string& path) {
  struct stat st = {};
  return stat(path.c_str(), &st) == 0 && S_ISREG(st.st_mode);
}

// The tokenizer of the folder, if it has one, must know the ids that config.json names (model.md 2.4 rules 9 and 12).
Status check_tokenizer(const std::string& folder, const ModelConfig& config) {
  const std::string path = folder + "/tokenizer.json";
  if (!is_file(path)) return {};
  DI_TRY(const Tokenizer tokenizer, Tokenizer::load(path));
  const auto same = [&](std::string_view literal, int64_t found, const char* key, int64_t want) -> Status {
    if (found == want) return {};
    return fail(ErrorCode::kBadModel, "{}: {} has id {}, expected {} by {} of config.json", path, literal, found, want,
                key);
  };
  DI_TRY_STATUS(same(kBosLiteral, tokenizer.bos_id(), "bos_token_id", config.bos_token_id));
  DI_TRY_STATUS(same(kEosLiteral, tokenizer.eos_id(), "eos_token_id", config.eos_token_id));
  DI_TRY_STATUS(same(kPadLiteral, tokenizer.pad_id(), "pad_token_id", config.pad_token_id));
  return {};
}

Result<Contents> examine(const std::string& folder, const ModelConfig& config) {
  DI_TRY(const Checkpoint checkpoint, Checkpoint::open(folder, config));
  Contents out;
  out.shards = checkpoint.shards().size();
  for (const auto& [name, tensor] : checkpoint.tensors()) {
    out.kinds[static_cast<size_t>(tensor.kind)].add(tensor);
    out.dtypes[dtype_name(tensor.dtype)].add(tensor);
    out.all.add(tensor);
  }
  if (config.engram_layer_ids.empty()) {
    out.token_map = "not needed";
  } else if (is_file(folder + "/engram_meta.json")) {
    DI_TRY_STATUS(load_token_map(folder, config));
    out.token_map = "engram_meta.json";
  } else {
    out.token_map = is_file(folder + "/tokenizer.json") ? "built from tokenizer.json when the model is loaded"
                                                        : "missing: neither engram_meta.json nor tokenizer.json";
  }
  return out;
}

std::string list(const std::vector<int64_t>& values) {
  std::string out;
  for (int64_t v : values) out += (out.empty() ? "" : ", ") + std::to_string(v);
  return out.empty() ? "none" : out;
}

std::string role(const LayerStore& l, int64_t layer) {
  std::string out;
  if (l.ratio == 0) {
    out = l.name[0] == 'm' ? "draft, window only" : "window only";
  } else {
    out = l.kv_source == layer ? "KV source" : fmt::format("KV of layer {}", l.kv_source);
    if (l.index_source != layer)
      out += fmt::format(", top-k of layer {}", l.index_source);
    else
      out += l.reindex ? ", index source (inside candidate blocks)" : ", index source (all entries)";
    if (l.candidates) out += ", builds candidate blocks";
  }
  if (l.engram) out += ", engram";
  return out;
}

std::string describe(const ModelConfig& c) {
  std::string out;
  auto line = [&](const char* what, const std::string& text) { out += fmt::format("  {:<12}{}\n", what, text); };
  const int boundary = c.first_decoder_layer();
  line("layers",
       fmt::format("{} ({} encoder half, {} decoder half) and {} draft layers; hidden {}, {} residual streams",
                   c.num_hidden_layers, boundary, c.num_hidden_layers - boundary, c.num_nextn_predict_layers,
                   c.hidden_size, c.hc_mult));
  line("vocabulary",
       fmt::format("{}; context up to {} tokens", grouped(c.vocab_size), grouped(c.max_position_embeddings)));
  line("attention",
       fmt::format("{} heads x {} ({} rotary), one shared latent; query rank {}, output {} groups x {}; window {}",
                   c.num_attention_heads, c.head_dim, c.qk_rope_head_dim, c.q_lora_rank, c.o_groups, c.o_lora_rank,
                   c.sliding_window));
  line("compression",
       fmt::format("KV sources {}; stored as {}", list(c.kv_source_layer_ids), c.use_fp4_sparse_kv ? "FP4" : "FP8"));
  line("indexer", fmt::format("{} heads x {}, top {}; sources {}", c.index_n_heads, c.index_head_dim, c.index_topk,
                              list(c.index_source_layer_ids)) +
                      (c.candidate_source_layer_id < 0
                           ? std::string("; no candidate blocks")
                           : fmt::format("; layer {} keeps {} candidate blocks of {}", c.candidate_source_layer_id,
                                         c.candidate_topk_blocks, c.candidate_block_size)));
  line("experts", fmt::format("{} routed, {} per token, and {} shared; inner size {}", c.n_routed_experts,
                              c.num_experts_per_tok, c.n_shared_experts, c.moe_intermediate_size));
  if (!c.engram_layer_ids.empty())
    line("engram",
         fmt::format("layers {}; {} rows x {}; n-grams up to {}, {} columns per token", list(c.engram_layer_ids),
                     list(c.engram_num_embeddings), c.engram_head_dim, c.engram_max_ngram_size, c.engram_columns()));
  if (c.num_nextn_predict_layers > 0)
    line("drafts",
         fmt::format("blocks of {}; features of layers {}; {} experts, {} per token", c.dspark_block_size,
                     list(c.dspark_target_layer_ids), c.dspark_n_routed_experts, c.dspark_num_experts_per_tok));
  line("vision", c.vision ? fmt::format("{} layers x {}, patch {}, up to {} image tokens", c.vision->num_hidden_layers,
                                        c.vision->hidden_size, c.vision->patch_size, c.vision->max_image_tokens)
                          : std::string("none"));
  return out;
}

std::string layer_table(const MemoryPlan& plan) {
  std::string out =
      fmt::format("  {:<14}{:>6}{:>14}{:>10}{:>12}  {}\n", "layer", "ratio", "KV B/token", "index", "window B", "role");
  for (size_t i = 0; i < plan.layers.size();) {
    const LayerStore& l = plan.layers[i];
    const std::string what = role(l, static_cast<int64_t>(i));
    const bool draft = l.name[0] == 'm';
    size_t end = i + 1;  // layers that store the same and have the same role share a line
    while (end < plan.layers.size() && plan.layers[end].name[0] == l.name[0] && l.kv_source != static_cast<int>(i) &&
           role(plan.layers[end], static_cast<int64_t>(end)) == what)
      ++end;
    std::string name = l.name;
    if (end - i > 1) name += fmt::format("-{}", draft ? plan.layers[end - 1].name.substr(4) : std::to_string(end - 1));
    auto per_token = [&](int64_t record) {
      return record ? fmt::format("{:g}", static_cast<double>(record) / l.ratio) : std::string("-");
    };
    out += fmt::format("  {:<14}{:>6}{:>14}{:>10}{:>12}  {}\n", name, l.ratio, per_token(l.compressed_record),
                       per_token(l.index_record), grouped(l.window_record * plan.ring_slots), what);
    i = end;
  }
  return out;
}

std::string text_report(const std::string& folder, const ModelConfig& c, const Contents& contents,
                        const MemoryPlan& plan, const Options& o) {
  std::string out =
      fmt::format("{}: whole and valid; {} tensors, {} in {} shard{}, {:.2f} G parameters\n\nconfig\n{}", folder,
                  grouped(contents.all.tensors), human_bytes(static_cast<double>(contents.all.bytes)), contents.shards,
                  contents.shards == 1 ? "" : "s", static_cast<double>(contents.all.parameters) / 1e9, describe(c));
  if (!c.engram_layer_ids.empty()) out += fmt::format("  {:<12}{}\n", "token map", contents.token_map);
  out += fmt::format("\n  {:<22}{:>9}{:>20}{:>20}\n", "tensors", "count", "bytes", "parameters");
  auto row = [&](std::string_view name, const Total& t) {
    out +=
        fmt::format("  {:<22}{:>9}{:>20}{:>20}\n", name, grouped(t.tensors), grouped(t.bytes), grouped(t.parameters));
  };
  for (int k = 0; k < kNumTensorKinds; ++k)
    if (contents.kinds[static_cast<size_t>(k)].tensors)
      row(tensor_kind_name(static_cast<TensorKind>(k)), contents.kinds[static_cast<size_t>(k)]);
  row("total", contents.all);
  out += "\n";
  for (const auto& [name, total] : contents.dtypes) row(name, total);
  out += "\n" + layer_table(plan);
  out += fmt::format(
      "\n  grows with the context    {:g} B per token; a block of {} tokens is {} B\n"
      "  constant per sequence     {} B ({} window rings of {} slots, {} compressor carry, {} n-gram history)\n",
      plan.bytes_per_token, kv::kBlockTokens, grouped(plan.block.block_bytes), grouped(plan.state_bytes()),
      grouped(plan.window_bytes), plan.ring_slots, grouped(plan.carry_bytes), grouped(plan.history_bytes));
  const int64_t cache = plan.bytes(o.context, o.batch);
  out += fmt::format(
      "\nmemory for {} sequence{} of {} tokens\n"
      "  weights                   {} (mapped; what does not fit stays on disk behind the page cache)\n"
      "  cache                     {} ({} blocks and {} of constant state)\n"
      "  together                  {}; this machine has {}\n",
      grouped(o.batch), o.batch == 1 ? "" : "s", grouped(o.context),
      human_bytes(static_cast<double>(contents.all.bytes)), human_bytes(static_cast<double>(cache)),
      grouped(plan.blocks(o.context, o.batch)), human_bytes(static_cast<double>(plan.state_bytes() * o.batch)),
      human_bytes(static_cast<double>(cache + contents.all.bytes)), human_bytes(static_cast<double>(machine_memory())));
  return out;
}

void write_total(JsonWriter& w, const Total& t) {
  w.begin_object().field("tensors", t.tensors).field("bytes", t.bytes).field("parameters", t.parameters).end_object();
}

std::string json_report(const std::string& folder, const ModelConfig& c, const Contents& contents,
                        const MemoryPlan& plan, const Options& o) {
  JsonWriter w;
  w.begin_object().field("model", folder).field("valid", true);
  w.key("config").begin_object();
  w.field("vocab_size", c.vocab_size)
      .field("hidden_size", c.hidden_size)
      .field("num_hidden_layers", c.num_hidden_layers);
  w.field("num_nextn_predict_layers", c.num_nextn_predict_layers)
      .field("num_attention_heads", c.num_attention_heads)
      .field("head_dim", c.head_dim);
  w.field("n_routed_experts", c.n_routed_experts).field("num_experts_per_tok", c.num_experts_per_tok);
  w.field("moe_intermediate_size", c.moe_intermediate_size).field("sliding_window", c.sliding_window);
  w.field("max_position_embeddings", c.max_position_embeddings).field("use_fp4_sparse_kv", c.use_fp4_sparse_kv);
  w.field("first_decoder_layer", c.first_decoder_layer()).field("vision", c.vision.has_value());
  w.key("compress_ratios").array(c.compress_ratios);
  w.key("kv_source_layer_ids").array(c.kv_source_layer_ids);
  w.key("index_source_layer_ids").array(c.index_source_layer_ids);
  w.key("engram_layer_ids").array(c.engram_layer_ids);
  w.key("dspark_target_layer_ids").array(c.dspark_target_layer_ids);
  w.field("token_map", contents.token_map);
  w.end_object();
  w.field("shards", static_cast<int64_t>(contents.shards));
  w.key("total");
  write_total(w, contents.all);
  w.key("kinds").begin_object();
  for (int k = 0; k < kNumTensorKinds; ++k) {
    if (!contents.kinds[static_cast<size_t>(k)].tensors) continue;
    w.key(tensor_kind_name(static_cast<TensorKind>(k)));
    write_total(w, contents.kinds[static_cast<size_t>(k)]);
  }
  w.end_object();
  w.key("dtypes").begin_object();
  for (const auto& [name, total] : contents.dtypes) {
    w.key(name);
    write_total(w, total);
  }
  w.end_object();
  w.key("layers").begin_array();
  for (size_t i = 0; i < plan.layers.size(); ++i) {
    const LayerStore& l = plan.layers[i];
    w.begin_object().field("name", l.name).field("ratio", l.ratio).field("role", role(l, static_cast<int64_t>(i)));
    w.field("compressed_record_bytes", l.compressed_record).field("index_record_bytes", l.index_record);
    w.field("window_record_bytes", l.window_record).field("bytes_per_token", l.bytes_per_token()).end_object();
  }
  w.end_array();
  w.key("cache").begin_object();
  w.field("bytes_per_token", plan.bytes_per_token)
      .field("block_tokens", kv::kBlockTokens)
      .field("block_bytes", plan.block.block_bytes);
  w.field("window_slots", plan.ring_slots)
      .field("window_bytes", plan.window_bytes)
      .field("carry_bytes", plan.carry_bytes);
  w.field("history_bytes", plan.history_bytes).field("state_bytes", plan.state_bytes()).end_object();
  w.key("plan").begin_object();
  w.field("context", o.context).field("batch", o.batch).field("weight_bytes", contents.all.bytes);
  w.field("cache_bytes", plan.bytes(o.context, o.batch)).field("blocks", plan.blocks(o.context, o.batch));
  w.field("total_bytes", plan.bytes(o.context, o.batch) + contents.all.bytes)
      .field("machine_memory_bytes", machine_memory())
      .end_object();
  w.end_object();
  return w.take() + "\n";
}

Result<int> inspect(Options o) {
  const std::string folder = !o.dir.empty() ? o.dir : !o.model.empty() ? o.model : default_model();
  if (is_file(folder))
    return fail(ErrorCode::kInvalidArgument, "{}: is a file; give the checkpoint folder that holds config.json",
                folder);
  DI_TRY(const ModelConfig config, ModelConfig::load(folder));
  if (o.context == 0) o.context = config.max_position_embeddings;
  if (o.context > config.max_position_embeddings)
    return fail(ErrorCode::kInvalidArgument, "--context {} is more than the model's max_position_embeddings {}",
                o.context, config.max_position_embeddings);
  DI_TRY(const Contents contents, examine(folder, config));
  DI_TRY_STATUS(check_tokenizer(folder, config));
  const MemoryPlan plan = MemoryPlan::make(config);
  DI_TRY_STATUS(write_stdout(o.json ? json_report(folder, config, contents, plan, o)
                                    : text_report(folder, config, contents, plan, o)));
  return 0;
}

}  // namespace

void add_inspect(CLI::App& app, CommandContext& context) {
  auto o = std::make_shared<Options>();
  CLI::App* sub = app.add_subcommand(
      "inspect", "check a checkpoint folder without reading weights; print contents and memory needs");
  sub->add_option("DIR", o->dir, "checkpoint folder (default: the bundled model)");
  sub->add_option("--model", o->model, "same as DIR")->excludes("DIR");
  sub->add_flag("--json", o->json, "one JSON object on stdout");
  sub->add_option("--context", o->context, "tokens per sequence of the memory plan (default: the model's maximum)")
      ->check(CLI::Range(int64_t{1}, int64_t{1} << 40));
  sub->add_option("--batch", o->batch, "sequences of the memory plan")->check(CLI::Range(int64_t{1}, int64_t{1} << 24));
  sub->callback([&context, o] { context.run = [o] { return inspect(*o); }; });
}

}  // namespace deepinfer::cli
