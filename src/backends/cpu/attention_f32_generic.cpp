// Attention and index scores in fp32: plain C++.
#include <cstring>

#include "backends/cpu/attention.h"

namespace deepinfer::cpu {
namespace {

struct V {
  typedef float T __attribute__((vector_size(16)));
  static constexpr int kLanes = 4;
  static T zero() { return T{0, 0, 0, 0}; }
  static T set1(float x) { return T{x, x, x, x}; }
  static T load(const float* p) {
    T v;
    __builtin_memcpy(&v, p, 16);
    return v;
  }
  static T load_bf16(const uint16_t* p) {
    T v;
    for (int i = 0; i < 4; ++i) v[i] = __builtin_bit_cast(float, static_cast<uint32_t>(p[i]) << 16);
    return v;
  }
  static void store(float* p, T v) { __builtin_memcpy(p, &v, 16); }
  static T fma(T a, T b, T c) { return a * b + c; }
  static float sum(T v) { return (v[0] + v[2]) + (v[1] + v[3]); }
};

#include "backends/cpu/attention_f32.inl.h"

}  // namespace

const AttentionKernels kAttentionF32Generic = {4, decode<false>, scores<false>, weights<false>, values<false>};
const AttentionKernels kAttentionRoundedGeneric = {2, decode<true>, scores<true>, weights<true>, values<true>};
const IndexKernels kIndexF32Generic = {kIndexKeys, block_bytes, query_bytes, decode_keys, decode_query, score};

}  // namespace deepinfer::cpu
