#include "base/cpu_features.h"

#include <cpuid.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdint>
#include <fstream>

namespace deepinfer {
namespace {

uint64_t xcr0() {
  uint32_t lo, hi;
  __asm__ volatile("xgetbv" : "=a"(lo), "=d"(hi) : "c"(0));
  return (static_cast<uint64_t>(hi) << 32) | lo;
}

// Linux hands out the AMX tile state on request only (arch_prctl ARCH_REQ_XCOMP_PERM, feature 18 = tile data).
bool request_amx() {
  constexpr long kReqXcompPerm = 0x1023, kTileData = 18;
  return syscall(SYS_arch_prctl, kReqXcompPerm, kTileData) == 0;
}

CpuFeatures detect() {
  CpuFeatures f;
  uint32_t a, b, c, d;
  if (!__get_cpuid(1, &a, &b, &c, &d)) return f;
  const bool osxsave = c & (1u << 27);
  const bool avx = c & (1u << 28);
  const bool fma = c & (1u << 12), f16c = c & (1u << 29);
  if (!osxsave || !avx) return f;
  const uint64_t x = xcr0();
  if ((x & 6) != 6) return f;
  f.fma = fma;
  f.f16c = f16c;
  if (!__get_cpuid_count(7, 0, &a, &b, &c, &d)) return f;
  const uint32_t max_subleaf = a;
  f.avx2 = b & (1u << 5);
  if ((x & 0xe6) == 0xe6) {
    f.avx512f = b & (1u << 16);
    f.avx512dq = b & (1u << 17);
    f.avx512bw = b & (1u << 30);
    f.avx512vl = b & (1u << 31);
    f.avx512_vbmi = c & (1u << 1);
    f.avx512_vnni = c & (1u << 11);
  }
  const bool tile = d & (1u << 24), tile_bf16 = d & (1u << 22), tile_int8 = d & (1u << 25);
  if (max_subleaf >= 1) {
    uint32_t a1, b1, c1, d1;
    if (__get_cpuid_count(7, 1, &a1, &b1, &c1, &d1)) f.avx512_bf16 = f.avx512f && (a1 & (1u << 5));
  }
  if (tile && (x & 0x60000) == 0x60000 && request_amx()) {
    f.amx_tile = true;
    f.amx_bf16 = tile_bf16;
    f.amx_int8 = tile_int8;
  }
  return f;
}

}  // namespace

const CpuFeatures& cpu_features() {
  static const CpuFeatures features = detect();
  return features;
}

std::string cpu_features_string() {
  const CpuFeatures& f = cpu_features();
  std::string out;
  auto add = [&](bool on, const char* name) {
    if (on) out += (out.empty() ? "" : " ") + std::string(name);
  };
  add(f.avx2, "avx2");
  add(f.fma, "fma");
  add(f.f16c, "f16c");
  add(f.avx512f, "avx512f");
  add(f.avx512bw, "avx512bw");
  add(f.avx512vl, "avx512vl");
  add(f.avx512dq, "avx512dq");
  add(f.avx512_vnni, "avx512_vnni");
  add(f.avx512_bf16, "avx512_bf16");
  add(f.avx512_vbmi, "avx512_vbmi");
  add(f.amx_tile, "amx_tile");
  add(f.amx_bf16, "amx_bf16");
  add(f.amx_int8, "amx_int8");
  return out.empty() ? "sse2" : out;
}

std::string cpu_model_name() {
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);)
    if (line.rfind("model name", 0) == 0)
      if (const size_t at = line.find(": "); at != std::string::npos) return line.substr(at + 2);
  return "unknown";
}

}  // namespace deepinfer
