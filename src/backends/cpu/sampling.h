// Sampling operators of the cpu backend: confidence, penalties, sample, logprobs, accept_drafts.
//
// sample draws exactly the token of the reference on every instruction-set path: exp, log and Philox are the same fp32
// and integer operations in vectors (ops/math.h, ops/philox.h), sums are integers. Nothing is sorted: ids whose
// probability cannot matter are dropped in one pass, and top_k and top_p cut the rest by counting over the bits of the
// logits. Sums of logprobs run over 16 fixed lanes in double, so all paths agree there too.
#pragma once
#include "backends/cpu/cpu.h"

namespace deepinfer::cpu {

// Inner loops of one instruction set (sampling.inl.h). Arrays `ids`, `x`, `w` are padded: kSamplingPad more elements
// may be read and written.
inline constexpr int kSamplingPad = 16;
struct SamplingKernels {
  // Largest of the logits that are allowed (mask bit, or no mask), above -infinity and no NaN; its lowest id, or -1.
  float (*best)(const float* z, const uint32_t* mask, int n, int32_t* id);
  // Ascending ids that are allowed and have x = (z - top) * inverse >= floor. Returns how many.
  int (*candidates)(const float* z, const uint32_t* mask, int n, float top, float inverse, float floor, int32_t* ids,
                    float* x);
  // w = exact_exp(x)
  void (*weights)(const float* x, int n, float* w);
  // The id with the largest x + Gumbel noise (src/ops/sample.h), lowest of equals; -1 if n is 0 or no score is above
  // -infinity. ids ascend; ids and x are padded here.
  int32_t (*draw)(int32_t* ids, float* x, int n, uint64_t seed, uint32_t choice, uint32_t position);
  // sums[j] = sum of exact_exp(z[i] - top) over i = j mod 16, in double
  void (*exp_sums)(const float* z, int n, float top, double* sums);
  // The `count` <= n best by (logit falling, id rising); NaN ranks with -infinity.
  void (*best_n)(const float* z, int n, int count, int32_t* ids, float* values);
  // sum of x[i] * w[i]; w bf16
  float (*dot)(DType type, const void* x, const uint16_t* w, int64_t n);
};
extern const SamplingKernels kSamplingGeneric, kSamplingAvx2, kSamplingAvx512;
const SamplingKernels& sampling_kernels(Isa isa);

template <Isa isa>
void confidence(const ops::ConfidenceParams& p, ops::Context& ctx);
template <Isa isa>
void sample(const ops::SampleParams& p, ops::Context& ctx);
template <Isa isa>
void logprobs(const ops::LogprobsParams& p, ops::Context& ctx);
void penalties(const ops::PenaltiesParams& p, ops::Context& ctx);
void accept_drafts(const ops::AcceptDraftsParams& p, ops::Context& ctx);

}  // namespace deepinfer::cpu
