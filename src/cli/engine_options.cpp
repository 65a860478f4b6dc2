#include "cli/engine_options.h"

#include <cerrno>
#include <cstdlib>

#include "cli/default_model.h"

namespace deepinfer::cli {

void add_engine_options(CLI::App& command, EngineFlags& f) {
  CLI::App* group = &command;
  group->add_option("--model", f.model,
                    "model folder: config.json, *.safetensors, index, tokenizer.json (default: the bundled model)");
  group->add_option("--backend", f.backend, "auto, cpu or reference (slow, plain, the truth for the others)")
      ->capture_default_str();
  group->add_option("--numerics", f.numerics, "quantized, or fp32 for exact comparison")->capture_default_str();
  group->add_option("--threads", f.threads, "threads (default: physical cores)");
  group->add_option("--max-sequences", f.max_sequences,
                    "running sequences at most (this build runs one request at a time)");
  group->add_option("--max-batch-tokens", f.max_batch_tokens, "tokens of one step at most")->capture_default_str();
  group->add_option("--kv-memory", f.kv_memory, "cache size, e.g. 500M or 2GiB");
  group->add_option("--kv-blocks", f.kv_blocks, "cache size in blocks of 128 tokens");
  group->add_option("--replay", f.replay, "exact (bounded comes with a later build)")->capture_default_str();
  group->add_option("--draft", f.draft, "off (dspark comes with a later build)")->capture_default_str();
  group->add_option("--verify", f.verify, "scheduled or fixed; matters with drafts only")->capture_default_str();
  group->add_option("--prefix-cache", f.prefix_cache, "on or off; this build caches no prefixes")
      ->capture_default_str();
  group->add_option("--deterministic", f.deterministic, "on or off; the cpu backend always is")->capture_default_str();
  group->add_option("--seed", f.seed, "seed of requests without one (default: random)");
}

Result<uint64_t> parse_seed(const std::string& text) {
  errno = 0;
  char* end = nullptr;
  const uint64_t v = text[0] == '-' ? static_cast<uint64_t>(std::strtoll(text.c_str(), &end, 10))
                                    : std::strtoull(text.c_str(), &end, 10);
  if (errno != 0 || end == text.c_str() || *end)
    return fail(ErrorCode::kInvalidArgument, "--seed {}: expected an integer", text);
  return v;
}

Result<EngineOptions> engine_options(const EngineFlags& f) {
  const auto choice = [](const char* option, const std::string& value,
                         std::initializer_list<const char*> known) -> Status {
    std::string list;
    for (const char* k : known) {
      if (value == k) return {};
      list += (list.empty() ? "" : ", ") + std::string(k);
    }
    return fail(ErrorCode::kInvalidArgument, "{} {}: expected one of {}", option, value, list);
  };
  const auto range = [](const char* option, int64_t value, int64_t low, int64_t high) -> Status {
    if (value >= low && value <= high) return {};
    return fail(ErrorCode::kInvalidArgument, "{} {}: expected {} to {}", option, value, low, high);
  };
  DI_TRY_STATUS(choice("--backend", f.backend, {"auto", "cpu", "cuda", "ascend", "reference"}));
  DI_TRY_STATUS(choice("--numerics", f.numerics, {"quantized", "fp32"}));
  DI_TRY_STATUS(choice("--verify", f.verify, {"scheduled", "fixed"}));
  DI_TRY_STATUS(choice("--prefix-cache", f.prefix_cache, {"on", "off"}));
  DI_TRY_STATUS(choice("--deterministic", f.deterministic, {"on", "off"}));
  if (f.replay.rfind("bounded", 0) == 0)
    return fail(ErrorCode::kUnsupported, "--replay {}: bounded replay is not in this build yet; use exact", f.replay);
  DI_TRY_STATUS(choice("--replay", f.replay, {"exact", "bounded[:KEEP]"}));
  if (f.draft.rfind("dspark", 0) == 0)
    return fail(ErrorCode::kUnsupported, "--draft {}: drafts are not in this build yet; use off", f.draft);
  DI_TRY_STATUS(choice("--draft", f.draft, {"off", "dspark[:N]"}));
  DI_TRY_STATUS(range("--threads", f.threads, 0, 4096));
  DI_TRY_STATUS(range("--max-sequences", f.max_sequences, 0, 1 << 20));
  DI_TRY_STATUS(range("--max-batch-tokens", f.max_batch_tokens, 1, 1 << 20));
  DI_TRY_STATUS(range("--kv-blocks", f.kv_blocks, 0, 1 << 24));
  EngineOptions o;
  o.model = f.model.empty() ? default_model() : f.model;
  o.backend = f.backend;
  o.numerics = f.numerics == "fp32" ? Numerics::kFp32 : Numerics::kQuantized;
  o.threads = static_cast<int>(f.threads);
  o.max_batch_tokens = static_cast<int>(f.max_batch_tokens);
  o.kv_blocks = f.kv_blocks;
  if (!f.kv_memory.empty()) {
    auto bytes = parse_bytes(f.kv_memory);
    if (!bytes) return fail(ErrorCode::kInvalidArgument, "--kv-memory: {}", bytes.error().message);
    if (*bytes <= 0) return fail(ErrorCode::kInvalidArgument, "--kv-memory {}: expected more than 0", f.kv_memory);
    o.kv_memory = *bytes;
  }
  if (!f.seed.empty()) {
    DI_TRY(const uint64_t seed, parse_seed(f.seed));
    o.seed = seed;
  }
  o.progress = true;
  return o;
}

}  // namespace deepinfer::cli
