// Row-wise loops with AVX2 and FMA.
#include <immintrin.h>

#include "backends/cpu/rows.h"
#include "backends/cpu/select.h"

namespace deepinfer::cpu {
namespace {

struct V {
  using T = __m256;
  static constexpr int kLanes = 8;
  static constexpr int kHcRows = 1;  // accumulators are 8 times as many
  static constexpr bool kHcFinish4 = false;
  static void hc_finish4(const float*, const float*, int, const float*, const float*, int, float, float*, float*,
                         float*) {}
  static T zero() { return _mm256_setzero_ps(); }
  static T set1(float x) { return _mm256_set1_ps(x); }
  static T load(const float* p) { return _mm256_loadu_ps(p); }
  static void store(float* p, T v) { _mm256_storeu_ps(p, v); }
  static T load_bf16(const uint16_t* p) {
    return _mm256_castsi256_ps(
        _mm256_slli_epi32(_mm256_cvtepu16_epi32(_mm_loadu_si128(reinterpret_cast<const __m128i*>(p))), 16));
  }
  // Round to nearest even in the upper half; NaN stays NaN.
  static __m256i rounded(T v) {
    const __m256i u = _mm256_castps_si256(v);
    const __m256i odd = _mm256_and_si256(_mm256_srli_epi32(u, 16), _mm256_set1_epi32(1));
    const __m256i up = _mm256_add_epi32(_mm256_add_epi32(u, _mm256_set1_epi32(0x7fff)), odd);
    const __m256i nan = _mm256_castps_si256(_mm256_cmp_ps(v, v, _CMP_UNORD_Q));
    return _mm256_blendv_epi8(up, _mm256_or_si256(u, _mm256_set1_epi32(0x400000)), nan);
  }
  static void store_bf16(uint16_t* p, T v) {
    const __m256i h = _mm256_srli_epi32(rounded(v), 16);
    const __m256i packed = _mm256_permute4x64_epi64(_mm256_packus_epi32(h, h), 0x08);
    _mm_storeu_si128(reinterpret_cast<__m128i*>(p), _mm256_castsi256_si128(packed));
  }
  static T round_bf16(T v) {
    return _mm256_castsi256_ps(_mm256_and_si256(rounded(v), _mm256_set1_epi32(static_cast<int>(0xffff0000u))));
  }
  static T add(T a, T b) { return _mm256_add_ps(a, b); }
  static T mul(T a, T b) { return _mm256_mul_ps(a, b); }
  static T fma(T a, T b, T c) { return _mm256_fmadd_ps(a, b, c); }
  static T sub(T a, T b) { return _mm256_sub_ps(a, b); }
  static T div(T a, T b) { return _mm256_div_ps(a, b); }
  static T sqrt(T v) { return _mm256_sqrt_ps(v); }
  static T min(T a, T b) { return _mm256_min_ps(a, b); }
  static T max(T a, T b) { return _mm256_max_ps(a, b); }
  static T less_select(T a, T b, T x, T y) { return _mm256_blendv_ps(y, x, _mm256_cmp_ps(a, b, _CMP_LT_OQ)); }
  static T pow2_of(T magic) {
    return _mm256_castsi256_ps(
        _mm256_add_epi32(_mm256_slli_epi32(_mm256_castps_si256(magic), 23), _mm256_set1_epi32(0x3f800000)));
  }
  static T mantissa(T v) {
    return _mm256_or_ps(_mm256_and_ps(v, _mm256_castsi256_ps(_mm256_set1_epi32(0x7fffff))), _mm256_set1_ps(0.5f));
  }
  static T exponent(T v) {
    return _mm256_cvtepi32_ps(_mm256_sub_epi32(_mm256_srli_epi32(_mm256_castps_si256(v), 23), _mm256_set1_epi32(126)));
  }
  // 8 codes by way of fp16, whose exponent is 8 larger; code 0x7f is NaN.
  static T e4m3(const uint8_t* p) {
    const __m128i c = _mm_cvtepu8_epi16(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(p)));
    const __m128i magnitude = _mm_and_si128(c, _mm_set1_epi16(0x7f));
    __m128i h = _mm_or_si128(_mm_slli_epi16(magnitude, 7), _mm_slli_epi16(_mm_and_si128(c, _mm_set1_epi16(0x80)), 8));
    h = _mm_or_si128(h, _mm_and_si128(_mm_cmpeq_epi16(magnitude, _mm_set1_epi16(0x7f)), _mm_set1_epi16(0x7e00)));
    return _mm256_mul_ps(_mm256_cvtph_ps(h), _mm256_set1_ps(256.0f));
  }
  static T dup_pairs(const float* p) {
    return _mm256_permutevar8x32_ps(_mm256_castps128_ps256(_mm_loadu_ps(p)), _mm256_setr_epi32(0, 0, 1, 1, 2, 2, 3, 3));
  }
  static T swap_pairs(T v) { return _mm256_permute_ps(v, 0xb1); }
  static T negate_even(T v) { return _mm256_xor_ps(v, _mm256_setr_ps(-0.0f, 0, -0.0f, 0, -0.0f, 0, -0.0f, 0)); }
  static float sum(T v) {
    __m128 h = _mm_add_ps(_mm256_castps256_ps128(v), _mm256_extractf128_ps(v, 1));
    h = _mm_add_ps(h, _mm_movehl_ps(h, h));
    return _mm_cvtss_f32(_mm_add_ss(h, _mm_shuffle_ps(h, h, 1)));
  }
};

#include "backends/cpu/rows_f32.inl.h"
#include "backends/cpu/rows_vector.inl.h"

}  // namespace

const RowKernels kRowsAvx2 = {load,        store,      sum_squares, norm,          collapse,     expand,
                              hc_products, hc_finish,  rotate,      rotate_f32,    norm_rounded, encode_record,
                              engram_gate, engram_row, pool2,       router_scores, portable_topk};

}  // namespace deepinfer::cpu
