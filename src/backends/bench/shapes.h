// Dimensions of the models that `bench ops` knows, and the data its cases share.
#pragma once
#include <memory>
#include <string_view>

#include "backends/bench/bench.h"
#include "base/aligned_buffer.h"

namespace deepinfer::bench {

struct Shape {
  const char* name;
  int64_t hidden, vocab, streams;
  int64_t heads, head_dim, rope_dim, q_lora, o_groups, o_lora;
  int64_t experts, top_k, expert_hidden;
  int64_t experts_here;  // routed experts that a case holds: all of one layer would be 7 GB for v41-flash
  int64_t window, index_heads, index_dim, index_topk, candidate_blocks, candidate_size;
  int64_t engram_heads, engram_ngram, engram_dim;
  int64_t context;      // tokens behind which a case stands
  int64_t working_set;  // bytes of weights that calls go through in turn
  int sinkhorn_iters;
};
// xorshift64: the next value, never 0. REQUIRES state != 0.
uint64_t next_random(uint64_t& state);

// Null: unknown name.
const Shape* find_shape(std::string_view name);

// Random weights of a case: views that move through the buffer.
class WeightSource {
 public:
  WeightSource(int64_t bytes, DType type);
  // The next weight of that shape; wraps around. Data 64-byte aligned as in a well-made shard.
  ops::Weight next(int64_t rows, int64_t cols);
  const uint8_t* data() const { return data_.data(); }
  int64_t bytes() const { return static_cast<int64_t>(data_.size()); }

 private:
  AlignedBuffer data_, scale_;
  DType type_;
  int64_t at_ = 0;
};

}  // namespace deepinfer::bench
