// What the bf16 kernels (gemm_avx512_bf16.cpp, gemm_amx.cpp) share: decoding weights from their disk layout into
// vectors of bf16 pairs, and preparing activations in the matching order of k. Included inside an anonymous namespace.
//
// A *chunk* is 64 bytes of a weight row: 32 bf16, 64 FP8 or 128 FP4 columns. A *quad* is four neighbouring weight rows.
// Unpacking a quad's chunk gives four vectors i whose 128-bit lane l holds dword 4l + i of the four rows; each decodes
// to kVectors pair vectors: 32-bit element 4l + o = two columns of row o. Step s of the chunk (s = 0 .. 4 kVectors)
// meets activations X[s / 4] with dword s % 4 of each lane repeated, so the partial sums of an output live in four
// lanes (lane l: the columns that lie in quarter l of each chunk) and are added once, at the very end.
//   bf16  dword = one pair; activations in natural order
//   FP8   words instead of dwords are interleaved first, so that byte unpacks of the two decoded halves (vpermi2b, 128
//         entries) join pairs (0,1) and (2,3) of each four columns; activations: low, then high eight of each 16
//   FP4   dword = eight codes; vpermw on dword >> 4j sees nibble j in the low and j + 4 in the high word (five index
//         bits, table doubled): pair (j, j + 4); activations X[i]: octets i, i + 4, i + 8, i + 12 in the order
//         0 4 1 5 2 6 3 7
// Every FP8 and FP4 value times its power-of-two scale is exact in bf16. Tables hold value * 2^64 so that a scale is a
// saturating subtraction from the exponent and zero stays zero; plain scales (64..190) keep results normal.

constexpr int kBias = 64;
constexpr int kMaxVectors = 4;  // activation vectors per chunk

inline __mmask32 mask32(int64_t n) { return n >= 32 ? ~__mmask32{0} : n <= 0 ? 0 : (__mmask32{1} << n) - 1; }
inline __mmask64 mask64(int64_t n) { return n >= 64 ? ~__mmask64{0} : n <= 0 ? 0 : (__mmask64{1} << n) - 1; }
inline __mmask16 mask16(int64_t n) { return n >= 16 ? __mmask16{0xffff} : static_cast<__mmask16>((1u << n) - 1); }

struct Tables {
  alignas(64) uint8_t high[128], low[128];                // e4m3 magnitudes as bf16
  alignas(64) uint8_t biased_high[128], biased_low[128];  // times 2^kBias
  alignas(64) uint16_t fp4[32];                           // e2m1 times 2^kBias, twice; code 8 (-0) is +0
  static constexpr uint16_t bits(float v) { return static_cast<uint16_t>(__builtin_bit_cast(uint32_t, v) >> 16); }
  constexpr Tables() : high{}, low{}, biased_high{}, biased_low{}, fp4{} {
    for (int c = 0; c < 128; ++c) {
      const float v = c == 127 ? __builtin_nanf("")
                      : c < 8  ? static_cast<float>(c) * 0x1p-9f
                               : __builtin_bit_cast(float, static_cast<uint32_t>((c << 20) + (120 << 23)));
      const uint16_t a = bits(v), b = c == 127 ? a : bits(v * 0x1p64f);
      high[c] = static_cast<uint8_t>(a >> 8);
      low[c] = static_cast<uint8_t>(a);
      biased_high[c] = static_cast<uint8_t>(b >> 8);  // 0x7f for NaN and for nothing else
      biased_low[c] = static_cast<uint8_t>(b);
    }
    constexpr float kValues[8] = {0, 0.5f, 1, 1.5f, 2, 3, 4, 6};
    for (int c = 0; c < 32; ++c) {
      const uint16_t m = bits(kValues[c & 7] * 0x1p64f);
      fp4[c] = m == 0 ? uint16_t{0} : static_cast<uint16_t>(m | ((c & 8) << 12));
    }
  }
};
// A constant: no initialiser of this file may run on a processor without AVX-512.
constexpr Tables kTables;

#define DI_INLINE inline __attribute__((always_inline))

// Where a quad lies; rows past the last wanted one repeat it.
struct Quad {
  const uint8_t* w[4];
  const uint8_t* s[4];  // FP4 scales of each row
};

