#include "backends/cpu/rows_ops.h"

namespace deepinfer::cpu {
namespace {

template <Isa isa>
void fill(OpTable& t) {
#define DEEPINFER_SET(name, Params) t.name = name<isa>;
  DEEPINFER_ROW_OPS(DEEPINFER_SET)
#undef DEEPINFER_SET
  t.index_topk = index_topk<isa>;
  t.candidate_blocks = candidate_blocks<isa>;
}

}  // namespace

void fill_elementwise(OpTable& t, Isa isa) {
  switch (isa) {
    case Isa::kGeneric:
      fill<Isa::kGeneric>(t);
      break;
    case Isa::kAvx2:
      fill<Isa::kAvx2>(t);
      break;
    case Isa::kAvx512:
      fill<Isa::kAvx512>(t);
      break;
    case Isa::kAvx512Bf16:
      fill<Isa::kAvx512Bf16>(t);
      break;
    case Isa::kAmx:
      fill<Isa::kAmx>(t);
      break;
  }
}

}  // namespace deepinfer::cpu
