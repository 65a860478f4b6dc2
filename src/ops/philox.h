// Philox4x32-10: counter-based random numbers (Salmon, Moraes, Dror, Shaw, "Parallel random numbers: as easy as 1, 2,
// 3", SC'11).
#pragma once
#include <array>
#include <cstdint>

namespace deepinfer::ops {

inline std::array<uint32_t, 4> philox4x32(std::array<uint32_t, 4> counter, std::array<uint32_t, 2> key) {
  for (int round = 0; round < 10; ++round) {
    const uint64_t a = static_cast<uint64_t>(counter[0]) * 0xD2511F53u,
                   b = static_cast<uint64_t>(counter[2]) * 0xCD9E8D57u;
    counter = {static_cast<uint32_t>(b >> 32) ^ counter[1] ^ key[0], static_cast<uint32_t>(b),
               static_cast<uint32_t>(a >> 32) ^ counter[3] ^ key[1], static_cast<uint32_t>(a)};
    key[0] += 0x9E3779B9u;
    key[1] += 0xBB67AE85u;
  }
  return counter;
}

}  // namespace deepinfer::ops