struct Bf16Weights {
  static constexpr DType kType = DType::kBF16;
  static constexpr int kVectors = 1, kColumns = 32;
  static constexpr bool kScaled = false;
  static int64_t row_bytes(int64_t k) { return 2 * k; }
};
struct Fp8Weights {
  static constexpr DType kType = DType::kF8E4M3;
  static constexpr int kVectors = 2, kColumns = 64;
  static constexpr bool kScaled = true;
  static int64_t row_bytes(int64_t k) { return k; }
};
struct Fp4Weights {
  static constexpr DType kType = DType::kF4E2M1x2;
  static constexpr int kVectors = 4, kColumns = 128;
  static constexpr bool kScaled = true;
  static int64_t row_bytes(int64_t k) { return k / 2; }
};

inline int64_t chunks_of(DType t, int64_t k) {
  const int64_t n = t == DType::kF4E2M1x2 ? 128 : t == DType::kF8E4M3 ? 64 : 32;
  return (k + n - 1) / n;
}
inline int64_t vectors_of(DType t, int64_t k) {
  return chunks_of(t, k) * (t == DType::kF4E2M1x2 ? 4 : t == DType::kF8E4M3 ? 2 : 1);
}

template <typename W>
DI_INLINE Quad make_quad(const ops::Weight& weight, int64_t row, int64_t last) {
  Quad q;
  const int64_t bytes = W::row_bytes(weight.cols);
#pragma GCC unroll 4
  for (int i = 0; i < 4; ++i) {
    const int64_t r = row + i < last ? row + i : last;
    q.w[i] = static_cast<const uint8_t*>(weight.data) + r * bytes;
    q.s[i] = weight.scale + r * (weight.cols / 32);
  }
  return q;
}

// Four rows' 64 bytes (masked at the end of a row) -> four interleaved vectors.
template <typename W, bool MASKED>
DI_INLINE void unpack(const Quad& q, int64_t offset, __mmask64 mask, __m512i v[4]) {
  __m512i r[4];
#pragma GCC unroll 4
  for (int i = 0; i < 4; ++i)
    r[i] = MASKED ? _mm512_maskz_loadu_epi8(mask, q.w[i] + offset) : _mm512_loadu_si512(q.w[i] + offset);
  if constexpr (W::kType == DType::kF8E4M3) {
    const __m512i a0 = _mm512_unpacklo_epi16(r[0], r[1]), a1 = _mm512_unpackhi_epi16(r[0], r[1]);
    const __m512i b0 = _mm512_unpacklo_epi16(r[2], r[3]), b1 = _mm512_unpackhi_epi16(r[2], r[3]);
    v[0] = _mm512_unpacklo_epi32(a0, b0);
    v[1] = _mm512_unpackhi_epi32(a0, b0);
    v[2] = _mm512_unpacklo_epi32(a1, b1);
    v[3] = _mm512_unpackhi_epi32(a1, b1);
  } else {
    const __m512i a0 = _mm512_unpacklo_epi32(r[0], r[1]), a1 = _mm512_unpackhi_epi32(r[0], r[1]);
    const __m512i b0 = _mm512_unpacklo_epi32(r[2], r[3]), b1 = _mm512_unpackhi_epi32(r[2], r[3]);
    v[0] = _mm512_unpacklo_epi64(a0, b0);
    v[1] = _mm512_unpackhi_epi64(a0, b0);
    v[2] = _mm512_unpacklo_epi64(a1, b1);
    v[3] = _mm512_unpackhi_epi64(a1, b1);
  }
}

