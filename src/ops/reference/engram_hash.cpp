#include "ops/reference/reference.h"
#include "ops/reference/util.h"

namespace deepinfer::reference {

void engram_hash(const ops::EngramHashParams& p, ops::Context&) {
  const int columns = (p.max_ngram - 1) * p.heads;
  for (int64_t r = 0; r < p.rows; ++r) {
    const int32_t* t = p.lookback + r * p.max_ngram;
    int64_t hash = t[0] * p.multipliers[0];
    for (int n = 2; n <= p.max_ngram; ++n) {
      hash ^= t[n - 1] * p.multipliers[n - 1];
      for (int h = 0; h < p.heads; ++h) {
        const int c = (n - 2) * p.heads + h;
        p.out[r * columns + c] = hash % p.primes[c] + p.offsets[c];
      }
    }
  }
}

}  // namespace deepinfer::reference
