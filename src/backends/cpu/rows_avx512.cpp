// Row-wise loops with AVX-512 (F, BW, VL, DQ), with vector versions of the record encoders and of the top-k.
#include <immintrin.h>

#include <cstring>

#include "backends/cpu/rows.h"

namespace deepinfer::cpu {
namespace {

struct V {
  using T = __m512;
  static constexpr int kLanes = 16;
  static constexpr int kHcRows = 3;  // accumulators are 8 times as many
  static T zero() { return _mm512_setzero_ps(); }
  static T set1(float x) { return _mm512_set1_ps(x); }
  static T load(const float* p) { return _mm512_loadu_ps(p); }
  static void store(float* p, T v) { _mm512_storeu_ps(p, v); }
  static T load_bf16(const uint16_t* p) {
    return _mm512_castsi512_ps(
        _mm512_slli_epi32(_mm512_cvtepu16_epi32(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(p))), 16));
  }
  static __m512i rounded(T v) {
    const __m512i u = _mm512_castps_si512(v);
    const __m512i odd = _mm512_and_si512(_mm512_srli_epi32(u, 16), _mm512_set1_epi32(1));
    const __m512i up = _mm512_add_epi32(_mm512_add_epi32(u, _mm512_set1_epi32(0x7fff)), odd);
    const __mmask16 nan = _mm512_cmp_ps_mask(v, v, _CMP_UNORD_Q);
    return _mm512_mask_or_epi32(up, nan, u, _mm512_set1_epi32(0x400000));
  }
  static void store_bf16(uint16_t* p, T v) {
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(p), _mm512_cvtepi32_epi16(_mm512_srli_epi32(rounded(v), 16)));
  }
  static T round_bf16(T v) {
    return _mm512_castsi512_ps(_mm512_and_si512(rounded(v), _mm512_set1_epi32(static_cast<int>(0xffff0000u))));
  }
  static T add(T a, T b) { return _mm512_add_ps(a, b); }
  static T mul(T a, T b) { return _mm512_mul_ps(a, b); }
  static T fma(T a, T b, T c) { return _mm512_fmadd_ps(a, b, c); }
  static float sum(T v) {
    const __m256 h = _mm256_add_ps(_mm512_castps512_ps256(v), _mm512_extractf32x8_ps(v, 1));
    __m128 q = _mm_add_ps(_mm256_castps256_ps128(h), _mm256_extractf128_ps(h, 1));
    q = _mm_add_ps(q, _mm_movehl_ps(q, q));
    return _mm_cvtss_f32(_mm_add_ss(q, _mm_shuffle_ps(q, q, 1)));
  }
  static T sub(T a, T b) { return _mm512_sub_ps(a, b); }
  static T div(T a, T b) { return _mm512_div_ps(a, b); }
  static T sqrt(T v) { return _mm512_sqrt_ps(v); }
  static T min(T a, T b) { return _mm512_min_ps(a, b); }
  static T max(T a, T b) { return _mm512_max_ps(a, b); }
  static T less_select(T a, T b, T x, T y) { return _mm512_mask_mov_ps(y, _mm512_cmp_ps_mask(a, b, _CMP_LT_OQ), x); }
  static T pow2_of(T magic) {
    return _mm512_castsi512_ps(
        _mm512_add_epi32(_mm512_slli_epi32(_mm512_castps_si512(magic), 23), _mm512_set1_epi32(0x3f800000)));
  }
  static T mantissa(T v) {
    return _mm512_or_ps(_mm512_and_ps(v, _mm512_castsi512_ps(_mm512_set1_epi32(0x7fffff))), _mm512_set1_ps(0.5f));
  }
  static T exponent(T v) {
    return _mm512_cvtepi32_ps(_mm512_sub_epi32(_mm512_srli_epi32(_mm512_castps_si512(v), 23), _mm512_set1_epi32(126)));
  }
  // 16 codes by way of fp16, whose exponent is 8 larger; code 0x7f is NaN.
  static T e4m3(const uint8_t* p) {
    const __m256i c = _mm256_cvtepu8_epi16(_mm_loadu_si128(reinterpret_cast<const __m128i*>(p)));
    const __m256i magnitude = _mm256_and_si256(c, _mm256_set1_epi16(0x7f));
    __m256i h = _mm256_or_si256(_mm256_slli_epi16(magnitude, 7),
                                _mm256_slli_epi16(_mm256_and_si256(c, _mm256_set1_epi16(0x80)), 8));
    h = _mm256_or_si256(
        h, _mm256_and_si256(_mm256_cmpeq_epi16(magnitude, _mm256_set1_epi16(0x7f)), _mm256_set1_epi16(0x7e00)));
    return _mm512_mul_ps(_mm512_cvtph_ps(h), _mm512_set1_ps(256.0f));
  }
  static T dup_pairs(const float* p) {
    return _mm512_permutexvar_ps(_mm512_setr_epi32(0, 0, 1, 1, 2, 2, 3, 3, 4, 4, 5, 5, 6, 6, 7, 7),
                                 _mm512_castps256_ps512(_mm256_loadu_ps(p)));
  }
  static T swap_pairs(T v) { return _mm512_permute_ps(v, 0xb1); }
  static T negate_even(T v) {
    return _mm512_castsi512_ps(
        _mm512_xor_si512(_mm512_castps_si512(v), _mm512_set1_epi64(static_cast<int64_t>(0x80000000u))));
  }
  static constexpr bool kHcFinish4 = true;
  static void hc_finish4(const float* t, const float* inverse, int rows, const float* scale, const float* base,
                         int iters, float eps, float* pre, float* post, float* comb);
};

