// Matrix products of the cpu backend: Y = X W^T with W straight from the checkpoint layout. One GemmKernels per
// arithmetic, one file each:
//   bf16 (gemm_avx512_bf16.cpp): activations and weights as bf16, vdpbf16ps; quantized mode on processors that have it
//   f32  (gemm_f32_*.cpp): everything dequantised to fp32 in registers or small tiles, fma; fp32 mode, older
//   processors, odd weight scales
// Why no repacking: docs/decisions/0002. Bit contract of every kernel: the value of (row, output) depends on that row
// of X, that row of W and K only: one accumulator of `lanes` partial sums, k ascending in the kernel's own order, one
// fixed tree at the end. So a row has the same bits alone (direct path, weights decoded in registers) and in a batch
// (weights decoded once into a tile).
#pragma once
#include "backends/cpu/cpu.h"

namespace deepinfer::cpu {

struct GemmTask {
  const ops::Weight* weight = nullptr;
  int64_t out_begin = 0, out_end = 0;  // rows of the weight to compute
  const uint8_t* x = nullptr;          // prepared activations
  int64_t x_stride = 0;                // bytes between them
  const int32_t* x_rows = nullptr;     // row r of X is x_rows[r], null: r
  int64_t rows = 0;
  void* out = nullptr;     // element (r, o) at out + r * out_stride + o - out_first
  int64_t out_stride = 0;  // elements
  int64_t out_first = 0;
  const int32_t* out_rows = nullptr;  // row r goes to row out_rows[r] of out, null: r
  bool out_bf16 = false;              // else f32
  bool accumulate = false;            // f32 only
  uint8_t* tile = nullptr;            // tile_bytes() scratch of the calling thread
  const uint8_t* next = nullptr;      // weights the thread reads after these, worth fetching early; null: unknown
};

struct GemmKernels {
  // Bytes of a prepared activation row of k values in front of a weight of this type.
  int64_t (*row_bytes)(DType weight, int64_t k);
  // Activations (bf16 or f32, k of them) -> prepared row: quant8-dequant8 per 32 if asked, the kernel's type and order
  // of k, padded with zeros.
  void (*prepare)(DType weight, DType x_type, const void* x, int64_t k, bool quantize, uint8_t* out);
  int64_t (*tile_bytes)(DType weight, int64_t k);
  void (*gemm)(const GemmTask& task);
  // h = act(silu(min(a, limit)) * clamp(b, +-limit) * weight) with a, b rounded to act first (bf16 if round_bf16);
  // model.md 4.7. limit <= 0: no clamps.
  void (*swiglu)(const float* a, const float* b, int64_t n, float limit, float weight, bool round_bf16, float* h);
  // out = act(y[0] + y[1] + ... ) over `count` rows of n floats, in this order.
  void (*sum_rows)(const float* const* y, int count, int64_t n, DType out_type, void* out);
};

// Kernels for activations of type `act` in front of this weight.
const GemmKernels& gemm_kernels(Isa isa, DType act, const ops::Weight& weight);

// The fp32 set of a path: it also has the elementwise helpers (swiglu, sum_rows).
const GemmKernels& plain_kernels(Isa isa);

extern const GemmKernels kGemmF32Generic, kGemmF32Avx2, kGemmF32Avx512, kGemmAvx512Bf16, kGemmAmx;

}  // namespace deepinfer::cpu
