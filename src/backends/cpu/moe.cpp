// moe: (token, expert) pairs sorted by expert, so that each chosen expert's weights are read once for all its tokens.
//   phase 1  h = act(silu(w1 x) * (w3 x) * weight), prepared for w2; threads share the pieces of (expert, 128 channels)
//   phase 2  every thread owns columns of the output and adds w2 h of the experts in ascending id, the shared one last
// One dispatch a phase (many rows are prepared by a dispatch of their own in front). A token's sums depend on its own
// experts only. Memory: h of all pairs and a few columns a thread; nothing as large as [pairs, D].
#include <algorithm>

#include "backends/cpu/gemm.h"
#include "backends/cpu/linear.h"

namespace deepinfer::cpu {
namespace {

// Channels of h made at a time: every kernel's order of k is whole after 128 columns, so pieces are prepared on their
// own.
constexpr int64_t kPiece = 128;
// Rows per product, and results of one product kept at a time: 256 rows x 128 channels of both w1 and w3 are 256 KiB, a
// quarter of L2 (Zen 5: 1 MiB a core). Few rows take more channels at a time, so that weights are read in long runs.
constexpr int64_t kRows = 256, kResults = kRows * kPiece;
// Columns of the output made at a time for many tokens.
constexpr int64_t kUnit = 64;
// Tokens handled together: h of 1024 tokens x 7 experts x 2304 channels is 33 MB at the real model's width.
constexpr int64_t kTokens = 1024;
// Values prepared by the caller alone: 4096 take about 350 ns (Zen 5, 2026-12-01).
constexpr int64_t kPrepareInline = 4096;
// Estimated cycles of phase 1 below which one thread does everything: two dispatches and joins take about 800 cycles.
constexpr int64_t kInlineCycles = 2000;

struct Prepared {
  const GemmKernels* kernels;
  DType weight;
  uint8_t* x;
  int64_t bytes;  // per row
};

struct Group {  // one expert's share of the batch
  const ops::ExpertWeights* weights;
  int64_t first, rows;  // pairs
  const Prepared *in1, *in3;
  const GemmKernels* down;
  int64_t cost;  // of one piece of phase 1
};

struct Job {
  const ops::MoeParams* p;
  const GemmKernels* plain;
  const Group* groups;
  int num_groups;
  const int32_t* token;  // [pairs]
  const float* weight;   // [pairs]
  uint8_t* h;            // [pairs] prepared rows, h_stride bytes apart
  int64_t h_stride, tokens, d, inner, pieces, total;
  int64_t columns;  // of the output made at a time
};

// Memory of one thread.
struct Own {
  float *a, *b;  // [rows of a product, channels] kResults at most
  float* sums;   // [tokens, columns]
  uint8_t* tile;
};

int64_t ceil_div(int64_t a, int64_t b) { return (a + b - 1) / b; }

// Estimated cycles of `outputs` rows of a weight: for few tokens its bytes at 10 a cycle, for many the decoding and 64
// products a cycle (vdpbf16ps, Zen 5, 2026-12-01). Only shares work out, never changes a result.
int64_t cost_of(const ops::Weight& w, int64_t outputs, int64_t rows) {
  return rows <= 4 ? outputs * w.row_bytes() / 10 : outputs * w.cols * (6 + rows) / 64;
}

// h channels [first, first + n) of one expert; `next` is the expert whose w1 this thread reads afterwards.
void hidden(const Job& job, const Group& g, int64_t first, int64_t n, const ops::ExpertWeights& next, const Own& own) {
  const ops::Weight& w2 = g.weights->w2;
  const int64_t offset = g.down->row_bytes(w2.dtype, first);
  for (int64_t r0 = 0; r0 < g.rows; r0 += kRows) {
    GemmTask t;
    t.out_begin = t.out_first = first;
    t.out_end = first + n;
    t.x_rows = job.token + g.first + r0;
    t.rows = std::min(kRows, g.rows - r0);
    t.out_stride = n;
    t.tile = own.tile;
    auto product = [&](const Prepared& in, const ops::Weight& w, float* out, const ops::Weight& after) {
      t.next = after.row(first);
      t.x = in.x;
      t.x_stride = in.bytes;
      t.weight = &w;
      t.out = out;
      in.kernels->gemm(t);
    };
    product(*g.in1, g.weights->w1, own.a, g.weights->w3);
    product(*g.in3, g.weights->w3, own.b, next.w1);
    for (int64_t r = 0; r < t.rows; ++r) {
      const int64_t pair = g.first + r0 + r;
      float* a = own.a + r * n;
      job.plain->swiglu(a, own.b + r * n, n, job.p->limit, job.weight[pair], job.p->x.dtype == DType::kBF16, a);
      g.down->prepare(w2.dtype, DType::kF32, a, n, job.p->quantize, job.h + pair * job.h_stride + offset);
    }
  }
}

// The pieces whose cost begins in [from, to).
void hidden_share(const Job& job, int64_t from, int64_t to, const Own& own) {
  int64_t begin = 0;
  for (int i = 0; i < job.num_groups; ++i) {
    const Group& g = job.groups[i];
    const int64_t low = std::clamp<int64_t>(ceil_div(std::max<int64_t>(from - begin, 0), g.cost), 0, job.pieces);
    const int64_t high = std::clamp<int64_t>(ceil_div(std::max<int64_t>(to - begin, 0), g.cost), 0, job.pieces);
    begin += job.pieces * g.cost;
    const int64_t step = std::max<int64_t>(1, kResults / (std::min(g.rows, kRows) * kPiece));
    for (int64_t piece = low; piece < high; piece += step) {
      const int64_t first = piece * kPiece, last = std::min(job.inner, std::min(piece + step, high) * kPiece);
      hidden(job, g, first, last - first, *job.groups[std::min(i + 1, job.num_groups - 1)].weights, own);
    }
  }
}

// Output columns [first, first + n) of all tokens.
void output_unit(const Job& job, int64_t first, int64_t n, const Own& own) {
  std::fill(own.sums, own.sums + job.tokens * n, 0.0f);
  for (int i = 0; i < job.num_groups; ++i) {
    const Group& g = job.groups[i];
    for (int64_t r0 = 0; r0 < g.rows; r0 += kRows) {
      GemmTask t;
      t.weight = &g.weights->w2;
      t.out_begin = t.out_first = first;
      t.out_end = first + n;
      t.x = job.h + (g.first + r0) * job.h_stride;
      t.x_stride = job.h_stride;
      t.rows = std::min(kRows, g.rows - r0);
      t.out = own.sums;
      t.out_stride = n;
      t.next = job.groups[std::min(i + 1, job.num_groups - 1)].weights->w2.row(first);
      t.out_rows = job.token + g.first + r0;
      t.accumulate = true;
      t.tile = own.tile;
      g.down->gemm(t);
    }
  }
  const ops::Mat& out = job.p->out;
  const int64_t size = static_cast<int64_t>(dtype_size(out.dtype));
  for (int64_t t = 0; t < job.tokens; ++t) {
    const float* sum = own.sums + t * n;
    job.plain->sum_rows(&sum, 1, n, out.dtype, static_cast<uint8_t*>(out.data) + (t * out.stride + first) * size);
  }
}

// At most kTokens tokens.
template <Isa isa>
void run(const ops::MoeParams& p, ops::Context& ctx) {
  const int64_t tokens = p.x.rows, routed = tokens * p.top_k;
  const bool has_shared = !p.shared.w1.empty();
  const int64_t pairs = routed + (has_shared ? tokens : 0);
  Arena& scratch = *ctx.scratch;

  // Counting sort by expert, tokens ascending within one; the shared expert comes last.
  int64_t* start = scratch.alloc<int64_t>(p.num_experts + 2);
  std::fill(start, start + p.num_experts + 2, 0);
  for (int64_t i = 0; i < routed; ++i) ++start[p.ids[i] + 1];
  for (int e = 0; e < p.num_experts; ++e) start[e + 1] += start[e];
  start[p.num_experts + 1] = pairs;
  int64_t* fill = scratch.alloc<int64_t>(p.num_experts + 1);
  std::copy(start, start + p.num_experts + 1, fill);
  int32_t* token = scratch.alloc<int32_t>(pairs);
  float* weight = scratch.alloc<float>(pairs);
  for (int64_t i = 0; i < routed; ++i) {
    const int64_t at = fill[p.ids[i]]++;
    token[at] = static_cast<int32_t>(i / p.top_k);
    weight[at] = p.weights[i];
  }
  for (int64_t t = 0; t < pairs - routed; ++t) {
    token[routed + t] = static_cast<int32_t>(t);
    weight[routed + t] = 1.0f;
  }

  Job job{};
  job.p = &p;
  job.plain = &plain_kernels(isa);
  job.tokens = tokens;
  job.d = p.out.cols;
  job.token = token;
  job.weight = weight;
  // Inputs are prepared once per arithmetic and weight type: routed and shared experts usually differ.
  constexpr int kMaxPrepared = 8;
  Prepared inputs[kMaxPrepared];
  int num_inputs = 0;
  auto input_for = [&](const ops::Weight& w) -> const Prepared* {
    const GemmKernels* k = &gemm_kernels(isa, p.x.dtype, w);
    for (int i = 0; i < num_inputs; ++i)
      if (inputs[i].kernels == k && inputs[i].weight == w.dtype) return &inputs[i];
    const int64_t bytes = k->row_bytes(w.dtype, p.x.cols);
    inputs[num_inputs] = {k, w.dtype, scratch.alloc<uint8_t>(bytes * tokens), bytes};
    return &inputs[num_inputs++];
  };
  Group* groups = scratch.alloc<Group>(std::min<int64_t>(p.num_experts, routed) + 1);
  int64_t tile = 0;
  for (int e = 0; e <= p.num_experts; ++e) {
    const int64_t rows = start[e + 1] - start[e];
    if (rows == 0) continue;
    const ops::ExpertWeights& w = e < p.num_experts ? p.experts[e] : p.shared;
    Group& g = groups[job.num_groups++];
    g = {&w, start[e], rows, input_for(w.w1), input_for(w.w3), &gemm_kernels(isa, p.x.dtype, w.w2), 0};
    g.cost = std::max<int64_t>(1, cost_of(w.w1, kPiece, rows) + cost_of(w.w3, kPiece, rows));
    job.inner = w.w1.rows;
    job.pieces = ceil_div(job.inner, kPiece);
    job.total += g.cost * job.pieces;
    job.h_stride = std::max(job.h_stride, g.down->row_bytes(w.w2.dtype, w.w2.cols));
    tile = std::max({tile, g.in1->kernels->tile_bytes(w.w1.dtype, w.w1.cols),
                     g.in3->kernels->tile_bytes(w.w3.dtype, w.w3.cols), g.down->tile_bytes(w.w2.dtype, w.w2.cols)});
  }
  job.groups = groups;
  job.h = scratch.alloc<uint8_t>(job.h_stride * pairs);

  const int64_t x_size = static_cast<int64_t>(dtype_size(p.x.dtype));
  auto prepare = [&](int64_t begin, int64_t end, int) {
    for (int64_t t = begin; t < end; ++t)
      for (int i = 0; i < num_inputs; ++i) {
        const Prepared& q = inputs[i];
        q.kernels->prepare(q.weight, p.x.dtype, static_cast<const uint8_t*>(p.x.data) + t * p.x.stride * x_size,
                           p.x.cols, p.quantize, q.x + t * q.bytes);
      }
  };
  if (tokens * p.x.cols * num_inputs <= kPrepareInline)
    prepare(0, tokens, 0);
  else
    ctx.pool->parallel_for(tokens, 1, prepare);

  const int threads = job.total < kInlineCycles ? 1 : ctx.pool->num_threads();
  const int64_t results = std::min(kResults, std::max(tokens, pairs) * job.pieces * kPiece);
  job.columns = std::max(kUnit, kResults / tokens / kUnit * kUnit);
  const int64_t own_bytes = (2 * results + tokens * job.columns) * 4 + tile;
  const int64_t own_stride = ceil_div(own_bytes, 4096) * 4096;  // threads never share a page
  uint8_t* memory = scratch.alloc<uint8_t>(own_stride * threads);
  auto own = [&](int thread) {
    Own o;
    o.a = reinterpret_cast<float*>(memory + own_stride * thread);
    o.b = o.a + results;
    o.sums = o.b + results;
    o.tile = reinterpret_cast<uint8_t*>(o.sums + tokens * job.columns);
    return o;
  };
  auto hidden_part = [&](int thread, int n) {
    hidden_share(job, job.total * thread / n, job.total * (thread + 1) / n, own(thread));
  };
  auto output_part = [&](int thread, int n) {
    // Columns in steps of 32, the height of an FP8 scale block.
    const int64_t steps = ceil_div(job.d, 32), begin = steps * thread / n * 32,
                  end = std::min(job.d, steps * (thread + 1) / n * 32);
    for (int64_t c = begin; c < end; c += job.columns) output_unit(job, c, std::min(job.columns, end - c), own(thread));
  };
  if (threads == 1) {
    hidden_part(0, 1);
    output_part(0, 1);
  } else {
    ctx.pool->run(hidden_part);
    ctx.pool->run(output_part);
  }
}

}  // namespace

template <Isa isa>
void moe(const ops::MoeParams& p, ops::Context& ctx) {
  const int64_t x_size = static_cast<int64_t>(dtype_size(p.x.dtype)),
                out_size = static_cast<int64_t>(dtype_size(p.out.dtype));
  for (int64_t t = 0; t < p.x.rows; t += kTokens) {
    ops::MoeParams part = p;
    part.x.rows = part.out.rows = std::min(kTokens, p.x.rows - t);
    part.x.data = static_cast<uint8_t*>(p.x.data) + t * p.x.stride * x_size;
    part.out.data = static_cast<uint8_t*>(p.out.data) + t * p.out.stride * out_size;
    part.ids = p.ids ? p.ids + t * p.top_k : nullptr;
    part.weights = p.weights ? p.weights + t * p.top_k : nullptr;
    run<isa>(part, ctx);
  }
}

template void moe<Isa::kGeneric>(const ops::MoeParams&, ops::Context&);
template void moe<Isa::kAvx2>(const ops::MoeParams&, ops::Context&);
template void moe<Isa::kAvx512>(const ops::MoeParams&, ops::Context&);
template void moe<Isa::kAvx512Bf16>(const ops::MoeParams&, ops::Context&);
template void moe<Isa::kAmx>(const ops::MoeParams&, ops::Context&);

}  // namespace deepinfer::cpu
