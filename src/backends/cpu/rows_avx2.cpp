// Row-wise loops with AVX2 and FMA.
#include <immintrin.h>

#include "backends/cpu/rows.h"
#include "backends/cpu/select.h"

namespace deepinfer::cpu {
namespace {

struct V {
  using T = __m256;
  static constexpr int kLanes = 8;
  static constexpr bool kSinkhorn4 = false;
  static void sinkhorn4(float*, int, float) {}
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
  static float sum(T v) {
    __m128 h = _mm_add_ps(_mm256_castps256_ps128(v), _mm256_extractf128_ps(v, 1));
    h = _mm_add_ps(h, _mm_movehl_ps(h, h));
    return _mm_cvtss_f32(_mm_add_ss(h, _mm_shuffle_ps(h, h, 1)));
  }
};

#include "backends/cpu/rows_f32.inl.h"

}  // namespace

const RowKernels kRowsAvx2 = {load,   store,      sum_squares,   norm,        collapse,   expand, sinkhorn,
                              rotate, rotate_f32, encode_record, engram_gate, engram_row, pool2,  portable_topk};

}  // namespace deepinfer::cpu