// FP4: scale bytes of four rows for four chunks (`left` groups exist) -> dword o of out[c] = the four bytes of row o.
DI_INLINE void fp4_scales(const Quad& q, int64_t group, int64_t left, __m128i out[4]) {
  const __mmask16 m = mask16(left);
  const __m128i neutral = _mm_set1_epi8(kBias);  // a plain scale byte, so that missing groups decode to plain zeros
  const __m128i r0 = _mm_mask_loadu_epi8(neutral, m, q.s[0] + group),
                r1 = _mm_mask_loadu_epi8(neutral, m, q.s[1] + group);
  const __m128i r2 = _mm_mask_loadu_epi8(neutral, m, q.s[2] + group),
                r3 = _mm_mask_loadu_epi8(neutral, m, q.s[3] + group);
  const __m128i a0 = _mm_unpacklo_epi32(r0, r1), a1 = _mm_unpackhi_epi32(r0, r1);
  const __m128i b0 = _mm_unpacklo_epi32(r2, r3), b1 = _mm_unpackhi_epi32(r2, r3);
  out[0] = _mm_unpacklo_epi64(a0, b0);
  out[1] = _mm_unpackhi_epi64(a0, b0);
  out[2] = _mm_unpacklo_epi64(a1, b1);
  out[3] = _mm_unpackhi_epi64(a1, b1);
}
// What is subtracted from both words of element 4l + o: (127 + kBias - scale of row o, group l) << 7.
DI_INLINE __m512i fp4_delta(__m128i scales) {
  const __m512i pick =
      _mm512_set_epi32(0x000f000f, 0x000b000b, 0x00070007, 0x00030003, 0x000e000e, 0x000a000a, 0x00060006, 0x00020002,
                       0x000d000d, 0x00090009, 0x00050005, 0x00010001, 0x000c000c, 0x00080008, 0x00040004, 0x00000000);
  const __m512i s = _mm512_maskz_permutexvar_epi8(0x5555555555555555ull, pick, _mm512_castsi128_si512(scales));
  return _mm512_sub_epi16(_mm512_set1_epi16((127 + kBias) << 7), _mm512_slli_epi16(s, 7));
}
// FP8: lanes 0 and 1 belong to the first 32 columns of the chunk, lanes 2 and 3 to the second.
DI_INLINE __m512i fp8_delta(int s0, int s1) {
  return _mm512_inserti64x4(_mm512_set1_epi16(static_cast<short>((127 + kBias - s0) << 7)),
                            _mm256_set1_epi16(static_cast<short>((127 + kBias - s1) << 7)), 1);
}

// FP8 without its scale (the activations carry it). NaN codes stay NaN.
DI_INLINE void decode_fp8_unscaled(__m512i c, __m512i out[2]) {
  const __m512i low = _mm512_permutex2var_epi8(_mm512_load_si512(kTables.low), c, _mm512_load_si512(kTables.low + 64));
  const __m512i mag =
      _mm512_permutex2var_epi8(_mm512_load_si512(kTables.high), c, _mm512_load_si512(kTables.high + 64));
  const __m512i high = _mm512_ternarylogic_epi32(mag, c, _mm512_set1_epi8(-128), 0xf8);  // mag | (c & 0x80)
  out[0] = _mm512_unpacklo_epi8(low, high);
  out[1] = _mm512_unpackhi_epi8(low, high);
}

// One interleaved vector -> its kVectors scaled pair vectors. `top` collects the largest high byte of FP8: 0x7f tells
// of a NaN code, which the subtraction would turn into a number.
template <typename W>
DI_INLINE void decode(__m512i c, __m512i delta, __m512i& top, __m512i out[W::kVectors]) {
  if constexpr (W::kType == DType::kBF16) {
    out[0] = c;
  } else if constexpr (W::kType == DType::kF8E4M3) {
    const __m512i low =
        _mm512_permutex2var_epi8(_mm512_load_si512(kTables.biased_low), c, _mm512_load_si512(kTables.biased_low + 64));
    const __m512i mag = _mm512_permutex2var_epi8(_mm512_load_si512(kTables.biased_high), c,
                                                 _mm512_load_si512(kTables.biased_high + 64));
    top = _mm512_max_epu8(top, mag);
    const __m512i signs = _mm512_subs_epu8(c, _mm512_set1_epi8(1));  // only -0 (0x80) loses its sign
    const __m512i high = _mm512_ternarylogic_epi32(mag, signs, _mm512_set1_epi8(-128), 0xf8);
    out[0] = _mm512_subs_epu16(_mm512_unpacklo_epi8(low, high), delta);
    out[1] = _mm512_subs_epu16(_mm512_unpackhi_epi8(low, high), delta);
  } else {
    const __m512i table = _mm512_load_si512(kTables.fp4);
    out[0] = _mm512_subs_epu16(_mm512_permutexvar_epi16(c, table), delta);
    out[1] = _mm512_subs_epu16(_mm512_permutexvar_epi16(_mm512_srli_epi16(c, 4), table), delta);
    out[2] = _mm512_subs_epu16(_mm512_permutexvar_epi16(_mm512_srli_epi16(c, 8), table), delta);
    out[3] = _mm512_subs_epu16(_mm512_permutexvar_epi16(_mm512_srli_epi16(c, 12), table), delta);
  }
}

