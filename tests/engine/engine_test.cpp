#include "engine/engine.h"

#include <gtest/gtest.h>

namespace deepinfer {
namespace {

const std::string kModel = std::string(DEEPINFER_SOURCE_DIR) + "/models/v41-small";

std::unique_ptr<Engine> make(int threads = 2, int max_batch_tokens = 512, int64_t kv_blocks = 0) {
  EngineOptions o;
  o.model = kModel;
  o.threads = threads;
  o.max_batch_tokens = max_batch_tokens;
  o.kv_blocks = kv_blocks;
  o.seed = 5;
  auto e = Engine::create(o);
  EXPECT_TRUE(e.has_value()) << e.error().message;
  return std::move(*e);
}

Request story(int64_t max_tokens, float temperature) {
  Request r;
  r.prompt = "Once upon a time there was a little girl who lived in a wood, and every morning she went to the well";
  r.sampling.max_tokens = max_tokens;
  r.sampling.temperature = temperature;
  r.sampling.top_p = 0.95f;
  r.sampling.ignore_eos = true;
  return r;
}

std::vector<std::vector<int32_t>> ids_of(const Result<Output>& o) {
  EXPECT_TRUE(o.has_value()) << (o ? "" : o.error().message);
  std::vector<std::vector<int32_t>> out;
  if (o)
    for (const Choice& c : o->choices) out.push_back(c.ids);
  return out;
}

TEST(Engine, SeededTokensAreTheSameForEveryStepSizeAndThreadCount) {
  const auto want = ids_of(make(1)->generate(story(40, 0.8f), {}, {}));
  ASSERT_EQ(want.at(0).size(), 40u);
  for (int threads : {1, 2, 4})
    for (int step : {1, 5, 512})
      EXPECT_EQ(want, ids_of(make(threads, step)->generate(story(40, 0.8f), {}, {})))
          << threads << " threads, steps of " << step;
}

TEST(Engine, ChoicesDifferButEachIsRepeatable) {
  auto e = make();
  Request r = story(20, 1.0f);
  r.sampling.n = 4;
  const auto a = ids_of(e->generate(r, {}, {})), b = ids_of(e->generate(r, {}, {}));
  EXPECT_EQ(a, b);
  ASSERT_EQ(a.size(), 4u);
  EXPECT_NE(a[0], a[1]);
  r.sampling.n = 1;
  EXPECT_EQ(ids_of(e->generate(r, {}, {}))[0], a[0]);  // choice 0 does not depend on the others
  EXPECT_EQ(e->blocks().num_free(), e->blocks().num_blocks());
}

TEST(Engine, StreamedPiecesJoinToTheText) {
  auto e = make();
  std::string streamed;
  const auto o = e->generate(story(50, 0.9f), [&](int, std::string_view piece) { streamed += piece; }, {});
  ASSERT_TRUE(o.has_value());
  EXPECT_EQ(streamed, o->choices[0].text);
  EXPECT_EQ(o->usage.completion_tokens, 50);
}

TEST(Engine, CancellingKeepsWhatWasMadeAndFreesTheCache) {
  auto e = make();
  int asked = 0;
  const auto o = e->generate(story(100, 0), {}, [&] { return ++asked > 10; });
  ASSERT_TRUE(o.has_value());
  EXPECT_EQ(o->choices[0].finish_reason, "cancelled");
  EXPECT_GT(o->choices[0].ids.size(), 0u);
  EXPECT_LT(o->choices[0].ids.size(), 100u);
  EXPECT_EQ(e->blocks().num_free(), e->blocks().num_blocks());
}

TEST(Engine, ARequestThatCanNeverFitIsRefusedWithBothNumbers) {
  auto e = make(1, 512, 2);
  const auto o = e->generate(story(500, 0), {}, {});
  ASSERT_FALSE(o.has_value());
  EXPECT_NE(o.error().message.find("only 2"), std::string::npos) << o.error().message;
  EXPECT_EQ(e->blocks().num_free(), 2);
}

TEST(Engine, PenaltiesAndBiasChangeTheDrawAndLeaveLogprobsRaw) {
  auto e = make();
  Request r = story(8, 0);
  r.sampling.logprobs = 2;
  const auto plain = e->generate(r, {}, {});
  r.sampling.logit_bias = {{300, 1e4f}};
  const auto forced = e->generate(r, {}, {});
  ASSERT_TRUE(plain && forced);
  EXPECT_EQ(forced->choices[0].ids, std::vector<int32_t>(8, 300));
  // The first position's distribution is the same raw one.
  EXPECT_EQ(plain->choices[0].logprobs[0].top, forced->choices[0].logprobs[0].top);
  EXPECT_LT(forced->choices[0].logprobs[0].logprob, plain->choices[0].logprobs[0].logprob);
}

TEST(Engine, ScoresDoNotDependOnTheStepSize) {
  std::vector<int32_t> ids;
  for (int i = 0; i < 150; ++i) ids.push_back(50 + i * 37 % 7000);
  const auto a = make(2, 512)->score(ids, {}, {}), b = make(1, 7)->score(ids, {}, {});
  ASSERT_TRUE(a && b);
  for (size_t i = 0; i < ids.size(); ++i) {
    EXPECT_EQ((*a)[i].next_logprob, (*b)[i].next_logprob);
    EXPECT_EQ((*a)[i].argmax, (*b)[i].argmax);
  }
}

}  // namespace
}  // namespace deepinfer
