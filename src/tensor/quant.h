// Quantisers of activations and cache records, plain and bit-exact: the truth that every backend's fused versions are
// held to. Rules: model.md 4.0, operators.md 1.6. Where sources differ (multiply by 1/6 or divide) we follow the
// oracle: amax is multiplied by the fp32 constant, values are divided by the scale (for powers of two both are the
// same).
//   quant8        per 32: a = max(amax, 1e-4), s = 2^ceil(log2(a/448)), value e4m3(clamp(x/s, +-448)), scale byte UE8M0
//   fp4, UE8M0    per 32: a = max(amax, 6*2^-126), s = 2^ceil(log2(a/6)), value e2m1(clamp(x/s, +-6))
//   fp4, E4M3     per 16: a = max(amax, 6*2^-9), s = e4m3(min(a*(1/6), 448)), value e2m1(clamp(x/s, +-6))
// A NaN in a group makes its amax NaN-free (NaN is ignored by max) and its own code NaN or saturated; nothing is
// undefined.
#pragma once
#include <cstdint>

#include "tensor/float_formats.h"

namespace deepinfer {

enum class CacheFormat : uint8_t {
  kF32,       // 4 d bytes (fp32 numerics)
  kFp8,       // d E4M3 + d/32 UE8M0: 528 bytes at d = 512
  kFp4E4m3,   // d/2 E2M1 (even dimension in the low nibble) + d/16 E4M3: 288 bytes at d = 512
  kFp4Ue8m0,  // d/2 E2M1 + d/32 UE8M0: 68 bytes at d = 128
};
const char* cache_format_name(CacheFormat format);

constexpr int64_t record_bytes(CacheFormat format, int64_t d) {
  switch (format) {
    case CacheFormat::kF32:
      return 4 * d;
    case CacheFormat::kFp8:
      return d + d / 32;
    case CacheFormat::kFp4E4m3:
      return d / 2 + d / 16;
    case CacheFormat::kFp4Ue8m0:
      return d / 2 + d / 32;
  }
  return 0;
}

// Scale byte of a group: smallest power of two >= amax * (1/limit), as UE8M0. REQUIRES amax > 0 and finite or infinity
// (clamped to 254).
uint8_t ue8m0_scale(float amax, float inverse_limit);

// x[0..n) -> quantise and dequantise in place; n a multiple of 32 (a shorter last group is allowed).
void quant8_qdq(float* x, int64_t n);

// Writes the record of x[0..d). Data first, then scales. REQUIRES d % 32 == 0 for the quantised formats.
void encode_record(CacheFormat format, const float* x, int64_t d, uint8_t* out);
void decode_record(CacheFormat format, const uint8_t* in, int64_t d, float* out);

}  // namespace deepinfer