inline __m512i kAbs() { return _mm512_set1_epi32(0x7fffffff); }
inline __m512 abs512(__m512 x) { return _mm512_castsi512_ps(_mm512_and_si512(_mm512_castps_si512(x), kAbs())); }
// max that ignores NaN in x, as the scalar quantisers do
inline __m512 max_number(__m512 x, __m512 best) { return _mm512_max_ps(x, best); }

// 16 values of magnitude <= 448 (after the scale) -> E4M3 codes; bit-equal to float_to_e4m3.
inline __m128i e4m3_codes(__m512 x) {
  const __m512i u = _mm512_castps_si512(x);
  const __mmask16 nan = _mm512_cmp_ps_mask(x, x, _CMP_UNORD_Q);
  const __m512 m = _mm512_min_ps(abs512(x), _mm512_set1_ps(448.0f));
  const __m512i b = _mm512_castps_si512(m);
  const __m512i odd = _mm512_and_si512(_mm512_srli_epi32(b, 20), _mm512_set1_epi32(1));
  const __m512i up = _mm512_add_epi32(_mm512_add_epi32(b, _mm512_set1_epi32(0x7ffff)), odd);
  const __m512i normal = _mm512_srli_epi32(_mm512_sub_epi32(up, _mm512_set1_epi32(120 << 23)), 20);
  const __m512i tiny =
      _mm512_sub_epi32(_mm512_castps_si512(_mm512_add_ps(m, _mm512_set1_ps(16384.0f))), _mm512_set1_epi32(0x46800000));
  const __mmask16 small = _mm512_cmp_ps_mask(m, _mm512_set1_ps(0x1p-6f), _CMP_LT_OQ);
  __m512i code = _mm512_mask_mov_epi32(normal, small, tiny);
  code = _mm512_mask_mov_epi32(code, nan, _mm512_set1_epi32(0x7f));
  code = _mm512_or_si512(code, _mm512_and_si512(_mm512_srli_epi32(u, 24), _mm512_set1_epi32(0x80)));
  return _mm512_cvtepi32_epi8(code);
}

