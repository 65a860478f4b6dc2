#include "tensor/quant.h"

#include <algorithm>
#include <cmath>
#include <cstring>

namespace deepinfer {
namespace {

float amax_of(const float* x, int64_t n, float floor) {
  float a = floor;
  for (int64_t i = 0; i < n; ++i) {
    const float v = std::fabs(x[i]);
    if (v > a) a = v;  // NaN compares false
  }
  return a;
}

float clamp_to(float x, float limit) { return x > limit ? limit : (x < -limit ? -limit : x); }

constexpr float kInv448 = 1.0f / 448.0f, kInv6 = 1.0f / 6.0f;
constexpr float kFloor8 = 1e-4f, kFloorUe8m0 = 6 * 0x1p-126f, kFloorE4m3 = 6 * 0x1p-9f;

}  // namespace

const char* cache_format_name(CacheFormat format) {
  switch (format) {
    case CacheFormat::kF32:
      return "f32";
    case CacheFormat::kFp8:
      return "fp8";
    case CacheFormat::kFp4E4m3:
      return "fp4 e4m3";
    case CacheFormat::kFp4Ue8m0:
      return "fp4 ue8m0";
  }
  return "?";
}

uint8_t ue8m0_scale(float amax, float inverse_limit) {
  const uint32_t bits = float_to_bits(amax * inverse_limit);
  const uint32_t up = (bits + 0x7fffffu) >> 23;  // next power of two unless already one
  return static_cast<uint8_t>(std::min<uint32_t>(up, 254));
}

void quant8_qdq(float* x, int64_t n) {
  for (int64_t g = 0; g < n; g += 32) {
    const int64_t len = std::min<int64_t>(32, n - g);
    const float s = ue8m0_to_float(ue8m0_scale(amax_of(x + g, len, kFloor8), kInv448));
    for (int64_t i = 0; i < len; ++i) x[g + i] = e4m3_to_float(float_to_e4m3(clamp_to(x[g + i] / s, 448.0f))) * s;
  }
}

void encode_record(CacheFormat format, const float* x, int64_t d, uint8_t* out) {
  switch (format) {
    case CacheFormat::kF32:
      std::memcpy(out, x, static_cast<size_t>(4 * d));
      return;
    case CacheFormat::kFp8:
      for (int64_t g = 0; g < d / 32; ++g) {
        const uint8_t scale = ue8m0_scale(amax_of(x + 32 * g, 32, kFloor8), kInv448);
        const float s = ue8m0_to_float(scale);
        for (int64_t i = 32 * g; i < 32 * g + 32; ++i) out[i] = float_to_e4m3(clamp_to(x[i] / s, 448.0f));
        out[d + g] = scale;
      }
      return;
    case CacheFormat::kFp4Ue8m0:
      for (int64_t g = 0; g < d / 32; ++g) {
        const uint8_t scale = ue8m0_scale(amax_of(x + 32 * g, 32, kFloorUe8m0), kInv6);
        const float s = ue8m0_to_float(scale);
        for (int64_t i = 32 * g; i < 32 * g + 32; i += 2)
          out[i / 2] = static_cast<uint8_t>(float_to_e2m1(x[i] / s) | (float_to_e2m1(x[i + 1] / s) << 4));
        out[d / 2 + g] = scale;
      }
      return;
    case CacheFormat::kFp4E4m3:
      for (int64_t g = 0; g < d / 16; ++g) {
        const float a = amax_of(x + 16 * g, 16, kFloorE4m3);
        const uint8_t scale = float_to_e4m3(std::min(a * kInv6, 448.0f));
        const float s = e4m3_to_float(scale);
        for (int64_t i = 16 * g; i < 16 * g + 16; i += 2)
          out[i / 2] = static_cast<uint8_t>(float_to_e2m1(x[i] / s) | (float_to_e2m1(x[i + 1] / s) << 4));
        out[d / 2 + g] = scale;
      }
      return;
  }
}

void decode_record(CacheFormat format, const uint8_t* in, int64_t d, float* out) {
  switch (format) {
    case CacheFormat::kF32:
      std::memcpy(out, in, static_cast<size_t>(4 * d));
      return;
    case CacheFormat::kFp8:
      for (int64_t i = 0; i < d; ++i) out[i] = e4m3_to_float(in[i]) * ue8m0_to_float(in[d + i / 32]);
      return;
    case CacheFormat::kFp4Ue8m0:
      for (int64_t i = 0; i < d; ++i)
        out[i] = e2m1_to_float(static_cast<uint8_t>(in[i / 2] >> (4 * (i & 1)))) * ue8m0_to_float(in[d / 2 + i / 32]);
      return;
    case CacheFormat::kFp4E4m3:
      for (int64_t i = 0; i < d; ++i)
        out[i] = e2m1_to_float(static_cast<uint8_t>(in[i / 2] >> (4 * (i & 1)))) * e4m3_to_float(in[d / 2 + i / 16]);
      return;
  }
}

}  // namespace deepinfer
