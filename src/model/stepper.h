// Inside of Stepper: the forward page (forward.cpp) and the layers (layers/*.cpp) are its methods. Not for other rooms.
#pragma once
#include <chrono>
#include <map>

#include "model/model.h"
#include "model/plan.h"
#include "model/step_buffers.h"

namespace deepinfer {

struct Stepper::Impl {
  Impl(const Model& m, ThreadPool& pool, kv::BlockPool& block_pool)
      : model(m), c(m.config()), act(m.act()), quantized(m.numerics() == Numerics::kQuantized), blocks(block_pool) {
    context.pool = &pool;
    context.scratch = &scratch;
    frequencies = RopeFrequencies::make(c);
  }

  const Model& model;
  const ModelConfig& c;
  const DType act;
  const bool quantized;
  kv::BlockPool& blocks;
  Arena scratch;
  ops::Context context;
  RopeFrequencies frequencies;
  StepPlan plan;
  StepBuffers b;
  std::span<const StepInput> inputs;
  std::vector<const uint8_t*> ring_pointers;
  std::vector<float*> carry_pointers;
  // Selection and candidates of the nearest preceding index source, valid within a step.
  const int32_t* selected = nullptr;
  const int32_t* num_selected = nullptr;

  Profiling profiling = Profiling::kOff;
  struct Timed {
    int64_t calls = 0;
    double seconds = 0;
    ops::Cost cost;
  };
  std::map<const char*, Timed> times;

  // Every operator call of the model goes through here.
  template <typename Params>
  void run(const char* name, void (*op)(const Params&, ops::Context&), const Params& params) {
    scratch.reset();
    if (profiling == Profiling::kOff) return op(params, context);
    const auto t0 = std::chrono::steady_clock::now();
    op(params, context);
    Timed& t = times[name];
    ++t.calls;
    t.seconds += std::chrono::duration<double>(std::chrono::steady_clock::now() - t0).count();
    if (profiling == Profiling::kTimesAndCosts) t.cost += ops::cost(params);
  }

  std::span<const float> step(std::span<const StepInput> in);
  void advance();

  // layers/hyper.cpp: a sublayer's coefficients; its input; its output put back
  void hyper_mix(const HyperWeights& w, ops::Mat streams, float* pre);
  ops::Mat hyper_input(ops::Mat streams, const float* pre, const uint16_t* norm_weight);
  void hyper_output(ops::Mat streams, ops::Mat y);
  // layers/engram.cpp
  void engram(const EngramWeights& w, ops::Mat streams);
  // layers/ffn.cpp
  ops::Mat ffn(const FfnWeights& w, int top_k, ops::Mat x);
  // layers/attention.cpp
  ops::Mat attention(int layer, ops::Mat x);
  void store_compressed(int layer, ops::Mat latent_rows, ops::Mat score_rows);
  ops::PagedCache paged(int stream, CacheFormat format, int dim) const;
  // layers/indexer.cpp
  void select_entries(int layer, ops::Mat index_query, ops::Mat index_weights);

  ops::LinearParams::Part part(const ops::Weight& w, ops::Mat out, bool quantize, int groups = 1) const {
    return {.weight = w, .out = out, .groups = groups, .quantize = quantize && quantized, .accumulate = false};
  }
};

}  // namespace deepinfer
