// The forward step on one page: embedding -> 40 x (engram?, attention half, feed-forward half) -> final collapse, norm,
// head (model.md 1.1).
#include "model/stepper.h"

namespace deepinfer {

std::span<const float> Stepper::Impl::step(std::span<const StepInput> in) {
  inputs = in;
  plan.build(c, frequencies, model.token_map(), in);
  const OpTable& op = model.ops();
  const ModelWeights& w = model.weights();
  const int64_t rows = plan.rows, m = c.hc_mult, d = c.hidden_size;
  if (rows == 0) return {};

  const ops::Mat streams = b.streams.mat(act, rows, m * d);
  run("embed", op.embed,
      {.table = w.embed, .ids = plan.ids.data(), .num_streams = static_cast<int>(m), .streams = streams});

  // The mix that folds the streams into a sublayer's input is the one the previous sublayer computed; the first takes
  // stream 0.
  float* pre = b.pre[0].at<float>(rows * m);
  float* next_pre = b.pre[1].at<float>(rows * m);
  for (int64_t i = 0; i < rows * m; ++i) pre[i] = i % m == 0 ? 1.0f : 0.0f;

  for (int i = 0; i < c.num_hidden_layers; ++i) {
    const LayerWeights& layer = w.layers[i];
    if (layer.engram.table) engram(layer.engram, streams);

    hyper_mix(layer.hc_attn, streams, next_pre);
    hyper_output(streams, attention(i, hyper_input(streams, pre, layer.attn_norm)));
    std::swap(pre, next_pre);

    hyper_mix(layer.hc_ffn, streams, next_pre);
    hyper_output(streams,
                 ffn(layer.ffn, static_cast<int>(c.num_experts_per_tok), hyper_input(streams, pre, layer.ffn_norm)));
    std::swap(pre, next_pre);
  }

  const int64_t n = plan.num_logits;
  const ops::Mat logits = b.logits.mat(DType::kF32, n, c.vocab_size);
  if (n > 0) {  // only the rows whose logits are wanted
    const ops::Mat last = b.last_streams.mat(act, n, m * d);
    const ops::Mat last_pre = b.last_pre.mat(DType::kF32, n, m);
    run("gather_rows", op.gather_rows, {.x = streams, .index = plan.logits_rows.data(), .out = last});
    run("gather_rows", op.gather_rows,
        {.x = {pre, DType::kF32, rows, m, m}, .index = plan.logits_rows.data(), .out = last_pre});
    const ops::Mat hidden = b.hidden.mat(act, n, d);
    run("hc_collapse", op.hc_collapse,
        {.streams = last,
         .num_streams = static_cast<int>(m),
         .pre = last_pre.row<float>(0),
         .norm_weight = w.norm,
         .eps = static_cast<float>(c.rms_norm_eps),
         .out = hidden});
    run("head", op.linear, {.x = hidden, .num_parts = 1, .parts = {part(w.head, logits, false)}});
  }
  advance();
  return {logits.row<float>(0), static_cast<size_t>(n * c.vocab_size)};
}

// The sequences now hold the step's tokens.
void Stepper::Impl::advance() {
  for (int s = 0; s < plan.num_sequences; ++s) {
    Sequence& seq = *inputs[s].sequence;
    const std::span<const int32_t> tokens = inputs[s].tokens;
    seq.position += static_cast<int32_t>(tokens.size());
    const size_t keep = seq.ngram_history.size();
    for (int32_t id : tokens.last(std::min(tokens.size(), keep))) seq.ngram_history.push_back(model.token_map()[id]);
    seq.ngram_history.erase(seq.ngram_history.begin(), seq.ngram_history.end() - static_cast<int64_t>(keep));
  }
}

Stepper::Stepper(const Model& model, ThreadPool& pool, kv::BlockPool& blocks)
    : impl_(std::make_unique<Impl>(model, pool, blocks)) {}
Stepper::~Stepper() = default;

std::span<const float> Stepper::step(std::span<const StepInput> inputs) { return impl_->step(inputs); }

void Stepper::set_profiling(Profiling what) {
  impl_->profiling = what;
  impl_->times.clear();
}

std::vector<Stepper::OpTime> Stepper::op_times() const {
  std::vector<OpTime> out;
  for (const auto& [name, t] : impl_->times) out.push_back({name, t.calls, t.seconds, t.cost});
  return out;
}

}  // namespace deepinfer
