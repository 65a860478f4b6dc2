// Feed-forward half: router, routed experts and the shared expert (model.md 4.7).
#include "model/stepper.h"

namespace deepinfer {

ops::Mat Stepper::Impl::ffn(const FfnWeights& w, int top_k, ops::Mat x) {
  const OpTable& op = model.ops();
  const int64_t rows = x.rows;
  const ops::Mat logits = b.router_logits.mat(DType::kF32, rows, w.gate.rows);
  run("linear gate", op.linear, {.x = x, .num_parts = 1, .parts = {part(w.gate, logits, false)}});
  int32_t* ids = b.expert_ids.at<int32_t>(rows * top_k);
  float* weights = b.expert_weights.at<float>(rows * top_k);
  run("router", op.router,
      {.logits = logits,
       .bias = w.bias,
       .top_k = top_k,
       .scale = static_cast<float>(c.routed_scaling_factor),
       .ids = ids,
       .weights = weights});
  const ops::Mat y = b.y.mat(act, rows, c.hidden_size);
  run("moe", op.moe,
      {.x = x,
       .experts = w.experts.data(),
       .num_experts = static_cast<int>(w.experts.size()),
       .shared = w.shared,
       .top_k = top_k,
       .ids = ids,
       .weights = weights,
       .limit = static_cast<float>(c.swiglu_limit),
       .quantize = quantized,
       .out = y});
  return y;
}

}  // namespace deepinfer
