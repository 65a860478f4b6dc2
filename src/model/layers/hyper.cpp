// Lagged hyper-connections (model.md 4.2).
#include "model/stepper.h"

namespace deepinfer {

void Stepper::Impl::hyper_mix(const HyperWeights& w, ops::Mat streams, float* pre) {
  const int64_t rows = streams.rows, m = c.hc_mult;
  run("hc_mix", model.ops().hc_mix,
      {.streams = streams,
       .num_streams = static_cast<int>(m),
       .fn = w.fn,
       .base = w.base,
       .scale = w.scale,
       .norm_eps = static_cast<float>(c.rms_norm_eps),
       .hc_eps = static_cast<float>(c.hc_eps),
       .sinkhorn_iters = static_cast<int>(c.hc_sinkhorn_iters),
       .pre = pre,
       .post = b.post.at<float>(rows * m),
       .comb = b.comb.at<float>(rows * m * m)});
}

ops::Mat Stepper::Impl::hyper_input(ops::Mat streams, const float* pre, const uint16_t* norm_weight) {
  const ops::Mat x = b.x.mat(act, streams.rows, c.hidden_size);
  run("hc_collapse", model.ops().hc_collapse,
      {.streams = streams,
       .num_streams = static_cast<int>(c.hc_mult),
       .pre = pre,
       .norm_weight = norm_weight,
       .eps = static_cast<float>(c.rms_norm_eps),
       .out = x});
  return x;
}

void Stepper::Impl::hyper_output(ops::Mat streams, ops::Mat y) {
  const int64_t rows = streams.rows, m = c.hc_mult;
  run("hc_expand", model.ops().hc_expand,
      {.streams = streams,
       .num_streams = static_cast<int>(m),
       .y = y,
       .post = b.post.at<float>(rows * m),
       .comb = b.comb.at<float>(rows * m * m)});
}

}  // namespace deepinfer
