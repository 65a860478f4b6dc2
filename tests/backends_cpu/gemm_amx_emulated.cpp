// The AMX kernels with emulated tiles, as kGemmAmxEmulated.
#define DEEPINFER_AMX_EMULATED
#include "backends/cpu/gemm_amx.cpp"
