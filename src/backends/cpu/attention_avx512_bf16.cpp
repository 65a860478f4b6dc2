// Attention with vdpbf16ps: keys decoded to bf16, scores as dots over 32 values a vector, values as pairs of
// neighbouring keys.
#include <immintrin.h>

#include <cstring>

#include "backends/cpu/attention.h"

namespace deepinfer::cpu {
namespace {

inline __m512 dp(__m512 acc, __m512i a, __m512i b) { return _mm512_dpbf16_ps(acc, (__m512bh)a, (__m512bh)b); }
inline __m512i pack_bf16(__m512 low, __m512 high) { return (__m512i)_mm512_cvtne2ps_pbh(high, low); }
inline float ue8m0(uint8_t b) {
  return b == 0 ? __builtin_bit_cast(float, 0x00400000u)
                : __builtin_bit_cast(float, b == 255 ? 0x7fc00000u : static_cast<uint32_t>(b) << 23);
}
// ---- records
// 16 E4M3 codes -> fp32 times 2^-8 by way of fp16 (subnormals included); the caller's scale carries the 2^8.
inline __m512 fp8_to_f32(const uint8_t* p) {
  const __m256i c = _mm256_cvtepu8_epi16(_mm_loadu_si128(reinterpret_cast<const __m128i*>(p)));
  const __m256i h = _mm256_or_si256(_mm256_slli_epi16(_mm256_and_si256(c, _mm256_set1_epi16(0x7f)), 7),
                                    _mm256_slli_epi16(_mm256_and_si256(c, _mm256_set1_epi16(0x80)), 8));
  return _mm512_cvtph_ps(h);
}

// bf16 bits of the magnitudes of the E4M3 codes 0..127 (127, NaN, included), high and low bytes apart for vpermi2b.
// Every value has at most 4 significant bits, so bf16 holds it exactly.
struct Fp8Tables {
  alignas(64) uint8_t high[128], low[128];
  constexpr Fp8Tables() : high(), low() {
    for (int c = 0; c < 128; ++c) {
      int bits = (c << 4) + (120 << 7);
      if (c < 8) {  // c * 2^-9, normalised
        int mantissa = c, exponent = 127 - 9 + 7;
        while (c > 0 && mantissa < 128) mantissa *= 2, --exponent;
        bits = c == 0 ? 0 : exponent * 128 + mantissa - 128;
      }
      if (c == 127) bits = 0x7fc0;
      high[c] = static_cast<uint8_t>(bits >> 8);
      low[c] = static_cast<uint8_t>(bits);
    }
  }
};
constexpr Fp8Tables kFp8Tables;

// bf16 bits of E2M1 code times E4M3 scale for every scale byte: at most 6 significant bits, exact.
struct Fp4Table {
  alignas(64) uint16_t values[256][16];
  constexpr Fp4Table() : values() {
    constexpr float kCodes[16] = {0, .5f, 1, 1.5f, 2, 3, 4, 6, -0.0f, -.5f, -1, -1.5f, -2, -3, -4, -6};
    for (int b = 0; b < 256; ++b) {
      const int a = b & 127;
      const float magnitude =
          a < 8 ? static_cast<float>(a) * 0x1p-9f
                : __builtin_bit_cast(float, a == 127 ? 0x7fc00000u : (static_cast<uint32_t>(a) << 20) + (120u << 23));
      for (int c = 0; c < 16; ++c)
        values[b][c] = static_cast<uint16_t>(
            __builtin_bit_cast(uint32_t, a == 127 ? magnitude : kCodes[c] * (b & 128 ? -magnitude : magnitude)) >> 16);
    }
  }
};
constexpr Fp4Table kFp4Table;

// 64 codes a turn; the scale is added to the exponents, which stay those of normal numbers for scale bytes 17..238.
inline bool plain_scale(uint8_t b) { return b >= 17 && b <= 238; }
inline __m512i scaled_bf16(__m512i v, uint8_t scale) {
  const __m512i up = _mm512_set1_epi16(static_cast<int16_t>((scale - 127) * 128));
  return _mm512_mask_add_epi16(v, _mm512_test_epi16_mask(v, _mm512_set1_epi16(0x7fff)), v, up);
}
inline void decode_fp8_pair(const uint8_t* codes, uint8_t s0, uint8_t s1, uint8_t* key) {
  // Eight bytes of either half side by side: unpacking then leaves both halves in order.
  const __m512i c = _mm512_permutexvar_epi64(_mm512_setr_epi64(0, 4, 1, 5, 2, 6, 3, 7), _mm512_loadu_si512(codes));
  const __m512i low =
      _mm512_permutex2var_epi8(_mm512_load_si512(kFp8Tables.low), c, _mm512_load_si512(kFp8Tables.low + 64));
  __m512i high =
      _mm512_permutex2var_epi8(_mm512_load_si512(kFp8Tables.high), c, _mm512_load_si512(kFp8Tables.high + 64));
  high = _mm512_ternarylogic_epi32(high, c, _mm512_set1_epi8(static_cast<char>(0x80)), 0xf8);  // high | (c & 0x80)
  _mm512_storeu_si512(key, scaled_bf16(_mm512_unpacklo_epi8(low, high), s0));
  _mm512_storeu_si512(key + 64, scaled_bf16(_mm512_unpackhi_epi8(low, high), s1));
}

inline void decode_fp4_e4m3(const uint8_t* codes, const uint8_t* scales, uint8_t* key) {
  // A byte holds an even dimension below an odd one: spread over two words it is two indices.
  const __m512i d = _mm512_cvtepu8_epi32(_mm_loadu_si128(reinterpret_cast<const __m128i*>(codes)));
  __m512i index = _mm512_ternarylogic_epi32(d, _mm512_slli_epi32(d, 12), _mm512_set1_epi32(0x000f000f), 0xa8);
  index = _mm512_or_si512(index, _mm512_inserti64x4(_mm512_setzero_si512(), _mm256_set1_epi16(16), 1));
  const __m512i table = _mm512_inserti64x4(
      _mm512_castsi256_si512(_mm256_load_si256(reinterpret_cast<const __m256i*>(kFp4Table.values[scales[0]]))),
      _mm256_load_si256(reinterpret_cast<const __m256i*>(kFp4Table.values[scales[1]])), 1);
  _mm512_storeu_si512(key, _mm512_permutexvar_epi16(index, table));
}

void decode(CacheFormat format, const uint8_t* record, int dim, uint8_t* key) {
  if (format == CacheFormat::kF32) {
    for (int i = 0; i < dim; i += 32)
      _mm512_storeu_si512(key + 2 * i,
                          pack_bf16(_mm512_loadu_ps(record + 4 * i), _mm512_loadu_ps(record + 4 * i + 64)));
  } else if (format == CacheFormat::kFp8) {
    for (int i = 0; i < dim; i += 32) {
      if (i + 64 <= dim && plain_scale(record[dim + i / 32]) && plain_scale(record[dim + i / 32 + 1])) {
        decode_fp8_pair(record + i, record[dim + i / 32], record[dim + i / 32 + 1], key + 2 * i);
        i += 32;
        continue;
      }
      const __m512 s = _mm512_set1_ps(ue8m0(record[dim + i / 32])), up = _mm512_set1_ps(256.0f);
      const __m512 a = _mm512_mul_ps(_mm512_mul_ps(fp8_to_f32(record + i), up), s);
      const __m512 b = _mm512_mul_ps(_mm512_mul_ps(fp8_to_f32(record + i + 16), up), s);
      _mm512_storeu_si512(key + 2 * i, pack_bf16(a, b));
    }
  } else if (format == CacheFormat::kFp4E4m3) {
    for (int i = 0; i < dim; i += 32) decode_fp4_e4m3(record + i / 2, record + dim / 2 + i / 16, key + 2 * i);
  } else {
    // 16 bytes hold 32 codes, even dimension in the low nibble.
    const __m512 values = _mm512_setr_ps(0, .5f, 1, 1.5f, 2, 3, 4, 6, -0.0f, -.5f, -1, -1.5f, -2, -3, -4, -6);
    for (int i = 0; i < dim; i += 32) {
      const __m128i codes = _mm_loadu_si128(reinterpret_cast<const __m128i*>(record + i / 2));
      const __m128i low = _mm_and_si128(codes, _mm_set1_epi8(15)),
                    high = _mm_and_si128(_mm_srli_epi16(codes, 4), _mm_set1_epi8(15));
      const __m512 a = _mm512_permutexvar_ps(_mm512_cvtepu8_epi32(_mm_unpacklo_epi8(low, high)), values);
      const __m512 b = _mm512_permutexvar_ps(_mm512_cvtepu8_epi32(_mm_unpackhi_epi8(low, high)), values);
      const __m512 s = _mm512_set1_ps(ue8m0(record[dim / 2 + i / 32]));
      _mm512_storeu_si512(key + 2 * i, pack_bf16(_mm512_mul_ps(a, s), _mm512_mul_ps(b, s)));
    }
  }
}

// ---- scores
inline __m512 quad(__m512 a, __m512 b, __m512 c, __m512 d) {
  const __m512 ab = _mm512_add_ps(_mm512_unpacklo_ps(a, b), _mm512_unpackhi_ps(a, b));
  const __m512 cd = _mm512_add_ps(_mm512_unpacklo_ps(c, d), _mm512_unpackhi_ps(c, d));
  const __m512d x = _mm512_castps_pd(ab), y = _mm512_castps_pd(cd);
  return _mm512_add_ps(_mm512_castpd_ps(_mm512_unpacklo_pd(x, y)), _mm512_castpd_ps(_mm512_unpackhi_pd(x, y)));
}
inline __m128 sum4(__m512 q) {
  const __m256 h = _mm256_add_ps(_mm512_castps512_ps256(q), _mm512_extractf32x8_ps(q, 1));
  return _mm_add_ps(_mm256_castps256_ps128(h), _mm256_extractf128_ps(h, 1));
}

template <int H>
inline void scores_block(const uint8_t* q, int dim, const uint8_t* const* keys, int n, float scale, float* z,
                         int64_t z_stride) {
  const uint8_t* k[4];
  for (int i = 0; i < 4; ++i) k[i] = keys[i < n ? i : 0];
  __m512 acc[H][4];
  for (int h = 0; h < H; ++h)
    for (int i = 0; i < 4; ++i) acc[h][i] = _mm512_setzero_ps();
  for (int d = 0; d < dim; d += 32) {
    __m512i kv[4];
    for (int i = 0; i < 4; ++i) kv[i] = _mm512_loadu_si512(k[i] + 2 * d);
    for (int h = 0; h < H; ++h) {
      const __m512i qv = _mm512_loadu_si512(q + (static_cast<int64_t>(h) * dim + d) * 2);
      for (int i = 0; i < 4; ++i) acc[h][i] = dp(acc[h][i], kv[i], qv);
    }
  }
  const __mmask8 m = static_cast<__mmask8>(n >= 4 ? 15 : (1 << n) - 1);
  for (int h = 0; h < H; ++h)
    _mm_mask_storeu_ps(z + h * z_stride, m,
                       _mm_mul_ps(sum4(quad(acc[h][0], acc[h][1], acc[h][2], acc[h][3])), _mm_set1_ps(scale)));
}

void scores(const uint8_t* q, int heads, int dim, const uint8_t* const* keys, int n, float scale, float* z,
            int64_t z_stride) {
  for (int i = 0; i < n; i += 4) {
    int h = 0;
    for (; h + 4 <= heads; h += 4)
      scores_block<4>(q + static_cast<int64_t>(h) * dim * 2, dim, keys + i, n - i, scale, z + h * z_stride + i,
                      z_stride);
    for (; h < heads; ++h)
      scores_block<1>(q + static_cast<int64_t>(h) * dim * 2, dim, keys + i, n - i, scale, z + h * z_stride + i,
                      z_stride);
  }
}

// ---- weights
// e^x for x <= 0: range reduction by ln 2, degree-6 polynomial on |r| <= 0.35, relative error below 1e-6; below -87 it
// is 0.
inline __m512 exp16(__m512 x) {
  const __mmask16 zero = _mm512_cmp_ps_mask(x, _mm512_set1_ps(-87.0f), _CMP_LT_OQ);
  const __m512 n = _mm512_roundscale_ps(_mm512_mul_ps(x, _mm512_set1_ps(1.44269504f)),
                                        _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
  __m512 r = _mm512_fmadd_ps(n, _mm512_set1_ps(-0.693359375f), x);
  r = _mm512_fmadd_ps(n, _mm512_set1_ps(2.12194440e-4f), r);
  __m512 p = _mm512_set1_ps(1.0f / 720);
  p = _mm512_fmadd_ps(p, r, _mm512_set1_ps(1.0f / 120));
  p = _mm512_fmadd_ps(p, r, _mm512_set1_ps(1.0f / 24));
  p = _mm512_fmadd_ps(p, r, _mm512_set1_ps(1.0f / 6));
  p = _mm512_fmadd_ps(p, r, _mm512_set1_ps(0.5f));
  p = _mm512_fmadd_ps(p, r, _mm512_set1_ps(1.0f));
  p = _mm512_fmadd_ps(p, r, _mm512_set1_ps(1.0f));
  return _mm512_maskz_scalef_ps(static_cast<__mmask16>(~zero), p, n);
}

float weights(const float* z, int n, float sink, uint8_t* p) {
  const __m512 low = _mm512_set1_ps(-1e30f);
  __m512 top = low;
  for (int i = 0; i < n; i += 16) {
    const __mmask16 m = static_cast<__mmask16>(n - i >= 16 ? 0xffff : (1u << (n - i)) - 1);
    top = _mm512_max_ps(top, _mm512_mask_loadu_ps(low, m, z + i));
  }
  const float best = _mm512_reduce_max_ps(top);
  const __m512 bias = _mm512_set1_ps(best);
  __m512 sum = _mm512_setzero_ps();
  for (int i = 0; i <= n; i += 16) {  // one past the end: the pad of the last pair is written as zero
    const __mmask16 m = static_cast<__mmask16>(n - i >= 16 ? 0xffff : (1u << (n - i)) - 1);
    const __m512 e = _mm512_maskz_mov_ps(m, exp16(_mm512_sub_ps(_mm512_maskz_loadu_ps(m, z + i), bias)));
    sum = _mm512_add_ps(sum, e);
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(p + 2 * i), (__m256i)_mm512_cvtneps_pbh(e));
  }
  if (n == 0) return 0;
  const __m256 h = _mm256_add_ps(_mm512_castps512_ps256(sum), _mm512_extractf32x8_ps(sum, 1));
  __m128 s = _mm_add_ps(_mm256_castps256_ps128(h), _mm256_extractf128_ps(h, 1));
  s = _mm_add_ps(s, _mm_movehl_ps(s, s));
  const float total = _mm_cvtss_f32(_mm_add_ss(s, _mm_shuffle_ps(s, s, 1)));
  const float x = sink - best > 80.0f ? 80.0f : sink - best;  // a sink far above every key only makes the row vanish
  return 1.0f / (total + _mm512_cvtss_f32(exp16(_mm512_set1_ps(x))));
}

// ---- values: H heads x 64 (or 32) dims in registers, all keys go by in pairs
template <int H, int D32>
inline void values_block(const uint8_t* p, int64_t p_stride, const float* inverse, int dim, const uint8_t* const* keys,
                         int n, int d, uint8_t* out) {
  __m512 acc[H][2 * D32];
  for (int h = 0; h < H; ++h)
    for (int j = 0; j < 2 * D32; ++j) acc[h][j] = _mm512_setzero_ps();
  for (int i = 0; i < n; i += 2) {
    const uint8_t* k0 = keys[i] + 2 * d;
    const uint8_t* k1 = i + 1 < n ? keys[i + 1] + 2 * d : k0;  // the pad's weight is zero
    for (int j = 0; j < D32; ++j) {
      const __m512i a = _mm512_loadu_si512(k0 + 64 * j), b = _mm512_loadu_si512(k1 + 64 * j);
      const __m512i low = _mm512_unpacklo_epi16(a, b), high = _mm512_unpackhi_epi16(a, b);
      for (int h = 0; h < H; ++h) {
        int pair;
        std::memcpy(&pair, p + h * p_stride + 2 * i, 4);
        const __m512i w = _mm512_set1_epi32(pair);
        acc[h][2 * j] = dp(acc[h][2 * j], low, w);
        acc[h][2 * j + 1] = dp(acc[h][2 * j + 1], high, w);
      }
    }
  }
  // low holds dims 0-3, 8-11, ... of 32, high the others: put them side by side.
  const __m512i first = _mm512_setr_epi32(0, 1, 2, 3, 16, 17, 18, 19, 4, 5, 6, 7, 20, 21, 22, 23);
  const __m512i second = _mm512_setr_epi32(8, 9, 10, 11, 24, 25, 26, 27, 12, 13, 14, 15, 28, 29, 30, 31);
  for (int h = 0; h < H; ++h) {
    const __m512 s = _mm512_set1_ps(inverse[h]);
    for (int j = 0; j < D32; ++j) {
      const __m512 a = _mm512_mul_ps(_mm512_permutex2var_ps(acc[h][2 * j], first, acc[h][2 * j + 1]), s);
      const __m512 b = _mm512_mul_ps(_mm512_permutex2var_ps(acc[h][2 * j], second, acc[h][2 * j + 1]), s);
      _mm512_storeu_si512(out + (static_cast<int64_t>(h) * dim + d + 32 * j) * 2, pack_bf16(a, b));
    }
  }
}

void values(const uint8_t* p, int64_t p_stride, const float* inverse, int heads, int dim, const uint8_t* const* keys,
            int n, int begin, int end, uint8_t* out) {
  int h = 0;
  for (; h + 4 <= heads; h += 4) {
    int d = begin;
    for (; d + 64 <= end; d += 64)
      values_block<4, 2>(p + h * p_stride, p_stride, inverse + h, dim, keys, n, d,
                         out + static_cast<int64_t>(h) * dim * 2);
    for (; d < end; d += 32)
      values_block<4, 1>(p + h * p_stride, p_stride, inverse + h, dim, keys, n, d,
                         out + static_cast<int64_t>(h) * dim * 2);
  }
  for (; h < heads; ++h)
    for (int d = begin; d < end; d += 32)
      values_block<1, 1>(p + h * p_stride, p_stride, inverse + h, dim, keys, n, d,
                         out + static_cast<int64_t>(h) * dim * 2);
}

// ---- indexer: FP4 x FP4 with vpdpbusd, 16 keys side by side
// Codes times two are small integers (|.| <= 12); keys are stored + 12 to be unsigned, which is undone by -12 * (sum of
// the query's group).
constexpr int kBias = 12;

int64_t block_bytes(int dim) {
  return static_cast<int64_t>(dim) * 16 + dim / 32 * 64;
}  // [dim/4][16 keys] x 4 bytes, then scales [dim/32][16]
int64_t query_bytes(int heads, int dim) {
  return static_cast<int64_t>(heads) * (dim + dim / 32 * 8);
}  // codes, then (scale, correction) per group

inline __m128i signed_codes(__m128i nibbles) {
  const __m128i table = _mm_setr_epi8(0, 1, 2, 3, 4, 6, 8, 12, 0, -1, -2, -3, -4, -6, -8, -12);
  return _mm_shuffle_epi8(table, nibbles);
}

// 32 codes of 16 bytes, in order.
inline __m256i group_codes(const uint8_t* p) {
  const __m128i codes = _mm_loadu_si128(reinterpret_cast<const __m128i*>(p));
  const __m128i low = signed_codes(_mm_and_si128(codes, _mm_set1_epi8(15))),
                high = signed_codes(_mm_and_si128(_mm_srli_epi16(codes, 4), _mm_set1_epi8(15)));
  return _mm256_set_m128i(_mm_unpackhi_epi8(low, high), _mm_unpacklo_epi8(low, high));
}

// 8 rows of 16 dwords come from 16 keys' 8 dwords each.
inline void transpose16x8(const __m256i in[16], uint8_t* out) {
  for (int half = 0; half < 2; ++half) {  // keys 0-7, then 8-15
    const __m256i* k = in + 8 * half;
    __m256i a[8], b[8];
    for (int i = 0; i < 4; ++i) {
      a[2 * i] = _mm256_unpacklo_epi32(k[2 * i], k[2 * i + 1]);
      a[2 * i + 1] = _mm256_unpackhi_epi32(k[2 * i], k[2 * i + 1]);
    }
    for (int i = 0; i < 2; ++i) {
      b[4 * i] = _mm256_unpacklo_epi64(a[4 * i], a[4 * i + 2]);
      b[4 * i + 1] = _mm256_unpackhi_epi64(a[4 * i], a[4 * i + 2]);
      b[4 * i + 2] = _mm256_unpacklo_epi64(a[4 * i + 1], a[4 * i + 3]);
      b[4 * i + 3] = _mm256_unpackhi_epi64(a[4 * i + 1], a[4 * i + 3]);
    }
    for (int i = 0; i < 4; ++i) {
      _mm256_storeu_si256(reinterpret_cast<__m256i*>(out + i * 64 + half * 32),
                          _mm256_permute2x128_si256(b[i], b[4 + i], 0x20));
      _mm256_storeu_si256(reinterpret_cast<__m256i*>(out + (4 + i) * 64 + half * 32),
                          _mm256_permute2x128_si256(b[i], b[4 + i], 0x31));
    }
  }
}

void decode_keys(CacheFormat, const uint8_t* const* records, int n, int dim, uint8_t* block) {
  float* scales = reinterpret_cast<float*>(block + static_cast<int64_t>(dim) * 16);
  for (int g = 0; g < dim / 32; ++g) {
    __m256i codes[16];
    for (int i = 0; i < 16; ++i) {
      const uint8_t* r = records[i < n ? i : 0];
      codes[i] = _mm256_add_epi8(group_codes(r + 16 * g), _mm256_set1_epi8(kBias));
      scales[g * 16 + i] = ue8m0(r[dim / 2 + g]) * 0.25f;  // both sides were doubled
    }
    transpose16x8(codes, block + static_cast<int64_t>(g) * 512);
  }
}

void decode_query(CacheFormat, const uint8_t* records, int heads, int dim, uint8_t* query) {
  const int64_t record = dim / 2 + dim / 32, bytes = query_bytes(1, dim);
  for (int h = 0; h < heads; ++h) {
    const uint8_t* r = records + h * record;
    uint8_t* q = query + h * bytes;
    for (int g = 0; g < dim / 32; ++g) {
      const __m256i codes = group_codes(r + 16 * g);
      _mm256_storeu_si256(reinterpret_cast<__m256i*>(q + 32 * g), codes);
      int32_t lanes[8], total = 0;
      _mm256_storeu_si256(reinterpret_cast<__m256i*>(lanes),
                          _mm256_dpbusd_epi32(_mm256_setzero_si256(), _mm256_set1_epi8(1), codes));
      for (int32_t v : lanes) total += v;
      const float scale = ue8m0(r[dim / 2 + g]);
      const int32_t correction = -kBias * total;
      std::memcpy(q + dim + 8 * g, &scale, 4);
      std::memcpy(q + dim + 8 * g + 4, &correction, 4);
    }
  }
}

void score(const uint8_t* query, const uint8_t* block, int heads, int dim, const float* weights, int n, float* out) {
  const int64_t bytes = query_bytes(1, dim);
  const float* scales = reinterpret_cast<const float*>(block + static_cast<int64_t>(dim) * 16);
  __m512 total = _mm512_setzero_ps();
  for (int h = 0; h < heads; ++h) {
    const uint8_t* q = query + h * bytes;
    __m512 dot = _mm512_setzero_ps();
    for (int g = 0; g < dim / 32; ++g) {
      float scale;
      int32_t correction, word;
      std::memcpy(&scale, q + dim + 8 * g, 4);
      std::memcpy(&correction, q + dim + 8 * g + 4, 4);
      __m512i a = _mm512_set1_epi32(correction), b = _mm512_setzero_si512();
      for (int c = 0; c < 8; c += 2) {
        std::memcpy(&word, q + 32 * g + 4 * c, 4);
        a = _mm512_dpbusd_epi32(a, _mm512_loadu_si512(block + (g * 8 + c) * 64), _mm512_set1_epi32(word));
        std::memcpy(&word, q + 32 * g + 4 * c + 4, 4);
        b = _mm512_dpbusd_epi32(b, _mm512_loadu_si512(block + (g * 8 + c + 1) * 64), _mm512_set1_epi32(word));
      }
      const __m512 s = _mm512_mul_ps(_mm512_loadu_ps(scales + 16 * g), _mm512_set1_ps(scale));
      dot = _mm512_fmadd_ps(_mm512_cvtepi32_ps(_mm512_add_epi32(a, b)), s, dot);
    }
    total = _mm512_fmadd_ps(_mm512_max_ps(dot, _mm512_setzero_ps()), _mm512_set1_ps(weights[h]), total);
  }
  _mm512_mask_storeu_ps(out, static_cast<__mmask16>(n >= 16 ? 0xffff : (1u << n) - 1), total);
}

}  // namespace

const AttentionKernels kAttentionAvx512Bf16 = {2, decode, scores, weights, values};
const IndexKernels kIndexAvx512Vnni = {16, block_bytes, query_bytes, decode_keys, decode_query, score};

}  // namespace deepinfer::cpu