// 16 values -> 8 bytes of E2M1 codes, even value in the low nibble; bit-equal to float_to_e2m1.
inline void store_e2m1(__m512 x, uint8_t* out) {
  const __m512 a = abs512(x);
  const __m512i one = _mm512_set1_epi32(1);
  __m512i code = _mm512_setzero_si512();
  auto above = [&](__mmask16 m) { code = _mm512_mask_add_epi32(code, m, code, one); };
  above(_mm512_cmp_ps_mask(a, _mm512_set1_ps(0.25f), _CMP_NLE_UQ));
  above(_mm512_cmp_ps_mask(a, _mm512_set1_ps(0.75f), _CMP_NLT_UQ));
  above(_mm512_cmp_ps_mask(a, _mm512_set1_ps(1.25f), _CMP_NLE_UQ));
  above(_mm512_cmp_ps_mask(a, _mm512_set1_ps(1.75f), _CMP_NLT_UQ));
  above(_mm512_cmp_ps_mask(a, _mm512_set1_ps(2.5f), _CMP_NLE_UQ));
  above(_mm512_cmp_ps_mask(a, _mm512_set1_ps(3.5f), _CMP_NLT_UQ));
  above(_mm512_cmp_ps_mask(a, _mm512_set1_ps(5.0f), _CMP_NLE_UQ));
  code = _mm512_or_si512(code, _mm512_and_si512(_mm512_srli_epi32(_mm512_castps_si512(x), 28), _mm512_set1_epi32(8)));
  const __m128i bytes = _mm512_cvtepi32_epi8(code);
  const __m128i pairs = _mm_maddubs_epi16(bytes, _mm_set1_epi16(0x1001));  // low + 16 * high
  _mm_storel_epi64(reinterpret_cast<__m128i*>(out), _mm_packus_epi16(pairs, pairs));
}

inline uint32_t pow2_scale(float amax,
                           float inverse_limit) {  // biased exponent of the smallest power of two >= amax / limit
  const uint32_t e = (__builtin_bit_cast(uint32_t, amax * inverse_limit) + 0x7fffff) >> 23;
  return e > 254 ? 254 : e;
}
inline __m512 scale_down(uint32_t e) {  // 2^-(e-127), exact; e = 0 gives 2^127
  return _mm512_set1_ps(e == 0 ? 0x1p127f : e == 254 ? 0x1p-127f : __builtin_bit_cast(float, (254 - e) << 23));
}

void encode(CacheFormat format, const float* x, int64_t d, uint8_t* out) {
  switch (format) {
    case CacheFormat::kF32:
      std::memcpy(out, x, static_cast<size_t>(d) * 4);
      return;
    case CacheFormat::kFp8:
      for (int64_t g = 0; g < d; g += 32) {
        const __m512 a = _mm512_loadu_ps(x + g), b = _mm512_loadu_ps(x + g + 16);
        const float amax = _mm512_reduce_max_ps(max_number(abs512(a), max_number(abs512(b), _mm512_set1_ps(1e-4f))));
        const uint32_t e = pow2_scale(amax, 1.0f / 448.0f);
        const __m512 s = scale_down(e);
        _mm_storeu_si128(reinterpret_cast<__m128i*>(out + g), e4m3_codes(_mm512_mul_ps(a, s)));
        _mm_storeu_si128(reinterpret_cast<__m128i*>(out + g + 16), e4m3_codes(_mm512_mul_ps(b, s)));
        out[d + g / 32] = static_cast<uint8_t>(e);
      }
      return;
    case CacheFormat::kFp4Ue8m0:
      for (int64_t g = 0; g < d; g += 32) {
        const __m512 a = _mm512_loadu_ps(x + g), b = _mm512_loadu_ps(x + g + 16);
        const float amax =
            _mm512_reduce_max_ps(max_number(abs512(a), max_number(abs512(b), _mm512_set1_ps(6 * 0x1p-126f))));
        const uint32_t e = pow2_scale(amax, 1.0f / 6.0f);
        const __m512 s = scale_down(e);
        store_e2m1(_mm512_mul_ps(a, s), out + g / 2);
        store_e2m1(_mm512_mul_ps(b, s), out + g / 2 + 8);
        out[d / 2 + g / 32] = static_cast<uint8_t>(e);
      }
      return;
    case CacheFormat::kFp4E4m3:
      for (int64_t g = 0; g < d; g += 16) {
        const __m512 a = _mm512_loadu_ps(x + g);
        const float amax = _mm512_reduce_max_ps(max_number(abs512(a), _mm512_set1_ps(6 * 0x1p-9f)));
        const float want = amax * (1.0f / 6.0f);
        const uint8_t code =
            static_cast<uint8_t>(_mm_cvtsi128_si32(e4m3_codes(_mm512_set1_ps(want < 448.0f ? want : 448.0f))));
        const uint32_t c = code;
        const float s = c < 8 ? static_cast<float>(c) * 0x1p-9f : __builtin_bit_cast(float, (c << 20) + (120u << 23));
        store_e2m1(_mm512_div_ps(a, _mm512_set1_ps(s)), out + g / 2);
        out[d / 2 + g / 16] = code;
      }
      return;
  }
}

