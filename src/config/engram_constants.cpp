// Constants of the n-gram hash: primes and multipliers (model.md 4.9b, appendix A).
#include <array>

#include "config/config.h"

namespace deepinfer {
namespace {

using u128 = unsigned __int128;

uint64_t power_mod(uint64_t base, uint64_t exponent, uint64_t modulus) {
  u128 result = 1, b = base % modulus;
  for (; exponent; exponent >>= 1) {
    if (exponent & 1) result = result * b % modulus;
    b = b * b % modulus;
  }
  return static_cast<uint64_t>(result);
}

// numpy's SeedSequence + PCG64, restricted to what default_rng(seed).integers needs.
class NumpyRng {
 public:
  explicit NumpyRng(uint64_t seed) {
    uint32_t words[2] = {static_cast<uint32_t>(seed), static_cast<uint32_t>(seed >> 32)};
    uint32_t hash = 0x43b0d7e5;
    auto hashmix = [&](uint32_t v) {
      v ^= hash;
      hash *= 0x931e8875;
      v *= hash;
      return v ^ (v >> 16);
    };
    auto mix = [](uint32_t x, uint32_t y) {
      const uint32_t r = 0xca01f9ddu * x - 0x4973f715u * y;
      return r ^ (r >> 16);
    };
    std::array<uint32_t, 4> pool;
    for (int i = 0; i < 4; ++i) pool[i] = hashmix(i < 2 ? words[i] : 0);
    for (int from = 0; from < 4; ++from)
      for (int to = 0; to < 4; ++to)
        if (to != from) pool[to] = mix(pool[to], hashmix(pool[from]));
    uint32_t h = 0x8b51f9dd;
    uint32_t out[8];
    for (int i = 0; i < 8; ++i) {
      uint32_t v = pool[i % 4] ^ h;
      h *= 0x58f38ded;
      v *= h;
      out[i] = v ^ (v >> 16);
    }
    auto u64 = [&](int i) { return out[2 * i] | (static_cast<uint64_t>(out[2 * i + 1]) << 32); };
    const u128 initial = (static_cast<u128>(u64(0)) << 64) | u64(1);
    const u128 sequence = (static_cast<u128>(u64(2)) << 64) | u64(3);
    increment_ = 2 * sequence + 1;
    step();
    state_ += initial;
    step();
  }

  uint64_t next() {
    step();
    const uint64_t x = static_cast<uint64_t>(state_ >> 64) ^ static_cast<uint64_t>(state_);
    const int rotate = static_cast<int>(state_ >> 122);
    return (x >> rotate) | (x << ((64 - rotate) & 63));
  }

  // Lemire's multiply-shift with rejection.
  uint64_t below(uint64_t bound) {
    u128 product = static_cast<u128>(next()) * bound;
    if (static_cast<uint64_t>(product) < bound) {
      const uint64_t threshold = (0 - bound) % bound;
      while (static_cast<uint64_t>(product) < threshold) product = static_cast<u128>(next()) * bound;
    }
    return static_cast<uint64_t>(product >> 64);
  }

 private:
  void step() {
    const u128 multiplier = (static_cast<u128>(2549297995355413924ull) << 64) | 4865540595714422341ull;
    state_ = state_ * multiplier + increment_;
  }
  u128 state_ = 0, increment_ = 0;
};

}  // namespace

bool is_prime(int64_t value) {
  if (value < 2) return false;
  const uint64_t n = static_cast<uint64_t>(value);
  constexpr uint64_t kBases[] = {2, 3, 5, 7, 11, 13, 17, 19, 23, 29, 31, 37};  // deterministic for 64-bit numbers
  for (uint64_t p : kBases)
    if (n % p == 0) return n == p;
  uint64_t d = n - 1;
  int s = 0;
  for (; d % 2 == 0; d /= 2) ++s;
  for (uint64_t a : kBases) {
    u128 x = power_mod(a, d, n);
    if (x == 1 || x == n - 1) continue;
    bool composite = true;
    for (int i = 1; i < s && composite; ++i) {
      x = x * x % n;
      composite = x != n - 1;
    }
    if (composite) return false;
  }
  return true;
}

std::vector<int64_t> numpy_integers(uint64_t seed, uint64_t bound, int count) {
  NumpyRng rng(seed);
  std::vector<int64_t> out;
  for (int i = 0; i < count; ++i) out.push_back(static_cast<int64_t>(rng.below(bound)));
  return out;
}

std::vector<std::vector<int64_t>> ModelConfig::engram_primes() const {
  std::vector<std::vector<int64_t>> out;
  int64_t candidate = engram_vocab_size - 1;
  for (size_t layer = 0; layer < engram_layer_ids.size(); ++layer) {
    std::vector<int64_t> primes;
    while (static_cast<int64_t>(primes.size()) < engram_columns())
      if (is_prime(++candidate)) primes.push_back(candidate);
    out.push_back(std::move(primes));
  }
  return out;
}

std::vector<std::vector<int64_t>> ModelConfig::engram_multipliers(int64_t compressed_vocab) const {
  const uint64_t bound =
      std::max<uint64_t>(1, (static_cast<uint64_t>(INT64_MAX) / static_cast<uint64_t>(compressed_vocab)) / 2);
  std::vector<std::vector<int64_t>> out;
  for (int64_t layer : engram_layer_ids) {
    std::vector<int64_t> m =
        numpy_integers(10007ull * static_cast<uint64_t>(layer), bound, static_cast<int>(engram_max_ngram_size));
    for (int64_t& v : m) v = 2 * v + 1;
    out.push_back(std::move(m));
  }
  return out;
}

}  // namespace deepinfer
