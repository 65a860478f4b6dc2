// linear and moe of the cpu backend for one instruction-set path (src/ops/linear.h, src/ops/moe.h).
#pragma once
#include "backends/cpu/cpu.h"

namespace deepinfer::cpu {

template <Isa isa>
void linear(const ops::LinearParams& p, ops::Context& ctx);
template <Isa isa>
void moe(const ops::MoeParams& p, ops::Context& ctx);

}  // namespace deepinfer::cpu
