// Writes random checkpoints in the published layout: real names, dtypes, shapes, shards, index. For tests and
// benchmarks.
//
// Values: weights of standard deviation about 1.2 / sqrt(inputs), norms about 1, small biases, so that activations stay
// bounded through any number of layers. FP8 and FP4 weights are drawn as codes with scales that vary from block to
// block. Every tensor is a function of (seed, its name, the position in it): the bytes depend on neither threads nor
// shard size. Data is streamed: memory stays at a few chunks for any model.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"
#include "base/thread_pool.h"
#include "checkpoint/names.h"
#include "config/config.h"

namespace deepinfer {

struct SynthOptions {
  uint64_t seed = 0;
  bool sparse = false;  // headers only, data is a hole of zeros: any size in no space, good for `inspect`
  int64_t shard_bytes = int64_t{5'000'000'000};  // a tensor (with its scale) larger than that gets a shard of its own
  bool force = false;                            // replace the checkpoint in a folder that is not empty
  bool progress = false;
};

struct SynthSummary {
  int64_t tensors = 0, bytes = 0, shards = 0;
};

// Writes shards, index, engram_meta.json (token i is class i modulo the number of classes) and, last, config.json with
// the text `config_json`. On failure or interrupt every file written so far is removed; the error names the file.
Result<SynthSummary> write_synthetic(const std::string& folder, const ModelConfig& config, std::string_view config_json,
                                     const SynthOptions& options, ThreadPool& pool);

// Fills out[0, bytes) with the tensor's bytes from `offset` on. REQUIRES: offset a multiple of 64. Any thread.
class TensorValues {
 public:
  TensorValues(const ExpectedTensor& tensor, uint64_t seed);
  void fill(uint64_t offset, uint8_t* out, uint64_t bytes) const;

 private:
  uint64_t key_;
  int element_bytes_;     // 1, 2 or 4
  uint32_t table_[4096];  // element by random 12 bits (2- and 4-byte types) or 8 bits (1-byte types)
};

}  // namespace deepinfer
