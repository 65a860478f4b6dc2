// Second opinions on the reference: published vectors, values computed by hand, accuracy of ops/math.h, and messages of
// the check functions.
#include "ops/reference/reference.h"

#include <gtest/gtest.h>

#include <cmath>

#include "ops/math.h"
#include "ops/philox.h"

namespace deepinfer {
namespace {

TEST(Philox, GivesTheKnownAnswersOfRandom123) {
  using A = std::array<uint32_t, 4>;
  EXPECT_EQ(ops::philox4x32({0, 0, 0, 0}, {0, 0}), (A{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}));
  EXPECT_EQ(ops::philox4x32({~0u, ~0u, ~0u, ~0u}, {~0u, ~0u}), (A{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}));
  EXPECT_EQ(ops::philox4x32({0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}, {0xa4093822, 0x299f31d0}),
            (A{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}));
}

TEST(ExactMath, ExpAndLogStayWithinTheDocumentedErrors) {
  double worst_exp = 0, worst_log = 0;
  for (uint32_t u = 0; u < 0x7f800000u; u += 997) {
    const float x = bits_to_float(u);
    for (float v : {x, -x})
      if (v > -87.3f && v < 88.7f) {
        const double want = std::exp(static_cast<double>(v));
        worst_exp = std::max(worst_exp, std::fabs(ops::exact_exp(v) - want) / want);
      }
    if (u >= 0x00800000u) {
      const double want = std::log(static_cast<double>(x));
      worst_log = std::max(worst_log, std::fabs(ops::exact_log(x) - want) / std::max(std::fabs(want), 1e-7));
    }
  }
  EXPECT_LT(worst_exp, 2e-7);
  EXPECT_LT(worst_log, 3e-7);
  EXPECT_EQ(ops::exact_exp(0), 1.0f);
  EXPECT_EQ(ops::exact_exp(-1000), 0.0f);
  EXPECT_EQ(ops::exact_log(1), 0.0f);
}

struct Runner {
  ThreadPool pool{1, false};
  Arena scratch;
  ops::Context ctx{&pool, &scratch};
};

// model.md 4.9c, both engram layers of the release.
TEST(EngramHash, GivesTheRowsOfTheSpecification) {
  const int32_t tokens[] = {13, 11, 7, 5};
  struct Layer {
    int64_t multipliers[4], primes[24], rows[24];
  };
  const Layer layers[] = {{{76632096046245, 4839876093313, 35959672319349, 73987337458391},
                           {16000057, 16000079, 16000081, 16000097, 16000121, 16000129, 16000133, 16000183,
                            16000189, 16000207, 16000211, 16000253, 16000277, 16000289, 16000307, 16000321,
                            16000339, 16000381, 16000393, 16000399, 16000403, 16000409, 16000447, 16000463},
                           {4449004,   17571959,  46401655,  53039289,  78999797,  82320982,  107981968, 124752916,
                            128589888, 149698784, 168612388, 191210133, 192700258, 217447344, 238569718, 240777402,
                            268272278, 283332992, 296780604, 319505055, 334654785, 341379115, 357302990, 369904649}},
                          {{67716810739261, 51510806800915, 30921347202721, 82619226485591},
                           {16000477, 16000487, 16000499, 16000507, 16000511, 16000573, 16000609, 16000627,
                            16000667, 16000669, 16000693, 16000697, 16000711, 16000729, 16000759, 16000769,
                            16000781, 16000799, 16000813, 16000819, 16000841, 16000877, 16000879, 16000889},
                           {15143247,  22529278,  37793046,  53302599,  69057693,  89259704,  103058958, 125960436,
                            134948014, 147996107, 160568522, 186665204, 198000652, 219433471, 239157167, 240398986,
                            267543071, 280694543, 301590959, 305974983, 327383740, 337689011, 365818642, 378459855}}};
  Runner run;
  for (const Layer& layer : layers) {
    int64_t offsets[24] = {}, out[24];
    for (int c = 1; c < 24; ++c) offsets[c] = offsets[c - 1] + layer.primes[c - 1];
    ops::EngramHashParams p{tokens, 1, 4, 8, layer.multipliers, layer.primes, offsets, out};
    ASSERT_TRUE(ops::check(p).has_value());
    reference::engram_hash(p, run.ctx);
    for (int c = 0; c < 24; ++c) EXPECT_EQ(out[c], layer.rows[c]) << "column " << c;
  }
}

TEST(Rope, TurnsPairsAndTheInverseTurnsThemBack) {
  Runner run;
  float x[] = {9, 1, 0, 0, 1};  // one channel stays, two pairs turn
  const float cos[] = {0, 0.6f}, sin[] = {1, 0.8f};
  ops::RopeParams p{{x, DType::kF32, 1, 5, 5}, 1, 5, 4, cos, sin, false};
  reference::rope(p, run.ctx);
  EXPECT_EQ(x[0], 9);
  EXPECT_EQ(x[1], 0);
  EXPECT_EQ(x[2], 1);
  EXPECT_EQ(x[3], -0.8f);
  EXPECT_EQ(x[4], 0.6f);
  p.inverse = true;
  reference::rope(p, run.ctx);
  EXPECT_FLOAT_EQ(x[1], 1);
  EXPECT_FLOAT_EQ(x[4], 1);
}

TEST(Linear, MultipliesPackedFp4AndFp8WithTheirScalesAsComputedByHand) {
  Runner run;
  float x[32] = {}, y4[1], y8[1];
  x[0] = 2;
  x[1] = 3;
  uint8_t fp4[16] = {}, fp8[32] = {};
  fp4[0] = 0xA4;                  // low nibble 4: 2.0; high nibble 10: -1.0
  fp8[0] = 0x40;                  // 2.0
  fp8[1] = 0xB8;                  // -1.0
  const uint8_t scale[] = {128};  // 2
  ops::LinearParams p;
  p.x = {x, DType::kF32, 1, 32, 32};
  p.num_parts = 2;
  p.parts[0].weight = {fp4, scale, nullptr, DType::kF4E2M1x2, 1, 32};
  p.parts[0].out = {y4, DType::kF32, 1, 1, 1};
  p.parts[1].weight = {fp8, scale, nullptr, DType::kF8E4M3, 1, 32};
  p.parts[1].out = {y8, DType::kF32, 1, 1, 1};
  ASSERT_TRUE(ops::check(p).has_value());
  reference::linear(p, run.ctx);
  EXPECT_EQ(y4[0], 2.0f);  // (2*2 - 3*1) * 2
  EXPECT_EQ(y8[0], 2.0f);
}

TEST(Router, BreaksTiesByTheLowerIdAndNormalisesTheWeights) {
  Runner run;
  float logits[] = {1, 1, 1, -5};
  const float bias[] = {0, 0, 0, 0};
  int32_t ids[2];
  float weights[2];
  ops::RouterParams p;
  p.logits = {logits, DType::kF32, 1, 4, 4};
  p.bias = bias;
  p.top_k = 2;
  p.scale = 2.5f;
  p.ids = ids;
  p.weights = weights;
  reference::router(p, run.ctx);
  EXPECT_EQ(ids[0], 0);
  EXPECT_EQ(ids[1], 1);
  EXPECT_FLOAT_EQ(weights[0], 1.25f);
}

TEST(Sample, GreedyTakesTheLowestOfEqualIdsAndAnEmptyMaskGivesMinusOne) {
  Runner run;
  float logits[] = {0, 5, 5, 1};
  const uint32_t none = 0;
  ops::SampleRow row;
  row.temperature = 0;
  int32_t token = 0;
  ops::SampleParams p{{logits, DType::kF32, 1, 4, 4}, &row, &token};
  reference::sample(p, run.ctx);
  EXPECT_EQ(token, 1);
  row.mask = &none;
  reference::sample(p, run.ctx);
  EXPECT_EQ(token, -1);
}

// The Gumbel argmax draws from softmax(logits): 20000 positions, four standard deviations.
TEST(Sample, DrawsWithTheProbabilitiesOfTheSoftmax) {
  Runner run;
  float logits[] = {0, std::log(2.0f), std::log(5.0f)};
  int count[3] = {};
  const int n = 20000;
  for (int i = 0; i < n; ++i) {
    ops::SampleRow row;
    row.seed = 42;
    row.position = i;
    int32_t token = -1;
    reference::sample({{logits, DType::kF32, 1, 3, 3}, &row, &token}, run.ctx);
    ASSERT_GE(token, 0);
    ++count[token];
  }
  const double want[] = {1 / 8.0, 2 / 8.0, 5 / 8.0};
  for (int t = 0; t < 3; ++t) EXPECT_NEAR(count[t], n * want[t], 4 * std::sqrt(n * want[t] * (1 - want[t])));
}

TEST(Check, SaysInWordsWhatIsWrong) {
  float x[8] = {};
  const auto message = [](const auto& p) {
    const Status s = ops::check(p);
    return s ? std::string("accepted") : s.error().message;
  };
  ops::RopeParams rope{{x, DType::kF32, 1, 8, 8}, 1, 8, 3, x, x, false};
  EXPECT_NE(message(rope).find("rope_dim: 3"), std::string::npos) << message(rope);
  rope.rope_dim = 10;
  EXPECT_NE(message(rope).find("at most head_dim 8"), std::string::npos) << message(rope);
  rope.rope_dim = 4;
  EXPECT_EQ(message(rope), "accepted");
  rope.x.stride = 7;
  EXPECT_NE(message(rope).find("stride 7"), std::string::npos) << message(rope);
  ops::LinearParams linear;
  uint8_t w[64], scale[4];
  linear.x = {x, DType::kF32, 1, 8, 8};
  linear.num_parts = 1;
  linear.parts[0].weight = {w, scale, nullptr, DType::kF8E4M3, 1, 8};
  linear.parts[0].out = {x, DType::kF32, 1, 1, 1};
  EXPECT_NE(message(linear).find("multiple of 32"), std::string::npos) << message(linear);
  ops::EmbedParams embed;
  const int32_t id = 9;
  embed.table = {w, nullptr, nullptr, DType::kBF16, 4, 8};
  embed.ids = &id;
  embed.num_streams = 1;
  embed.streams = {x, DType::kF32, 1, 8, 8};
  EXPECT_NE(message(embed).find("ids[0]: 9, expected 0 to 3"), std::string::npos) << message(embed);
}

}  // namespace
}  // namespace deepinfer
