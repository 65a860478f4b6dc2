// Sampling loops in plain C++: vectors of one lane.
#include <cmath>

#include "backends/cpu/sampling.h"

namespace deepinfer::cpu {
namespace {

struct V {
  using T = float;
  using I = uint32_t;
  using M = bool;
  static constexpr int kLanes = 1;
  static T set1(float x) { return x; }
  static T load(const float* p) { return *p; }
  static void store(float* p, T v) { *p = v; }
  static T load_bf16(const uint16_t* p) { return __builtin_bit_cast(float, static_cast<uint32_t>(*p) << 16); }
  static T add(T a, T b) { return a + b; }
  static T sub(T a, T b) { return a - b; }
  static T mul(T a, T b) { return a * b; }
  static T fma(T a, T b, T c) { return std::fma(a, b, c); }
  static T max(T a, T b) { return a > b ? a : b; }  // b where a is NaN
  static T min(T a, T b) { return a < b ? a : b; }
  static T nearest(T a) { return std::nearbyint(a); }
  static M gt(T a, T b) { return a > b; }
  static M ge(T a, T b) { return a >= b; }
  static M eq(T a, T b) { return a == b; }
  static M unordered(T a) { return a != a; }
  static T select(M m, T a, T b) { return m ? a : b; }
  static uint32_t bits(M m) { return m; }
  static M from_bits(uint32_t b) { return b & 1; }
  static I iset1(uint32_t x) { return x; }
  static I iload(const int32_t* p) { return static_cast<uint32_t>(*p); }
  static void istore(int32_t* p, I v) { *p = static_cast<int32_t>(v); }
  static I iadd(I a, I b) { return a + b; }
  static I isub(I a, I b) { return a - b; }
  static I iand(I a, I b) { return a & b; }
  static I ior(I a, I b) { return a | b; }
  static I ixor(I a, I b) { return a ^ b; }
  static M ieq(I a, I b) { return a == b; }
  static I iselect(M m, I a, I b) { return m ? a : b; }
  template <int n>
  static I srl(I a) {
    return a >> n;
  }
  template <int n>
  static I sra(I a) {
    return static_cast<uint32_t>(static_cast<int32_t>(a) >> n);
  }
  template <int n>
  static I sll(I a) {
    return a << n;
  }
  // Values outside of int32 only come from lanes whose result is not used.
  static I to_int(T a) { return a > -1e9f && a < 1e9f ? static_cast<uint32_t>(static_cast<int32_t>(a)) : 0; }
  static T from_int(I a) { return static_cast<float>(static_cast<int32_t>(a)); }
  static I as_int(T a) { return __builtin_bit_cast(uint32_t, a); }
  static T as_float(I a) { return __builtin_bit_cast(float, a); }
  static void multiply(I a, uint32_t c, I& high, I& low) {
    const uint64_t product = static_cast<uint64_t>(a) * c;
    high = static_cast<uint32_t>(product >> 32);
    low = static_cast<uint32_t>(product);
  }
  static void compress(uint32_t, int first, T v, int32_t* ids, float* x) {
    *ids = first;
    *x = v;
  }
};

#include "backends/cpu/sampling.inl.h"

}  // namespace

const SamplingKernels kSamplingGeneric = {best, candidates, weights, draw, exp_sums, best_n, dot};

}  // namespace deepinfer::cpu
