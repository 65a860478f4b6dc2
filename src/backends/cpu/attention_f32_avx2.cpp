// Attention and index scores in fp32: AVX2 and FMA.
#include <immintrin.h>

#include <cstring>

#include "backends/cpu/attention.h"

namespace deepinfer::cpu {
namespace {

struct V {
  using T = __m256;
  static constexpr int kLanes = 8;
  static T zero() { return _mm256_setzero_ps(); }
  static T set1(float x) { return _mm256_set1_ps(x); }
  static T load(const float* p) { return _mm256_loadu_ps(p); }
  static T load_bf16(const uint16_t* p) {
    return _mm256_castsi256_ps(
        _mm256_slli_epi32(_mm256_cvtepu16_epi32(_mm_loadu_si128(reinterpret_cast<const __m128i*>(p))), 16));
  }
  static void store(float* p, T v) { _mm256_storeu_ps(p, v); }
  static T fma(T a, T b, T c) { return _mm256_fmadd_ps(a, b, c); }
  static float sum(T v) {
    __m128 h = _mm_add_ps(_mm256_castps256_ps128(v), _mm256_extractf128_ps(v, 1));
    h = _mm_add_ps(h, _mm_movehl_ps(h, h));
    return _mm_cvtss_f32(_mm_add_ss(h, _mm_shuffle_ps(h, h, 1)));
  }
};

#include "backends/cpu/attention_f32.inl.h"

}  // namespace

const AttentionKernels kAttentionF32Avx2 = {4, decode<false>, scores<false>, weights<false>, values<false>};
const AttentionKernels kAttentionRoundedAvx2 = {2, decode<true>, scores<true>, weights<true>, values<true>};
const IndexKernels kIndexF32Avx2 = {kIndexKeys, block_bytes, query_bytes, decode_keys, decode_query, score};

}  // namespace deepinfer::cpu
