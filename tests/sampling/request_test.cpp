#include "sampling/request.h"

#include <gtest/gtest.h>

namespace deepinfer {
namespace {

Result<Request> parse(const std::string& json) {
  simdjson::dom::parser parser;
  simdjson::dom::object object;
  EXPECT_FALSE(parser.parse(json).get_object().get(object)) << json;
  return parse_request(object, 1000);
}

void expect_fault(const std::string& json, const std::string& word, ErrorCode code = ErrorCode::kInvalidArgument) {
  const auto r = parse(json);
  ASSERT_FALSE(r.has_value()) << json;
  EXPECT_NE(r.error().message.find(word), std::string::npos) << json << ": " << r.error().message;
  EXPECT_EQ(r.error().code, code) << json;
}

TEST(Request, EveryFieldArrivesUnderItsName) {
  const auto r = parse(
      R"({"id":"a","prompt_ids":[1,2],"max_tokens":9,"temperature":0.5,"top_p":0.9,"top_k":3,"min_p":0.1,"seed":18446744073709551615,"n":2,"stop":["x","y"],)"
      R"("stop_token_ids":[7],"ignore_eos":true,"logprobs":4,"presence_penalty":0.1,"frequency_penalty":0.2,"repetition_penalty":1.5,"logit_bias":{"9":2,"3":-1},"priority":-2})");
  ASSERT_TRUE(r.has_value()) << r.error().message;
  const SamplingParams& s = r->sampling;
  EXPECT_EQ(*r->prompt_ids, (std::vector<int32_t>{1, 2}));
  EXPECT_EQ(s.max_tokens, 9);
  EXPECT_FLOAT_EQ(s.temperature, 0.5f);
  EXPECT_FLOAT_EQ(s.top_p, 0.9f);
  EXPECT_EQ(s.top_k, 3);
  EXPECT_FLOAT_EQ(s.min_p, 0.1f);
  EXPECT_EQ(*s.seed, UINT64_MAX);
  EXPECT_EQ(s.n, 2);
  EXPECT_EQ(s.stop, (std::vector<std::string>{"x", "y"}));
  EXPECT_EQ(s.stop_token_ids, std::vector<int32_t>{7});
  EXPECT_TRUE(s.ignore_eos);
  EXPECT_EQ(s.logprobs, 4);
  EXPECT_EQ(s.logit_bias, (std::vector<std::pair<int32_t, float>>{{3, -1.0f}, {9, 2.0f}}));
  EXPECT_EQ(s.priority, -2);
}

TEST(Request, DefaultsAreThoseOfTheContract) {
  const auto r = parse(R"({"prompt":"a","temperature":null})");
  ASSERT_TRUE(r.has_value());
  EXPECT_EQ(r->sampling.max_tokens, 64);
  EXPECT_EQ(r->sampling.temperature, 1.0f);
  EXPECT_EQ(r->sampling.n, 1);
  EXPECT_FALSE(r->sampling.seed.has_value());
  EXPECT_EQ(r->sampling.logprobs, -1);
}

TEST(Request, FaultsNameTheField) {
  expect_fault(R"({"prompt":"a","tempratur":1})", "tempratur");
  expect_fault(R"({"prompt":"a","temperature":-0.1})", "temperature");
  expect_fault(R"({"prompt":"a","temperature":"hot"})", "temperature");
  expect_fault(R"({"prompt":"a","top_p":0})", "top_p");
  expect_fault(R"({"prompt":"a","top_p":1.01})", "top_p");
  expect_fault(R"({"prompt":"a","min_p":-1})", "min_p");
  expect_fault(R"({"prompt":"a","n":0})", "n ");
  expect_fault(R"({"prompt":"a","max_tokens":-1})", "max_tokens");
  expect_fault(R"({"prompt":"a","max_tokens":1.5})", "max_tokens");
  expect_fault(R"({"prompt":"a","stop":[""]})", "stop");
  expect_fault(R"({"prompt":"a","stop":[1]})", "stop");
  expect_fault(R"({"prompt_ids":[1000]})", "1000");
  expect_fault(R"({"prompt_ids":[-1]})", "-1");
  expect_fault(R"({"prompt":"a","logit_bias":{"99999":1}})", "logit_bias");
  expect_fault(R"({"prompt":"a","logit_bias":{"x":1}})", "logit_bias");
  expect_fault(R"({"prompt":"a","repetition_penalty":0})", "repetition_penalty");
  expect_fault(R"({})", "prompt");
  expect_fault(R"({"prompt":"a","prompt_ids":[1]})", "prompt");
  expect_fault(R"({"prompt":"a","json_schema":{}})", "json_schema", ErrorCode::kUnsupported);
}

}  // namespace
}  // namespace deepinfer
