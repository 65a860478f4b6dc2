#include "backends/cpu/cpu.h"

namespace deepinfer::cpu {

void fill_linear(OpTable&, Isa) {}

}  // namespace deepinfer::cpu