// Order of floats as unsigned integers; -inf and NaN below everything finite.
inline __m512i sortable(__m512 x) {
  const __m512i u = _mm512_castps_si512(_mm512_add_ps(x, _mm512_setzero_ps()));  // -0 ranks as 0
  const __m512i flip = _mm512_or_si512(_mm512_srai_epi32(u, 31), _mm512_set1_epi32(static_cast<int>(0x80000000u)));
  return _mm512_xor_si512(u, flip);
}

// Threshold by bisection over the bits: 32 counting passes at most, each n/16 compares, then one pass that writes the
// winners in order.
int select_best(const float* scores, int n, int k, int32_t* out) {
  const __m512 none = _mm512_set1_ps(-__builtin_inff());
  auto lanes = [&](int i) { return static_cast<__mmask16>(n - i >= 16 ? 0xffff : (1u << (n - i)) - 1); };
  int finite = 0;
  for (int i = 0; i < n; i += 16)
    finite += __builtin_popcount(
        _mm512_mask_cmp_ps_mask(lanes(i), _mm512_maskz_loadu_ps(lanes(i), scores + i), none, _CMP_GT_OQ));
  uint32_t threshold = 0;
  int above = finite;  // how many keys are >= threshold
  if (finite > k) {
    for (int bit = 31; bit >= 0 && above != k; --bit) {
      const uint32_t candidate = threshold | (1u << bit);
      const __m512i c = _mm512_set1_epi32(static_cast<int>(candidate));
      int count = 0;
      for (int i = 0; i < n; i += 16) {
        const __m512 x = _mm512_maskz_loadu_ps(lanes(i), scores + i);
        const __mmask16 ok = _mm512_mask_cmp_ps_mask(lanes(i), x, none, _CMP_GT_OQ);
        count += __builtin_popcount(_mm512_mask_cmpge_epu32_mask(ok, sortable(x), c));
      }
      if (count >= k) {
        threshold = candidate;
        above = count;
      }
    }
  }
  // Keys above the threshold all win; of those equal to it the first ones, as many as are left (all when above == k).
  int greater = 0;
  const __m512i t = _mm512_set1_epi32(static_cast<int>(threshold));
  if (above > k)
    for (int i = 0; i < n; i += 16) {
      const __m512 x = _mm512_maskz_loadu_ps(lanes(i), scores + i);
      const __mmask16 ok = _mm512_mask_cmp_ps_mask(lanes(i), x, none, _CMP_GT_OQ);
      greater += __builtin_popcount(_mm512_mask_cmpgt_epu32_mask(ok, sortable(x), t));
    }
  int equal_left = above > k ? k - greater : n, count = 0;
  __m512i index = _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
  for (int i = 0; i < n; i += 16) {
    const __m512 x = _mm512_maskz_loadu_ps(lanes(i), scores + i);
    const __mmask16 ok = _mm512_mask_cmp_ps_mask(lanes(i), x, none, _CMP_GT_OQ);
    __mmask16 win = _mm512_mask_cmpge_epu32_mask(ok, sortable(x), t);
    const __mmask16 equal = _mm512_mask_cmpeq_epu32_mask(win, sortable(x), t);
    if (equal && above > k) {
      uint32_t keep = 0;
      for (uint32_t e = equal; e && equal_left > 0; e &= e - 1, --equal_left) keep |= e & (0u - e);
      win = static_cast<__mmask16>((win & ~equal) | keep);
    }
    _mm512_mask_compressstoreu_epi32(out + count, win, index);
    count += __builtin_popcount(win);
    index = _mm512_add_epi32(index, _mm512_set1_epi32(16));
  }
  return count;
}

