#include "ops/engram_hash.h"

#include "ops/check_util.h"

namespace deepinfer::ops {

Status check(const EngramHashParams& p) {
  OPS_REQUIRE(p.rows >= 0, "engram_hash rows: {}", p.rows);
  OPS_REQUIRE(p.max_ngram >= 2, "engram_hash max_ngram: {}, expected at least 2", p.max_ngram);
  OPS_REQUIRE(p.heads >= 1, "engram_hash heads: {}, expected at least 1", p.heads);
  OPS_TRY(check_pointer("engram_hash lookback", p.lookback, p.rows));
  OPS_TRY(check_pointer("engram_hash multipliers", p.multipliers, p.rows));
  OPS_TRY(check_pointer("engram_hash primes", p.primes, p.rows));
  OPS_TRY(check_pointer("engram_hash offsets", p.offsets, p.rows));
  OPS_TRY(check_pointer("engram_hash out", p.out, p.rows));
  for (int c = 0; p.rows > 0 && c < (p.max_ngram - 1) * p.heads; ++c)
    OPS_REQUIRE(p.primes[c] > 0, "engram_hash primes[{}]: {}, expected above 0", c, p.primes[c]);
  return {};
}

}  // namespace deepinfer::ops
