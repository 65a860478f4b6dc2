#include "backends/cpu/sampling.h"

namespace deepinfer::cpu {
namespace {

template <Isa isa>
void fill(OpTable& t) {
  t.confidence = confidence<isa>;
  t.sample = sample<isa>;
  t.logprobs = logprobs<isa>;
  t.penalties = penalties;
  t.accept_drafts = accept_drafts;
}

}  // namespace

void fill_sampling(OpTable& t, Isa isa) {
  switch (isa) {
    case Isa::kGeneric:
      return fill<Isa::kGeneric>(t);
    case Isa::kAvx2:
      return fill<Isa::kAvx2>(t);
    case Isa::kAvx512:
      return fill<Isa::kAvx512>(t);
    case Isa::kAvx512Bf16:
      return fill<Isa::kAvx512Bf16>(t);
    case Isa::kAmx:
      return fill<Isa::kAmx>(t);
  }
}

}  // namespace deepinfer::cpu
