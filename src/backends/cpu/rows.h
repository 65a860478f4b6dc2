// Row-wise operators of the cpu backend: everything that is neither a matrix product nor attention. RowKernels are the
// inner loops of one instruction set (rows_f32.inl.h compiled per set); the operators in rows.cpp and select.cpp split
// rows over threads. Sums run over V lanes and one fixed tree.
#pragma once
#include "backends/cpu/cpu.h"

namespace deepinfer::cpu {

struct RowKernels {
  // Activations of n values as fp32, and back (rounded to nearest even for bf16).
  void (*load)(DType act, const void* x, int64_t n, float* out);
  void (*store)(DType act, const float* x, int64_t n, void* out);
  float (*sum_squares)(const float* x, int64_t n);
  // out = act(x * rsqrt(mean x^2 + eps) * w); x holds act values as fp32 and is overwritten by the unrounded result.
  void (*norm)(DType act, float* x, const uint16_t* weight, int64_t n, float eps, void* out);
  // u = act(sum_s pre[s] X[s]), left as fp32 in u
  void (*collapse)(DType act, const void* streams, int m, int64_t d, const float* pre, float* u);
  void (*expand)(DType act, void* streams, int m, int64_t d, const void* y, const float* post, const float* comb);
  // t [rows, mix] = products of rows of streams (x_stride bytes apart) with fn [mix, n]; inverse = 1 / their root mean
  // squares.
  void (*hc_products)(DType act, const uint8_t* x, int64_t x_stride, int rows, int64_t n, const float* fn, int mix,
                      float eps, float* t, float* inverse);
  // Those products -> coefficients
  // (src/ops/hc_mix.h).
  void (*hc_finish)(const float* t, const float* inverse, int rows, int m, const float* scale, const float* base,
                    int iters, float eps, float* pre, float* post, float* comb);
  // One rotation of 2 * half values at x (act type), or at fp32 values that are rounded to act.
  void (*rotate)(DType act, void* x, const float* cos, const float* sin, int half, bool inverse);
  void (*rotate_f32)(DType act, float* x, const float* cos, const float* sin, int half);
  // x = act(x * rsqrt(mean x^2 + eps) * w) as fp32
  void (*norm_rounded)(DType act, float* x, const uint16_t* weight, int64_t n, float eps);
  void (*encode)(CacheFormat format, const float* x, int64_t d, uint8_t* record);
  void (*engram_gate)(DType act, void* x, const void* key, const void* value, const uint16_t* qw, const uint16_t* kw,
                      int64_t d, float eps);
  void (*engram_row)(DType act, const uint8_t* codes, const uint8_t* scale, int dim, void* out);
  // act(softmax-weighted mean of two (score, latent) pairs) per channel
  void (*pool2)(DType act, const float* s0, const float* l0, const float* s1, const float* l1, int64_t d, float* out);
  // sqrt(softplus(z)) (src/ops/router.h)
  void (*router_scores)(const float* z, int n, float* scores);
  // Indices of the k best finite of n scores, ascending; ties: lower index. Returns how many.
  int (*topk)(const float* scores, int n, int k, int32_t* out);
};

extern const RowKernels kRowsGeneric, kRowsAvx2, kRowsAvx512;
const RowKernels& row_kernels(Isa isa);

}  // namespace deepinfer::cpu
