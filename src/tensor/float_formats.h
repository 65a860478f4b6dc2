// Number formats, scalar and exact: bf16, fp16, E4M3 (fn), E2M1, UE8M0. Rounding is to nearest, ties to even,
// everywhere. Sources: model.md 3.2 and 4.0; OCP Microscaling Formats 1.0 for the code tables.
#pragma once
#include <bit>
#include <cstdint>
#include <limits>

namespace deepinfer {

inline float bits_to_float(uint32_t bits) { return std::bit_cast<float>(bits); }
inline uint32_t float_to_bits(float x) { return std::bit_cast<uint32_t>(x); }

// ---- bf16: the upper half of an fp32
inline float bf16_to_float(uint16_t h) { return bits_to_float(static_cast<uint32_t>(h) << 16); }

inline uint16_t float_to_bf16(float x) {
  uint32_t u = float_to_bits(x);
  if ((u & 0x7fffffffu) > 0x7f800000u) return static_cast<uint16_t>((u >> 16) | 0x40);  // NaN stays NaN, made quiet
  u += 0x7fffu + ((u >> 16) & 1);
  return static_cast<uint16_t>(u >> 16);
}

inline float round_bf16(float x) { return bf16_to_float(float_to_bf16(x)); }

// ---- fp16
inline float fp16_to_float(uint16_t h) {
  const uint32_t sign = static_cast<uint32_t>(h & 0x8000) << 16;
  const uint32_t exponent = (h >> 10) & 31, mantissa = h & 0x3ff;
  if (exponent == 0) {  // zero and subnormals: mantissa * 2^-24
    const float v = static_cast<float>(mantissa) * 0x1p-24f;
    return bits_to_float(float_to_bits(v) | sign);
  }
  if (exponent == 31) return bits_to_float(sign | 0x7f800000u | (mantissa << 13));
  return bits_to_float(sign | ((exponent + 112) << 23) | (mantissa << 13));
}

inline uint16_t float_to_fp16(float x) {
  const uint32_t u = float_to_bits(x);
  const uint16_t sign = static_cast<uint16_t>((u >> 16) & 0x8000);
  const uint32_t a = u & 0x7fffffffu;
  if (a > 0x7f800000u) return static_cast<uint16_t>(sign | 0x7e00);
  if (a >= 0x477ff000u) return static_cast<uint16_t>(sign | 0x7c00);  // >= 65520 rounds to infinity
  if (a < 0x38800000u) {                                              // below 2^-14: a multiple of 2^-24
    // Adding 0.5 makes the unit in the last place 2^-24, so the addition itself rounds to nearest even.
    const float r = bits_to_float(a) + 0.5f;
    return static_cast<uint16_t>(sign | (float_to_bits(r) - 0x3f000000u));
  }
  const uint32_t r = a + 0xfffu + ((a >> 13) & 1);
  return static_cast<uint16_t>(sign | ((r - 0x38000000u) >> 13));
}

// ---- E4M3 (fn): bias 7, max 448, no infinity, 0x7f / 0xff are NaN
inline float e4m3_to_float(uint8_t c) {
  const uint32_t sign = static_cast<uint32_t>(c & 0x80) << 24;
  const uint32_t a = c & 0x7f;
  if (a == 0x7f) return bits_to_float(sign | 0x7fc00000u);
  if (a < 8) {  // subnormals: a * 2^-9
    const float v = static_cast<float>(a) * 0x1p-9f;
    return bits_to_float(float_to_bits(v) | sign);
  }
  return bits_to_float(sign | ((a << 20) + (120u << 23)));
}

// Saturating: |x| above 448 (and infinity) becomes 448; NaN becomes 0x7f.
inline uint8_t float_to_e4m3(float x) {
  const uint32_t u = float_to_bits(x);
  const uint8_t sign = static_cast<uint8_t>((u >> 24) & 0x80);
  const uint32_t a = u & 0x7fffffffu;
  if (a > 0x7f800000u) return static_cast<uint8_t>(sign | 0x7f);
  if (a >= 0x43e00000u) return static_cast<uint8_t>(sign | 0x7e);  // >= 448
  if (a < 0x3c800000u) {                                           // below 2^-6: a multiple of 2^-9
    const float r = bits_to_float(a) + 16384.0f;                   // ulp of 2^14 is 2^-9
    return static_cast<uint8_t>(sign | (float_to_bits(r) - 0x46800000u));
  }
  const uint32_t r = a + 0x7ffffu + ((a >> 20) & 1);
  const uint32_t code = (r - (120u << 23)) >> 20;
  return static_cast<uint8_t>(sign | (code > 0x7e ? 0x7e : code));
}

// ---- E2M1: codes 0..7 = 0, .5, 1, 1.5, 2, 3, 4, 6; bit 3 is the sign
inline constexpr float kE2M1Values[16] = {0.0f,  0.5f,  1.0f,  1.5f,  2.0f,  3.0f,  4.0f,  6.0f,
                                          -0.0f, -0.5f, -1.0f, -1.5f, -2.0f, -3.0f, -4.0f, -6.0f};
inline float e2m1_to_float(uint8_t code) { return kE2M1Values[code & 15]; }

// Nearest code, ties to the even mantissa (0.25 -> 0, 0.75 -> 1, 1.25 -> 1, 1.75 -> 2, 2.5 -> 2, 3.5 -> 4, 5 -> 4),
// saturating; NaN -> 6. A negative value that rounds to zero keeps its sign bit, as torch.copysign does.
inline uint8_t float_to_e2m1(float x) {
  const uint8_t sign = static_cast<uint8_t>((float_to_bits(x) >> 28) & 8);
  const float a = bits_to_float(float_to_bits(x) & 0x7fffffffu);
  uint8_t code = 7;
  if (a <= 0.25f)
    code = 0;
  else if (a < 0.75f)
    code = 1;
  else if (a <= 1.25f)
    code = 2;
  else if (a < 1.75f)
    code = 3;
  else if (a <= 2.5f)
    code = 4;
  else if (a < 3.5f)
    code = 5;
  else if (a <= 5.0f)
    code = 6;
  return static_cast<uint8_t>(sign | code);
}

// ---- UE8M0: byte b is 2^(b-127); b = 0 is the fp32 subnormal 2^-127; 255 is NaN
inline float ue8m0_to_float(uint8_t b) {
  if (b == 255) return std::numeric_limits<float>::quiet_NaN();
  return b == 0 ? bits_to_float(0x00400000u) : bits_to_float(static_cast<uint32_t>(b) << 23);
}

}  // namespace deepinfer
