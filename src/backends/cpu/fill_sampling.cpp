#include "backends/cpu/cpu.h"

namespace deepinfer::cpu {

void fill_sampling(OpTable&, Isa) {}

}  // namespace deepinfer::cpu
