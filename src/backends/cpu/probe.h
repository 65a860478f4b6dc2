// Ceilings of this processor for benchmarks: reads and multiply-adds as fast as one path's instructions go.
#pragma once
#include "backends/cpu/cpu.h"

namespace deepinfer::cpu {
MachineProbe probe(Isa isa);
}