inline bool met_nan(__m512i top) { return _mm512_cmpeq_epi8_mask(top, _mm512_set1_epi8(0x7f)) != 0; }
// Whether an FP8 row holds a NaN code (rare path).
inline bool has_nan(const uint8_t* row, int64_t k) {
  bool bad = false;
  for (int64_t i = 0; i < k; ++i) bad |= (row[i] & 0x7f) == 0x7f;
  return bad;
}

// A row's 16 neighbouring outputs, the first n wanted.
DI_INLINE void store16(const GemmTask& t, int64_t row, int64_t out, int64_t n, __m512 v) {
  if (t.out_rows) row = t.out_rows[row];
  const int64_t at = row * t.out_stride + (out - t.out_first);
  if (t.out_bf16) {
    const __m256i h = (__m256i)_mm512_cvtneps_pbh(v);
    uint16_t* p = static_cast<uint16_t*>(t.out) + at;
    if (n >= 16)
      _mm256_storeu_si256(reinterpret_cast<__m256i*>(p), h);
    else
      _mm256_mask_storeu_epi16(p, mask16(n), h);
    return;
  }
  float* p = static_cast<float*>(t.out) + at;
  if (n >= 16) {
    _mm512_storeu_ps(p, t.accumulate ? _mm512_add_ps(v, _mm512_loadu_ps(p)) : v);
  } else {
    const __mmask16 m = mask16(n);
    _mm512_mask_storeu_ps(p, m, t.accumulate ? _mm512_add_ps(v, _mm512_maskz_loadu_ps(m, p)) : v);
  }
}

inline const uint8_t* x_row(const GemmTask& t, int64_t r) { return t.x + (t.x_rows ? t.x_rows[r] : r) * t.x_stride; }

// ---- activations
// quant8 then dequant of 32 values (model.md 4.0), as two vectors of fp32; bit-equal to quant8_qdq.
inline void quant8(__m512& a, __m512& b) {
  const __m512i abs_mask = _mm512_set1_epi32(0x7fffffff);
  const __m512 fa = _mm512_castsi512_ps(_mm512_and_si512(_mm512_castps_si512(a), abs_mask));
  const __m512 fb = _mm512_castsi512_ps(_mm512_and_si512(_mm512_castps_si512(b), abs_mask));
  // max(x, y) is y when x is NaN
  const float amax = _mm512_reduce_max_ps(_mm512_max_ps(fa, _mm512_max_ps(fb, _mm512_set1_ps(1e-4f))));
  const uint32_t bits = __builtin_bit_cast(uint32_t, amax * (1.0f / 448.0f));
  uint32_t e = (bits + 0x7fffff) >> 23;
  if (e > 254) e = 254;
  const __m512 scale = _mm512_set1_ps(__builtin_bit_cast(float, e << 23));
  const __m512 inverse = _mm512_set1_ps(__builtin_bit_cast(float, e == 254 ? 0x00400000u : (254 - e) << 23));
  auto round = [&](__m512 x, __m512 m) __attribute__((always_inline)) {
    // Magnitude on the E4M3 grid: three mantissa bits above 2^-6, multiples of 2^-9 below. min(448, NaN) is NaN.
    const __m512 v = _mm512_min_ps(_mm512_set1_ps(448.0f), _mm512_mul_ps(m, inverse));
    const __m512i u = _mm512_castps_si512(v);
    const __m512i odd = _mm512_and_si512(_mm512_srli_epi32(u, 20), _mm512_set1_epi32(1));
    const __m512i up = _mm512_add_epi32(_mm512_add_epi32(u, _mm512_set1_epi32(0x7ffff)), odd);
    const __m512 normal = _mm512_castsi512_ps(_mm512_and_si512(up, _mm512_set1_epi32(static_cast<int>(0xfff00000u))));
    const __m512 tiny = _mm512_sub_ps(_mm512_add_ps(v, _mm512_set1_ps(16384.0f)), _mm512_set1_ps(16384.0f));
    const __mmask16 small = _mm512_cmp_ps_mask(v, _mm512_set1_ps(0x1p-6f), _CMP_LT_OQ);
    __m512 q = _mm512_mul_ps(_mm512_mask_blend_ps(small, normal, tiny), scale);
    q = _mm512_mask_mov_ps(q, _mm512_cmp_ps_mask(v, v, _CMP_UNORD_Q), v);
    const __m512i sign = _mm512_andnot_si512(abs_mask, _mm512_castps_si512(x));
    return _mm512_castsi512_ps(_mm512_or_si512(_mm512_castps_si512(q), sign));
  };
  a = round(a, fa);
  b = round(b, fb);
}

