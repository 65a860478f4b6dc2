// Every code decodes to the value its bits define (computed in double), and every fp32 around each boundary between two
// neighbouring codes rounds as a search for the nearest value says.
#include "tensor/float_formats.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <random>
#include <vector>

namespace deepinfer {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();

// Value of the magnitude bits of a format with `e` exponent and `m` mantissa bits; the top exponent is ordinary.
double value_of(uint32_t code, int m, int bias) {
  const int exponent = static_cast<int>(code >> m);
  const double mantissa = static_cast<double>(code & ((1u << m) - 1));
  return exponent == 0 ? std::ldexp(mantissa, 1 - bias - m)
                       : std::ldexp(mantissa + std::ldexp(1.0, m), exponent - bias - m);
}

// A format as a plain table: magnitudes ascending (index = code), and what lies above the largest.
struct Format {
  std::vector<double> values;
  bool saturates;  // else: from half a step above the largest value on it is code values.size() (infinity)
};

// Nearest code for |x|, ties to the even code. Independent of the code under test: a search in doubles.
uint32_t nearest(const Format& f, double x) {
  const uint32_t top = static_cast<uint32_t>(f.values.size()) - 1;
  if (x >= f.values[top]) {
    if (f.saturates) return top;
    const double next = 2 * f.values[top] - f.values[top - 1];  // where the following code would be
    const double half = (f.values[top] + next) / 2;
    return x < half || (x == half && top % 2 == 0) ? top : top + 1;
  }
  const uint32_t above =
      static_cast<uint32_t>(std::upper_bound(f.values.begin(), f.values.end(), x) - f.values.begin());
  const double low = x - f.values[above - 1], high = f.values[above] - x;
  if (low != high) return low < high ? above - 1 : above;
  return above % 2 == 0 ? above : above - 1;
}

Format format_of(uint32_t codes, int m, int bias, bool saturates) {
  Format f{{}, saturates};
  for (uint32_t c = 0; c < codes; ++c) f.values.push_back(value_of(c, m, bias));
  return f;
}

// Every boundary between codes and every value, each with its fp32 neighbours, then random numbers of all exponents.
void expect_rounding(const Format& f, uint32_t sign_bit, const std::function<uint32_t(float)>& encode) {
  int wrong = 0;
  auto check = [&](float x) {
    if (!std::isfinite(x) || wrong > 10) return;
    const uint32_t want = nearest(f, std::fabs(static_cast<double>(x)));
    for (float signed_x : {std::fabs(x), -std::fabs(x)}) {
      const uint32_t expected = want | (std::signbit(signed_x) ? sign_bit : 0);
      const uint32_t found = encode(signed_x);
      if (found != expected) {
        ++wrong;
        ADD_FAILURE() << std::hexfloat << signed_x << ": expected code " << expected << ", found " << found;
      }
    }
  };
  for (size_t c = 0; c < f.values.size(); ++c) {
    const double next = c + 1 < f.values.size() ? f.values[c + 1] : 2 * f.values[c] - f.values[c - 1];
    for (double at : {f.values[c], (f.values[c] + next) / 2}) {
      const float x = static_cast<float>(at);
      check(x);
      check(std::nextafterf(x, 0.0f));
      check(std::nextafterf(x, kInfinity));
    }
  }
  std::mt19937 random(7);
  for (int i = 0; i < 300000; ++i) check(bits_to_float(random() & 0x7fffffffu));
  // Random numbers inside the range of the format, where the codes are.
  const double top = f.values.back();
  const float low = static_cast<float>(f.values[1] / 4);
  for (int i = 0; i < 300000; ++i) {
    const uint32_t a = float_to_bits(low), b = float_to_bits(static_cast<float>(std::min(top * 1.2, 3.4e38)));
    check(bits_to_float(a + static_cast<uint32_t>(random() % (b - a))));
  }
}

TEST(Bf16, EveryCodeIsTheUpperHalfOfItsFp32AndComesBack) {
  for (uint32_t c = 0; c < 65536; ++c) {
    const uint16_t code = static_cast<uint16_t>(c);
    const float x = bf16_to_float(code);
    ASSERT_EQ(float_to_bits(x), c << 16);
    if (std::isnan(x)) {
      ASSERT_EQ(float_to_bf16(x), code | 0x40) << c;  // quiet, sign and payload kept
    } else {
      ASSERT_EQ(float_to_bf16(x), code) << c;
      ASSERT_EQ(float_to_bits(round_bf16(x)), c << 16);
    }
  }
}

TEST(Bf16, EveryBoundaryRoundsToNearestEvenAndOverflowGoesToInfinity) {
  expect_rounding(format_of(0x7f80, 7, 127, false), 0x8000, float_to_bf16);
  EXPECT_EQ(float_to_bf16(std::numeric_limits<float>::max()), 0x7f80);
  EXPECT_EQ(float_to_bf16(-kInfinity), 0xff80);
}

TEST(Bf16, NoNaNBecomesInfinity) {
  for (uint32_t bits : {0x7f800001u, 0x7fffffffu, 0xff800001u, 0x7fc00000u, 0x7f80ffffu})
    EXPECT_TRUE(std::isnan(bf16_to_float(float_to_bf16(bits_to_float(bits))))) << std::hex << bits;
}

TEST(Fp16, EveryCodeDecodesToItsDefinitionAndComesBack) {
  for (uint32_t c = 0; c < 65536; ++c) {
    const uint16_t code = static_cast<uint16_t>(c);
    const float x = fp16_to_float(code);
    const uint32_t magnitude = c & 0x7fff;
    ASSERT_EQ(std::signbit(x), c >= 0x8000) << c;
    if (magnitude > 0x7c00) {
      ASSERT_TRUE(std::isnan(x)) << c;
      ASSERT_EQ(float_to_fp16(x), (c & 0x8000) | 0x7e00) << c;
      continue;
    }
    ASSERT_EQ(std::fabs(x), magnitude == 0x7c00 ? kInfinity : static_cast<float>(value_of(magnitude, 10, 15))) << c;
    ASSERT_EQ(float_to_fp16(x), code) << c;
  }
}

TEST(Fp16, EveryBoundaryRoundsToNearestEvenAndOverflowGoesToInfinity) {
  expect_rounding(format_of(0x7c00, 10, 15, false), 0x8000, float_to_fp16);
  EXPECT_EQ(float_to_fp16(65519.996f), 0x7bff);
  EXPECT_EQ(float_to_fp16(65520.0f), 0x7c00);
}

TEST(E4m3, EveryCodeDecodesToItsDefinitionAndComesBack) {
  for (uint32_t c = 0; c < 256; ++c) {
    const uint8_t code = static_cast<uint8_t>(c);
    const float x = e4m3_to_float(code);
    ASSERT_EQ(std::signbit(x), c >= 128) << c;
    if ((c & 0x7f) == 0x7f)
      ASSERT_TRUE(std::isnan(x)) << c;
    else
      ASSERT_EQ(std::fabs(x), static_cast<float>(value_of(c & 0x7f, 3, 7))) << c;
    ASSERT_EQ(float_to_e4m3(x), code) << c;
  }
  EXPECT_EQ(e4m3_to_float(0x7e), 448.0f);
  EXPECT_EQ(e4m3_to_float(0x01), 0x1p-9f);
}

TEST(E4m3, EveryBoundaryRoundsToNearestEvenAndLargeValuesSaturate) {
  expect_rounding(format_of(0x7f, 3, 7, true), 0x80, float_to_e4m3);
  EXPECT_EQ(float_to_e4m3(kInfinity), 0x7e);
  EXPECT_EQ(float_to_e4m3(-kInfinity), 0xfe);
  EXPECT_EQ(float_to_e4m3(std::numeric_limits<float>::max()), 0x7e);
  EXPECT_EQ(float_to_e4m3(0x1p-10f), 0x00);  // half the smallest: to even
  EXPECT_EQ(float_to_e4m3(-0x1p-149f), 0x80);
}

TEST(E4m3, NaNStaysNaN) {
  for (uint32_t bits : {0x7f800001u, 0x7fffffffu, 0xff800001u, 0xffc00000u})
    EXPECT_TRUE(std::isnan(e4m3_to_float(float_to_e4m3(bits_to_float(bits))))) << std::hex << bits;
}

TEST(E2m1, EveryCodeDecodesToItsDefinitionAndComesBack) {
  for (uint32_t c = 0; c < 16; ++c) {
    const float x = e2m1_to_float(static_cast<uint8_t>(c));
    EXPECT_EQ(std::fabs(x), static_cast<float>(value_of(c & 7, 1, 1))) << c;
    EXPECT_EQ(std::signbit(x), c >= 8) << c;
    EXPECT_EQ(float_to_e2m1(x), c);
    EXPECT_EQ(float_to_bits(e2m1_to_float(static_cast<uint8_t>(c | 0xf0))), float_to_bits(x)) << "high bits ignored";
  }
}

TEST(E2m1, EveryBoundaryRoundsToNearestEvenAndLargeValuesSaturate) {
  expect_rounding(format_of(8, 1, 1, true), 8, float_to_e2m1);
  EXPECT_EQ(float_to_e2m1(kInfinity), 7);
  EXPECT_EQ(float_to_e2m1(-kInfinity), 15);
}

TEST(E2m1, TiesAreThoseOfTheModelDescription) {
  // model.md 4.0
  for (const auto& [x, y] : {std::pair{0.25f, 0.0f},
                             {0.75f, 1.0f},
                             {1.25f, 1.0f},
                             {1.75f, 2.0f},
                             {2.5f, 2.0f},
                             {3.5f, 4.0f},
                             {5.0f, 4.0f}}) {
    EXPECT_EQ(e2m1_to_float(float_to_e2m1(x)), y);
    EXPECT_EQ(e2m1_to_float(float_to_e2m1(-x)), -y);
  }
}

TEST(Ue8m0, EveryByteIsItsPowerOfTwoAnd255IsNaN) {
  for (int b = 0; b < 255; ++b)
    ASSERT_EQ(static_cast<double>(ue8m0_to_float(static_cast<uint8_t>(b))), std::ldexp(1.0, b - 127)) << b;
  EXPECT_TRUE(std::isnan(ue8m0_to_float(255)));
}

}  // namespace
}  // namespace deepinfer
