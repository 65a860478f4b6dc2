// The quantisers against the formulas of model.md 4.0 written a second time: scales by frexp, values by searching the
// nearest of all codes in double.
#include "tensor/quant.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <vector>

namespace deepinfer {
namespace {

constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();
constexpr float kInfinity = std::numeric_limits<float>::infinity();

struct Rule {
  CacheFormat format;
  int group;
  float limit, floor;
  bool power_of_two;
};
const Rule kFp8{CacheFormat::kFp8, 32, 448, 1e-4f, true};
const Rule kUe8m0{CacheFormat::kFp4Ue8m0, 32, 6, 6 * 0x1p-126f, true};
const Rule kE4m3{CacheFormat::kFp4E4m3, 16, 6, 6 * 0x1p-9f, false};

float smallest_power_at_least(float v) {
  int e;
  const float f = std::frexp(v, &e);  // v = f * 2^e, f in [0.5, 1)
  return std::ldexp(1.0f, f == 0.5f ? e - 1 : e);
}

// Nearest of the format's values by search, ties to the even code.
template <typename Decode>
float nearest(Decode decode, int codes, float x) {
  const double a = std::fabs(static_cast<double>(x));
  int best = 0;
  double distance = 1e300;
  for (int c = 0; c < codes; ++c) {
    const double d = std::fabs(static_cast<double>(decode(static_cast<uint8_t>(c))) - a);
    if (d < distance || (d == distance && c % 2 == 0)) best = c, distance = d;
  }
  return std::copysign(decode(static_cast<uint8_t>(best)), x);
}
float nearest_e4m3(float x) { return nearest(e4m3_to_float, 127, x); }
float nearest_e2m1(float x) { return nearest(e2m1_to_float, 8, x); }

// Quantised and dequantised row.
std::vector<float> expected(const Rule& rule, const std::vector<float>& x) {
  std::vector<float> y(x.size());
  for (size_t g = 0; g < x.size(); g += static_cast<size_t>(rule.group)) {
    float a = rule.floor;
    for (int i = 0; i < rule.group; ++i) a = std::max(a, std::fabs(x[g + static_cast<size_t>(i)]));
    const float v = a * (1.0f / rule.limit);
    const float s = rule.power_of_two ? smallest_power_at_least(v) : nearest_e4m3(std::min(v, 448.0f));
    for (int i = 0; i < rule.group; ++i) {
      const size_t at = g + static_cast<size_t>(i);
      const float q = std::clamp(x[at] / s, -rule.limit, rule.limit);
      y[at] = (rule.limit == 448 ? nearest_e4m3(q) : nearest_e2m1(q)) * s;
    }
  }
  return y;
}

// Record with canaries on both sides, decoded.
std::vector<float> through_record(CacheFormat format, const std::vector<float>& x) {
  const int64_t d = static_cast<int64_t>(x.size()), bytes = record_bytes(format, d);
  std::vector<uint8_t> record(static_cast<size_t>(bytes) + 16, 0xa5);
  encode_record(format, x.data(), d, record.data() + 8);
  for (int i = 0; i < 8; ++i) {
    EXPECT_EQ(record[static_cast<size_t>(i)], 0xa5) << "written before the record";
    EXPECT_EQ(record[record.size() - 1 - static_cast<size_t>(i)], 0xa5) << "written past the record";
  }
  std::vector<float> y(x.size());
  decode_record(format, record.data() + 8, d, y.data());
  return y;
}

void expect_same_bits(const std::vector<float>& found, const std::vector<float>& want, const std::vector<float>& x) {
  ASSERT_EQ(found.size(), want.size());
  for (size_t i = 0; i < found.size(); ++i)
    ASSERT_EQ(float_to_bits(found[i]), float_to_bits(want[i]))
        << "at " << i << ": x " << std::hexfloat << x[i] << " found " << found[i] << " expected " << want[i];
}

std::vector<std::vector<float>> rows() {
  std::vector<std::vector<float>> out;
  std::mt19937 random(11);
  std::normal_distribution<float> normal;
  for (int64_t d : {32, 64, 96, 128, 512})
    for (float scale : {1e-30f, 1e-6f, 1e-3f, 1.0f, 37.0f, 3e3f, 1e6f, 1e30f})
      for (int repeat = 0; repeat < 4; ++repeat) {
        std::vector<float> x(static_cast<size_t>(d));
        for (float& v : x) {
          v = normal(random) * scale;
          if (repeat == 1) v = round_bf16(v);                                       // as the model's activations
          if (repeat == 2 && random() % 4 == 0) v *= 1000;                          // outliers
          if (repeat == 3) v = scale * 0.25f * static_cast<float>(random() % 57u);  // exact ties
        }
        out.push_back(std::move(x));
      }
  // amax just below, at and just above a power of two times the limit, where the scale steps.
  for (float limit : {448.0f, 6.0f})
    for (int e = -40; e <= 40; ++e)
      for (int step = -1; step <= 1; ++step) {
        std::vector<float> x(32, 0.0f);
        const float top = std::ldexp(limit, e);
        x[5] = step < 0 ? std::nextafterf(top, 0.0f) : step > 0 ? std::nextafterf(top, kInfinity) : top;
        x[6] = -x[5] / 3;
        x[7] = x[5] * 0.0625f;
        out.push_back(std::move(x));
      }
  return out;
}

TEST(Quant, RecordsDecodeToTheFormulasOfTheModelBitForBit) {
  for (const Rule& rule : {kFp8, kUe8m0, kE4m3})
    for (const std::vector<float>& x : rows()) {
      expect_same_bits(through_record(rule.format, x), expected(rule, x), x);
      if (HasFatalFailure()) FAIL() << cache_format_name(rule.format) << ", d = " << x.size();
    }
}

TEST(Quant, Quant8InPlaceEqualsItsRecord) {
  for (const std::vector<float>& x : rows()) {
    std::vector<float> y = x;
    quant8_qdq(y.data(), static_cast<int64_t>(y.size()));
    expect_same_bits(y, through_record(CacheFormat::kFp8, x), x);
    if (HasFatalFailure()) return;
  }
}

TEST(Quant, AShortLastGroupHasItsOwnScaleAndNothingPastItIsTouched) {
  std::vector<float> x(48, 1000.0f);
  for (size_t i = 32; i < 40; ++i) x[i] = 0.3f;
  x[40] = 77.125f;  // canary
  std::vector<float> y = x;
  quant8_qdq(y.data(), 40);
  std::vector<float> group(32, 0.0f);
  std::fill(group.begin(), group.begin() + 8, 0.3f);
  const std::vector<float> want = expected(kFp8, group);
  for (size_t i = 32; i < 40; ++i) EXPECT_EQ(y[i], want[i - 32]);
  EXPECT_EQ(y[40], 77.125f);
}

TEST(Quant, ScaleByteIsTheSmallestPowerOfTwoThatHoldsTheGroup) {
  EXPECT_EQ(ue8m0_scale(448.0f, 1.0f / 448.0f), 127);
  EXPECT_EQ(ue8m0_scale(std::nextafterf(448.0f, kInfinity) * 1.0001f, 1.0f / 448.0f), 128);
  EXPECT_EQ(ue8m0_scale(6 * 0x1p-126f, 1.0f / 6.0f), 1) << "the floor of FP4 is the smallest normal scale";
  EXPECT_EQ(ue8m0_scale(std::numeric_limits<float>::max(), 1.0f), 254);
  EXPECT_EQ(ue8m0_scale(kInfinity, 1.0f / 448.0f), 254) << "255 would be NaN";
  for (float a = 1e-4f; a < 1e30f; a *= 1.37f)
    EXPECT_EQ(ue8m0_to_float(ue8m0_scale(a, 1.0f / 448.0f)), smallest_power_at_least(a * (1.0f / 448.0f))) << a;
}

TEST(Quant, LayoutIsDataThenScalesWithTheEvenDimensionInTheLowNibble) {
  std::vector<float> x(64, 0.0f);
  x[0] = 6.0f, x[1] = -1.5f, x[33] = 12.0f;
  uint8_t record[34];
  encode_record(CacheFormat::kFp4Ue8m0, x.data(), 64, record);
  EXPECT_EQ(record[0], 0xb7);   // 6 -> code 7 low, -1.5 -> code 11 high
  EXPECT_EQ(record[16], 0x70);  // 12 / 2 = 6 in the odd dimension 33
  EXPECT_EQ(record[32], 127);   // 2^0
  EXPECT_EQ(record[33], 128);   // 2^1
}

TEST(Quant, RecordSizesAreThoseOfTheModel) {
  EXPECT_EQ(record_bytes(CacheFormat::kFp8, 512), 528);
  EXPECT_EQ(record_bytes(CacheFormat::kFp4E4m3, 512), 288);
  EXPECT_EQ(record_bytes(CacheFormat::kFp4Ue8m0, 128), 68);
  EXPECT_EQ(record_bytes(CacheFormat::kF32, 512), 2048);
  EXPECT_EQ(record_bytes(CacheFormat::kFp8, 96), 99);
  EXPECT_EQ(record_bytes(CacheFormat::kFp4E4m3, 96), 54);
  EXPECT_EQ(record_bytes(CacheFormat::kFp4Ue8m0, 96), 51);
}

TEST(Quant, Fp32RecordsKeepEveryBitNaNIncluded) {
  std::vector<float> x(32);
  for (uint32_t i = 0; i < 32; ++i) x[i] = bits_to_float(0x7f7ffff0u + i);
  const std::vector<float> y = through_record(CacheFormat::kF32, x);
  EXPECT_EQ(std::memcmp(x.data(), y.data(), 128), 0);
}

TEST(Quant, AZeroRowGivesZerosAndTheScaleOfTheFloor) {
  const std::vector<float> x(32, 0.0f);
  for (CacheFormat format : {CacheFormat::kFp8, CacheFormat::kFp4E4m3, CacheFormat::kFp4Ue8m0})
    for (float v : through_record(format, x)) EXPECT_EQ(float_to_bits(v), 0u) << cache_format_name(format);
}

TEST(Quant, QuantisingTwiceChangesNothingWithPowerOfTwoScales) {
  for (const std::vector<float>& x : rows())
    for (CacheFormat format : {CacheFormat::kFp8, CacheFormat::kFp4Ue8m0}) {
      const std::vector<float> once = through_record(format, x);
      expect_same_bits(through_record(format, once), once, x);
      if (HasFatalFailure()) return;
    }
}

TEST(Quant, ANaNKeepsToItsOwnElementAndInfinitySaturates) {
  for (const Rule& rule : {kFp8, kUe8m0, kE4m3}) {
    std::vector<float> x(64, 0.5f);
    x[3] = kNaN;
    std::vector<float> without = x;
    without[3] = 0.5f;
    const std::vector<float> y = through_record(rule.format, x), want = through_record(rule.format, without);
    for (size_t i = 0; i < 64; ++i) {
      if (i == 3) continue;
      EXPECT_EQ(y[i], want[i]) << cache_format_name(rule.format) << " at " << i;
    }
    if (rule.format == CacheFormat::kFp8) {
      EXPECT_TRUE(std::isnan(y[3]));
    }

    x[3] = kInfinity;
    x[4] = -kInfinity;
    const std::vector<float> z = through_record(rule.format, x);
    for (size_t i = 0; i < 64; ++i) EXPECT_FALSE(std::isnan(z[i])) << cache_format_name(rule.format) << " at " << i;
    EXPECT_GT(z[3], 1000.0f);
    EXPECT_LT(z[4], -1000.0f);
    for (size_t i = 32; i < 64; ++i) EXPECT_EQ(z[i], want[i]) << "another group";
  }
}

}  // namespace
}  // namespace deepinfer
