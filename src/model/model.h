// The text model: weights bound to a backend, and the forward step over a batch of sequences (model.md sections 4 and
// 5).
//
// A Model is loaded once and immutable; a Stepper holds the working memory of one engine thread and runs steps. A step
// feeds any number of tokens to any number of sequences; results do not depend on how a prompt is cut into steps or on
// the neighbours, bit for bit.
#pragma once
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "backends/registry.h"
#include "base/thread_pool.h"
#include "checkpoint/checkpoint.h"
#include "config/config.h"
#include "kv/block_pool.h"
#include "kv/layout.h"
#include "model/sequence.h"
#include "model/weights.h"

namespace deepinfer {

enum class Numerics { kQuantized, kFp32 };

struct ModelOptions {
  Numerics numerics = Numerics::kQuantized;
  std::string backend = "auto";
  bool progress = false;  // progress bar on a terminal
};

// Offsets into Sequence::state.
struct StateLayout {
  int ring_slots = 0;  // window + room for a rejected draft block
  int64_t window_record_bytes = 0;
  std::vector<int64_t> ring_offset;  // [layers + draft layers] bytes
  int carry_slots = 0;
  std::vector<int64_t> carry_offset;  // [layers + draft layers] bytes, -1: none
  int64_t bytes = 0;
};

class Model {
 public:
  // Opens, validates and binds a checkpoint folder. Weights stay mapped from the files.
  Model() = default;
  static Result<std::unique_ptr<Model>> load(const std::string& folder, const ModelOptions& options, ThreadPool& pool);

  const ModelConfig& config() const { return config_; }
  Numerics numerics() const { return numerics_; }
  const OpTable& ops() const { return ops_; }
  const ModelWeights& weights() const { return weights_; }
  const kv::BlockLayout& block_layout() const { return block_layout_; }
  const StateLayout& state_layout() const { return state_layout_; }
  DType act() const { return numerics_ == Numerics::kFp32 ? DType::kF32 : DType::kBF16; }
  CacheFormat window_format() const;
  CacheFormat compressed_format() const;
  CacheFormat index_format() const;
  // Index into block_layout().streams of a KV source layer's records.
  int compressed_stream(int layer) const { return compressed_stream_[layer]; }
  int index_stream(int layer) const { return index_stream_[layer]; }
  const std::vector<int32_t>& token_map() const { return token_map_; }
  int64_t weight_bytes() const { return weight_bytes_; }

  Sequence new_sequence() const;
  // Takes the blocks that `seq` needs to hold `num_tokens` tokens; an error (nothing taken) when the pool is too small.
  Status reserve(Sequence& seq, kv::BlockPool& pool, int64_t num_tokens) const;
  static void release(Sequence& seq, kv::BlockPool& pool);
  // A copy that goes its own way, with blocks for num_tokens tokens.
  Result<Sequence> fork(const Sequence& seq, kv::BlockPool& pool, int64_t num_tokens) const;

 private:
  ModelConfig config_;
  Numerics numerics_ = Numerics::kQuantized;
  OpTable ops_;
  std::unique_ptr<Checkpoint> checkpoint_;
  ModelWeights weights_;
  std::vector<int32_t> token_map_;
  kv::BlockLayout block_layout_;
  StateLayout state_layout_;
  std::vector<int> compressed_stream_, index_stream_;
  int64_t weight_bytes_ = 0;
};

// One sequence's share of a step. REQUIRES: blocks reserved for position + tokens.size() tokens; ids in [0, vocab).
struct StepInput {
  Sequence* sequence = nullptr;
  std::span<const int32_t> tokens;
  int num_logits = 1;  // logits of the last num_logits tokens are wanted (0: none)
};

class Stepper {
 public:
  Stepper(const Model& model, ThreadPool& pool, kv::BlockPool& blocks);
  ~Stepper();
  Stepper(const Stepper&) = delete;

  // Runs all layers over the tokens, advances the sequences, and returns logits f32 [sum of num_logits, vocab], inputs
  // in order, valid until the next step.
  std::span<const float> step(std::span<const StepInput> inputs);

  // Per-operator times, and on request costs, of the steps since the last set_profiling(), for profiles (`bench engine
  // --profile`). Counting costs takes time between the operators, so a step's whole time is only right without.
  struct OpTime {
    const char* name;
    int64_t calls;
    double seconds;
    ops::Cost cost;  // sum of the calls
  };
  enum class Profiling { kOff, kTimes, kTimesAndCosts };
  void set_profiling(Profiling what);
  std::vector<OpTime> op_times() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace deepinfer
