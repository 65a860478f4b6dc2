// What the rows of one step are: positions, sequences, visible entries, rotation angles, completed compressor entries.
// Built once per step from the inputs, read by every layer. Plain arrays, so that a device backend can upload them as
// they are.
#pragma once
#include <cstdint>
#include <span>
#include <vector>

#include "config/config.h"
#include "model/sequence.h"

namespace deepinfer {

struct StepInput;

// cos and sin of position * frequency, [n, rope_dim/2] (model.md 4.3).
struct RopeAngles {
  std::vector<float> cos, sin;
};

// Frequencies of the two kinds of layers.
struct RopeFrequencies {
  std::vector<float> plain;       // ratio 0 and draft layers: rope_theta
  std::vector<float> compressed;  // ratio > 0: compress_rope_theta with YaRN
  static RopeFrequencies make(const ModelConfig& config);
};

// Compressed entries whose last token is in this step, for layers of one ratio.
struct EntryPlan {
  std::vector<int32_t> sequence, index;  // [n] sequence by sequence, ascending
  RopeAngles angles;                     // of the group's first token
  int count() const { return static_cast<int>(index.size()); }
};

struct StepPlan {
  static constexpr int kMaxRatio = 2;
  int rows = 0, num_sequences = 0, num_logits = 0;
  // [rows]
  std::vector<int32_t> ids, position, sequence, window_begin, window_end;
  std::vector<int32_t> visible[kMaxRatio + 1];  // by ratio; [0] unused
  std::vector<int32_t> lookback;                // [rows, max_ngram] compressed ids
  RopeAngles plain, compressed;
  // [num_sequences]
  std::vector<int32_t> first_row, num_tokens, start;
  std::vector<int32_t> tables;  // [num_sequences, table_stride]
  int64_t table_stride = 0;
  EntryPlan entries[kMaxRatio + 1];
  std::vector<int32_t> logits_rows;  // [num_logits]

  void build(const ModelConfig& config, const RopeFrequencies& frequencies, const std::vector<int32_t>& token_map,
             std::span<const StepInput> inputs);
};

}  // namespace deepinfer
