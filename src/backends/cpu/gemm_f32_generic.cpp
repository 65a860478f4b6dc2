// fp32 products in plain C++ (SSE2 by the compiler): runs on any x86-64.
#include <cstring>

#include "backends/cpu/gemm.h"

namespace deepinfer::cpu {
namespace {

struct Fp8Values {
  float value[256];
  constexpr Fp8Values() : value{} {
    for (int c = 0; c < 256; ++c) {
      const uint32_t sign = static_cast<uint32_t>(c & 0x80) << 24, a = static_cast<uint32_t>(c & 0x7f);
      const float m = a < 8 ? static_cast<float>(a) * 0x1p-9f
                            : __builtin_bit_cast(float, a == 127 ? 0x7fc00000u : (a << 20) + (120u << 23));
      value[c] = __builtin_bit_cast(float, __builtin_bit_cast(uint32_t, m) | sign);
    }
  }
};
constexpr Fp8Values kFp8Values;  // 1 KiB: stays in L1, five times faster than taking the bits apart without vectors

struct V {
  typedef float T __attribute__((vector_size(16)));
  static constexpr int kLanes = 4, kRows = 2;
  static T zero() { return T{0, 0, 0, 0}; }
  static T load(const float* p) {
    T v;
    __builtin_memcpy(&v, p, 16);
    return v;
  }
  static T fma(T a, T b, T c) { return a * b + c; }
  static float sum(T v) { return (v[0] + v[2]) + (v[1] + v[3]); }
  static void decode_bf16(const uint16_t* p, int64_t k, float* out) {
    for (int64_t i = 0; i < k; ++i) out[i] = __builtin_bit_cast(float, static_cast<uint32_t>(p[i]) << 16);
  }
  static void decode_fp8(const uint8_t* p, int n, float scale, float* out) {
    for (int i = 0; i < n; ++i) out[i] = kFp8Values.value[p[i]] * scale;
  }
  static void decode_fp4(const uint8_t* p, float scale, float* out) {
    constexpr float kValues[16] = {0, .5f, 1, 1.5f, 2, 3, 4, 6, -0.0f, -.5f, -1, -1.5f, -2, -3, -4, -6};
    float table[16];
    for (int i = 0; i < 16; ++i) table[i] = kValues[i] * scale;
    for (int i = 0; i < 16; ++i) {
      out[2 * i] = table[p[i] & 15];
      out[2 * i + 1] = table[p[i] >> 4];
    }
  }
};

#include "backends/cpu/gemm_f32.inl.h"

}  // namespace

const GemmKernels kGemmF32Generic = {row_bytes, prepare, tile_bytes, gemm, swiglu, sum_rows};

}  // namespace deepinfer::cpu
