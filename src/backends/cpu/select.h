// Top-k without instruction sets: see RowKernels::topk.
#pragma once
#include <cstdint>

namespace deepinfer::cpu {
int portable_topk(const float* scores, int n, int k, int32_t* out);
}
