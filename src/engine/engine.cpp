#include "engine/engine.h"

#include <sys/stat.h>

#include <algorithm>
#include <cmath>
#include <random>

#include "base/stopwatch.h"
#include "engine/sampler.h"
#include "sampling/stop_strings.h"
#include "tokenizer/stream_decoder.h"

namespace deepinfer {
namespace {

// Logits of one scoring step are held at once: at most this many bytes.
constexpr int64_t kScoreLogitsBytes = 64 << 20;

// One choice on its way: what it has produced and what its next text needs.
struct Running {
  Choice out;
  Sequence sequence;
  std::optional<StreamDecoder> decoder;
  StopStrings stops;
  TokenCounts counts;
  int32_t last = -1;
  bool done = false;
};

}  // namespace

Result<std::unique_ptr<Engine>> Engine::create(const EngineOptions& options) {
  const Clock::time_point start = Clock::now();
  std::unique_ptr<Engine> e(new Engine());
  e->options_ = options;
  e->pool_ = std::make_unique<ThreadPool>(options.threads > 0 ? options.threads : default_thread_count());
  DI_TRY(
      e->model_,
      Model::load(options.model,
                  {.numerics = options.numerics, .backend = options.backend, .progress = options.progress}, *e->pool_));
  const ModelConfig& c = e->model_->config();

  struct stat st = {};
  const bool has_tokenizer = stat((options.model + "/tokenizer.json").c_str(), &st) == 0;
  if (has_tokenizer || options.needs_text) {
    DI_TRY(Tokenizer tokenizer, Tokenizer::load(options.model));
    e->tokenizer_ = std::move(tokenizer);
  }

  const int64_t block_bytes = e->model_->block_layout().block_bytes;
  const int64_t context_blocks = (c.max_position_embeddings + kv::kBlockTokens - 1) / kv::kBlockTokens;
  int64_t blocks = context_blocks * kDefaultSequences;
  if (options.kv_memory > 0) blocks = options.kv_memory / std::max<int64_t>(block_bytes, 1);
  if (options.kv_blocks > 0) blocks = options.kv_blocks;
  if (blocks < 1)
    return fail(ErrorCode::kInvalidArgument, "--kv-memory {} holds no block of {} bytes (128 tokens); give more",
                options.kv_memory, block_bytes);
  blocks = std::min<int64_t>(blocks, 1 << 24);
  DI_TRY(e->blocks_, kv::BlockPool::create(block_bytes, static_cast<int32_t>(blocks)));
  e->stepper_ = std::make_unique<Stepper>(*e->model_, *e->pool_, e->blocks_);
  e->load_s_ = seconds_since(start);
  return e;
}

Result<std::vector<int32_t>> Engine::encode_prompt(std::string_view text) const {
  if (!tokenizer_)
    return fail(ErrorCode::kInvalidArgument, "{} has no tokenizer.json, so it takes token ids only", options_.model);
  std::vector<int32_t> ids;
  tokenizer_->encode(text, true, ids);
  const int32_t bos = tokenizer_->bos_id();
  if (bos >= 0 && (ids.empty() || ids.front() != bos)) ids.insert(ids.begin(), bos);
  if (ids.empty())
    return fail(ErrorCode::kInvalidArgument, "prompt is empty and the tokenizer has no BOS token to start from");
  return ids;
}

Status Engine::check_ids(std::span<const int32_t> ids, std::string_view field) const {
  const int64_t vocab = config().vocab_size;
  for (int32_t id : ids)
    if (id < 0 || id >= vocab)
      return fail(ErrorCode::kInvalidArgument, "{} holds {}, outside the vocabulary of {}", field, id, vocab);
  return {};
}

Result<Output> Engine::generate(const Request& request, const OnText& on_text, const std::function<bool()>& cancelled) {
  const SamplingParams& p = request.sampling;
  const ModelConfig& c = config();
  DI_TRY_STATUS(validate(p, c.vocab_size));
  std::vector<int32_t> prompt;
  if (request.prompt_ids) {
    prompt = *request.prompt_ids;
    if (prompt.empty()) return fail(ErrorCode::kInvalidArgument, "prompt_ids is empty, expected at least one token");
  } else {
    DI_TRY(prompt, encode_prompt(request.prompt.value_or("")));
  }
  DI_TRY_STATUS(check_ids(prompt, "prompt_ids"));
  const int64_t context = c.max_position_embeddings, length = static_cast<int64_t>(prompt.size());
  if (length + 1 > context)
    return fail(ErrorCode::kInvalidArgument,
                "prompt has {} tokens, but the context of the model is {} and must hold one more; shorten the prompt",
                length, context);
  Output output;
  int64_t max_tokens = p.max_tokens;
  if (max_tokens > context - length) {
    max_tokens = context - length;
    output.warning =
        fmt::format("max_tokens {} does not fit behind {} prompt tokens in the context of {}: clamped to {}",
                    p.max_tokens, length, context, max_tokens);
  }
  if (!p.stop.empty() && !tokenizer_)
    return fail(ErrorCode::kInvalidArgument, "stop needs text, but {} has no tokenizer.json", options_.model);
  const uint64_t seed = p.seed ? *p.seed
                        : options_.seed
                            ? *options_.seed
                            : (static_cast<uint64_t>(std::random_device{}()) << 32) | std::random_device{}();

  // Prefill. A choice writes its tokens but the last into the cache.
  const int64_t most = length + std::max<int64_t>(max_tokens - 1, 0);
  Sequence prefix = model_->new_sequence();
  struct Release {
    kv::BlockPool& pool;
    std::vector<Sequence*> sequences;
    ~Release() {
      for (Sequence* s : sequences) Model::release(*s, pool);
    }
  };
  std::vector<Running> running;
  running.reserve(static_cast<size_t>(p.n));
  Release release{blocks_, {&prefix}};
  const int64_t blocks_each = (most + kv::kBlockTokens - 1) / kv::kBlockTokens;
  const int64_t needed = blocks_each * (max_tokens > 0 ? p.n : 1);
  if (needed > blocks_.num_blocks())
    return fail(ErrorCode::kOutOfMemory,
                "{} tokens of context need {} cache blocks, but there are only {}; raise --kv-blocks or --kv-memory, "
                "or lower max_tokens",
                most, needed, blocks_.num_blocks());
  DI_TRY_STATUS(model_->reserve(prefix, blocks_, max_tokens > 0 ? most : length));
  const Clock::time_point start = Clock::now();
  std::span<const float> logits;
  for (int64_t at = 0; at < length;) {
    if (cancelled && cancelled()) return fail(ErrorCode::kCancelled, "cancelled");
    const int64_t n = std::min<int64_t>(options_.max_batch_tokens, length - at);
    const StepInput in{&prefix,
                       std::span<const int32_t>(prompt).subspan(static_cast<size_t>(at), static_cast<size_t>(n)),
                       at + n == length ? 1 : 0};
    logits = stepper_->step({&in, 1});
    at += n;
  }
  output.timing.prefill_s = seconds_since(start);
  output.usage.prompt_tokens = length;

  for (int i = 0; i < p.n; ++i) {
    Running r{.out = {}, .sequence = {}, .decoder = {}, .stops = StopStrings(p.stop), .counts = {}};
    r.out.index = i;
    if (tokenizer_) r.decoder.emplace(*tokenizer_, true);
    if (p.has_penalties()) r.counts.add_prompt(prompt);
    if (max_tokens == 0) {
      r.out.finish_reason = "length";
      r.done = true;
    } else if (i + 1 < p.n) {
      DI_TRY(r.sequence, model_->fork(prefix, blocks_, most));
    } else {
      r.sequence = std::move(prefix);
      prefix = Sequence{};
    }
    running.push_back(std::move(r));
    release.sequences.push_back(&running.back().sequence);
  }

  auto finish = [&](Running& r, const char* reason) {
    r.out.finish_reason = reason;
    r.done = true;
  };
  auto emit = [&](Running& r, std::string_view piece) {
    if (piece.empty()) return;
    r.out.text += piece;
    if (on_text) on_text(r.out.index, piece);
  };
  // The drawn token joins the choice: ends, text, stop strings.
  auto take = [&](Running& r, Draw draw) {
    const int32_t id = draw.id;
    r.last = id;
    r.out.ids.push_back(id);
    if (p.has_penalties()) r.counts.add_output(id);
    if (p.logprobs >= 0) r.out.logprobs.push_back({id, draw.logprob, std::move(draw.top)});
    if (std::find(p.stop_token_ids.begin(), p.stop_token_ids.end(), id) != p.stop_token_ids.end()) {
      r.out.stop_reason = id;
      return finish(r, "stop");
    }
    if (!p.ignore_eos && id == c.eos_token_id) return finish(r, "stop");
    if (r.decoder) {
      emit(r, r.stops.push(r.decoder->push(id)));
      if (const std::string* hit = r.stops.hit()) {
        r.out.stop_reason = *hit;
        return finish(r, "stop");
      }
    }
    if (static_cast<int64_t>(r.out.ids.size()) >= max_tokens) finish(r, "length");
  };

  Arena scratch;
  std::vector<float> repeated;
  std::vector<DrawInput> draws;
  std::vector<Running*> active;
  std::vector<StepInput> inputs;
  if (max_tokens > 0) {
    if (p.n > 1) {  // all choices draw from the same row
      for (int i = 0; i < p.n; ++i) repeated.insert(repeated.end(), logits.begin(), logits.end());
      logits = repeated;
    }
    for (Running& r : running) active.push_back(&r);
    const Clock::time_point decode_start = Clock::now();
    while (!active.empty()) {
      draws.clear();
      for (Running* r : active) draws.push_back({r->out.index, r->sequence.position, &r->counts});
      std::vector<Draw> drawn = draw_tokens(model_->ops(), *pool_, scratch, p, seed, logits, c.vocab_size, draws);
      for (size_t i = 0; i < active.size(); ++i) {
        if (drawn[i].id < 0)
          return fail(ErrorCode::kInternal,
                      "no token can be drawn at position {}: the logits are not numbers; is the checkpoint damaged?",
                      draws[i].position);
        take(*active[i], std::move(drawn[i]));
      }
      if (output.timing.first_token_s == 0) output.timing.first_token_s = seconds_since(start);
      std::erase_if(active, [](const Running* r) { return r->done; });
      if (active.empty()) break;
      if (cancelled && cancelled()) {
        for (Running* r : active) finish(*r, "cancelled");
        break;
      }
      inputs.clear();
      for (Running* r : active) inputs.push_back({&r->sequence, {&r->last, 1}, 1});
      logits = stepper_->step(inputs);
      ++output.timing.decode_steps;
    }
    output.timing.decode_s = seconds_since(decode_start);
  }
  for (Running& r : running) {
    // What was held back for a stop string or as half a character; nothing after a stop string.
    if (!r.stops.hit()) {
      if (r.decoder) emit(r, r.stops.push(r.decoder->finish()));
      if (!r.stops.hit()) emit(r, r.stops.finish());
    }
    output.usage.completion_tokens += static_cast<int64_t>(r.out.ids.size());
    output.choices.push_back(std::move(r.out));
  }
  return output;
}

Result<std::vector<Score>> Engine::score(std::span<const int32_t> ids, const OnLogits& on_logits,
                                         const std::function<bool()>& cancelled) {
  const ModelConfig& c = config();
  if (ids.empty()) return fail(ErrorCode::kInvalidArgument, "ids is empty, expected at least one token");
  DI_TRY_STATUS(check_ids(ids, "ids"));
  const int64_t length = static_cast<int64_t>(ids.size()), vocab = c.vocab_size;
  if (length > c.max_position_embeddings)
    return fail(ErrorCode::kInvalidArgument, "ids has {} tokens, but the context of the model is {}", length,
                c.max_position_embeddings);
  const int64_t chunk = std::clamp<int64_t>(kScoreLogitsBytes / (vocab * 4), 1, options_.max_batch_tokens);
  Sequence sequence = model_->new_sequence();
  DI_TRY_STATUS(model_->reserve(sequence, blocks_, length));
  std::vector<Score> out;
  Status status;
  Arena scratch;
  std::vector<int32_t> next, best;
  std::vector<float> logprob, best_logprob;
  for (int64_t at = 0; at < length && status;) {
    if (cancelled && cancelled()) {
      status = fail(ErrorCode::kCancelled, "cancelled");
      break;
    }
    const int64_t n = std::min(chunk, length - at);
    const StepInput in{&sequence, ids.subspan(static_cast<size_t>(at), static_cast<size_t>(n)), static_cast<int>(n)};
    const std::span<const float> logits = stepper_->step({&in, 1});
    next.resize(static_cast<size_t>(n));
    best.resize(next.size());
    logprob.resize(next.size());
    best_logprob.resize(next.size());
    for (int64_t i = 0; i < n; ++i)
      next[static_cast<size_t>(i)] = at + i + 1 < length ? ids[static_cast<size_t>(at + i + 1)] : -1;
    scratch.reset();
    ops::Context context{.pool = pool_.get(), .scratch = &scratch};
    model_->ops().logprobs({.logits = {const_cast<float*>(logits.data()), DType::kF32, n, vocab, vocab},
                            .ids = next.data(),
                            .top_n = 1,
                            .logprob = logprob.data(),
                            .top_ids = best.data(),
                            .top_logprobs = best_logprob.data()},
                           context);
    for (size_t i = 0; i < next.size() && status; ++i) {
      if (std::isnan(best_logprob[i]) || (next[i] >= 0 && std::isnan(logprob[i])))
        status = fail(ErrorCode::kInternal, "the logits at position {} are not numbers; is the checkpoint damaged?",
                      at + static_cast<int64_t>(i));
      out.push_back({logprob[i], best[i]});
    }
    if (on_logits && status) status = on_logits(logits);
    at += n;
  }
  Model::release(sequence, blocks_);
  if (!status) return tl::unexpected<Error>(status.error());
  return out;
}

}  // namespace deepinfer
