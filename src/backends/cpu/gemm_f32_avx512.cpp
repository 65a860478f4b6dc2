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
    for (int64_t i = 0; i < k; i += 16) {
      const __mmask16 m = mask(k - i);
      _mm512_mask_storeu_ps(
          out + i, m,
          _mm512_castsi512_ps(_mm512_slli_epi32(_mm512_cvtepu16_epi32(_mm256_maskz_loadu_epi16(m, p + i)), 16)));
    }
  }
  static void decode_fp8(const uint8_t* p, int n, float scale, float* out) {
    const __m512 s = _mm512_set1_ps(scale), up = _mm512_set1_ps(256.0f);
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
    const __m512i shift = _mm512_setr_epi32(0, 4, 8, 12, 16, 20, 24, 28, 0, 4, 8, 12, 16, 20, 24, 28);
    for (int i = 0; i < 16; i += 8) {
      uint32_t a, b;
      std::memcpy(&a, p + i, 4);
      std::memcpy(&b, p + i + 4, 4);
      const __m512i words =
          _mm512_inserti64x4(_mm512_set1_epi32(static_cast<int>(a)), _mm256_set1_epi32(static_cast<int>(b)), 1);
      _mm512_storeu_ps(out + 2 * i, _mm512_permutexvar_ps(_mm512_srlv_epi32(words, shift), table));
    }
  }
};

#include "backends/cpu/gemm_f32.inl.h"

}  // namespace

const GemmKernels kGemmF32Avx512 = {row_bytes, prepare, tile_bytes, gemm, swiglu, sum_rows};

}  // namespace deepinfer::cpu
