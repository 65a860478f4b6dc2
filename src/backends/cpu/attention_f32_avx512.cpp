// Attention and index scores in fp32: AVX-512.
#include <immintrin.h>

#include <cstring>

#include "backends/cpu/attention.h"

namespace deepinfer::cpu {
namespace {

struct V {
  using T = __m512;
  static constexpr int kLanes = 16;
  static T zero() { return _mm512_setzero_ps(); }
  static T set1(float x) { return _mm512_set1_ps(x); }
  static T load(const float* p) { return _mm512_loadu_ps(p); }
  static T load_bf16(const uint16_t* p) {
    return _mm512_castsi512_ps(
        _mm512_slli_epi32(_mm512_cvtepu16_epi32(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(p))), 16));
  }
  static void store(float* p, T v) { _mm512_storeu_ps(p, v); }
  static T fma(T a, T b, T c) { return _mm512_fmadd_ps(a, b, c); }
  static float sum(T v) {
    const __m256 h = _mm256_add_ps(_mm512_castps512_ps256(v), _mm512_extractf32x8_ps(v, 1));
    __m128 q = _mm_add_ps(_mm256_castps256_ps128(h), _mm256_extractf128_ps(h, 1));
    q = _mm_add_ps(q, _mm_movehl_ps(q, q));
    return _mm_cvtss_f32(_mm_add_ss(q, _mm_shuffle_ps(q, q, 1)));
  }
};

#include "backends/cpu/attention_f32.inl.h"

}  // namespace

const AttentionKernels kAttentionF32Avx512 = {4, decode<false>, scores<false>, weights<false>, values<false>};
const AttentionKernels kAttentionRoundedAvx512 = {2, decode<true>, scores<true>, weights<true>, values<true>};
const IndexKernels kIndexF32Avx512 = {kIndexKeys, block_bytes, query_bytes, decode_keys, decode_query, score};

}  // namespace deepinfer::cpu
