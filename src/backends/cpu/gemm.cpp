#include "backends/cpu/gemm.h"

namespace deepinfer::cpu {

const GemmKernels& plain_kernels(Isa isa) {
  switch (isa) {
    case Isa::kGeneric:
      return kGemmF32Generic;
    case Isa::kAvx2:
      return kGemmF32Avx2;
    default:
      return kGemmF32Avx512;
  }
}

const GemmKernels& gemm_kernels(Isa isa, DType act, const ops::Weight& weight) {
  const bool bf16_path = act == DType::kBF16 && weight.plain_scales && weight.dtype != DType::kF32;
  if (!bf16_path || isa < Isa::kAvx512Bf16) return plain_kernels(isa);
  return isa == Isa::kAmx ? kGemmAmx : kGemmAvx512Bf16;
}

}  // namespace deepinfer::cpu
