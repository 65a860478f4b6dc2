// Row-wise loops in plain C++.
#include "backends/cpu/rows.h"
#include "backends/cpu/select.h"

namespace deepinfer::cpu {
namespace {

struct V {
  typedef float T __attribute__((vector_size(16)));
  static constexpr int kLanes = 4;
  static constexpr bool kSinkhorn4 = false;
  static void sinkhorn4(float*, int, float) {}
  static T zero() { return T{0, 0, 0, 0}; }
  static T set1(float x) { return T{x, x, x, x}; }
  static T load(const float* p) {
    T v;
    __builtin_memcpy(&v, p, 16);
    return v;
  }
  static void store(float* p, T v) { __builtin_memcpy(p, &v, 16); }
  static T load_bf16(const uint16_t* p) {
    T v;
    for (int i = 0; i < 4; ++i) v[i] = __builtin_bit_cast(float, static_cast<uint32_t>(p[i]) << 16);
    return v;
  }
  static uint16_t bits(float x) {
    const uint32_t u = __builtin_bit_cast(uint32_t, x);
    if ((u & 0x7fffffffu) > 0x7f800000u) return static_cast<uint16_t>((u >> 16) | 0x40);
    return static_cast<uint16_t>((u + 0x7fffu + ((u >> 16) & 1)) >> 16);
  }
  static void store_bf16(uint16_t* p, T v) {
    for (int i = 0; i < 4; ++i) p[i] = bits(v[i]);
  }
  static T round_bf16(T v) {
    for (int i = 0; i < 4; ++i) v[i] = __builtin_bit_cast(float, static_cast<uint32_t>(bits(v[i])) << 16);
    return v;
  }
  static T add(T a, T b) { return a + b; }
  static T mul(T a, T b) { return a * b; }
  static T fma(T a, T b, T c) { return a * b + c; }
  static float sum(T v) { return (v[0] + v[2]) + (v[1] + v[3]); }
};

#include "backends/cpu/rows_f32.inl.h"

}  // namespace

const RowKernels kRowsGeneric = {load,   store,      sum_squares,   norm,        collapse,   expand, sinkhorn,
                                 rotate, rotate_f32, encode_record, engram_gate, engram_row, pool2,  portable_topk};

}  // namespace deepinfer::cpu
