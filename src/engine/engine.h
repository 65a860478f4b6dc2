// The engine behind every command: model, tokenizer, caches, and the loop that turns requests into tokens. In this
// build one request at a time (its n choices share each step); the batching scheduler will stand behind the same calls.
// All calls from one thread.
#pragma once
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "model/model.h"
#include "sampling/request.h"
#include "tokenizer/tokenizer.h"

namespace deepinfer {

struct EngineOptions {
  std::string model;
  std::string backend = "auto";
  Numerics numerics = Numerics::kQuantized;
  int threads = 0;             // 0: physical cores
  int max_batch_tokens = 512;  // tokens of one prefill step at most
  int64_t kv_blocks = 0;  // 0: from kv_memory, else enough for kDefaultSequences whole contexts (committed as used)
  int64_t kv_memory = 0;  // bytes
  std::optional<uint64_t> seed;  // of requests without one
  bool progress = false;
  bool needs_text = false;  // a missing or damaged tokenizer is an error
};

struct TokenLogprob {
  int32_t id;
  float logprob;
  std::vector<std::pair<int32_t, float>> top;
};

struct Choice {
  int index = 0;
  std::string text;
  std::vector<int32_t> ids;
  std::string finish_reason;  // "stop", "length", "cancelled"
  std::variant<std::monostate, std::string, int32_t> stop_reason;
  std::vector<TokenLogprob> logprobs;
};

struct Usage {
  int64_t prompt_tokens = 0, completion_tokens = 0, cached_tokens = 0, drafted_tokens = 0, accepted_tokens = 0;
};

struct Timing {
  double prefill_s = 0, decode_s = 0, first_token_s = 0;
  int64_t decode_steps = 0;
};

struct Output {
  std::vector<Choice> choices;
  Usage usage;
  Timing timing;
  std::string warning;  // e.g. max_tokens was clamped; empty: none
};

// One scored position: log-probability of the token that follows (0 for the last), and the best id.
struct Score {
  float next_logprob;
  int32_t argmax;
};

class Engine {
 public:
  static constexpr int kDefaultSequences = 16;
  static Result<std::unique_ptr<Engine>> create(const EngineOptions& options);

  // Text pieces of choice i arrive in order through on_text; `cancelled` is asked between steps.
  using OnText = std::function<void(int choice, std::string_view piece)>;
  Result<Output> generate(const Request& request, const OnText& on_text, const std::function<bool()>& cancelled);

  // Ids of a prompt text, BOS in front unless it starts with it.
  Result<std::vector<int32_t>> encode_prompt(std::string_view text) const;
  // Scores all positions of `ids`; on_logits (may be empty) gets the logits of each chunk, [tokens, vocab] f32. False
  // when cancelled.
  using OnLogits = std::function<Status(std::span<const float> logits)>;
  Result<std::vector<Score>> score(std::span<const int32_t> ids, const OnLogits& on_logits,
                                   const std::function<bool()>& cancelled);

  const ModelConfig& config() const { return model_->config(); }
  const Model& model() const { return *model_; }
  const Tokenizer* tokenizer() const { return tokenizer_ ? &*tokenizer_ : nullptr; }
  ThreadPool& pool() { return *pool_; }
  kv::BlockPool& blocks() { return blocks_; }
  Stepper& stepper() { return *stepper_; }
  int max_batch_tokens() const { return options_.max_batch_tokens; }
  double load_seconds() const { return load_s_; }

 private:
  Engine() = default;
  Status check_ids(std::span<const int32_t> ids, std::string_view field) const;

  EngineOptions options_;
  std::unique_ptr<ThreadPool> pool_;
  std::unique_ptr<Model> model_;
  std::optional<Tokenizer> tokenizer_;
  kv::BlockPool blocks_;
  std::unique_ptr<Stepper> stepper_;
  double load_s_ = 0;
};

}  // namespace deepinfer
