// engram_hash: table rows of the n-grams that end at each token (model.md 4.9c). Exact integers.
//   h_n = t_0*mult[0] XOR ... XOR t_{n-1}*mult[n-1];  row[c] = h_n mod prime[c] + offset[c], column c = (n-2)*heads +
//   head.
#pragma once
#include "ops/op.h"

namespace deepinfer::ops {
struct EngramHashParams {
  const int32_t* lookback =
      nullptr;  // [rows, max_ngram] compressed ids: current token first, cut ones already the pad id
  int64_t rows = 0;
  int max_ngram = 0;                     // sizes 2..max_ngram
  int heads = 0;                         // per size
  const int64_t* multipliers = nullptr;  // [max_ngram]
  const int64_t* primes = nullptr;       // [(max_ngram-1) * heads]
  const int64_t* offsets = nullptr;      // [(max_ngram-1) * heads]
  int64_t* out = nullptr;                // [rows, (max_ngram-1) * heads]
};
Status check(const EngramHashParams& p);
}  // namespace deepinfer::ops