// Long rows: the k-th largest maximum of 2k interleaved groups is a lower bound of the k-th best score, and few scores
// reach it (about 1.4k of random ones), so only these are searched. Rows made to defeat that are searched as a whole.
// Measured on one core of a Zen 5 EPYC, 2026-12-01, random scores: 1,048,576 with k = 512 take 161 us instead of 1.9
// ms, 16,384 with k = 64 2.9 us instead of 21 us, 1,024 with k = 64 0.8 us instead of 1.1 us.
int topk(const float* scores, int n, int k, int32_t* out) {
  constexpr int kRoom = 2048;
  const int groups = (2 * k + 15) / 16 * 16;
  if (groups > kRoom || n < 4 * groups) return select_best(scores, n, k, out);
  alignas(64) float value[kRoom + 16];
  int32_t index[kRoom + 16];
  for (int j = 0; j < groups; j += 16) _mm512_store_ps(value + j, _mm512_loadu_ps(scores + j));
  int i = groups;
  for (; i + groups <= n; i += groups)
    for (int j = 0; j < groups; j += 16)
      _mm512_store_ps(value + j, _mm512_max_ps(_mm512_loadu_ps(scores + i + j), _mm512_load_ps(value + j)));
  if (select_best(value, groups, k, index) < k) return select_best(scores, n, k, out);
  __m512 low = _mm512_set1_ps(__builtin_inff());
  for (int j = 0; j < k; ++j) low = _mm512_min_ps(low, _mm512_set1_ps(value[index[j]]));
  int count = 0;
  __m512i position = _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
  for (i = 0; i < n; i += 16) {
    const __mmask16 lanes = static_cast<__mmask16>(n - i >= 16 ? 0xffff : (1u << (n - i)) - 1);
    const __m512 x = _mm512_maskz_loadu_ps(lanes, scores + i);
    const __mmask16 keep = _mm512_mask_cmp_ps_mask(lanes, x, low, _CMP_GE_OQ);
    if (keep) {
      if (count > kRoom - 16) return select_best(scores, n, k, out);
      _mm512_storeu_ps(value + count, _mm512_maskz_compress_ps(keep, x));
      _mm512_storeu_si512(index + count, _mm512_maskz_compress_epi32(keep, position));
      count += __builtin_popcount(keep);
    }
    position = _mm512_add_epi32(position, _mm512_set1_epi32(16));
  }
  const int found = select_best(value, count, k, out);
  for (int j = 0; j < found; ++j) out[j] = index[out[j]];
  return found;
}

#include "backends/cpu/rows_f32.inl.h"
#include "backends/cpu/rows_vector.inl.h"

