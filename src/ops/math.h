// exp and log for operators whose results must agree bit for bit between backends and instruction sets (sampling,
// softmax of logits). Plain fp32 arithmetic without library calls or contraction, so a vector version with the same
// operations gives the same bits.
#pragma once
#include <cmath>
#include <cstdint>

#include "tensor/float_formats.h"

namespace deepinfer::ops {

// e^x, x <= 88.7 (larger saturates), < -87.3 gives 0; relative error below 2e-7 (checked over all floats in steps by
// tests/ops/math_test.cpp).
inline float exact_exp(float x) {
  if (!(x > -87.33f)) return x != x ? x : 0.0f;
  if (x > 88.72f) x = 88.72f;
  const float t = x * 1.44269504f;
  const float n = std::nearbyint(t);
  float r = std::fma(n, -0.693359375f, x);  // ln 2 in two parts
  r = std::fma(n, 2.12194440e-4f, r);
  float p = 1.9875691500e-4f;  // minimax polynomial of Cephes' expf (S. Moshier), public constants
  p = std::fma(p, r, 1.3981999507e-3f);
  p = std::fma(p, r, 8.3334519073e-3f);
  p = std::fma(p, r, 4.1665795894e-2f);
  p = std::fma(p, r, 1.6666665459e-1f);
  p = std::fma(p, r, 5.0000001201e-1f);
  const float y = std::fma(p, r * r, r) + 1.0f;
  const int32_t e = static_cast<int32_t>(n);
  const int32_t half = e / 2;  // two steps: 2^e may be outside the normal range
  return y * bits_to_float(static_cast<uint32_t>(half + 127) << 23) *
         bits_to_float(static_cast<uint32_t>(e - half + 127) << 23);
}

// ln x for normal x > 0; relative error below 3e-7.
inline float exact_log(float x) {
  uint32_t u = float_to_bits(x);
  int32_t e = static_cast<int32_t>(u >> 23) - 126;
  float m = bits_to_float((u & 0x007fffffu) | 0x3f000000u);  // [0.5, 1)
  if (m < 0.70710678f) {
    m = m + m;
    --e;
  }
  const float f = m - 1.0f;
  const float z = f * f;
  float p = 7.0376836292e-2f;  // Cephes' logf, public constants
  p = std::fma(p, f, -1.1514610310e-1f);
  p = std::fma(p, f, 1.1676998740e-1f);
  p = std::fma(p, f, -1.2420140846e-1f);
  p = std::fma(p, f, 1.4249322787e-1f);
  p = std::fma(p, f, -1.6668057665e-1f);
  p = std::fma(p, f, 2.0000714765e-1f);
  p = std::fma(p, f, -2.4999993993e-1f);
  p = std::fma(p, f, 3.3333331174e-1f);
  const float n = static_cast<float>(e);
  float y = p * f * z;
  y = std::fma(n, -2.12194440e-4f, y);
  y = std::fma(z, -0.5f, y);
  return std::fma(n, 0.693359375f, f + y);
}

}  // namespace deepinfer::ops