// In front of scaled weights: magnitudes below 2^-62 count as zero (model activations are never that small), above 2^62
// they saturate, infinities and NaN become NaN. So a product with a plain scale never leaves the normal range,
// whichever factor carries the scale.
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

// The same as quant8 for 32 bf16 values of ordinary size, on the bits: 12 instead of 40 cycles (Zen 5, 2026-12-01).
//   scale exponent: amax / 448 rounded up to a power of two; 448 = 1.75 * 2^8, so mantissas above 1.75 (0x60) round up
//   above 2^-6 of the scale: three mantissa bits, nearest even; below (rare): multiples of 2^-9 by adding 2^14 scales
// Infinity, NaN and amax >= 2^50 take quant8.
inline __m512i quant8_words(__m512i w) {
  const __m512i magnitude = _mm512_and_si512(w, _mm512_set1_epi16(0x7fff));
  const __m256i half = _mm256_max_epu16(_mm512_castsi512_si256(magnitude), _mm512_extracti64x4_epi64(magnitude, 1));
  const __m128i quarter = _mm_max_epu16(_mm256_castsi256_si128(half), _mm256_extracti128_si256(half, 1));
  const int amax = 0xffff - (_mm_cvtsi128_si32(_mm_minpos_epu16(_mm_xor_si128(quarter, _mm_set1_epi16(-1)))) & 0xffff);
  if (__builtin_expect(amax >= (127 + 50) << 7, 0)) {
    __m512 a = _mm512_castsi512_ps(_mm512_slli_epi32(_mm512_cvtepu16_epi32(_mm512_castsi512_si256(w)), 16));
    __m512 b = _mm512_castsi512_ps(_mm512_slli_epi32(_mm512_cvtepu16_epi32(_mm512_extracti64x4_epi64(w, 1)), 16));
    quant8(a, b);
    return guard((__m512i)_mm512_cvtne2ps_pbh(b, a));
  }
  int e = (amax + 0x1f) >> 7;
  e = (e < 113 ? 113 : e) - 8;  // amax >= 1e-4, whose exponent is 113 and mantissa below 1.75
  const __m512i odd = _mm512_and_si512(_mm512_srli_epi16(magnitude, 4), _mm512_set1_epi16(1));
  __m512i q = _mm512_and_si512(_mm512_add_epi16(_mm512_add_epi16(magnitude, _mm512_set1_epi16(7)), odd),
                               _mm512_set1_epi16(-16));
  const __mmask32 small = _mm512_mask_cmplt_epu16_mask(_mm512_test_epi16_mask(magnitude, magnitude), magnitude,
                                                       _mm512_set1_epi16(static_cast<short>((e - 6) << 7)));
  if (small) {
    const __m512 grid = _mm512_castsi512_ps(_mm512_set1_epi32((e + 14) << 23));
    const __m512 a =
        _mm512_castsi512_ps(_mm512_slli_epi32(_mm512_cvtepu16_epi32(_mm512_castsi512_si256(magnitude)), 16));
    const __m512 b =
        _mm512_castsi512_ps(_mm512_slli_epi32(_mm512_cvtepu16_epi32(_mm512_extracti64x4_epi64(magnitude, 1)), 16));
    const __m512i tiny = (__m512i)_mm512_cvtne2ps_pbh(_mm512_sub_ps(_mm512_add_ps(b, grid), grid),
                                                      _mm512_sub_ps(_mm512_add_ps(a, grid), grid));
    q = _mm512_mask_mov_epi16(q, small, tiny);
  }
  return _mm512_ternarylogic_epi32(q, w, _mm512_set1_epi16(static_cast<short>(0x8000)), 0xf8);  // q | (w & sign)
}

