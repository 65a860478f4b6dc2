// Instruction sets this processor and system can run, found once at start.
#pragma once
#include <string>

namespace deepinfer {

struct CpuFeatures {
  bool avx2 = false, fma = false, f16c = false;
  bool avx512f = false, avx512bw = false, avx512vl = false, avx512dq = false;
  bool avx512_vnni = false, avx512_bf16 = false, avx512_vbmi = false;
  bool amx_tile = false, amx_bf16 = false, amx_int8 = false;  // present and granted by the system
};

const CpuFeatures& cpu_features();
// "avx2 fma f16c avx512f ..." of those present.
std::string cpu_features_string();
// Model name from /proc/cpuinfo, or "unknown".
std::string cpu_model_name();

}  // namespace deepinfer
