// Sampling loops with AVX-512 (F, BW, VL, DQ).
#include <immintrin.h>

#include "backends/cpu/sampling.h"

namespace deepinfer::cpu {
namespace {

struct V {
  using T = __m512;
  using I = __m512i;
  using M = __mmask16;
  static constexpr int kLanes = 16;
  static T set1(float x) { return _mm512_set1_ps(x); }
  static T load(const float* p) { return _mm512_loadu_ps(p); }
  static void store(float* p, T v) { _mm512_storeu_ps(p, v); }
  static T load_bf16(const uint16_t* p) {
    return _mm512_castsi512_ps(
        _mm512_slli_epi32(_mm512_cvtepu16_epi32(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(p))), 16));
  }
  static T add(T a, T b) { return _mm512_add_ps(a, b); }
  static T sub(T a, T b) { return _mm512_sub_ps(a, b); }
  static T mul(T a, T b) { return _mm512_mul_ps(a, b); }
  static T fma(T a, T b, T c) { return _mm512_fmadd_ps(a, b, c); }
  static T max(T a, T b) { return _mm512_max_ps(a, b); }  // b where a is NaN
  static T min(T a, T b) { return _mm512_min_ps(a, b); }
  static T nearest(T a) { return _mm512_roundscale_ps(a, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC); }
  static M gt(T a, T b) { return _mm512_cmp_ps_mask(a, b, _CMP_GT_OQ); }
  static M ge(T a, T b) { return _mm512_cmp_ps_mask(a, b, _CMP_GE_OQ); }
  static M eq(T a, T b) { return _mm512_cmp_ps_mask(a, b, _CMP_EQ_OQ); }
  static M unordered(T a) { return _mm512_cmp_ps_mask(a, a, _CMP_UNORD_Q); }
  static T select(M m, T a, T b) { return _mm512_mask_mov_ps(b, m, a); }
  static uint32_t bits(M m) { return m; }
  static M from_bits(uint32_t b) { return static_cast<M>(b); }
  static I iset1(uint32_t x) { return _mm512_set1_epi32(static_cast<int>(x)); }
  static I iload(const int32_t* p) { return _mm512_loadu_si512(p); }
  static void istore(int32_t* p, I v) { _mm512_storeu_si512(p, v); }
  static I iadd(I a, I b) { return _mm512_add_epi32(a, b); }
  static I isub(I a, I b) { return _mm512_sub_epi32(a, b); }
  static I iand(I a, I b) { return _mm512_and_si512(a, b); }
  static I ior(I a, I b) { return _mm512_or_si512(a, b); }
  static I ixor(I a, I b) { return _mm512_xor_si512(a, b); }
  static M ieq(I a, I b) { return _mm512_cmpeq_epi32_mask(a, b); }
  static I iselect(M m, I a, I b) { return _mm512_mask_mov_epi32(b, m, a); }
  template <int n>
  static I srl(I a) {
    return _mm512_srli_epi32(a, n);
  }
  template <int n>
  static I sra(I a) {
    return _mm512_srai_epi32(a, n);
  }
  template <int n>
  static I sll(I a) {
    return _mm512_slli_epi32(a, n);
  }
  static I to_int(T a) { return _mm512_cvtps_epi32(a); }
  static T from_int(I a) { return _mm512_cvtepi32_ps(a); }
  static I as_int(T a) { return _mm512_castps_si512(a); }
  static T as_float(I a) { return _mm512_castsi512_ps(a); }
  static void multiply(I a, uint32_t c, I& high, I& low) {
    const I k = iset1(c);
    const I even = _mm512_mul_epu32(a, k), odd = _mm512_mul_epu32(_mm512_srli_epi64(a, 32), k);
    low = _mm512_mask_mov_epi32(even, 0xaaaa, _mm512_slli_epi64(odd, 32));
    high = _mm512_mask_mov_epi32(_mm512_srli_epi64(even, 32), 0xaaaa, odd);
  }
  static void compress(uint32_t keep, int first, T v, int32_t* ids, float* x) {
    const I index = _mm512_add_epi32(_mm512_set1_epi32(first),
                                     _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15));
    const M m = static_cast<M>(keep);
    // Whole vectors: compressing into memory is microcoded on Zen 4.
    _mm512_storeu_si512(ids, _mm512_maskz_compress_epi32(m, index));
    _mm512_storeu_ps(x, _mm512_maskz_compress_ps(m, v));
  }
};

#include "backends/cpu/sampling.inl.h"

}  // namespace

const SamplingKernels kSamplingAvx512 = {best, candidates, weights, draw, exp_sums, best_n, dot};

}  // namespace deepinfer::cpu
