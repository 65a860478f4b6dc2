// bf16 products with tdpbf16ps (AMX). Decoding and activations as in gemm_bf16.inl.h; decoded vectors are turned so
// that a tile row is one pair of columns of 16 outputs, and activation vectors are tile rows as they lie:
//   A [16 rows of X, 16 pairs]   B [16 pairs, 16 outputs]   C [16 rows, 16 outputs] fp32
// Two blocks of rows by two blocks of outputs keep four C tiles busy (tdpbf16ps: 16 cycles each, about 52 to the next
// on the same tile). A sum takes its vectors of 16 pairs in ascending order whatever the number of rows: short blocks
// are padded with zero rows, so one row and 32 rows run the same instructions. With DEEPINFER_AMX_EMULATED the tile
// instructions are plain loops (tests/backends_cpu), for machines without AMX.
#include <immintrin.h>

#include <cstring>
#include <type_traits>

#include "backends/cpu/gemm.h"

namespace deepinfer::cpu {
namespace {

#include "backends/cpu/gemm_bf16.inl.h"

constexpr int64_t kTileRows = 16, kRowBlocks = 2, kOutputBlocks = 2;
constexpr int64_t kGroupRows = kTileRows * kRowBlocks, kBlockOutputs = 16,
                  kGroupOutputs = kBlockOutputs * kOutputBlocks;
constexpr int64_t kTileBytes = 1024;

#ifdef DEEPINFER_AMX_EMULATED
struct Tile {
  alignas(64) uint8_t bytes[16][64];
};
thread_local Tile emulated_tiles[8];
float emulated_bf16(const uint8_t* p) {
  uint16_t h;
  std::memcpy(&h, p, 2);
  return __builtin_bit_cast(float, static_cast<uint32_t>(h) << 16);
}
template <int T>
void tile_zero() {
  std::memset(&emulated_tiles[T], 0, sizeof(Tile));
}
template <int T>
void tile_load(const void* p, int64_t stride) {
  for (int r = 0; r < 16; ++r) std::memcpy(emulated_tiles[T].bytes[r], static_cast<const uint8_t*>(p) + r * stride, 64);
}
template <int T>
void tile_store(void* p, int64_t stride) {
  for (int r = 0; r < 16; ++r) std::memcpy(static_cast<uint8_t*>(p) + r * stride, emulated_tiles[T].bytes[r], 64);
}
template <int C, int A, int B>
void tile_dp() {
  for (int m = 0; m < 16; ++m)
    for (int n = 0; n < 16; ++n) {
      float sum;
      std::memcpy(&sum, &emulated_tiles[C].bytes[m][4 * n], 4);
      for (int k = 0; k < 16; ++k) {
        const uint8_t *a = &emulated_tiles[A].bytes[m][4 * k], *b = &emulated_tiles[B].bytes[k][4 * n];
        sum += emulated_bf16(a) * emulated_bf16(b);
        sum += emulated_bf16(a + 2) * emulated_bf16(b + 2);
      }
      std::memcpy(&emulated_tiles[C].bytes[m][4 * n], &sum, 4);
    }
}
void tiles_begin() {}
void tiles_end() {}
#else
// Written out because g++ 12's intrinsics are macros that want literal tile numbers.
template <int T>
DI_INLINE void tile_zero() {
  __asm__ volatile("tilezero %%tmm%c0" : : "i"(T));
}
template <int T>
DI_INLINE void tile_load(const void* p, int64_t stride) {
  __asm__ volatile("tileloadd (%0,%1,1), %%tmm%c2" : : "r"(p), "r"(stride), "i"(T) : "memory");
}
template <int T>
DI_INLINE void tile_store(void* p, int64_t stride) {
  __asm__ volatile("tilestored %%tmm%c2, (%0,%1,1)" : : "r"(p), "r"(stride), "i"(T) : "memory");
}
template <int C, int A, int B>
DI_INLINE void tile_dp() {
  __asm__ volatile("tdpbf16ps %%tmm%c2, %%tmm%c1, %%tmm%c0" : : "i"(C), "i"(A), "i"(B));
}
// Every tile 16 rows of 64 bytes. The permission was asked for by base/cpu_features; the state is the thread's own and
// is given back after each call, so that switching threads stays cheap.
void tiles_begin() {
  struct alignas(64) Config {
    uint8_t palette = 1, start_row = 0, reserved[14] = {};
    uint16_t column_bytes[16] = {64, 64, 64, 64, 64, 64, 64, 64};
    uint8_t rows[16] = {16, 16, 16, 16, 16, 16, 16, 16};
  };
  const Config config;
  _tile_loadconfig(&config);
}
void tiles_end() { _tile_release(); }
#endif

// C tiles 0..3 (row block, output block), A tiles 4, 5, B tiles 6, 7.
template <bool ROWS2, bool OUTPUTS2>
DI_INLINE void multiply(const uint8_t* a, int64_t a_stride, const uint8_t* b, int64_t b_block) {
  tile_load<4>(a, a_stride);
  tile_load<6>(b, 64);
  tile_dp<0, 4, 6>();
  if constexpr (OUTPUTS2) {
    tile_load<7>(b + b_block, 64);
    tile_dp<1, 4, 7>();
  }
  if constexpr (ROWS2) {
    tile_load<5>(a + 16 * a_stride, a_stride);
    tile_dp<2, 5, 6>();
    if constexpr (OUTPUTS2) tile_dp<3, 5, 7>();
  }
}

// Chunk c of 16 outputs -> kVectors B tiles.
template <typename W>
DI_INLINE void decode_chunk(const Quad* quads, const uint8_t* scale, int64_t k, int64_t c, __m128i (*scales)[4],
                            const uint8_t* ahead, __m512i& top, uint8_t* out) {
  constexpr int V = W::kVectors;
  const int64_t bytes = W::row_bytes(k);
  __m512i u[4][4], delta[4];
  if constexpr (W::kType == DType::kF4E2M1x2)
    if ((c & 3) == 0)
      for (int q = 0; q < 4; ++q) fp4_scales(quads[q], c * 4, k / 32 - c * 4, scales[q]);
#pragma GCC unroll 4
  for (int q = 0; q < 4; ++q) {
#pragma GCC unroll 4
    for (int i = 0; i < 4; ++i) _mm_prefetch(reinterpret_cast<const char*>(ahead + (4 * q + i) * 64), _MM_HINT_T0);
    if ((c + 1) * 64 <= bytes)
      unpack<W, false>(quads[q], c * 64, 0, u[q]);
    else
      unpack<W, true>(quads[q], c * 64, mask64(bytes - c * 64), u[q]);
    delta[q] = _mm512_setzero_si512();
    if constexpr (W::kType == DType::kF4E2M1x2) delta[q] = fp4_delta(scales[q][c & 3]);
    if constexpr (W::kType == DType::kF8E4M3) {
      const int s0 = scale[2 * c];
      delta[q] = fp8_delta(s0, c * 64 + 32 < k ? scale[2 * c + 1] : s0);
    }
  }
#pragma GCC unroll 4
  for (int i = 0; i < 4; ++i) {
    __m512i w[4][V];
#pragma GCC unroll 4
    for (int q = 0; q < 4; ++q) decode<W>(u[q][i], delta[q], top, w[q]);
#pragma GCC unroll 4
    for (int v = 0; v < V; ++v) {
      // Lane l of step s = i V + v is pair 4l + s % 4 of vector s / 4.
      const int step = i * V + v;
      uint8_t* tile = out + step / 4 * kTileBytes + step % 4 * 64;
      const __m512i a0 = _mm512_shuffle_i32x4(w[0][v], w[1][v], 0x44),
                    a1 = _mm512_shuffle_i32x4(w[0][v], w[1][v], 0xee);
      const __m512i b0 = _mm512_shuffle_i32x4(w[2][v], w[3][v], 0x44),
                    b1 = _mm512_shuffle_i32x4(w[2][v], w[3][v], 0xee);
      _mm512_store_si512(tile, _mm512_shuffle_i32x4(a0, b0, 0x88));
      _mm512_store_si512(tile + 4 * 64, _mm512_shuffle_i32x4(a0, b0, 0xdd));
      _mm512_store_si512(tile + 8 * 64, _mm512_shuffle_i32x4(a1, b1, 0x88));
      _mm512_store_si512(tile + 12 * 64, _mm512_shuffle_i32x4(a1, b1, 0xdd));
    }
  }
}

// Scratch: decoded tiles of two output blocks, the C tiles, then copied activation rows.
struct Scratch {
  uint8_t* b;
  float* c;    // [kGroupRows, kGroupOutputs]
  uint8_t* a;  // [kGroupRows] rows
};
int64_t b_block_bytes(DType weight, int64_t k) { return vectors_of(weight, k) * kTileBytes; }
int64_t tile_bytes(DType weight, int64_t k) {
  return kOutputBlocks * b_block_bytes(weight, k) + kGroupRows * kGroupOutputs * 4 +
         kGroupRows * vectors_of(weight, k) * 64;
}

// Rows [row, row + n) as equally spaced rows, zero rows up to whole tiles.
const uint8_t* gather(const GemmTask& t, int64_t row, int64_t n, int64_t bytes, uint8_t* copy, int64_t& stride) {
  const int64_t whole = (n + kTileRows - 1) / kTileRows * kTileRows;
  bool even = whole == n;
  for (int64_t i = 1; even && t.x_rows && i < n; ++i) even = t.x_rows[row + i] == t.x_rows[row] + i;
  if (even) {
    stride = t.x_stride;
    return x_row(t, row);
  }
  for (int64_t i = 0; i < n; ++i) std::memcpy(copy + i * bytes, x_row(t, row + i), static_cast<size_t>(bytes));
  std::memset(copy + n * bytes, 0, static_cast<size_t>((whole - n) * bytes));
  stride = bytes;
  return copy;
}

template <typename W, bool ROWS2, bool OUTPUTS2>
void group(const GemmTask& t, const Scratch& s, int64_t row, int64_t rows, int64_t o, int64_t n, const uint8_t* ahead,
           bool decode_now, __m512i& top) {
  constexpr int V = W::kVectors;
  const int64_t k = t.weight->cols, bytes = W::row_bytes(k), chunks = (bytes + 63) / 64;
  const int64_t b_block = b_block_bytes(W::kType, k);
  Quad quads[2][4];
  const uint8_t* scale[2] = {nullptr, nullptr};
  __m128i scales[2][4][4];
  constexpr int kBlocks = OUTPUTS2 ? 2 : 1;
  for (int b = 0; b < kBlocks; ++b) {
    const int64_t first = o + b * kBlockOutputs < o + n - 1 ? o + b * kBlockOutputs : o + n - 1;
    for (int q = 0; q < 4; ++q) quads[b][q] = make_quad<W>(*t.weight, o + b * kBlockOutputs + 4 * q, o + n - 1);
    if constexpr (W::kType == DType::kF8E4M3) scale[b] = t.weight->scale + first / 32 * ((k + 31) / 32);
  }
  int64_t stride;
  const uint8_t* a = gather(t, row, rows, vectors_of(W::kType, k) * 64, s.a, stride);
  tile_zero<0>();
  tile_zero<1>();
  tile_zero<2>();
  tile_zero<3>();
  for (int64_t c = 0; c < chunks; ++c) {
    uint8_t* b = s.b + c * V * kTileBytes;
    if (decode_now)
      for (int i = 0; i < kBlocks; ++i)
        decode_chunk<W>(quads[i], scale[i], k, c, scales[i], ahead + (c * kBlocks + i) * 1024, top, b + i * b_block);
    for (int v = 0; v < V; ++v) multiply<ROWS2, OUTPUTS2>(a + (c * V + v) * 64, stride, b + v * kTileBytes, b_block);
  }
  constexpr int64_t kStride = kGroupOutputs * 4;
  tile_store<0>(s.c, kStride);
  if constexpr (OUTPUTS2) tile_store<1>(s.c + kBlockOutputs, kStride);
  if constexpr (ROWS2) tile_store<2>(s.c + kTileRows * kGroupOutputs, kStride);
  if constexpr (ROWS2 && OUTPUTS2) tile_store<3>(s.c + kTileRows * kGroupOutputs + kBlockOutputs, kStride);
}

template <typename W>
void gemm_of(const GemmTask& t) {
  const int64_t k = t.weight->cols, bytes = W::row_bytes(k);
  Scratch s;
  s.b = t.tile;
  s.c = reinterpret_cast<float*>(s.b + kOutputBlocks * b_block_bytes(W::kType, k));
  s.a = reinterpret_cast<uint8_t*>(s.c + kGroupRows * kGroupOutputs);
  for (int64_t o = t.out_begin; o < t.out_end;) {
    int64_t n = kGroupOutputs - o % kGroupOutputs;  // groups end at multiples of 32 weight rows: one FP8 scale row
    if (n > t.out_end - o) n = t.out_end - o;
    const uint8_t* base = static_cast<const uint8_t*>(t.weight->data);
    const uint8_t* ahead = o + n < t.out_end ? base + (o + n) * bytes : t.next ? t.next : base + o * bytes;
    __m512i top = _mm512_setzero_si512();
    uint32_t nan = 0;
    for (int64_t r = 0; r < t.rows; r += kGroupRows) {
      const int64_t rows = t.rows - r < kGroupRows ? t.rows - r : kGroupRows;
      const bool first = r == 0;
      if (rows > kTileRows)
        n > kBlockOutputs ? group<W, true, true>(t, s, r, rows, o, n, ahead, first, top)
                          : group<W, true, false>(t, s, r, rows, o, n, ahead, first, top);
      else
        n > kBlockOutputs ? group<W, false, true>(t, s, r, rows, o, n, ahead, first, top)
                          : group<W, false, false>(t, s, r, rows, o, n, ahead, first, top);
      if (first && met_nan(top))
        for (int64_t i = 0; i < n; ++i)
          if (has_nan(static_cast<const uint8_t*>(t.weight->data) + (o + i) * k, k)) nan |= 1u << i;
      for (int64_t i = 0; i < rows; ++i)
        for (int64_t b = 0; b < n; b += kBlockOutputs) {
          __m512 v = _mm512_load_ps(s.c + i * kGroupOutputs + b);
          v = _mm512_mask_mov_ps(v, static_cast<__mmask16>(nan >> b), _mm512_set1_ps(__builtin_nanf("")));
          store16(t, r + i, o + b, n - b, v);
        }
    }
    o += n;
  }
}

void gemm(const GemmTask& t) {
  if (t.rows == 0 || t.out_begin == t.out_end) return;
  tiles_begin();
  switch (t.weight->dtype) {
    case DType::kF4E2M1x2:
      gemm_of<Fp4Weights>(t);
      break;
    case DType::kF8E4M3:
      gemm_of<Fp8Weights>(t);
      break;
    default:
      gemm_of<Bf16Weights>(t);
  }
  tiles_end();
}

}  // namespace

#ifdef DEEPINFER_AMX_EMULATED
extern const GemmKernels kGemmAmxEmulated;
const GemmKernels kGemmAmxEmulated = {row_bytes, prepare, tile_bytes, gemm, nullptr, nullptr};
#else
// swiglu and sum_rows come from the fp32 kernels (plain_kernels()).
const GemmKernels kGemmAmx = {row_bytes, prepare, tile_bytes, gemm, nullptr, nullptr};
#endif

}  // namespace deepinfer::cpu
