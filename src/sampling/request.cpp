#include "sampling/request.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>

namespace deepinfer {
namespace {

using Element = simdjson::dom::element;

constexpr int32_t kMaxChoices = 128, kMaxLogprobs = 100, kMaxStops = 64;

template <typename... Args>
tl::unexpected<Error> bad(fmt::format_string<Args...> format, Args&&... args) {
  return fail(ErrorCode::kInvalidArgument, format, std::forward<Args>(args)...);
}

Status read(std::string_view field, const Element& e, int64_t low, int64_t high, int64_t& out) {
  int64_t v;
  double d;
  if (e.get_int64().get(v)) {
    // 3.0 is an integer to JSON's users.
    if (!e.is_double() || e.get_double().get(d) || d != std::floor(d) || std::fabs(d) > 1e15)
      return bad("{} must be an integer", field);
    v = static_cast<int64_t>(d);
  }
  if (v < low || v > high) return bad("{} is {}, expected {} to {}", field, v, low, high);
  out = v;
  return {};
}

Status read(std::string_view field, const Element& e, float& out) {
  double d;
  if (!e.is_number() || e.get_double().get(d)) return bad("{} must be a number", field);
  out = static_cast<float>(d);
  if (!std::isfinite(out)) return bad("{} is not a finite number", field);
  return {};
}

Status read_ids(std::string_view field, const Element& e, int64_t vocab_size, std::vector<int32_t>& out) {
  simdjson::dom::array array;
  if (e.get_array().get(array)) return bad("{} must be a list of token ids", field);
  out.clear();
  for (Element item : array) {
    int64_t id;
    if (item.get_int64().get(id)) return bad("{} must be a list of token ids", field);
    if (id < 0 || id >= vocab_size) return bad("{} holds {}, outside the vocabulary of {}", field, id, vocab_size);
    out.push_back(static_cast<int32_t>(id));
  }
  return {};
}

Status read_bias(const Element& e, int64_t vocab_size, std::vector<std::pair<int32_t, float>>& out) {
  simdjson::dom::object object;
  if (e.get_object().get(object)) return bad("logit_bias must be an object of token id to number");
  for (auto [key, value] : object) {
    int64_t id = -1;
    const auto [end, error] = std::from_chars(key.data(), key.data() + key.size(), id);
    if (error != std::errc() || end != key.data() + key.size() || id < 0 || id >= vocab_size)
      return bad("logit_bias: {} is no token id below {}", std::string(key.substr(0, 40)), vocab_size);
    float bias;
    DI_TRY_STATUS(read("logit_bias", value, bias));
    out.emplace_back(static_cast<int32_t>(id), bias);
  }
  std::sort(out.begin(), out.end());
  for (size_t i = 1; i < out.size(); ++i)
    if (out[i].first == out[i - 1].first) return bad("logit_bias names token {} twice", out[i].first);
  return {};
}

}  // namespace

Status validate(const SamplingParams& p, int64_t vocab_size) {
  if (p.max_tokens < 0 || p.max_tokens > std::numeric_limits<int32_t>::max())
    return bad("max_tokens is {}, expected 0 to 2147483647", p.max_tokens);
  if (!(p.temperature >= 0 && p.temperature <= 1e6f))
    return bad("temperature is {}, expected 0 to 1000000", p.temperature);
  if (!(p.top_p > 0 && p.top_p <= 1)) return bad("top_p is {}, expected more than 0 and at most 1", p.top_p);
  if (!(p.min_p >= 0 && p.min_p <= 1)) return bad("min_p is {}, expected 0 to 1", p.min_p);
  if (p.top_k < 0) return bad("top_k is {}, expected 0 (off) or more", p.top_k);
  if (p.n < 1 || p.n > kMaxChoices) return bad("n is {}, expected 1 to {}", p.n, kMaxChoices);
  if (p.logprobs < -1 || p.logprobs > kMaxLogprobs)
    return bad("logprobs is {}, expected 0 to {}", p.logprobs, kMaxLogprobs);
  if (!(std::fabs(p.presence_penalty) <= 1e4f))
    return bad("presence_penalty is {}, expected -10000 to 10000", p.presence_penalty);
  if (!(std::fabs(p.frequency_penalty) <= 1e4f))
    return bad("frequency_penalty is {}, expected -10000 to 10000", p.frequency_penalty);
  if (!(p.repetition_penalty > 0 && p.repetition_penalty <= 1e4f))
    return bad("repetition_penalty is {}, expected more than 0 and at most 10000", p.repetition_penalty);
  if (p.stop.size() > kMaxStops) return bad("stop has {} strings, expected at most {}", p.stop.size(), kMaxStops);
  for (const std::string& s : p.stop)
    if (s.empty()) return bad("stop holds an empty string");
  for (int32_t id : p.stop_token_ids)
    if (id < 0 || id >= vocab_size) return bad("stop_token_ids holds {}, outside the vocabulary of {}", id, vocab_size);
  return {};
}

Result<Request> parse_request(const simdjson::dom::object& object, int64_t vocab_size) {
  Request r;
  SamplingParams& s = r.sampling;
  int prompts = 0;
  for (auto [key, e] : object) {
    int64_t v;
    if (key == "id") continue;
    if (e.is_null()) continue;  // null: the default
    if (key == "prompt") {
      std::string_view text;
      if (e.get_string().get(text)) return bad("prompt must be a string");
      r.prompt = std::string(text);
      ++prompts;
    } else if (key == "prompt_ids") {
      std::vector<int32_t> ids;
      DI_TRY_STATUS(read_ids(key, e, vocab_size, ids));
      r.prompt_ids = std::move(ids);
      ++prompts;
    } else if (key == "max_tokens") {
      DI_TRY_STATUS(read(key, e, 0, std::numeric_limits<int32_t>::max(), s.max_tokens));
    } else if (key == "temperature") {
      DI_TRY_STATUS(read(key, e, s.temperature));
    } else if (key == "top_p") {
      DI_TRY_STATUS(read(key, e, s.top_p));
    } else if (key == "min_p") {
      DI_TRY_STATUS(read(key, e, s.min_p));
    } else if (key == "top_k") {
      DI_TRY_STATUS(read(key, e, 0, std::numeric_limits<int32_t>::max(), v));
      s.top_k = static_cast<int32_t>(v);
    } else if (key == "seed") {
      uint64_t big;
      if (e.get_uint64().get(big)) {
        DI_TRY_STATUS(read(key, e, std::numeric_limits<int64_t>::min(), std::numeric_limits<int64_t>::max(), v));
        big = static_cast<uint64_t>(v);
      }
      s.seed = big;
    } else if (key == "n") {
      DI_TRY_STATUS(read(key, e, 1, kMaxChoices, v));
      s.n = static_cast<int32_t>(v);
    } else if (key == "stop") {
      std::string_view one;
      simdjson::dom::array many;
      if (!e.get_string().get(one)) {
        s.stop.emplace_back(one);
      } else if (!e.get_array().get(many)) {
        for (Element item : many) {
          if (item.get_string().get(one)) return bad("stop must be a string or a list of strings");
          s.stop.emplace_back(one);
        }
      } else {
        return bad("stop must be a string or a list of strings");
      }
    } else if (key == "stop_token_ids") {
      DI_TRY_STATUS(read_ids(key, e, vocab_size, s.stop_token_ids));
    } else if (key == "ignore_eos") {
      if (e.get_bool().get(s.ignore_eos)) return bad("ignore_eos must be true or false");
    } else if (key == "logprobs") {
      DI_TRY_STATUS(read(key, e, 0, kMaxLogprobs, v));
      s.logprobs = static_cast<int32_t>(v);
    } else if (key == "presence_penalty") {
      DI_TRY_STATUS(read(key, e, s.presence_penalty));
    } else if (key == "frequency_penalty") {
      DI_TRY_STATUS(read(key, e, s.frequency_penalty));
    } else if (key == "repetition_penalty") {
      DI_TRY_STATUS(read(key, e, s.repetition_penalty));
    } else if (key == "logit_bias") {
      DI_TRY_STATUS(read_bias(e, vocab_size, s.logit_bias));
    } else if (key == "priority") {
      DI_TRY_STATUS(read(key, e, std::numeric_limits<int32_t>::min(), std::numeric_limits<int32_t>::max(), v));
      s.priority = static_cast<int32_t>(v);
    } else if (key == "messages" || key == "json_schema" || key == "regex" || key == "ebnf" || key == "thinking" ||
               key == "tools") {
      return fail(ErrorCode::kUnsupported, "{} is not in this build yet; send prompt or prompt_ids without it",
                  std::string(key));
    } else {
      return bad("unknown field {}", std::string(key.substr(0, 100)));
    }
  }
  if (prompts != 1) return bad("expected exactly one of prompt and prompt_ids, got {}", prompts);
  DI_TRY_STATUS(validate(s, vocab_size));
  return r;
}

}  // namespace deepinfer
