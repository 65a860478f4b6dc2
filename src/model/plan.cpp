#include "model/plan.h"

#include <algorithm>
#include <cmath>

#include "model/model.h"

namespace deepinfer {
namespace {

void angles_of(std::span<const int32_t> positions, const std::vector<float>& frequencies, RopeAngles& out) {
  const size_t half = frequencies.size();
  out.cos.resize(positions.size() * half);
  out.sin.resize(positions.size() * half);
  for (size_t r = 0; r < positions.size(); ++r) {
    for (size_t i = 0; i < half; ++i) {
      const float angle = static_cast<float>(positions[r]) * frequencies[i];  // fp32 on purpose (model.md 4.3)
      out.cos[r * half + i] = std::cos(angle);
      out.sin[r * half + i] = std::sin(angle);
    }
  }
}

}  // namespace

RopeFrequencies RopeFrequencies::make(const ModelConfig& c) {
  RopeFrequencies out;
  const int dim = static_cast<int>(c.qk_rope_head_dim), half = dim / 2;
  const double base = c.compress_rope_theta;
  // Pair index that makes `turns` full turns within the original context.
  auto pair_of = [&](double turns) {
    return dim * std::log(c.rope_original / (2 * M_PI * turns)) / (2 * std::log(base));
  };
  double low = 0, high = 0;
  if (c.has_yarn) {
    low = std::max(std::floor(pair_of(c.rope_beta_fast)), 0.0);
    high = std::min(std::ceil(pair_of(c.rope_beta_slow)), dim - 1.0);
  }
  for (int i = 0; i < half; ++i) {
    out.plain.push_back(static_cast<float>(std::pow(static_cast<double>(c.rope_theta), -2.0 * i / dim)));
    const float f = static_cast<float>(std::pow(base, -2.0 * i / dim));
    if (!c.has_yarn) {
      out.compressed.push_back(f);
      continue;
    }
    const float ramp = static_cast<float>(std::clamp((i - low) / std::max(high - low, 0.001), 0.0, 1.0));
    out.compressed.push_back(f / static_cast<float>(c.rope_factor) * ramp + f * (1 - ramp));
  }
  return out;
}

void StepPlan::build(const ModelConfig& config, const RopeFrequencies& frequencies,
                     const std::vector<int32_t>& token_map, std::span<const StepInput> inputs) {
  num_sequences = static_cast<int>(inputs.size());
  rows = num_logits = 0;
  for (auto* v : {&ids, &position, &sequence, &window_begin, &window_end, &lookback, &first_row, &num_tokens, &start,
                  &logits_rows, &visible[1], &visible[2]})
    v->clear();
  table_stride = 1;
  for (const StepInput& in : inputs)
    table_stride = std::max<int64_t>(table_stride, static_cast<int64_t>(in.sequence->blocks.size()));
  tables.assign(static_cast<size_t>(table_stride) * inputs.size(), 0);

  const bool engram = !config.engram_layer_ids.empty();
  const int ngram = static_cast<int>(config.engram_max_ngram_size);
  const int window = static_cast<int>(config.sliding_window);
  for (int s = 0; s < num_sequences; ++s) {
    const StepInput& in = inputs[s];
    const Sequence& seq = *in.sequence;
    const int n = static_cast<int>(in.tokens.size());
    std::copy(seq.blocks.begin(), seq.blocks.end(), tables.begin() + s * table_stride);
    first_row.push_back(rows);
    num_tokens.push_back(n);
    start.push_back(seq.position);
    for (int i = 0; i < n; ++i) {
      const int p = seq.position + i;
      ids.push_back(in.tokens[i]);
      position.push_back(p);
      sequence.push_back(s);
      window_begin.push_back(std::max(0, p - window + 1));
      window_end.push_back(p + 1);
      for (int ratio = 1; ratio <= kMaxRatio; ++ratio) visible[ratio].push_back((p + 1) / ratio);
      if (engram) {
        const int history = static_cast<int>(seq.ngram_history.size());
        for (int back = 0; back < ngram; ++back) {
          const int at = i - back;
          lookback.push_back(at >= 0 ? token_map[in.tokens[at]] : seq.ngram_history[history + at]);
        }
      }
    }
    for (int i = n - std::min(n, in.num_logits); i < n; ++i) logits_rows.push_back(rows + i);
    rows += n;
  }
  num_logits = static_cast<int>(logits_rows.size());
  angles_of(position, frequencies.plain, plain);
  angles_of(position, frequencies.compressed, compressed);

  std::vector<int32_t> entry_positions;
  for (int ratio = 1; ratio <= kMaxRatio; ++ratio) {
    EntryPlan& e = entries[ratio];
    e.sequence.clear();
    e.index.clear();
    entry_positions.clear();
    for (int s = 0; s < num_sequences; ++s) {
      for (int j = start[s] / ratio; j < (start[s] + num_tokens[s]) / ratio; ++j) {
        e.sequence.push_back(s);
        e.index.push_back(j);
        entry_positions.push_back(j * ratio);
      }
    }
    angles_of(entry_positions, frequencies.compressed, e.angles);
  }
}

}  // namespace deepinfer
