// embed: token rows copied into the residual streams. streams[r, s, :] = table[ids[r], :] for every stream s
// (model.md 4.1). Exact. Ids are valid (the engine checks user input).
#pragma once
#include "ops/op.h"

namespace deepinfer::ops {
struct EmbedParams {
  Weight table;                  // [vocab, D] bf16
  const int32_t* ids = nullptr;  // [rows]
  int num_streams = 0;           // m
  Mat streams;                   // out [rows, m * D] act
};
Status check(const EmbedParams& p);
}  // namespace deepinfer::ops
