#include "backends/cpu/cpu.h"

namespace deepinfer::cpu {

void fill_attention(OpTable&, Isa) {}

}  // namespace deepinfer::cpu
