#include "backends/cpu/probe.h"

#include <immintrin.h>

#include <algorithm>
#include <atomic>

#include "base/stopwatch.h"

// Functions carry their instruction set as an attribute: they are short, call nothing, and run only on their own path.
#define DI_TARGET(set) __attribute__((target(set), noinline))

namespace deepinfer::cpu {
namespace {

std::atomic<uint64_t> sink;  // what was read or computed ends here, so that nothing is optimised away

// ---- reading. Four places a quarter apart are read side by side: more open pages and prefetch streams than one.
uint64_t read_generic(const uint8_t* data, int64_t bytes) {
  __m128i a[4] = {_mm_setzero_si128(), _mm_setzero_si128(), _mm_setzero_si128(), _mm_setzero_si128()};
  const int64_t quarter = bytes / 4 / 64 * 64;
  for (int64_t i = 0; i < quarter; i += 64)
    for (int s = 0; s < 4; ++s)
      for (int k = 0; k < 64; k += 16)
        a[s] = _mm_xor_si128(a[s], _mm_loadu_si128(reinterpret_cast<const __m128i*>(data + s * quarter + i + k)));
  const __m128i x = _mm_xor_si128(_mm_xor_si128(a[0], a[1]), _mm_xor_si128(a[2], a[3]));
  return static_cast<uint64_t>(_mm_cvtsi128_si64(x));
}
DI_TARGET("avx2") uint64_t read_avx2(const uint8_t* data, int64_t bytes) {
  __m256i a[4] = {_mm256_setzero_si256(), _mm256_setzero_si256(), _mm256_setzero_si256(), _mm256_setzero_si256()};
  const int64_t quarter = bytes / 4 / 64 * 64;
  for (int64_t i = 0; i < quarter; i += 64)
    for (int s = 0; s < 4; ++s)
      for (int k = 0; k < 64; k += 32)
        a[s] = _mm256_xor_si256(a[s], _mm256_loadu_si256(reinterpret_cast<const __m256i*>(data + s * quarter + i + k)));
  const __m256i x = _mm256_xor_si256(_mm256_xor_si256(a[0], a[1]), _mm256_xor_si256(a[2], a[3]));
  return static_cast<uint64_t>(_mm_cvtsi128_si64(_mm256_castsi256_si128(x)));
}
DI_TARGET("avx512f") uint64_t read_avx512(const uint8_t* data, int64_t bytes) {
  __m512i a[4] = {_mm512_setzero_si512(), _mm512_setzero_si512(), _mm512_setzero_si512(), _mm512_setzero_si512()};
  const int64_t quarter = bytes / 4 / 128 * 128;
  for (int64_t i = 0; i < quarter; i += 128)
    for (int s = 0; s < 4; ++s)
      for (int k = 0; k < 128; k += 64) a[s] = _mm512_xor_si512(a[s], _mm512_loadu_si512(data + s * quarter + i + k));
  const __m512i x = _mm512_xor_si512(_mm512_xor_si512(a[0], a[1]), _mm512_xor_si512(a[2], a[3]));
  return static_cast<uint64_t>(_mm512_reduce_add_epi64(x));
}

// Small sets are read several times, so that a sample is long against starting the threads.
template <uint64_t (*kRead)(const uint8_t*, int64_t)>
double read_bandwidth(const uint8_t* data, int64_t bytes, ThreadPool& pool) {
  const int64_t times = std::max<int64_t>(1, (int64_t{64} << 20) / std::max<int64_t>(1, bytes));
  const auto start = Clock::now();
  pool.run([&](int thread, int threads) {
    const int64_t begin = bytes * thread / threads / 64 * 64, end = bytes * (thread + 1) / threads / 64 * 64;
    uint64_t x = 0;
    for (int64_t i = 0; i < times; ++i) {
      x += kRead(data + begin, end - begin);
      __asm__ volatile("" : : : "memory");  // else the same data need not be read again
    }
    sink.fetch_add(x, std::memory_order_relaxed);
  });
  return static_cast<double>(bytes) * static_cast<double>(times) / seconds_since(start);
}

// ---- multiply-adds on registers: 12 or 16 chains hide the latency of every processor we know. Each returns what it
// computed; kFlops is 2 x the multiply-adds of a call.
constexpr int kRounds = 200'000;

struct Fma128 {
  static constexpr double kFlops = 12.0 * 4 * 2 * kRounds;
  static double work() {
    __m128 c[12];
    for (int i = 0; i < 12; ++i) c[i] = _mm_set1_ps(static_cast<float>(i));
    const __m128 a = _mm_set1_ps(0.999f), b = _mm_set1_ps(0.001f);
    for (int r = 0; r < kRounds; ++r)
      for (int i = 0; i < 12; ++i) c[i] = _mm_add_ps(_mm_mul_ps(c[i], a), b);
    for (int i = 1; i < 12; ++i) c[0] = _mm_add_ps(c[0], c[i]);
    return static_cast<double>(_mm_cvtss_f32(c[0]));
  }
};
struct Fma256 {
  static constexpr double kFlops = 12.0 * 8 * 2 * kRounds;
  DI_TARGET("avx2,fma") static double work() {
    __m256 c[12];
    for (int i = 0; i < 12; ++i) c[i] = _mm256_set1_ps(static_cast<float>(i));
    const __m256 a = _mm256_set1_ps(0.999f), b = _mm256_set1_ps(0.001f);
    for (int r = 0; r < kRounds; ++r)
      for (int i = 0; i < 12; ++i) c[i] = _mm256_fmadd_ps(c[i], a, b);
    for (int i = 1; i < 12; ++i) c[0] = _mm256_add_ps(c[0], c[i]);
    return static_cast<double>(_mm256_cvtss_f32(c[0]));
  }
};
struct Fma512 {
  static constexpr double kFlops = 16.0 * 16 * 2 * kRounds;
  DI_TARGET("avx512f") static double work() {
    __m512 c[16];
    for (int i = 0; i < 16; ++i) c[i] = _mm512_set1_ps(static_cast<float>(i));
    const __m512 a = _mm512_set1_ps(0.999f), b = _mm512_set1_ps(0.001f);
    for (int r = 0; r < kRounds; ++r)
      for (int i = 0; i < 16; ++i) c[i] = _mm512_fmadd_ps(c[i], a, b);
    for (int i = 1; i < 16; ++i) c[0] = _mm512_add_ps(c[0], c[i]);
    return static_cast<double>(_mm512_cvtss_f32(c[0]));
  }
};
struct Bf16x512 {
  static constexpr double kFlops = 16.0 * 32 * 2 * kRounds;
  DI_TARGET("avx512f,avx512bf16") static double work() {
    __m512 c[16];
    for (int i = 0; i < 16; ++i) c[i] = _mm512_set1_ps(static_cast<float>(i));
    const __m512i a = _mm512_set1_epi16(0x3f80), b = _mm512_set1_epi16(0x3c00);
    for (int r = 0; r < kRounds; ++r)
      for (int i = 0; i < 16; ++i) c[i] = _mm512_dpbf16_ps(c[i], (__m512bh)a, (__m512bh)b);
    for (int i = 1; i < 16; ++i) c[0] = _mm512_add_ps(c[0], c[i]);
    return static_cast<double>(_mm512_cvtss_f32(c[0]));
  }
};
struct Int8x512 {
  static constexpr double kFlops = 16.0 * 64 * 2 * kRounds;
  DI_TARGET("avx512f,avx512vnni") static double work() {
    __m512i c[16];
    for (int i = 0; i < 16; ++i) c[i] = _mm512_set1_epi32(i);
    const __m512i a = _mm512_set1_epi8(1), b = _mm512_set1_epi8(2);
    for (int r = 0; r < kRounds; ++r)
      for (int i = 0; i < 16; ++i) c[i] = _mm512_dpbusd_epi32(c[i], a, b);
    for (int i = 1; i < 16; ++i) c[0] = _mm512_add_epi32(c[0], c[i]);
    return static_cast<double>(_mm_cvtsi128_si32(_mm512_castsi512_si128(c[0])));
  }
};
// Eight tiles: four sums, two pairs of operands, as the product's kernel uses them.
struct Bf16Tile {
  static constexpr int kTileRounds = kRounds / 16;
  static constexpr double kFlops = 4.0 * 16 * 16 * 32 * 2 * kTileRounds;
  DI_TARGET("avx512f,amx-tile,amx-bf16") static double work() {
    struct alignas(64) {
      uint8_t palette = 1, start_row = 0, reserved[14] = {};
      uint16_t column_bytes[16] = {64, 64, 64, 64, 64, 64, 64, 64};
      uint8_t rows[16] = {16, 16, 16, 16, 16, 16, 16, 16};
    } const config;
    alignas(64) float out[256] = {};
    _tile_loadconfig(&config);
    __asm__ volatile(
        "tilezero %%tmm0; tilezero %%tmm1; tilezero %%tmm2; tilezero %%tmm3;"
        "tilezero %%tmm4; tilezero %%tmm5; tilezero %%tmm6; tilezero %%tmm7" ::
            : "memory");
    for (int r = 0; r < kTileRounds; ++r)
      __asm__ volatile(
          "tdpbf16ps %%tmm6, %%tmm4, %%tmm0; tdpbf16ps %%tmm7, %%tmm4, %%tmm1;"
          "tdpbf16ps %%tmm6, %%tmm5, %%tmm2; tdpbf16ps %%tmm7, %%tmm5, %%tmm3" ::
              : "memory");
    __asm__ volatile("tilestored %%tmm0, (%0,%1,1)" : : "r"(out), "r"(int64_t{64}) : "memory");
    _tile_release();
    return static_cast<double>(out[0]);
  }
};
template <typename Kernel>
double peak(ThreadPool& pool) {
  const auto start = Clock::now();
  pool.run([&](int, int) {
    sink.fetch_add(static_cast<uint64_t>(static_cast<int64_t>(Kernel::work() * 1e-6)), std::memory_order_relaxed);
  });
  return Kernel::kFlops * pool.num_threads() / seconds_since(start);
}

// A unit is what the path's kernels use, not what the processor could do: gemm_*, attention_* and index_scores.
template <Isa isa>
double peak_flops(ops::Unit unit, ThreadPool& pool) {
  if (unit == ops::Unit::kNone) return 0;
  if constexpr (isa >= Isa::kAvx512Bf16) {
    if (unit == ops::Unit::kInt8) return peak<Int8x512>(pool);
    if constexpr (isa == Isa::kAmx)
      if (unit == ops::Unit::kMatrix) return peak<Bf16Tile>(pool);
    if (unit == ops::Unit::kMatrix) return peak<Bf16x512>(pool);
  }
  if constexpr (isa >= Isa::kAvx512) return peak<Fma512>(pool);
  if constexpr (isa == Isa::kAvx2) return peak<Fma256>(pool);
  return peak<Fma128>(pool);
}

template <Isa isa>
const char* instruction(ops::Unit unit) {
  if (unit == ops::Unit::kNone) return "none";
  if constexpr (isa >= Isa::kAvx512Bf16) {
    if (unit == ops::Unit::kInt8) return "vpdpbusd zmm";
    if (unit == ops::Unit::kMatrix) return isa == Isa::kAmx ? "tdpbf16ps" : "vdpbf16ps zmm";
  }
  return isa >= Isa::kAvx512 ? "vfmadd zmm" : isa == Isa::kAvx2 ? "vfmadd ymm" : "mulps + addps xmm";
}

}  // namespace

MachineProbe probe(Isa isa) {
  switch (isa) {
    case Isa::kGeneric:
      break;
    case Isa::kAvx2:
      return {read_bandwidth<read_avx2>, peak_flops<Isa::kAvx2>, instruction<Isa::kAvx2>};
    case Isa::kAvx512:
      return {read_bandwidth<read_avx512>, peak_flops<Isa::kAvx512>, instruction<Isa::kAvx512>};
    case Isa::kAvx512Bf16:
      return {read_bandwidth<read_avx512>, peak_flops<Isa::kAvx512Bf16>, instruction<Isa::kAvx512Bf16>};
    case Isa::kAmx:
      return {read_bandwidth<read_avx512>, peak_flops<Isa::kAmx>, instruction<Isa::kAmx>};
  }
  return {read_bandwidth<read_generic>, peak_flops<Isa::kGeneric>, instruction<Isa::kGeneric>};
}

}  // namespace deepinfer::cpu
