#include "backends/cpu/attention.h"

namespace deepinfer::cpu {

void fill_attention(OpTable& t, Isa isa) {
  switch (isa) {
    case Isa::kGeneric:
      t.sparse_attention = sparse_attention<Isa::kGeneric>, t.index_scores = index_scores<Isa::kGeneric>;
      break;
    case Isa::kAvx2:
      t.sparse_attention = sparse_attention<Isa::kAvx2>, t.index_scores = index_scores<Isa::kAvx2>;
      break;
    case Isa::kAvx512:
      t.sparse_attention = sparse_attention<Isa::kAvx512>, t.index_scores = index_scores<Isa::kAvx512>;
      break;
    case Isa::kAvx512Bf16:
      t.sparse_attention = sparse_attention<Isa::kAvx512Bf16>, t.index_scores = index_scores<Isa::kAvx512Bf16>;
      break;
    case Isa::kAmx:
      t.sparse_attention = sparse_attention<Isa::kAmx>, t.index_scores = index_scores<Isa::kAmx>;
      break;
  }
}

}  // namespace deepinfer::cpu