// Columns [at, at + 32) as bf16, zeros past k. fp32 input holds bf16 values already (moe's hidden rows).
template <typename W>
inline __m512i load32(DType x_type, const void* x, int64_t at, int64_t k, bool quantize) {
  if (at >= k) return _mm512_setzero_si512();
  __m512i words;
  const bool whole = at + 32 <= k;
  if (x_type == DType::kBF16) {
    const uint16_t* p = static_cast<const uint16_t*>(x) + at;
    words = whole ? _mm512_loadu_si512(p) : _mm512_maskz_loadu_epi16(mask32(k - at), p);
  } else if (whole) {
    const float* p = static_cast<const float*>(x) + at;
    words = (__m512i)_mm512_cvtne2ps_pbh(_mm512_loadu_ps(p + 16), _mm512_loadu_ps(p));
  } else {
    const float* p = static_cast<const float*>(x) + at;
    const __mmask32 m = mask32(k - at);
    const __m512 a = _mm512_maskz_loadu_ps(static_cast<__mmask16>(m), p);
    words = (__m512i)_mm512_cvtne2ps_pbh(_mm512_maskz_loadu_ps(static_cast<__mmask16>(m >> 16), p + 16), a);
  }
  if (quantize) return quant8_words(words);
  return W::kScaled ? guard(words) : words;
}

void prepare(DType weight, DType x_type, const void* x, int64_t k, bool quantize, uint8_t* out) {
  if (weight == DType::kF8E4M3) {
    for (int64_t at = 0; at < k; at += 64, out += 128) {
      const __m512i a = load32<Fp8Weights>(x_type, x, at, k, quantize);
      const __m512i b = load32<Fp8Weights>(x_type, x, at + 32, k, quantize);
      _mm512_store_si512(out, _mm512_shuffle_i64x2(a, b, 0x88));
      _mm512_store_si512(out + 64, _mm512_shuffle_i64x2(a, b, 0xdd));
    }
  } else if (weight == DType::kF4E2M1x2) {
    const __m512i order = _mm512_set4_epi32(0x0f0e0706, 0x0d0c0504, 0x0b0a0302, 0x09080100);  // words 0 4 1 5 2 6 3 7
    for (int64_t at = 0; at < k; at += 128, out += 256) {
      __m512i v[4];
#pragma GCC unroll 4
      for (int i = 0; i < 4; ++i)
        v[i] = _mm512_shuffle_epi8(load32<Fp4Weights>(x_type, x, at + 32 * i, k, quantize), order);
      const __m512i a0 = _mm512_shuffle_i32x4(v[0], v[1], 0x44), a1 = _mm512_shuffle_i32x4(v[0], v[1], 0xee);
      const __m512i b0 = _mm512_shuffle_i32x4(v[2], v[3], 0x44), b1 = _mm512_shuffle_i32x4(v[2], v[3], 0xee);
      _mm512_store_si512(out, _mm512_shuffle_i32x4(a0, b0, 0x88));
      _mm512_store_si512(out + 64, _mm512_shuffle_i32x4(a0, b0, 0xdd));
      _mm512_store_si512(out + 128, _mm512_shuffle_i32x4(a1, b1, 0x88));
      _mm512_store_si512(out + 192, _mm512_shuffle_i32x4(a1, b1, 0xdd));
    }
  } else {
    for (int64_t at = 0; at < k; at += 32, out += 64)
      _mm512_store_si512(out, load32<Bf16Weights>(x_type, x, at, k, quantize));
  }
}

int64_t row_bytes(DType weight, int64_t k) { return vectors_of(weight, k) * 64; }
