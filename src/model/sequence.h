// What one sequence carries between steps (model.md 5.1): block table of the growing cache, window rings and compressor
// carries in one state buffer, and the last compressed ids for the n-gram hash. Created by Model::new_sequence, used by
// one engine thread, freed by release().
#pragma once
#include <cstdint>
#include <vector>

#include "base/aligned_buffer.h"

namespace deepinfer {

struct Sequence {
  int32_t position = 0;                // tokens processed so far = position of the next token
  std::vector<int32_t> blocks;         // block table, one id per 128 tokens
  AlignedBuffer state;                 // layout: StateLayout in model.h
  std::vector<int32_t> ngram_history;  // last max_ngram-1 compressed ids, oldest first; pad id before the start
};

}  // namespace deepinfer
