#include "backends/cpu/linear.h"

namespace deepinfer::cpu {

void fill_linear(OpTable& t, Isa isa) {
  switch (isa) {
    case Isa::kGeneric:
      t.linear = linear<Isa::kGeneric>, t.moe = moe<Isa::kGeneric>;
      break;
    case Isa::kAvx2:
      t.linear = linear<Isa::kAvx2>, t.moe = moe<Isa::kAvx2>;
      break;
    case Isa::kAvx512:
      t.linear = linear<Isa::kAvx512>, t.moe = moe<Isa::kAvx512>;
      break;
    case Isa::kAvx512Bf16:
      t.linear = linear<Isa::kAvx512Bf16>, t.moe = moe<Isa::kAvx512Bf16>;
      break;
    case Isa::kAmx:
      t.linear = linear<Isa::kAmx>, t.moe = moe<Isa::kAmx>;
      break;
  }
}

}  // namespace deepinfer::cpu
