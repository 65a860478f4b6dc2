#include "engine/sampler.h"

#include <cstring>

namespace deepinfer {

std::vector<Draw> draw_tokens(const OpTable& op, ThreadPool& pool, Arena& scratch, const SamplingParams& params,
                              uint64_t seed, std::span<const float> logits, int64_t vocab,
                              std::span<const DrawInput> inputs) {
  scratch.reset();
  const int64_t rows = static_cast<int64_t>(inputs.size());
  ops::Context context{.pool = &pool, .scratch = &scratch};
  ops::Mat raw{const_cast<float*>(logits.data()), DType::kF32, rows, vocab, vocab};
  ops::Mat used = raw;
  if (params.has_penalties()) {
    float* copy = scratch.alloc<float>(rows * vocab);
    std::memcpy(copy, logits.data(), static_cast<size_t>(rows * vocab) * sizeof(float));
    used.data = copy;
    const int num_bias = static_cast<int>(params.logit_bias.size());
    int32_t* bias_ids = scratch.alloc<int32_t>(num_bias);
    float* bias = scratch.alloc<float>(num_bias);
    for (int i = 0; i < num_bias; ++i) {
      bias_ids[i] = params.logit_bias[static_cast<size_t>(i)].first;
      bias[i] = params.logit_bias[static_cast<size_t>(i)].second;
    }
    std::vector<ops::PenaltyRow> penalty(inputs.size());
    for (size_t r = 0; r < inputs.size(); ++r) {
      const auto& counts = inputs[r].counts->counts();
      int32_t* ids = scratch.alloc<int32_t>(static_cast<int64_t>(counts.size()));
      int32_t* times = scratch.alloc<int32_t>(static_cast<int64_t>(counts.size()));
      int n = 0;
      for (auto [id, count] : counts) {
        ids[n] = id;
        times[n++] = count;
      }
      penalty[r] = {.bias_ids = bias_ids,
                    .bias = bias,
                    .num_bias = num_bias,
                    .seen_ids = ids,
                    .output_counts = times,
                    .num_seen = n,
                    .repetition = params.repetition_penalty,
                    .frequency = params.frequency_penalty,
                    .presence = params.presence_penalty};
    }
    op.penalties({.logits = used, .rows = penalty.data()}, context);
  }
  std::vector<ops::SampleRow> rows_of(inputs.size());
  for (size_t r = 0; r < inputs.size(); ++r)
    rows_of[r] = {.temperature = params.temperature,
                  .top_p = params.top_p,
                  .min_p = params.min_p,
                  .top_k = params.top_k,
                  .seed = seed,
                  .choice = static_cast<uint32_t>(inputs[r].choice),
                  .position = inputs[r].position,
                  .mask = nullptr};
  std::vector<int32_t> tokens(inputs.size());
  op.sample({.logits = used, .rows = rows_of.data(), .tokens = tokens.data()}, context);

  std::vector<Draw> out(inputs.size());
  for (size_t r = 0; r < inputs.size(); ++r) out[r].id = tokens[r];
  if (params.logprobs >= 0) {
    const int64_t top_n = params.logprobs;
    std::vector<float> logprob(inputs.size()), top_logprobs(static_cast<size_t>(rows * top_n));
    std::vector<int32_t> top_ids(static_cast<size_t>(rows * top_n));
    op.logprobs({.logits = raw,
                 .ids = tokens.data(),
                 .top_n = static_cast<int>(top_n),
                 .logprob = logprob.data(),
                 .top_ids = top_ids.data(),
                 .top_logprobs = top_logprobs.data()},
                context);
    for (size_t r = 0; r < inputs.size(); ++r) {
      out[r].logprob = logprob[r];
      for (int64_t i = 0; i < top_n; ++i) {
        const size_t at = r * static_cast<size_t>(top_n) + static_cast<size_t>(i);
        if (top_ids[at] >= 0) out[r].top.emplace_back(top_ids[at], top_logprobs[at]);
      }
    }
  }
  return out;
}

}  // namespace deepinfer
