#include "backends/cpu/cpu.h"

#include "base/cpu_features.h"

namespace deepinfer::cpu {

const char* isa_name(Isa isa) {
  switch (isa) {
    case Isa::kGeneric:
      return "generic";
    case Isa::kAvx2:
      return "avx2";
    case Isa::kAvx512:
      return "avx512";
    case Isa::kAvx512Bf16:
      return "avx512_bf16";
    case Isa::kAmx:
      return "amx";
  }
  return "?";
}

bool isa_supported(Isa isa) {
  const CpuFeatures& f = cpu_features();
  const bool avx2 = f.avx2 && f.fma && f.f16c;
  const bool avx512 = avx2 && f.avx512f && f.avx512bw && f.avx512vl && f.avx512dq;
  const bool bf16 = avx512 && f.avx512_bf16 && f.avx512_vbmi && f.avx512_vnni;
  switch (isa) {
    case Isa::kGeneric:
      return true;
    case Isa::kAvx2:
      return avx2;
    case Isa::kAvx512:
      return avx512;
    case Isa::kAvx512Bf16:
      return bf16;
    case Isa::kAmx:
      return bf16 && f.amx_tile && f.amx_bf16;
  }
  return false;
}

Isa best_isa() {
  Isa best = Isa::kGeneric;
  for (Isa isa : kIsas)
    if (isa_supported(isa)) best = isa;
  return best;
}

}  // namespace deepinfer::cpu
