// fp32 products with AVX2, FMA and F16C. E4M3 decodes through fp16: the magnitude shifted left by 7 is an fp16 of value
// * 2^-8, subnormals included.
#include <immintrin.h>

#include <cstring>

#include "backends/cpu/gemm.h"

namespace deepinfer::cpu {
namespace {

struct V {
  using T = __m256;
  static constexpr int kLanes = 8, kRows = 2;
  static T zero() { return _mm256_setzero_ps(); }
  static T load(const float* p) { return _mm256_loadu_ps(p); }
  static T fma(T a, T b, T c) { return _mm256_fmadd_ps(a, b, c); }
  static float sum(T v) {
    __m128 h = _mm_add_ps(_mm256_castps256_ps128(v), _mm256_extractf128_ps(v, 1));
    h = _mm_add_ps(h, _mm_movehl_ps(h, h));
    return _mm_cvtss_f32(_mm_add_ss(h, _mm_shuffle_ps(h, h, 1)));
  }
  static void decode_bf16(const uint16_t* p, int64_t k, float* out) {
    int64_t i = 0;
    for (; i + 8 <= k; i += 8)
      _mm256_storeu_ps(out + i, _mm256_castsi256_ps(_mm256_slli_epi32(
                                    _mm256_cvtepu16_epi32(_mm_loadu_si128((const __m128i*)(p + i))), 16)));
    for (; i < k; ++i) out[i] = __builtin_bit_cast(float, static_cast<uint32_t>(p[i]) << 16);
  }
  static void decode_fp8(const uint8_t* p, int n, float scale, float* out) {
    uint8_t padded_codes[32] = {};
    if (n < 32) {
      std::memcpy(padded_codes, p, static_cast<size_t>(n));
      p = padded_codes;
    }
    // Two steps, so that neither factor leaves the range: value = fp16 * 2^8 * scale.
    const __m256 s = _mm256_set1_ps(scale), up = _mm256_set1_ps(256.0f);
    float buffer[32];
    float* to = n < 32 ? buffer : out;
    const __m256i codes = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(p));
#pragma GCC unroll 2
    for (int i = 0; i < 2; ++i) {
      const __m128i half = i ? _mm256_extracti128_si256(codes, 1) : _mm256_castsi256_si128(codes);
      __m256i h = _mm256_slli_epi16(_mm256_cvtepu8_epi16(half), 8);
      h = _mm256_and_si256(_mm256_srai_epi16(h, 1),
                           _mm256_set1_epi16(static_cast<short>(0xbf80)));  // sign, magnitude << 7
      const __m256 a = _mm256_cvtph_ps(_mm256_castsi256_si128(h)), b = _mm256_cvtph_ps(_mm256_extracti128_si256(h, 1));
      _mm256_storeu_ps(to + 16 * i, _mm256_mul_ps(_mm256_mul_ps(a, up), s));
      _mm256_storeu_ps(to + 16 * i + 8, _mm256_mul_ps(_mm256_mul_ps(b, up), s));
    }
    // 0x7f / 0xff are NaN in E4M3 but 480 here.
    const __m256i nan = _mm256_cmpeq_epi8(_mm256_or_si256(codes, _mm256_set1_epi8(-128)), _mm256_set1_epi8(-1));
    if (__builtin_expect(_mm256_movemask_epi8(nan) != 0, 0))
      for (int i = 0; i < 32; ++i)
        if ((p[i] & 0x7f) == 0x7f) to[i] = __builtin_nanf("");
    if (n < 32) std::memcpy(out, buffer, static_cast<size_t>(n) * 4);
  }
  static void decode_fp4(const uint8_t* p, float scale, float* out) {
    const __m256 s = _mm256_set1_ps(scale);
    const __m256 magnitude = _mm256_setr_ps(0, .5f, 1, 1.5f, 2, 3, 4, 6);
    for (int i = 0; i < 16; i += 4) {
      uint32_t word;
      std::memcpy(&word, p + i, 4);
      const __m256i code =
          _mm256_srlv_epi32(_mm256_set1_epi32(static_cast<int>(word)), _mm256_setr_epi32(0, 4, 8, 12, 16, 20, 24, 28));
      const __m256 m = _mm256_permutevar8x32_ps(magnitude, code);  // uses the low three bits
      const __m256i sign = _mm256_slli_epi32(_mm256_and_si256(code, _mm256_set1_epi32(8)), 28);
      _mm256_storeu_ps(out + 2 * i, _mm256_mul_ps(_mm256_or_ps(m, _mm256_castsi256_ps(sign)), s));
    }
  }
};

#include "backends/cpu/gemm_f32.inl.h"

}  // namespace

const GemmKernels kGemmF32Avx2 = {row_bytes, prepare, tile_bytes, gemm, swiglu, sum_rows};

}  // namespace deepinfer::cpu
