// Sampling loops with AVX2 and FMA.
#include <immintrin.h>

#include "backends/cpu/sampling.h"

namespace deepinfer::cpu {
namespace {

struct V {
  using T = __m256;
  using I = __m256i;
  using M = __m256;
  static constexpr int kLanes = 8;
  static T set1(float x) { return _mm256_set1_ps(x); }
  static T load(const float* p) { return _mm256_loadu_ps(p); }
  static void store(float* p, T v) { _mm256_storeu_ps(p, v); }
  static T load_bf16(const uint16_t* p) {
    return _mm256_castsi256_ps(
        _mm256_slli_epi32(_mm256_cvtepu16_epi32(_mm_loadu_si128(reinterpret_cast<const __m128i*>(p))), 16));
  }
  static T add(T a, T b) { return _mm256_add_ps(a, b); }
  static T sub(T a, T b) { return _mm256_sub_ps(a, b); }
  static T mul(T a, T b) { return _mm256_mul_ps(a, b); }
  static T fma(T a, T b, T c) { return _mm256_fmadd_ps(a, b, c); }
  static T max(T a, T b) { return _mm256_max_ps(a, b); }  // b where a is NaN
  static T min(T a, T b) { return _mm256_min_ps(a, b); }
  static T nearest(T a) { return _mm256_round_ps(a, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC); }
  static M gt(T a, T b) { return _mm256_cmp_ps(a, b, _CMP_GT_OQ); }
  static M ge(T a, T b) { return _mm256_cmp_ps(a, b, _CMP_GE_OQ); }
  static M eq(T a, T b) { return _mm256_cmp_ps(a, b, _CMP_EQ_OQ); }
  static M unordered(T a) { return _mm256_cmp_ps(a, a, _CMP_UNORD_Q); }
  static T select(M m, T a, T b) { return _mm256_blendv_ps(b, a, m); }
  static uint32_t bits(M m) { return static_cast<uint32_t>(_mm256_movemask_ps(m)); }
  static M from_bits(uint32_t b) {
    const I lane = _mm256_setr_epi32(1, 2, 4, 8, 16, 32, 64, 128);
    return _mm256_castsi256_ps(_mm256_cmpeq_epi32(_mm256_and_si256(iset1(b), lane), lane));
  }
  static I iset1(uint32_t x) { return _mm256_set1_epi32(static_cast<int>(x)); }
  static I iload(const int32_t* p) { return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(p)); }
  static void istore(int32_t* p, I v) { _mm256_storeu_si256(reinterpret_cast<__m256i*>(p), v); }
  static I iadd(I a, I b) { return _mm256_add_epi32(a, b); }
  static I isub(I a, I b) { return _mm256_sub_epi32(a, b); }
  static I iand(I a, I b) { return _mm256_and_si256(a, b); }
  static I ior(I a, I b) { return _mm256_or_si256(a, b); }
  static I ixor(I a, I b) { return _mm256_xor_si256(a, b); }
  static M ieq(I a, I b) { return _mm256_castsi256_ps(_mm256_cmpeq_epi32(a, b)); }
  static I iselect(M m, I a, I b) { return _mm256_blendv_epi8(b, a, _mm256_castps_si256(m)); }
  template <int n>
  static I srl(I a) {
    return _mm256_srli_epi32(a, n);
  }
  template <int n>
  static I sra(I a) {
    return _mm256_srai_epi32(a, n);
  }
  template <int n>
  static I sll(I a) {
    return _mm256_slli_epi32(a, n);
  }
  static I to_int(T a) { return _mm256_cvtps_epi32(a); }
  static T from_int(I a) { return _mm256_cvtepi32_ps(a); }
  static I as_int(T a) { return _mm256_castps_si256(a); }
  static T as_float(I a) { return _mm256_castsi256_ps(a); }
  static void multiply(I a, uint32_t c, I& high, I& low) {
    const I k = iset1(c);
    const I even = _mm256_mul_epu32(a, k), odd = _mm256_mul_epu32(_mm256_srli_epi64(a, 32), k);
    low = _mm256_blend_epi32(even, _mm256_slli_epi64(odd, 32), 0xaa);
    high = _mm256_blend_epi32(_mm256_srli_epi64(even, 32), odd, 0xaa);
  }
  static void compress(uint32_t keep, int first, T v, int32_t* ids, float* x) {
    float lanes[kLanes];
    store(lanes, v);
    for (; keep; keep &= keep - 1) {
      const int j = __builtin_ctz(keep);
      *ids++ = first + j;
      *x++ = lanes[j];
    }
  }
};

#include "backends/cpu/sampling.inl.h"

}  // namespace

const SamplingKernels kSamplingAvx2 = {best, candidates, weights, draw, exp_sums, best_n, dot};

}  // namespace deepinfer::cpu
