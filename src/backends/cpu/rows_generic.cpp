// Row-wise loops in plain C++.
#include "backends/cpu/rows.h"
#include "backends/cpu/select.h"

namespace deepinfer::cpu {
namespace {

struct V {
  typedef float T __attribute__((vector_size(16)));
  static constexpr int kLanes = 4;
  static constexpr int kHcRows = 1;  // accumulators are 8 times as many
  static constexpr bool kHcFinish4 = false;
  static void hc_finish4(const float*, const float*, int, const float*, const float*, int, float, float*, float*,
                         float*) {}
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
  typedef int32_t I __attribute__((vector_size(16)));
  static T sub(T a, T b) { return a - b; }
  static T div(T a, T b) { return a / b; }
  static T sqrt(T v) {
    for (int i = 0; i < 4; ++i) v[i] = __builtin_sqrtf(v[i]);
    return v;
  }
  static T min(T a, T b) { return a < b ? a : b; }
  static T max(T a, T b) { return a > b ? a : b; }
  static T less_select(T a, T b, T x, T y) { return a < b ? x : y; }
  static T pow2_of(T magic) { return (T)(((I)magic << 23) + 0x3f800000); }
  static T mantissa(T v) { return (T)(((I)v & 0x7fffff) | 0x3f000000); }
  static T exponent(T v) { return __builtin_convertvector(((I)v >> 23) - 126, T); }
  static T e4m3(const uint8_t* p) {
    T v;
    for (int i = 0; i < 4; ++i) {
      const uint32_t a = p[i] & 0x7f;
      const float m = a < 8 ? static_cast<float>(a) * 0x1p-9f
                            : __builtin_bit_cast(float, a == 127 ? 0x7fc00000u : (a << 20) + (120u << 23));
      v[i] = (p[i] & 0x80) ? -m : m;
    }
    return v;
  }
  static T dup_pairs(const float* p) { return T{p[0], p[0], p[1], p[1]}; }
  static T swap_pairs(T v) { return T{v[1], v[0], v[3], v[2]}; }
  static T negate_even(T v) { return T{-v[0], v[1], -v[2], v[3]}; }
  static float sum(T v) { return (v[0] + v[2]) + (v[1] + v[3]); }
};

#include "backends/cpu/rows_f32.inl.h"
#include "backends/cpu/rows_vector.inl.h"

}  // namespace

const RowKernels kRowsGeneric = {load,        store,      sum_squares, norm,          collapse,     expand,
                                 hc_products, hc_finish,  rotate,      rotate_f32,    norm_rounded, encode_record,
                                 engram_gate, engram_row, pool2,       router_scores, portable_topk};

}  // namespace deepinfer::cpu
