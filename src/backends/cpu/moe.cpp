// moe: (token, expert) pairs sorted by expert, one batched product per expert and matrix, then the sum in ascending
// expert id.
#include <algorithm>
#include <atomic>

#include "backends/cpu/gemm.h"
#include "backends/cpu/linear.h"

namespace deepinfer::cpu {
namespace {

constexpr int64_t kUnit = 32;  // outputs handed out at a time

struct Group {  // one expert's share of the batch
  const ops::ExpertWeights* weights;
  int64_t first, rows;  // pairs
};

}  // namespace

template <Isa isa>
void moe(const ops::MoeParams& p, ops::Context& ctx) {
  const int64_t tokens = p.x.rows, d = p.out.cols;
  if (tokens == 0) return;
  const bool has_shared = !p.shared.w1.empty();
  const int per_token = p.top_k + (has_shared ? 1 : 0);
  const int64_t pairs = tokens * per_token, inner = has_shared ? p.shared.w1.rows : p.experts[0].w1.rows;
  const DType act = p.x.dtype;
  const GemmKernels& plain = plain_kernels(isa);
  Arena& scratch = *ctx.scratch;

  // Counting sort by expert; the shared expert comes last. pair_of[token * per_token + i] lists a token's pairs in
  // ascending expert id.
  int64_t* start = scratch.alloc<int64_t>(p.num_experts + 2);
  std::fill(start, start + p.num_experts + 2, 0);
  for (int64_t i = 0; i < tokens * p.top_k; ++i) ++start[p.ids[i] + 1];
  start[p.num_experts + 1] = has_shared ? tokens : 0;
  int num_groups = 0;
  Group* groups = scratch.alloc<Group>(std::min<int64_t>(p.num_experts, tokens * p.top_k) + 1);
  for (int e = 0; e <= p.num_experts; ++e) {
    const int64_t n = start[e + 1];
    if (n > 0) groups[num_groups++] = {e < p.num_experts ? &p.experts[e] : &p.shared, start[e], n};
    start[e + 1] += start[e];
  }
  int32_t* pair_token = scratch.alloc<int32_t>(pairs);
  float* pair_weight = scratch.alloc<float>(pairs);
  int64_t* pair_of = scratch.alloc<int64_t>(pairs);
  int64_t* fill = scratch.alloc<int64_t>(p.num_experts + 1);
  std::copy(start, start + p.num_experts + 1, fill);
  for (int64_t t = 0; t < tokens; ++t) {
    int64_t* mine = pair_of + t * per_token;
    for (int i = 0; i < p.top_k; ++i) {
      const int64_t at = fill[p.ids[t * p.top_k + i]]++;
      pair_token[at] = static_cast<int32_t>(t);
      pair_weight[at] = p.weights[t * p.top_k + i];
      mine[i] = at;
    }
    if (has_shared) {
      const int64_t at = fill[p.num_experts]++;
      pair_token[at] = static_cast<int32_t>(t);
      pair_weight[at] = 1.0f;
      mine[p.top_k] = at;
    }
    std::sort(mine, mine + per_token);  // pairs lie in order of expert
  }

  // Activations, prepared once per arithmetic: routed and shared experts usually differ in weight type.
  struct Prepared {
    const GemmKernels* kernels = nullptr;
    DType weight = DType::kBF16;
    int64_t bytes = 0;
    uint8_t* x = nullptr;
  };
  constexpr int kMaxPrepared = 4;
  Prepared inputs[kMaxPrepared];
  int num_inputs = 0;
  auto input_for = [&](const ops::Weight& w) -> const Prepared& {
    const GemmKernels* k = &gemm_kernels(isa, act, w);
    for (int i = 0; i < num_inputs; ++i)
      if (inputs[i].kernels == k && inputs[i].weight == w.dtype) return inputs[i];
    Prepared& q = inputs[num_inputs++];
    q = {k, w.dtype, k->row_bytes(w.dtype, p.x.cols), nullptr};
    q.x = scratch.alloc<uint8_t>(q.bytes * tokens);
    return q;
  };
  int64_t hidden_bytes = 0, tile = 0;
  for (int g = 0; g < num_groups; ++g) {
    const ops::ExpertWeights& w = *groups[g].weights;
    for (const ops::Weight* m : {&w.w1, &w.w3, &w.w2}) {
      const GemmKernels& k = gemm_kernels(isa, act, *m);
      tile = std::max(tile, k.tile_bytes(m->dtype, m->cols));
      if (m == &w.w2)
        hidden_bytes = std::max(hidden_bytes, k.row_bytes(m->dtype, m->cols));
      else
        input_for(*m);
    }
  }
  const int64_t x_size = static_cast<int64_t>(dtype_size(act));
  ctx.pool->parallel_for(tokens, 8, [&](int64_t begin, int64_t end, int) {
    for (int64_t t = begin; t < end; ++t)
      for (int i = 0; i < num_inputs; ++i)
        inputs[i].kernels->prepare(inputs[i].weight, act, p.x.row<uint8_t>(0) + t * p.x.stride * x_size, p.x.cols,
                                   p.quantize, inputs[i].x + t * inputs[i].bytes);
  });

  const int threads = ctx.pool->num_threads();
  uint8_t* tiles = scratch.alloc<uint8_t>(tile * threads);
  float* gate_up = scratch.alloc<float>(pairs * 2 * inner);  // [pairs, w1 | w3]
  float* y = scratch.alloc<float>(pairs * d);

  auto up = [&](const Group& g, int matrix, int64_t begin, int64_t end, uint8_t* my_tile) {
    const ops::Weight& w = matrix == 0 ? g.weights->w1 : g.weights->w3;
    const Prepared& in = input_for(w);
    GemmTask t;
    t.weight = &w;
    t.out_begin = begin;
    t.out_end = end;
    t.x = in.x;
    t.x_stride = in.bytes;
    t.x_rows = pair_token + g.first;
    t.rows = g.rows;
    t.out = gate_up + g.first * 2 * inner + matrix * inner;
    t.out_stride = 2 * inner;
    t.tile = my_tile;
    in.kernels->gemm(t);
  };
  // Activation function, rounding and preparation for w2 of one pair.
  auto hidden = [&](const Group& g, int64_t pair, float* h, uint8_t* out) {
    const float* ab = gate_up + pair * 2 * inner;
    plain.swiglu(ab, ab + inner, inner, p.limit, pair_weight[pair], act == DType::kBF16, h);
    gemm_kernels(isa, act, g.weights->w2).prepare(g.weights->w2.dtype, DType::kF32, h, inner, p.quantize, out);
  };
  auto down = [&](const Group& g, const uint8_t* h, int64_t begin, int64_t end, uint8_t* my_tile) {
    GemmTask t;
    t.weight = &g.weights->w2;
    t.out_begin = begin;
    t.out_end = end;
    t.x = h;
    t.x_stride = hidden_bytes;
    t.rows = g.rows;
    t.out = y + g.first * d;
    t.out_stride = d;
    t.tile = my_tile;
    gemm_kernels(isa, act, g.weights->w2).gemm(t);
  };
  auto sum = [&](int64_t t, int64_t begin, int64_t end) {
    const float* parts[64];
    for (int i = 0; i < per_token; ++i) parts[i] = y + pair_of[t * per_token + i] * d + begin;
    const int64_t out_size = static_cast<int64_t>(dtype_size(p.out.dtype));
    plain.sum_rows(parts, per_token, end - begin, p.out.dtype,
                   p.out.row<uint8_t>(0) + (t * p.out.stride + begin) * out_size);
  };

  if (tokens == 1) {  // decode: two dispatches; every thread owns a slice of the outputs of all experts
    uint8_t* h = scratch.alloc<uint8_t>(threads * per_token * hidden_bytes);
    float* buffer = scratch.alloc<float>(threads * inner);
    auto slice = [](int64_t n, int thread, int of) {
      return n == 0 ? 0 : thread == of ? n : n * thread / of / kUnit * kUnit;
    };
    ctx.pool->run([&](int thread, int n) {
      // One line of (group, matrix): 2 * num_groups * inner rows, cut at multiples of a unit.
      const int64_t total = 2 * num_groups * inner, low = slice(total, thread, n), high = slice(total, thread + 1, n);
      for (int64_t at = low; at < high;) {
        const int64_t line = at / inner, begin = at % inner, end = std::min(inner, begin + high - at);
        up(groups[line / 2], static_cast<int>(line % 2), begin, end, tiles + tile * thread);
        at += end - begin;
      }
    });
    ctx.pool->run([&](int thread, int n) {
      uint8_t* mine = h + thread * per_token * hidden_bytes;
      const int64_t begin = slice(d, thread, n), end = slice(d, thread + 1, n);
      if (begin == end) return;
      for (int g = 0; g < num_groups; ++g) {  // cheap against w2, so every thread does it for itself
        hidden(groups[g], groups[g].first, buffer + thread * inner, mine + groups[g].first * hidden_bytes);
        down(groups[g], mine + groups[g].first * hidden_bytes, begin, end, tiles + tile * thread);
      }
      sum(0, begin, end);
    });
    return;
  }

  uint8_t* h = scratch.alloc<uint8_t>(pairs * hidden_bytes);
  float* buffer = scratch.alloc<float>(threads * inner);
  auto for_units = [&](int64_t per_group, auto&& body) {  // (group, unit) pairs, handed out in order of expert
    std::atomic<int64_t> next{0};
    ctx.pool->run([&](int thread, int) {
      for (int64_t u; (u = next.fetch_add(1, std::memory_order_relaxed)) < num_groups * per_group;)
        body(groups[u / per_group], u % per_group, thread);
    });
  };
  const int64_t up_units = (inner + kUnit - 1) / kUnit, down_units = (d + kUnit - 1) / kUnit;
  for_units(2 * up_units, [&](const Group& g, int64_t u, int thread) {
    const int64_t begin = u % up_units * kUnit;
    up(g, static_cast<int>(u / up_units), begin, std::min(begin + kUnit, inner), tiles + tile * thread);
  });
  ctx.pool->run([&](int thread, int n) {
    for (int g = 0; g < num_groups; ++g) {
      const int64_t begin = groups[g].rows * thread / n, end = groups[g].rows * (thread + 1) / n;
      for (int64_t i = groups[g].first + begin; i < groups[g].first + end; ++i)
        hidden(groups[g], i, buffer + thread * inner, h + i * hidden_bytes);
    }
  });
  for_units(down_units, [&](const Group& g, int64_t u, int thread) {
    down(g, h + g.first * hidden_bytes, u * kUnit, std::min((u + 1) * kUnit, d), tiles + tile * thread);
  });
  ctx.pool->parallel_for(tokens, 4, [&](int64_t begin, int64_t end, int) {
    for (int64_t t = begin; t < end; ++t) sum(t, 0, d);
  });
}

template void moe<Isa::kGeneric>(const ops::MoeParams&, ops::Context&);
template void moe<Isa::kAvx2>(const ops::MoeParams&, ops::Context&);
template void moe<Isa::kAvx512>(const ops::MoeParams&, ops::Context&);
template void moe<Isa::kAvx512Bf16>(const ops::MoeParams&, ops::Context&);
template void moe<Isa::kAmx>(const ops::MoeParams&, ops::Context&);

}  // namespace deepinfer::cpu
