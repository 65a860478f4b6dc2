// bf16 products with vdpbf16ps (AVX-512 BF16 + VBMI). Every FP8 and FP4 value times its power-of-two scale is exact in
// bf16, so this is the fp32-accumulated product of the dequantised values; vdpbf16ps adds two products per lane and
// flushes subnormals, which plain scales keep away.
//
// Order of k per weight type (prepared activations follow it):
//   bf16  as it is, vectors of 32
//   FP8   groups of 64: the low and high eight bytes of each 16 (what vpunpck makes of the decoded bytes)
//   FP4   groups of 128: vector i holds k = 4j + i (four nibbles of a 16-bit word j, looked up by vpermw without
//   masking)
#include <immintrin.h>

#include <cstring>
#include <type_traits>

#include "backends/cpu/gemm.h"

namespace deepinfer::cpu {
namespace {

// The tables hold value * 2^kBias, so that a scale can be applied by a saturating subtraction from the exponent: zero
// stays zero. With plain scales (64..190) every non-zero result stays a normal bf16.
constexpr int kBias = 64;

inline int64_t groups_of(DType t, int64_t k) {
  return t == DType::kF4E2M1x2 ? (k + 127) / 128 : t == DType::kF8E4M3 ? (k + 63) / 64 : (k + 31) / 32;
}
inline int64_t vectors_of(DType t, int64_t k) {
  return groups_of(t, k) * (t == DType::kF4E2M1x2 ? 4 : t == DType::kF8E4M3 ? 2 : 1);
}

inline __mmask32 mask32(int64_t n) { return n >= 32 ? ~__mmask32{0} : n <= 0 ? 0 : (__mmask32{1} << n) - 1; }
inline __mmask64 mask64(int64_t n) { return n >= 64 ? ~__mmask64{0} : n <= 0 ? 0 : (__mmask64{1} << n) - 1; }

struct Fp8Tables {
  alignas(64) uint8_t high[128], low[128];                // bf16 of the magnitude
  alignas(64) uint8_t biased_high[128], biased_low[128];  // times 2^kBias
};
struct Fp4Table {
  alignas(64) uint16_t word[32];  // biased bf16 of codes 0..15, twice (vpermw looks at five bits)
};

constexpr uint16_t bf16_bits(float v) { return static_cast<uint16_t>(__builtin_bit_cast(uint32_t, v) >> 16); }

struct Tables {
  Fp8Tables fp8;
  Fp4Table fp4;
  constexpr Tables() : fp8{}, fp4{} {
    for (int c = 0; c < 128; ++c) {
      const float v = c == 127 ? __builtin_nanf("")
                      : c < 8  ? static_cast<float>(c) * 0x1p-9f
                               : __builtin_bit_cast(float, static_cast<uint32_t>((c << 20) + (120 << 23)));
      const uint16_t a = bf16_bits(v), b = c == 127 ? a : bf16_bits(v * 0x1p64f);
      fp8.high[c] = static_cast<uint8_t>(a >> 8);
      fp8.low[c] = static_cast<uint8_t>(a);
      fp8.biased_high[c] = static_cast<uint8_t>(b >> 8);
      fp8.biased_low[c] = static_cast<uint8_t>(b);
    }
    constexpr float kValues[8] = {0, 0.5f, 1, 1.5f, 2, 3, 4, 6};
    for (int c = 0; c < 32; ++c) {
      const uint16_t m = bf16_bits(kValues[c & 7] * 0x1p64f);
      fp4.word[c] = m == 0 ? 0 : static_cast<uint16_t>(m | ((c & 8) << 12));
    }
  }
};
// A constant: no initialiser of this file may run on a processor without AVX-512.
constexpr Tables kTables;

// ---- sums of accumulators: one tree for everybody, per 128-bit lane (0+2)+(1+3), then lanes (0+2)+(1+3)
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
// Four quads -> their four sum4 side by side.
inline __m512 sum16(__m512 q0, __m512 q1, __m512 q2, __m512 q3) {
  const __m512 t0 = _mm512_add_ps(_mm512_shuffle_f32x4(q0, q1, 0x44), _mm512_shuffle_f32x4(q0, q1, 0xee));
  const __m512 t1 = _mm512_add_ps(_mm512_shuffle_f32x4(q2, q3, 0x44), _mm512_shuffle_f32x4(q2, q3, 0xee));
  return _mm512_add_ps(_mm512_shuffle_f32x4(t0, t1, 0x88), _mm512_shuffle_f32x4(t0, t1, 0xdd));
}

// Stores n (1..4) neighbouring outputs of one row.
inline void store4(const GemmTask& t, int64_t row, int64_t out, int n, __m128 v) {
  const __mmask8 m = static_cast<__mmask8>((1 << n) - 1);
  if (t.out_bf16) {
    const __m128i h = (__m128i)_mm_cvtneps_pbh(v);
    _mm_mask_storeu_epi16(static_cast<uint16_t*>(t.out) + row * t.out_stride + out, m, h);
  } else {
    float* p = static_cast<float*>(t.out) + row * t.out_stride + out;
    if (t.accumulate) v = _mm_add_ps(v, _mm_maskz_loadu_ps(m, p));
    _mm_mask_storeu_ps(p, m, v);
  }
}

inline __m512 dp(__m512 acc, __m512i w, __m512i x) { return _mm512_dpbf16_ps(acc, (__m512bh)w, (__m512bh)x); }

// ---- decoding one group of one weight row into its bf16 vectors
struct Fp4Row {
  static constexpr int kVectors = 4;
  const uint8_t* w;
  const uint8_t* s;
  int64_t k;
  Fp4Row() = default;
  Fp4Row(const ops::Weight& weight, int64_t row) {
    k = weight.cols;
    w = static_cast<const uint8_t*>(weight.data) + row * (k / 2);
    s = weight.scale + row * (k / 32);
  }
  inline void decode(int64_t g, __m512i v[4]) const {
    const bool whole = g * 128 + 128 <= k;
    const __m512i codes =
        whole ? _mm512_loadu_si512(w + g * 64) : _mm512_maskz_loadu_epi8(mask64((k - g * 128) / 2), w + g * 64);
    uint32_t scales = 0x40404040u;
    if (whole)
      std::memcpy(&scales, s + g * 4, 4);
    else
      for (int64_t b = 0; b < (k - g * 128) / 32; ++b) reinterpret_cast<uint8_t*>(&scales)[b] = s[g * 4 + b];
    const __m512i spread =
        _mm512_set_epi64(0x8003800380038003, 0x8003800380038003, 0x8002800280028002, 0x8002800280028002,
                         0x8001800180018001, 0x8001800180018001, 0x8000800080008000, 0x8000800080008000);
    const __m512i scale = _mm512_shuffle_epi8(_mm512_set1_epi32(static_cast<int>(scales)), spread);
    const __m512i delta = _mm512_sub_epi16(_mm512_set1_epi16((127 + kBias) << 7), _mm512_slli_epi16(scale, 7));
    const __m512i table = _mm512_load_si512(kTables.fp4.word);
    v[0] = _mm512_subs_epu16(_mm512_permutexvar_epi16(codes, table), delta);
    v[1] = _mm512_subs_epu16(_mm512_permutexvar_epi16(_mm512_srli_epi16(codes, 4), table), delta);
    v[2] = _mm512_subs_epu16(_mm512_permutexvar_epi16(_mm512_srli_epi16(codes, 8), table), delta);
    v[3] = _mm512_subs_epu16(_mm512_permutexvar_epi16(_mm512_srli_epi16(codes, 12), table), delta);
  }
  inline void prefetch(int64_t g) const { _mm_prefetch(reinterpret_cast<const char*>(w + g * 64 + 1024), _MM_HINT_T0); }
};

struct Fp8Row {
  static constexpr int kVectors = 2;
  const uint8_t* w;
  const uint8_t* s;
  int64_t k;
  Fp8Row() = default;
  Fp8Row(const ops::Weight& weight, int64_t row) {
    k = weight.cols;
    w = static_cast<const uint8_t*>(weight.data) + row * k;
    s = weight.scale + (row / 32) * ((k + 31) / 32);
  }
  inline __m512i load(int64_t g) const {
    return g * 64 + 64 <= k ? _mm512_loadu_si512(w + g * 64) : _mm512_maskz_loadu_epi8(mask64(k - g * 64), w + g * 64);
  }
  // Without the scale: the caller's activations carry it (direct path).
  inline void decode_unscaled(int64_t g, __m512i v[2]) const {
    const __m512i c = load(g);
    const __m512i low =
        _mm512_permutex2var_epi8(_mm512_load_si512(kTables.fp8.low), c, _mm512_load_si512(kTables.fp8.low + 64));
    const __m512i mag =
        _mm512_permutex2var_epi8(_mm512_load_si512(kTables.fp8.high), c, _mm512_load_si512(kTables.fp8.high + 64));
    const __m512i high =
        _mm512_ternarylogic_epi32(mag, c, _mm512_set1_epi8(static_cast<char>(0x80)), 0xf8);  // mag | (c & 0x80)
    v[0] = _mm512_unpacklo_epi8(low, high);
    v[1] = _mm512_unpackhi_epi8(low, high);
  }
  inline void decode(int64_t g, __m512i v[2]) const {
    const __m512i c = load(g);
    const __m512i low = _mm512_permutex2var_epi8(_mm512_load_si512(kTables.fp8.biased_low), c,
                                                 _mm512_load_si512(kTables.fp8.biased_low + 64));
    const __m512i high = _mm512_permutex2var_epi8(_mm512_load_si512(kTables.fp8.biased_high), c,
                                                  _mm512_load_si512(kTables.fp8.biased_high + 64));
    const __m512i sign = _mm512_and_si512(c, _mm512_set1_epi8(static_cast<char>(0x80)));
    const int s0 = s[2 * g], s1 = g * 64 + 32 < k ? s[2 * g + 1] : s0;
    const __m512i delta = _mm512_inserti64x4(_mm512_set1_epi16(static_cast<short>((127 + kBias - s0) << 7)),
                                             _mm256_set1_epi16(static_cast<short>((127 + kBias - s1) << 7)), 1);
    const __m512i zero = _mm512_setzero_si512();
    v[0] = _mm512_or_si512(_mm512_subs_epu16(_mm512_unpacklo_epi8(low, high), delta), _mm512_unpacklo_epi8(zero, sign));
    v[1] = _mm512_or_si512(_mm512_subs_epu16(_mm512_unpackhi_epi8(low, high), delta), _mm512_unpackhi_epi8(zero, sign));
  }
  inline void prefetch(int64_t g) const { _mm_prefetch(reinterpret_cast<const char*>(w + g * 64 + 1024), _MM_HINT_T0); }
};

struct Bf16Row {
  static constexpr int kVectors = 1;
  const uint16_t* w;
  int64_t k;
  Bf16Row() = default;
  Bf16Row(const ops::Weight& weight, int64_t row) {
    k = weight.cols;
    w = static_cast<const uint16_t*>(weight.data) + row * k;
  }
  inline void decode(int64_t g, __m512i v[1]) const {
    v[0] = g * 32 + 32 <= k ? _mm512_loadu_si512(w + g * 32) : _mm512_maskz_loadu_epi16(mask32(k - g * 32), w + g * 32);
  }
  inline void prefetch(int64_t g) const { _mm_prefetch(reinterpret_cast<const char*>(w + g * 32 + 512), _MM_HINT_T0); }
};

inline const uint8_t* x_row(const GemmTask& t, int64_t r) { return t.x + (t.x_rows ? t.x_rows[r] : r) * t.x_stride; }

// ---- direct path: few rows; weights are decoded in registers, four outputs at a time
// Scaled activations of one 32-output block (FP8): x * 2^(scale-127) per 32 channels, exact for what prepare() lets
// through.
inline void scale_row(const uint8_t* x, const uint8_t* scale, int64_t k, uint8_t* out) {
  const __m512i magnitude = _mm512_set1_epi16(0x7fff);
  for (int64_t g = 0; g < (k + 63) / 64; ++g) {
    const int s0 = scale[2 * g] - 127, s1 = g * 64 + 32 < k ? scale[2 * g + 1] - 127 : s0;
    const __m512i delta = _mm512_inserti64x4(_mm512_set1_epi16(static_cast<short>(s0 * 128)),
                                             _mm256_set1_epi16(static_cast<short>(s1 * 128)), 1);
    for (int i = 0; i < 2; ++i) {
      const __m512i v = _mm512_loadu_si512(x + (2 * g + i) * 64);
      const __mmask32 nonzero = _mm512_test_epi16_mask(v, magnitude);
      _mm512_storeu_si512(out + (2 * g + i) * 64, _mm512_mask_add_epi16(v, nonzero, v, delta));
    }
  }
}

template <typename Row, int R>
void direct(const GemmTask& t, int64_t row0) {
  const int64_t k = t.weight->cols;
  const int64_t groups = groups_of(t.weight->dtype, k);
  constexpr bool kFp8 = std::is_same_v<Row, Fp8Row>;
  const int64_t scaled_bytes = vectors_of(t.weight->dtype, k) * 64;
  const uint8_t* x[R];
  for (int r = 0; r < R; ++r) x[r] = x_row(t, row0 + r);
  int64_t block = -1;
  for (int64_t o = t.out_begin; o < t.out_end;) {
    int n = static_cast<int>(t.out_end - o < 4 ? t.out_end - o : 4);
    if constexpr (kFp8) {
      // Outputs of one call share the scales of their 32-row block.
      if (o / 32 != block) {
        block = o / 32;
        for (int r = 0; r < R; ++r) {
          uint8_t* scaled = t.tile + r * scaled_bytes;
          scale_row(x_row(t, row0 + r), t.weight->scale + block * ((k + 31) / 32), k, scaled);
          x[r] = scaled;
        }
      }
      const int64_t left = 32 - o % 32;
      if (left < n) n = static_cast<int>(left);
    }
    Row row[4];
    for (int i = 0; i < 4; ++i) row[i] = Row(*t.weight, o + (i < n ? i : 0));
    __m512 acc[R][4];
    for (int r = 0; r < R; ++r)
      for (int i = 0; i < 4; ++i) acc[r][i] = _mm512_setzero_ps();
    for (int64_t g = 0; g < groups; ++g) {
      __m512i xv[R][Row::kVectors];
      for (int r = 0; r < R; ++r)
        for (int v = 0; v < Row::kVectors; ++v) xv[r][v] = _mm512_loadu_si512(x[r] + (g * Row::kVectors + v) * 64);
      for (int i = 0; i < 4; ++i) {
        __m512i w[Row::kVectors];
        if constexpr (kFp8)
          row[i].decode_unscaled(g, w);
        else
          row[i].decode(g, w);
        row[i].prefetch(g);
        for (int v = 0; v < Row::kVectors; ++v)
          for (int r = 0; r < R; ++r) acc[r][i] = dp(acc[r][i], w[v], xv[r][v]);
      }
    }
    for (int r = 0; r < R; ++r) store4(t, row0 + r, o, n, sum4(quad(acc[r][0], acc[r][1], acc[r][2], acc[r][3])));
    o += n;
  }
}

// ---- tile path: four weight rows decoded once, then all rows in blocks of four against them
template <int R>
inline void block4(const GemmTask& t, const uint8_t* const w[4], int64_t vectors, int64_t row0, int64_t out, int n) {
  const uint8_t* x[R];
  for (int r = 0; r < R; ++r) x[r] = x_row(t, row0 + r);
  __m512 acc[R][4];
  for (int r = 0; r < R; ++r)
    for (int i = 0; i < 4; ++i) acc[r][i] = _mm512_setzero_ps();
  for (int64_t v = 0; v < vectors; ++v) {
    __m512i wv[4];
    for (int i = 0; i < 4; ++i) wv[i] = _mm512_load_si512(w[i] + v * 64);
    for (int r = 0; r < R; ++r) {
      const __m512i xv = _mm512_loadu_si512(x[r] + v * 64);
      for (int i = 0; i < 4; ++i) acc[r][i] = dp(acc[r][i], wv[i], xv);
    }
  }
  if constexpr (R == 4) {
    __m512 q[4];
    for (int r = 0; r < 4; ++r) q[r] = quad(acc[r][0], acc[r][1], acc[r][2], acc[r][3]);
    const __m512 s = sum16(q[0], q[1], q[2], q[3]);
    store4(t, row0, out, n, _mm512_castps512_ps128(s));
    store4(t, row0 + 1, out, n, _mm512_extractf32x4_ps(s, 1));
    store4(t, row0 + 2, out, n, _mm512_extractf32x4_ps(s, 2));
    store4(t, row0 + 3, out, n, _mm512_extractf32x4_ps(s, 3));
  } else {
    for (int r = 0; r < R; ++r) store4(t, row0 + r, out, n, sum4(quad(acc[r][0], acc[r][1], acc[r][2], acc[r][3])));
  }
}

template <typename Row>
void tiled(const GemmTask& t) {
  const int64_t k = t.weight->cols, groups = groups_of(t.weight->dtype, k), vectors = groups * Row::kVectors;
  // Rows per pass: their activations should stay in half of a 1 MB L2 while four weight rows at a time go by (Zen 5: L2
  // 1 MB per core).
  int64_t rows_per_pass = (512 << 10) / (vectors * 64) / 4 * 4;
  if (rows_per_pass < 16) rows_per_pass = 16;
  for (int64_t r0 = 0; r0 < t.rows; r0 += rows_per_pass) {
    const int64_t r1 = r0 + rows_per_pass < t.rows ? r0 + rows_per_pass : t.rows;
    for (int64_t o = t.out_begin; o < t.out_end; o += 4) {
      const int n = static_cast<int>(t.out_end - o < 4 ? t.out_end - o : 4);
      const uint8_t* w[4];
      for (int i = 0; i < 4; ++i) {
        uint8_t* tile = t.tile + i * vectors * 64;
        w[i] = tile;
        const Row row(*t.weight, o + (i < n ? i : 0));
        for (int64_t g = 0; g < groups; ++g) {
          __m512i v[Row::kVectors];
          row.decode(g, v);
          for (int j = 0; j < Row::kVectors; ++j) _mm512_store_si512(tile + (g * Row::kVectors + j) * 64, v[j]);
        }
      }
      int64_t r = r0;
      for (; r + 4 <= r1; r += 4) block4<4>(t, w, vectors, r, o, n);
      switch (r1 - r) {
        case 3:
          block4<3>(t, w, vectors, r, o, n);
          break;
        case 2:
          block4<2>(t, w, vectors, r, o, n);
          break;
        case 1:
          block4<1>(t, w, vectors, r, o, n);
          break;
        default:
          break;
      }
    }
  }
}

template <typename Row>
void gemm_of(const GemmTask& t) {
  switch (t.rows) {
    case 0:
      return;
    case 1:
      return direct<Row, 1>(t, 0);
    case 2:
      return direct<Row, 2>(t, 0);
    case 3:
      return direct<Row, 3>(t, 0);
    case 4:
      return direct<Row, 4>(t, 0);
    default:
      return tiled<Row>(t);
  }
}

void gemm(const GemmTask& t) {
  switch (t.weight->dtype) {
    case DType::kF4E2M1x2:
      return gemm_of<Fp4Row>(t);
    case DType::kF8E4M3:
      return gemm_of<Fp8Row>(t);
    default:
      return gemm_of<Bf16Row>(t);
  }
}

int64_t row_bytes(DType weight, int64_t k) { return vectors_of(weight, k) * 64; }
int64_t tile_bytes(DType weight, int64_t k) { return 4 * vectors_of(weight, k) * 64; }

// ---- activations
// quant8 then dequant of 32 values (model.md 4.0), as two vectors of fp32; bit-equal to quant8_qdq.
inline void quant8(__m512& a, __m512& b) {
  const __m512i abs_mask = _mm512_set1_epi32(0x7fffffff);
  const __m512 fa = _mm512_castsi512_ps(_mm512_and_si512(_mm512_castps_si512(a), abs_mask));
  const __m512 fb = _mm512_castsi512_ps(_mm512_and_si512(_mm512_castps_si512(b), abs_mask));
  const float amax = _mm512_reduce_max_ps(_mm512_max_ps(_mm512_max_ps(fa, fb), _mm512_set1_ps(1e-4f)));
  const uint32_t bits = __builtin_bit_cast(uint32_t, amax * (1.0f / 448.0f));
  uint32_t e = (bits + 0x7fffff) >> 23;
  if (e > 254) e = 254;
  const __m512 scale = _mm512_set1_ps(__builtin_bit_cast(float, e << 23));
  const __m512 inverse = _mm512_set1_ps(__builtin_bit_cast(float, (254 - e) << 23));
  auto round = [&](__m512 x, __m512 m) {
    // Magnitude on the E4M3 grid: three mantissa bits above 2^-6, multiples of 2^-9 below.
    const __m512 v = _mm512_min_ps(_mm512_mul_ps(m, inverse), _mm512_set1_ps(448.0f));
    const __m512i u = _mm512_castps_si512(v);
    const __m512i odd = _mm512_and_si512(_mm512_srli_epi32(u, 20), _mm512_set1_epi32(1));
    const __m512i up = _mm512_add_epi32(_mm512_add_epi32(u, _mm512_set1_epi32(0x7ffff)), odd);
    const __m512 normal = _mm512_castsi512_ps(_mm512_and_si512(up, _mm512_set1_epi32(static_cast<int>(0xfff00000u))));
    const __m512 tiny = _mm512_sub_ps(_mm512_add_ps(v, _mm512_set1_ps(16384.0f)), _mm512_set1_ps(16384.0f));
    const __mmask16 small = _mm512_cmp_ps_mask(v, _mm512_set1_ps(0x1p-6f), _CMP_LT_OQ);
    const __m512 q = _mm512_mul_ps(_mm512_mask_blend_ps(small, normal, tiny), scale);
    const __m512i sign = _mm512_andnot_si512(abs_mask, _mm512_castps_si512(x));
    return _mm512_castsi512_ps(_mm512_or_si512(_mm512_castps_si512(q), sign));
  };
  a = round(a, fa);
  b = round(b, fb);
}

// Values that could not meet a plain weight scale safely: magnitudes below 2^-62 count as zero (model activations are
// never that small), above 2^62 they saturate; infinities and NaN become NaN.
inline __m512i guard(__m512i words) {
  const __m512i m = _mm512_and_si512(words, _mm512_set1_epi16(0x7fff));
  const __m512i sign = _mm512_andnot_si512(_mm512_set1_epi16(0x7fff), words);
  const __mmask32 tiny = _mm512_cmplt_epu16_mask(m, _mm512_set1_epi16((127 - 62) << 7));
  const __mmask32 bad = _mm512_cmpge_epu16_mask(m, _mm512_set1_epi16(0x7f80));
  __m512i v = _mm512_min_epu16(m, _mm512_set1_epi16((127 + 62) << 7));
  v = _mm512_or_si512(v, sign);
  v = _mm512_mask_mov_epi16(v, tiny, _mm512_setzero_si512());
  return _mm512_mask_mov_epi16(v, bad, _mm512_set1_epi16(0x7fff));
}

inline __m512i load32(DType x_type, const void* x, int64_t at, int64_t k, bool quantize) {
  __m512 a, b;
  if (x_type == DType::kBF16) {
    const __m512i w = _mm512_maskz_loadu_epi16(mask32(k - at), static_cast<const uint16_t*>(x) + at);
    if (!quantize) return guard(w);
    a = _mm512_castsi512_ps(_mm512_slli_epi32(_mm512_cvtepu16_epi32(_mm512_castsi512_si256(w)), 16));
    b = _mm512_castsi512_ps(_mm512_slli_epi32(_mm512_cvtepu16_epi32(_mm512_extracti64x4_epi64(w, 1)), 16));
  } else {
    const float* p = static_cast<const float*>(x) + at;
    const __mmask32 m = mask32(k - at);
    a = _mm512_maskz_loadu_ps(static_cast<__mmask16>(m), p);
    b = _mm512_maskz_loadu_ps(static_cast<__mmask16>(m >> 16), p + 16);
  }
  if (quantize) quant8(a, b);
  return guard((__m512i)_mm512_cvtne2ps_pbh(b, a));  // exact for quantised values
}

void prepare(DType weight, DType x_type, const void* x, int64_t k, bool quantize, uint8_t* out) {
  if (weight == DType::kF8E4M3) {
    for (int64_t at = 0; at < k; at += 64, out += 128) {
      const __m512i a = load32(x_type, x, at, k, quantize), b = load32(x_type, x, at + 32, k, quantize);
      _mm512_storeu_si512(out, _mm512_shuffle_i64x2(a, b, 0x88));
      _mm512_storeu_si512(out + 64, _mm512_shuffle_i64x2(a, b, 0xdd));
    }
  } else if (weight == DType::kF4E2M1x2) {
    alignas(64) uint16_t index[32];
    for (int64_t at = 0; at < k; at += 128, out += 256) {
      __m512i v[4];
      for (int i = 0; i < 4; ++i) v[i] = load32(x_type, x, at + 32 * i, k, quantize);
      for (int i = 0; i < 4; ++i) {
        for (int j = 0; j < 32; ++j) index[j] = static_cast<uint16_t>((4 * j + i) & 63);
        const __m512i ix = _mm512_load_si512(index);
        const __m512i low = _mm512_permutex2var_epi16(v[0], ix, v[1]), high = _mm512_permutex2var_epi16(v[2], ix, v[3]);
        _mm512_storeu_si512(out + 64 * i, _mm512_inserti64x4(low, _mm512_castsi512_si256(high), 1));
      }
    }
  } else {
    for (int64_t at = 0; at < k; at += 32, out += 64) _mm512_storeu_si512(out, load32(x_type, x, at, k, quantize));
  }
}

}  // namespace

// swiglu and sum_rows come from the fp32 kernels (plain_kernels()).
const GemmKernels kGemmAvx512Bf16 = {row_bytes, prepare, tile_bytes, gemm, nullptr, nullptr};

}  // namespace deepinfer::cpu