// Four streams: a row's 4 x 4 matrix is one register, its rows the 128-bit lanes. The passes of one matrix wait for
// each other (about 35 cycles each), so R rows go side by side; each row's arithmetic is the same for every R.
template <int R>
inline void hc_finish_rows(const float* t, const float* inverse, const float* scale, const float* base, int passes,
                           float eps, float* pre, float* post, float* comb) {
  const __m512 e = _mm512_set1_ps(eps), one = _mm512_set1_ps(1.0f);
  const __m512 gates = _mm512_insertf32x4(_mm512_set1_ps(scale[0]), _mm_set1_ps(scale[1]), 1);
  __m512 v[R];
  for (int r = 0; r < R; ++r) {
    const __m512 inv = _mm512_set1_ps(inverse[r]);
    const __m512 x = _mm512_add_ps(_mm512_mul_ps(_mm512_mul_ps(_mm512_loadu_ps(t + r * 24), inv), gates),
                                   _mm512_loadu_ps(base));  // lanes 0-3 pre, 4-7 post, the rest unused
    const __m512 gate = _mm512_div_ps(one, _mm512_add_ps(one, vexp(_mm512_sub_ps(_mm512_setzero_ps(), x))));
    _mm_storeu_ps(pre + r * 4, _mm512_castps512_ps128(_mm512_add_ps(gate, e)));
    _mm_storeu_ps(post + r * 4, _mm512_extractf32x4_ps(_mm512_add_ps(gate, gate), 1));

    const __m512 c =
        _mm512_add_ps(_mm512_mul_ps(_mm512_mul_ps(_mm512_loadu_ps(t + r * 24 + 8), inv), _mm512_set1_ps(scale[2])),
                      _mm512_loadu_ps(base + 8));
    __m512 top = _mm512_max_ps(c, _mm512_permute_ps(c, 0x4e));
    top = _mm512_max_ps(top, _mm512_permute_ps(top, 0xb1));
    const __m512 p = vexp(_mm512_sub_ps(c, top));
    __m512 s = _mm512_add_ps(p, _mm512_permute_ps(p, 0x4e));
    s = _mm512_add_ps(s, _mm512_permute_ps(s, 0xb1));
    v[r] = _mm512_add_ps(_mm512_div_ps(p, s), e);
  }
  for (int pass = 0; pass < passes; ++pass) {
    if (pass % 2 == 0) {
      for (int r = 0; r < R; ++r) {
        __m512 s = _mm512_add_ps(v[r], _mm512_shuffle_f32x4(v[r], v[r], 0x4e));
        s = _mm512_add_ps(s, _mm512_shuffle_f32x4(s, s, 0xb1));
        v[r] = _mm512_div_ps(v[r], _mm512_add_ps(s, e));
      }
    } else {
      for (int r = 0; r < R; ++r) {
        __m512 s = _mm512_add_ps(v[r], _mm512_permute_ps(v[r], 0x4e));
        s = _mm512_add_ps(s, _mm512_permute_ps(s, 0xb1));
        v[r] = _mm512_div_ps(v[r], _mm512_add_ps(s, e));
      }
    }
  }
  for (int r = 0; r < R; ++r) _mm512_storeu_ps(comb + r * 16, v[r]);
}

void V::hc_finish4(const float* t, const float* inverse, int rows, const float* scale, const float* base, int iters,
                   float eps, float* pre, float* post, float* comb) {
  int r = 0;
  auto step = [&](auto rows_function, int n) {
    for (; r + n <= rows; r += n)
      rows_function(t + r * 24, inverse + r, scale, base, 2 * iters - 1, eps, pre + r * 4, post + r * 4, comb + r * 16);
  };
  step(hc_finish_rows<8>, 8);
  step(hc_finish_rows<4>, 4);
  step(hc_finish_rows<1>, 1);
}

}  // namespace

const RowKernels kRowsAvx512 = {load,        store,      sum_squares, norm,          collapse,     expand,
                                hc_products, hc_finish,  rotate,      rotate_f32,    norm_rounded, encode,
                                engram_gate, engram_row, pool2,       router_scores, topk};

}  // namespace deepinfer::cpu
