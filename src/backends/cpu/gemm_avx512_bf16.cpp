// bf16 products with vdpbf16ps (AVX-512 BF16 + VBMI); vdpbf16ps adds two products per 32-bit element and flushes
// subnormals, which plain scales keep away. How weights and activations meet: gemm_bf16.inl.h.
//
// Order of a sum, the same on both paths: the four lanes' partial sums each take their pairs in order of chunk and
// step, then lanes are added as (0 + 1) + (2 + 3).
//   direct  few rows: weights are decoded in registers, a block of 16 outputs and 4 rows at a time
//   tiled   many rows: a block of 16 outputs is decoded into a buffer once, then 6 rows at a time meet it
#include <immintrin.h>

#include <cstring>
#include <type_traits>

#include "backends/cpu/gemm.h"

namespace deepinfer::cpu {
namespace {

#include "backends/cpu/gemm_bf16.inl.h"

DI_INLINE __m512 dp(__m512 acc, __m512i w, __m512i x) { return _mm512_dpbf16_ps(acc, (__m512bh)w, (__m512bh)x); }

// Four quads' accumulators -> 16 outputs: lane q of the result is the sum of quad q's lanes, (0 + 1) + (2 + 3).
DI_INLINE __m512 sum_lanes(__m512 q0, __m512 q1, __m512 q2, __m512 q3) {
  const __m512 a = _mm512_add_ps(_mm512_shuffle_f32x4(q0, q1, 0x88), _mm512_shuffle_f32x4(q0, q1, 0xdd));
  const __m512 b = _mm512_add_ps(_mm512_shuffle_f32x4(q2, q3, 0x88), _mm512_shuffle_f32x4(q2, q3, 0xdd));
  // a: q0 (0+1), q0 (2+3), q1 (0+1), q1 (2+3)
  return _mm512_add_ps(_mm512_shuffle_f32x4(a, b, 0x88), _mm512_shuffle_f32x4(a, b, 0xdd));
}

// Dword s of each lane, four times.
DI_INLINE __m512i repeat(__m512i x, int s) {
  return s == 0   ? _mm512_shuffle_epi32(x, static_cast<_MM_PERM_ENUM>(0x00))
         : s == 1 ? _mm512_shuffle_epi32(x, static_cast<_MM_PERM_ENUM>(0x55))
         : s == 2 ? _mm512_shuffle_epi32(x, static_cast<_MM_PERM_ENUM>(0xaa))
                  : _mm512_shuffle_epi32(x, static_cast<_MM_PERM_ENUM>(0xff));
}

// ---- direct path
// FP8: activations times 2^(scale - 127) per 32 columns instead of the weights; exact for what guard() lets through.
DI_INLINE __m512i scaled(__m512i x, __m512i shift) {
  // Zero stays zero and NaN stays NaN: 0 < magnitude < infinity in one comparison.
  const __m512i less = _mm512_sub_epi16(_mm512_and_si512(x, _mm512_set1_epi16(0x7fff)), _mm512_set1_epi16(1));
  return _mm512_mask_add_epi16(x, _mm512_cmplt_epu16_mask(less, _mm512_set1_epi16(0x7f7f)), x, shift);
}

// The quads of a block of outputs. FULL: all rows exist, so a quad is found by its place; the last block of a weight
// keeps pointers, with its last row repeated. (For 128 or 256 columns setting up pointers took a quarter of the time.)
// Q quads, 4 or 8.
template <typename W, int Q, bool FULL>
struct Block {
  const uint8_t *w, *s;
  int64_t bytes, scale_bytes;
  Quad quads[FULL ? 1 : Q];
  Block(const ops::Weight& weight, int64_t o, int64_t n) {
    bytes = W::row_bytes(weight.cols);
    scale_bytes = weight.cols / 32;
    w = static_cast<const uint8_t*>(weight.data) + o * bytes;
    s = W::kType == DType::kF4E2M1x2 ? weight.scale + o * scale_bytes : w;
    if constexpr (!FULL)
      for (int q = 0; q < Q; ++q) quads[q] = make_quad<W>(weight, o + 4 * q, o + n - 1);
  }
  DI_INLINE Quad quad(int q) const {
    if constexpr (FULL) {
      const uint8_t *p = w + 4 * q * bytes, *c = s + 4 * q * scale_bytes;
      return {{p, p + bytes, p + 2 * bytes, p + 3 * bytes},
              {c, c + scale_bytes, c + 2 * scale_bytes, c + 3 * scale_bytes}};
    } else {
      return quads[q];
    }
  }
};

// One chunk of Q quads for R rows. First all quads are unpacked into a small buffer, then the quads take turns vector
// by vector: back to back, the sums of one quad would wait 6 cycles for each product.
template <typename W, int Q, int R, bool MASKED, bool FULL>
DI_INLINE void direct_chunk(const Block<W, Q, FULL>& block, const uint8_t* const* x, const uint8_t* scale, int64_t k,
                            int64_t c, const uint8_t* ahead, __m128i (*scales)[4], __m512i (*buffer)[Q],
                            __m512 (*acc)[R]) {
  constexpr int V = W::kVectors;
  const __mmask64 mask = mask64(W::row_bytes(k) - c * 64);
#pragma GCC unroll 1
  for (int q = 0; q < Q; ++q) {
    __m512i u[4];
    if (!MASKED)
#pragma GCC unroll 4
      for (int i = 0; i < 4; ++i) _mm_prefetch(reinterpret_cast<const char*>(ahead + (4 * q + i) * 64), _MM_HINT_T0);
    unpack<W, MASKED>(block.quad(q), c * 64, mask, u);
#pragma GCC unroll 4
    for (int i = 0; i < 4; ++i) _mm512_store_si512(&buffer[i][q], u[i]);
    if constexpr (W::kType == DType::kF4E2M1x2) _mm512_store_si512(&buffer[4][q], fp4_delta(scales[q][c & 3]));
  }
  // The buffer is memory, not registers: g++ 12 would otherwise keep all of it in (spilled) registers.
  __asm__ volatile("" : : "r"(buffer) : "memory");
  __m512i xv[R][V];
  __m512i shift = _mm512_setzero_si512(), top = shift;
  if constexpr (W::kType == DType::kF8E4M3) {
    const int s0 = scale[2 * c] - 127, s1 = c * 64 + 32 < k ? scale[2 * c + 1] - 127 : s0;
    shift = _mm512_inserti64x4(_mm512_set1_epi16(static_cast<short>(s0 * 128)),
                               _mm256_set1_epi16(static_cast<short>(s1 * 128)), 1);
  }
#pragma GCC unroll 4
  for (int r = 0; r < R; ++r)
#pragma GCC unroll 4
    for (int v = 0; v < V; ++v) {
      xv[r][v] = _mm512_load_si512(x[r] + (c * V + v) * 64);
      if constexpr (W::kType == DType::kF8E4M3) xv[r][v] = scaled(xv[r][v], shift);
    }
#pragma GCC unroll 4
  for (int i = 0; i < 4; ++i) {
    __m512i xs[R][V];
#pragma GCC unroll 4
    for (int r = 0; r < R; ++r)
#pragma GCC unroll 4
      for (int v = 0; v < V; ++v) xs[r][v] = repeat(xv[r][(i * V + v) / 4], (i * V + v) % 4);
#pragma GCC unroll 8
    for (int q = 0; q < Q; ++q) {
      __m512i w[V];
      const __m512i u = _mm512_load_si512(&buffer[i][q]);
      if constexpr (W::kType == DType::kF8E4M3)
        decode_fp8_unscaled(u, w);
      else
        decode<W>(u, W::kType == DType::kF4E2M1x2 ? _mm512_load_si512(&buffer[4][q]) : u, top, w);
#pragma GCC unroll 4
      for (int v = 0; v < V; ++v)
#pragma GCC unroll 4
        for (int r = 0; r < R; ++r) acc[q][r] = dp(acc[q][r], w[v], xs[r][v]);
    }
  }
}

// Outputs [o, o + n), n <= 4 Q, for rows row0 .. row0 + R.
template <typename W, int Q, int R, bool FULL>
void direct_block(const GemmTask& t, int64_t row0, int64_t o, int64_t n) {
  const int64_t k = t.weight->cols, bytes = W::row_bytes(k), full = bytes / 64, chunks = (bytes + 63) / 64;
  const Block<W, Q, FULL> block(*t.weight, o, n);
  const uint8_t* x[R];
  for (int r = 0; r < R; ++r) x[r] = x_row(t, row0 + r);
  const uint8_t* scale = W::kType == DType::kF8E4M3 ? t.weight->scale + o / 32 * ((k + 31) / 32) : nullptr;
  // The next block is fetched a whole block ahead, line after line: 16 rows read side by side are 16 streams to the
  // memory, and only a linear walk keeps its pages open. Blocks of 32 long rows were slower, most on an idle
  // memory (83 GB/s read): FP4 2304x5120 65 instead of 40 GB/s, FP8 32768x1280 61 instead of 45 (`bench ops --op linear
  // --rows 1`, Zen 5, 2 threads, 2026-12-01).
  // Short rows are fetched further ahead: 2 KiB pass in fewer cycles than the last-level cache takes to answer.
  const int64_t distance = n * bytes < 4096 ? 4096 : n * bytes, beyond = distance - (t.out_end - o) * bytes;
  const uint8_t* ahead = beyond < 0 ? block.w + distance : t.next ? t.next + beyond : block.w;
  const uint8_t* scale_ahead = block.s + (o + n < t.out_end ? n * (k / 32) : 0);
  __m128i scales[Q][4];
  __m512i buffer[5][Q];
  __m512 acc[Q][R];
#pragma GCC unroll 8
  for (int q = 0; q < Q; ++q)
#pragma GCC unroll 4
    for (int r = 0; r < R; ++r) acc[q][r] = _mm512_setzero_ps();
  for (int64_t c = 0; c < chunks; ++c) {
    if constexpr (W::kType == DType::kF4E2M1x2)
      if ((c & 3) == 0) {
        for (int q = 0; q < Q; ++q) fp4_scales(block.quad(q), c * 4, k / 32 - c * 4, scales[q]);
        for (int i = 0; i < Q; ++i)
          _mm_prefetch(reinterpret_cast<const char*>(scale_ahead + (c * Q + i * 4) * 16), _MM_HINT_T0);
      }
    if (c < full)
      direct_chunk<W, Q, R, false, FULL>(block, x, scale, k, c, ahead + c * (Q * 4 * 64), scales, buffer, acc);
    else
      direct_chunk<W, Q, R, true, FULL>(block, x, scale, k, c, ahead + c * (Q * 4 * 64), scales, buffer, acc);
  }
#pragma GCC unroll 4
  for (int r = 0; r < R; ++r) {
    store16(t, row0 + r, o, n, sum_lanes(acc[0][r], acc[1][r], acc[2][r], acc[3][r]));
    if constexpr (Q == 8)
      if (n > 16) store16(t, row0 + r, o + 16, n - 16, sum_lanes(acc[4][r], acc[5][r], acc[6][r], acc[7][r]));
  }
}

template <typename W, int R>
DI_INLINE void direct_rows(const GemmTask& t, int64_t row0, int64_t o, int64_t n) {
  constexpr int kWide = R <= 2 ? R : 1;  // more rows take 16 outputs at a time
  if (n == 32)
    direct_block<W, 8, kWide, true>(t, row0, o, n);
  else if (n > 16)
    direct_block<W, 8, kWide, false>(t, row0, o, n);
  else if (n == 16)
    direct_block<W, 4, R, true>(t, row0, o, n);
  else
    direct_block<W, 4, R, false>(t, row0, o, n);
}

// Rows in equal groups of at most 4; the second group finds the block in a near cache.
template <typename W>
void direct(const GemmTask& t) {
  const int64_t groups = (t.rows + 3) / 4;
  // Eight quads hide the latency of vdpbf16ps that four do not (FP8 128x256 4.4 instead of 5.3 cycles for 64 bytes, FP4
  // 6.4 instead of 8, Zen 5, 2026-12-01, a throwaway harness), as long as this block and the next stay in L1. Blocks
  // end at multiples of their height, so that each meets one FP8 scale row.
  const int64_t outputs = t.rows <= 2 && W::row_bytes(t.weight->cols) <= 512 ? 32 : 16;
  for (int64_t o = t.out_begin; o < t.out_end;) {
    const int64_t n = t.out_end - o < outputs - o % outputs ? t.out_end - o : outputs - o % outputs;
    for (int64_t g = 0; g < groups; ++g) {
      const int64_t r = t.rows * g / groups;
      switch (t.rows * (g + 1) / groups - r) {
        case 1:
          direct_rows<W, 1>(t, r, o, n);
          break;
        case 2:
          direct_rows<W, 2>(t, r, o, n);
          break;
        case 3:
          direct_rows<W, 3>(t, r, o, n);
          break;
        default:
          direct_rows<W, 4>(t, r, o, n);
      }
    }
    o += n;
  }
}

// ---- tiled path
// 16 outputs [o, o + n) of all k: [chunk][step][quad] vectors. True if an FP8 code was NaN.
template <typename W>
bool decode_block(const GemmTask& t, int64_t o, int64_t n, uint8_t* tile) {
  constexpr int V = W::kVectors;
  const int64_t k = t.weight->cols, bytes = W::row_bytes(k), chunks = (bytes + 63) / 64;
  Quad quads[4];
  for (int q = 0; q < 4; ++q) quads[q] = make_quad<W>(*t.weight, o + 4 * q, o + n - 1);
  const uint8_t* scale = W::kType == DType::kF8E4M3 ? t.weight->scale + o / 32 * ((k + 31) / 32) : nullptr;
  const uint8_t* ahead = o + n < t.out_end ? quads[0].w[0] + n * bytes : t.next ? t.next : quads[0].w[0];
  __m128i scales[4][4];
  __m512i top = _mm512_setzero_si512();
  for (int64_t c = 0; c < chunks; ++c) {
    __m512i delta = _mm512_setzero_si512();
    if constexpr (W::kType == DType::kF4E2M1x2)
      if ((c & 3) == 0)
        for (int q = 0; q < 4; ++q) fp4_scales(quads[q], c * 4, k / 32 - c * 4, scales[q]);
    if constexpr (W::kType == DType::kF8E4M3) {
      const int s0 = scale[2 * c];
      delta = fp8_delta(s0, c * 64 + 32 < k ? scale[2 * c + 1] : s0);
    }
    const bool whole = (c + 1) * 64 <= bytes;
    for (int q = 0; q < 4; ++q) {
      __m512i u[4];
#pragma GCC unroll 4
      for (int i = 0; i < 4; ++i)
        _mm_prefetch(reinterpret_cast<const char*>(ahead + (c * 16 + 4 * q + i) * 64), _MM_HINT_T0);
      if (whole)
        unpack<W, false>(quads[q], c * 64, 0, u);
      else
        unpack<W, true>(quads[q], c * 64, mask64(bytes - c * 64), u);
      if constexpr (W::kType == DType::kF4E2M1x2) delta = fp4_delta(scales[q][c & 3]);
#pragma GCC unroll 4
      for (int i = 0; i < 4; ++i) {
        __m512i w[V];
        decode<W>(u[i], delta, top, w);
#pragma GCC unroll 4
        for (int v = 0; v < V; ++v) _mm512_store_si512(tile + (((c * V * 4 + i * V + v) * 4) + q) * 64, w[v]);
      }
    }
  }
  return met_nan(top);
}

// vpshufd straight from memory: the compiler would keep the vectors in registers it does not have.
template <int S>
DI_INLINE __m512i repeat_from(const uint8_t* p) {
  __m512i v;
  __asm__("vpshufd %2, %1, %0" : "=v"(v) : "m"(*reinterpret_cast<const __m512i*>(p)), "i"(S * 0x55));
  return v;
}

template <int R, int S>
DI_INLINE void micro_step(const uint8_t* w, const uint8_t* const* x, int64_t at, __m512 (*acc)[4]) {
  __m512i wv[4];
#pragma GCC unroll 4
  for (int q = 0; q < 4; ++q) wv[q] = _mm512_load_si512(w + (4 * S + q) * 64);
#pragma GCC unroll 8
  for (int r = 0; r < R; ++r) {
    const __m512i xv = repeat_from<S>(x[r] + at);
#pragma GCC unroll 4
    for (int q = 0; q < 4; ++q) acc[r][q] = dp(acc[r][q], wv[q], xv);
  }
}

template <int R>
__attribute__((noinline)) void micro(const GemmTask& t, const uint8_t* tile, int64_t vectors, int64_t row0, int64_t o,
                                     int64_t n, __mmask16 nan) {
  const uint8_t* x[R];
#pragma GCC unroll 8
  for (int r = 0; r < R; ++r) x[r] = x_row(t, row0 + r);
  __m512 acc[R][4];
#pragma GCC unroll 8
  for (int r = 0; r < R; ++r)
#pragma GCC unroll 4
    for (int q = 0; q < 4; ++q) acc[r][q] = _mm512_setzero_ps();
  for (int64_t at = 0; at < vectors * 64; at += 64, tile += 16 * 64) {
    micro_step<R, 0>(tile, x, at, acc);
    micro_step<R, 1>(tile, x, at, acc);
    micro_step<R, 2>(tile, x, at, acc);
    micro_step<R, 3>(tile, x, at, acc);
  }
#pragma GCC unroll 8
  for (int r = 0; r < R; ++r) {
    __m512 v = sum_lanes(acc[r][0], acc[r][1], acc[r][2], acc[r][3]);
    v = _mm512_mask_mov_ps(v, nan, _mm512_set1_ps(__builtin_nanf("")));
    store16(t, row0 + r, o, n, v);
  }
}

// 24 accumulators, 4 weights and the activation of 32 registers; 6 rows x 4 quads are 24 independent chains.
constexpr int64_t kMicroRows = 6;

template <typename W>
void tiled(const GemmTask& t) {
  const int64_t k = t.weight->cols, vectors = vectors_of(W::kType, k);
  const int64_t groups = (t.rows + kMicroRows - 1) / kMicroRows;
  for (int64_t o = t.out_begin; o < t.out_end;) {
    const int64_t n = t.out_end - o < 16 - o % 16 ? t.out_end - o : 16 - o % 16;
    __mmask16 nan = 0;
    if (decode_block<W>(t, o, n, t.tile))
      for (int64_t i = 0; i < n; ++i)
        if (has_nan(static_cast<const uint8_t*>(t.weight->data) + (o + i) * k, k))
          nan |= static_cast<__mmask16>(1u << i);
    for (int64_t g = 0; g < groups; ++g) {  // equal shares: 7 rows are 4 + 3
      const int64_t r = t.rows * g / groups;
      switch (t.rows * (g + 1) / groups - r) {
        case 1:
          micro<1>(t, t.tile, vectors, r, o, n, nan);
          break;
        case 2:
          micro<2>(t, t.tile, vectors, r, o, n, nan);
          break;
        case 3:
          micro<3>(t, t.tile, vectors, r, o, n, nan);
          break;
        case 4:
          micro<4>(t, t.tile, vectors, r, o, n, nan);
          break;
        case 5:
          micro<5>(t, t.tile, vectors, r, o, n, nan);
          break;
        default:
          micro<6>(t, t.tile, vectors, r, o, n, nan);
      }
    }
    o += n;
  }
}

// Rows up to which decoding again for every 4 of them beats decoding into a tile: measured where both take equally long
// (`bench ops --op linear --rows 5,8,12,16,20`, Zen 5, 2026-12-01: FP4 above 20, FP8 between 10 and 20, bf16 16).
template <typename W>
constexpr int64_t kDirectRows = W::kType == DType::kF4E2M1x2 ? 20
                                : W::kType == DType::kF8E4M3 ? 12
                                                             : 16;

template <typename W>
void gemm_of(const GemmTask& t) {
  if (t.rows <= kDirectRows<W>)
    direct<W>(t);
  else
    tiled<W>(t);
}

void gemm(const GemmTask& t) {
  switch (t.weight->dtype) {
    case DType::kF4E2M1x2:
      return gemm_of<Fp4Weights>(t);
    case DType::kF8E4M3:
      return gemm_of<Fp8Weights>(t);
    default:
      return gemm_of<Bf16Weights>(t);
  }
}

int64_t tile_bytes(DType weight, int64_t k) { return 16 * vectors_of(weight, k) * 64; }

}  // namespace

// swiglu and sum_rows come from the fp32 kernels (plain_kernels()).
const GemmKernels kGemmAvx512Bf16 = {row_bytes, prepare, tile_bytes, gemm, nullptr, nullptr};

}  // namespace deepinfer::cpu
