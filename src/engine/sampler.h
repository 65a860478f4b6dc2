// One sampling step over the running choices of a request: penalties, draw, log-probabilities (order: cli.md "Order of
// sampling").
#pragma once
#include <map>
#include <vector>

#include "backends/registry.h"
#include "base/arena.h"
#include "base/thread_pool.h"
#include "sampling/request.h"

namespace deepinfer {

// Which tokens a choice has seen, for the penalties.
class TokenCounts {
 public:
  void add_prompt(std::span<const int32_t> ids) {
    for (int32_t id : ids) counts_.try_emplace(id, 0);
  }
  void add_output(int32_t id) { ++counts_[id]; }
  const std::map<int32_t, int32_t>& counts() const { return counts_; }  // id -> times in the output

 private:
  std::map<int32_t, int32_t> counts_;
};

struct DrawInput {
  int choice;
  int32_t position;  // of the token to draw
  const TokenCounts* counts;
};

struct Draw {
  int32_t id;
  float logprob = 0;
  std::vector<std::pair<int32_t, float>> top;
};

// logits [inputs, vocab] raw; left unchanged.
std::vector<Draw> draw_tokens(const OpTable& ops, ThreadPool& pool, Arena& scratch, const SamplingParams& params,
                              uint64_t seed, std::span<const float> logits, int64_t vocab,
                              std::span<const DrawInput> inputs);

}  // namespace deepinfer
