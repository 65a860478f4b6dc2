// fp32 products with AVX-512 (F, BW, VL, DQ): fp32 mode, processors without BF16, weights with extreme scales.
#include <immintrin.h>

#include <cstring>

#include "backends/cpu/gemm.h"

namespace deepinfer::cpu {
namespace {

struct V {
  using T = __m512;
  static constexpr int kLanes = 16, kRows = 4;
  static T zero() { return _mm512_setzero_ps(); }
  static T load(const float* p) { return _mm512_loadu_ps(p); }
  static T fma(T a, T b, T c) { return _mm512_fmadd_ps(a, b, c); }
  static float sum(T v) {
    const __m256 h = _mm256_add_ps(_mm512_castps512_ps256(v), _mm512_extractf32x8_ps(v, 1));
    __m128 q = _mm_add_ps(_mm256_castps256_ps128(h), _mm256_extractf128_ps(h, 1));
    q = _mm_add_ps(q, _mm_movehl_ps(q, q));
    return _mm_cvtss_f32(_mm_add_ss(q, _mm_shuffle_ps(q, q, 1)));
  }
  static __mmask16 mask(int64_t n) { return n >= 16 ? 0xffff : static_cast<__mmask16>((1u << n) - 1); }
  static void decode_bf16(const uint16_t* p, int64_t k, float* out) {
    int64_t i = 0;
    for (; i + 16 <= k; i += 16)
      _mm512_storeu_ps(out + i,
                       _mm512_castsi512_ps(_mm512_slli_epi32(
                           _mm512_cvtepu16_epi32(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(p + i))), 16)));
    for (; i < k; i += 16) {
      const __mmask16 m = mask(k - i);
      _mm512_mask_storeu_ps(
          out + i, m,
          _mm512_castsi512_ps(_mm512_slli_epi32(_mm512_cvtepu16_epi32(_mm256_maskz_loadu_epi16(m, p + i)), 16)));
    }
  }
  static void decode_fp8(const uint8_t* p, int n, float scale, float* out) {
    // Two steps, so that neither factor leaves the range: value = fp16 * 2^8 * scale.
    const __m512 s = _mm512_set1_ps(scale), up = _mm512_set1_ps(256.0f);
    if (n == 32) {  // no masks: the usual case
      const __m256i codes = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(p));
      __m512i h = _mm512_slli_epi16(_mm512_cvtepu8_epi16(codes), 8);
      h = _mm512_and_si512(_mm512_srai_epi16(h, 1),
                           _mm512_set1_epi16(static_cast<short>(0xbf80)));  // sign, magnitude << 7
      const __m512 a = _mm512_cvtph_ps(_mm512_castsi512_si256(h)), b = _mm512_cvtph_ps(_mm512_extracti64x4_epi64(h, 1));
      _mm512_storeu_ps(out, _mm512_mul_ps(_mm512_mul_ps(a, up), s));
      _mm512_storeu_ps(out + 16, _mm512_mul_ps(_mm512_mul_ps(b, up), s));
      const __mmask32 nan =
          _mm256_cmpeq_epi8_mask(_mm256_or_si256(codes, _mm256_set1_epi8(-128)), _mm256_set1_epi8(-1));
      if (__builtin_expect(nan != 0, 0))
        for (int i = 0; i < 32; ++i)
          if (nan >> i & 1) out[i] = __builtin_nanf("");
      return;
    }
    for (int i = 0; i < n; i += 16) {
      const __mmask16 m = mask(n - i);
      const __m256i c = _mm256_cvtepu8_epi16(_mm_maskz_loadu_epi8(m, p + i));
      const __m256i low = _mm256_and_si256(c, _mm256_set1_epi16(0x7f));
      __m256i h = _mm256_or_si256(_mm256_slli_epi16(low, 7),
                                  _mm256_slli_epi16(_mm256_and_si256(c, _mm256_set1_epi16(0x80)), 8));
      h = _mm256_mask_mov_epi16(h, _mm256_cmpeq_epi16_mask(low, _mm256_set1_epi16(0x7f)),
                                _mm256_set1_epi16(0x7e00));  // NaN codes
      _mm512_mask_storeu_ps(out + i, m, _mm512_mul_ps(_mm512_mul_ps(_mm512_cvtph_ps(h), up), s));
    }
  }
  static void decode_fp4(const uint8_t* p, float scale, float* out) {
    const __m512 table = _mm512_mul_ps(
        _mm512_setr_ps(0, .5f, 1, 1.5f, 2, 3, 4, 6, -0.0f, -.5f, -1, -1.5f, -2, -3, -4, -6), _mm512_set1_ps(scale));
    const __m128i bytes = _mm_loadu_si128(reinterpret_cast<const __m128i*>(p));
    const __m128i odd = _mm_srli_epi16(bytes, 4);  // vpermps looks at four bits of each index
    _mm512_storeu_ps(out, _mm512_permutexvar_ps(_mm512_cvtepu8_epi32(_mm_unpacklo_epi8(bytes, odd)), table));
    _mm512_storeu_ps(out + 16, _mm512_permutexvar_ps(_mm512_cvtepu8_epi32(_mm_unpackhi_epi8(bytes, odd)), table));
  }
};

#include "backends/cpu/gemm_f32.inl.h"

}  // namespace

const GemmKernels kGemmF32Avx512 = {row_bytes, prepare, tile_bytes, gemm, swiglu, sum_rows};

}  // namespace deepinfer::cpu
