// What a caller asks for: prompt and sampling parameters, under the field names of a `batch` line (cli.md). Parsed from
// JSON with every range checked; an error names the field. Plain values.
#pragma once
#include <simdjson.h>

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"

namespace deepinfer {

struct SamplingParams {
  int64_t max_tokens = 64;
  float temperature = 1.0f, top_p = 1.0f, min_p = 0.0f;
  int32_t top_k = 0;             // 0: off
  std::optional<uint64_t> seed;  // none: the engine's default, else random
  int32_t n = 1;
  std::vector<std::string> stop;
  std::vector<int32_t> stop_token_ids;
  bool ignore_eos = false;
  int32_t logprobs = -1;  // -1: none; k: the chosen token's and the k best
  float presence_penalty = 0, frequency_penalty = 0, repetition_penalty = 1;
  std::vector<std::pair<int32_t, float>> logit_bias;  // ascending ids
  int32_t priority = 0;

  bool has_penalties() const {
    return presence_penalty != 0 || frequency_penalty != 0 || repetition_penalty != 1 || !logit_bias.empty();
  }
};

struct Request {
  std::optional<std::string> prompt;               // text: BOS is put in front unless it starts with it
  std::optional<std::vector<int32_t>> prompt_ids;  // taken as they are
  SamplingParams sampling;
};

// The ranges of every field; vocab_size bounds ids.
Status validate(const SamplingParams& params, int64_t vocab_size);
// A batch line's object. Unknown fields and fields of later builds are errors that name them.
Result<Request> parse_request(const simdjson::dom::object& object, int64_t vocab_size);

}  // namespace deepinfer
