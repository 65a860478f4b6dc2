#include "backends/cpu/cpu.h"

namespace deepinfer::cpu {

void fill_elementwise(OpTable&, Isa) {}

}  // namespace deepinfer::cpu
