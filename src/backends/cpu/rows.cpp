// Row-wise operators: rows over threads, inner loops from RowKernels. A grain says how many rows are worth a thread of
// their own: a dispatch costs about 1 us, so decode steps (one row) run on the caller.
#include "backends/cpu/rows.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "backends/cpu/rows_ops.h"

namespace deepinfer::cpu {

const RowKernels& row_kernels(Isa isa) {
  switch (isa) {
    case Isa::kGeneric:
      return kRowsGeneric;
    case Isa::kAvx2:
      return kRowsAvx2;
    default:
      return kRowsAvx512;
  }
}

namespace {

// Rows of `bytes` each that make about 2 us of streaming work.
int64_t grain_of(int64_t bytes) { return std::max<int64_t>(1, (64 << 10) / std::max<int64_t>(bytes, 1)); }
int64_t size_of(const ops::Mat& m) { return static_cast<int64_t>(dtype_size(m.dtype)); }
uint8_t* at(const ops::Mat& m, int64_t row, int64_t col = 0) {
  return m.row<uint8_t>(0) + (row * m.stride + col) * size_of(m);
}

}  // namespace

template <Isa isa>
void embed(const ops::EmbedParams& p, ops::Context& ctx) {
  const RowKernels& k = row_kernels(isa);
  const int64_t d = p.table.cols, size = size_of(p.streams);
  ctx.pool->parallel_for(p.streams.rows, grain_of(p.streams.cols * size), [&](int64_t begin, int64_t end, int) {
    for (int64_t r = begin; r < end; ++r) {
      const uint16_t* row = static_cast<const uint16_t*>(p.table.data) + p.ids[r] * d;
      uint8_t* out = at(p.streams, r);
      if (p.streams.dtype == DType::kBF16)
        std::memcpy(out, row, static_cast<size_t>(2 * d));
      else
        k.load(DType::kBF16, row, d, reinterpret_cast<float*>(out));
      for (int s = 1; s < p.num_streams; ++s) std::memcpy(out + s * d * size, out, static_cast<size_t>(d * size));
    }
  });
}

template <Isa isa>
void engram_hash(const ops::EngramHashParams& p, ops::Context& ctx) {
  const int columns = (p.max_ngram - 1) * p.heads;
  ctx.pool->parallel_for(p.rows, 64, [&](int64_t begin, int64_t end, int) {
    for (int64_t r = begin; r < end; ++r) {
      const int32_t* t = p.lookback + r * p.max_ngram;
      int64_t hash = t[0] * p.multipliers[0];
      int64_t* out = p.out + r * columns;
      for (int n = 2, c = 0; n <= p.max_ngram; ++n) {
        hash ^= t[n - 1] * p.multipliers[n - 1];
        for (int h = 0; h < p.heads; ++h, ++c) out[c] = hash % p.primes[c] + p.offsets[c];
      }
    }
  });
}

template <Isa isa>
void engram_gather(const ops::EngramGatherParams& p, ops::Context& ctx) {
  const RowKernels& k = row_kernels(isa);
  const int64_t total = p.out.rows * p.columns;
  ctx.pool->parallel_for(p.out.rows, 16, [&](int64_t begin, int64_t end, int) {
    for (int64_t i = begin * p.columns; i < end * p.columns; ++i) {
      // The rows of a table larger than the caches are all misses: ask for them a few rows ahead.
      if (i + 8 < total) {
        const uint8_t* ahead = p.table + p.row_ids[i + 8] * p.dim;
        for (int b = 0; b < p.dim; b += 64) __builtin_prefetch(ahead + b);
        __builtin_prefetch(p.scale + p.row_ids[i + 8] * (p.dim / 32));
      }
      const int64_t row = p.row_ids[i];
      k.engram_row(p.out.dtype, p.table + row * p.dim, p.scale + row * (p.dim / 32), p.dim,
                   at(p.out, i / p.columns, i % p.columns * p.dim));
    }
  });
}

template <Isa isa>
void engram_gate(const ops::EngramGateParams& p, ops::Context& ctx) {
  const RowKernels& k = row_kernels(isa);
  const int64_t m = p.num_streams, d = p.streams.cols / m;
  ctx.pool->parallel_for(p.streams.rows, grain_of(2 * p.streams.cols * size_of(p.streams)),
                         [&](int64_t begin, int64_t end, int) {
                           for (int64_t r = begin; r < end; ++r) {
                             if (p.skip && p.skip[r]) continue;
                             for (int64_t s = 0; s < m; ++s)
                               k.engram_gate(p.streams.dtype, at(p.streams, r, s * d), at(p.kv, r, s * d),
                                             at(p.kv, r, m * d), p.q_weight + s * d, p.k_weight + s * d, d, p.eps);
                           }
                         });
}

template <Isa isa>
void hc_mix(const ops::HcMixParams& p, ops::Context& ctx) {
  const RowKernels& k = row_kernels(isa);
  const int m = p.num_streams, mix = m * (m + 2);
  // Rows in small batches: they stay in the first-level cache while the rows of fn go by.
  constexpr int64_t kBatch = 24;
  float* t = ctx.scratch->alloc<float>(ctx.pool->num_threads() * kBatch * mix);
  ctx.pool->parallel_for(p.streams.rows, 2, [&](int64_t begin, int64_t end, int thread) {
    float* mine = t + thread * kBatch * mix;
    for (int64_t r = begin; r < end; r += kBatch) {
      const int count = static_cast<int>(std::min(kBatch, end - r));
      float inverse[kBatch];
      k.hc_products(p.streams.dtype, at(p.streams, r), p.streams.stride * size_of(p.streams), count, p.streams.cols,
                    p.fn, mix, p.norm_eps, mine, inverse);
      k.hc_finish(mine, inverse, count, m, p.scale, p.base, p.sinkhorn_iters, p.hc_eps, p.pre + r * m, p.post + r * m,
                  p.comb + r * m * m);
    }
  });
}

template <Isa isa>
void hc_collapse(const ops::HcCollapseParams& p, ops::Context& ctx) {
  const RowKernels& k = row_kernels(isa);
  const int m = p.num_streams;
  const int64_t d = p.out.cols;
  float* u = ctx.scratch->alloc<float>(d * ctx.pool->num_threads());
  ctx.pool->parallel_for(p.streams.rows, grain_of(p.streams.cols * size_of(p.streams)),
                         [&](int64_t begin, int64_t end, int thread) {
                           float* mine = u + thread * d;
                           for (int64_t r = begin; r < end; ++r) {
                             k.collapse(p.streams.dtype, at(p.streams, r), m, d, p.pre + r * m, mine);
                             if (p.norm_weight)
                               k.norm(p.out.dtype, mine, p.norm_weight, d, p.eps, at(p.out, r));
                             else
                               k.store(p.out.dtype, mine, d, at(p.out, r));
                           }
                         });
}

template <Isa isa>
void hc_expand(const ops::HcExpandParams& p, ops::Context& ctx) {
  const RowKernels& k = row_kernels(isa);
  const int m = p.num_streams;
  ctx.pool->parallel_for(
      p.streams.rows, grain_of(2 * p.streams.cols * size_of(p.streams)), [&](int64_t begin, int64_t end, int) {
        for (int64_t r = begin; r < end; ++r)
          k.expand(p.streams.dtype, at(p.streams, r), m, p.y.cols, at(p.y, r), p.post + r * m, p.comb + r * m * m);
      });
}

template <Isa isa>
void stream_mean(const ops::StreamMeanParams& p, ops::Context& ctx) {
  const RowKernels& k = row_kernels(isa);
  const int m = p.num_streams;
  const int64_t d = p.out.cols;
  float* u = ctx.scratch->alloc<float>(d * ctx.pool->num_threads());
  float share[16];
  std::fill(share, share + m, 1.0f / static_cast<float>(m));
  ctx.pool->parallel_for(p.streams.rows, grain_of(p.streams.cols * size_of(p.streams)),
                         [&](int64_t begin, int64_t end, int thread) {
                           for (int64_t r = begin; r < end; ++r) {
                             k.collapse(p.streams.dtype, at(p.streams, r), m, d, share, u + thread * d);
                             k.store(p.out.dtype, u + thread * d, d, at(p.out, r));
                           }
                         });
}

template <Isa isa>
void rms_norm(const ops::RmsNormParams& p, ops::Context& ctx) {
  const RowKernels& k = row_kernels(isa);
  const int64_t d = p.x.cols;
  float* u = ctx.scratch->alloc<float>(d * ctx.pool->num_threads());
  ctx.pool->parallel_for(p.x.rows, grain_of(d * size_of(p.x)), [&](int64_t begin, int64_t end, int thread) {
    for (int64_t r = begin; r < end; ++r) {
      k.load(p.x.dtype, at(p.x, r), d, u + thread * d);
      k.norm(p.out.dtype, u + thread * d, p.weight, d, p.eps, at(p.out, r));
    }
  });
}

template <Isa isa>
void rope(const ops::RopeParams& p, ops::Context& ctx) {
  const RowKernels& k = row_kernels(isa);
  const int half = p.rope_dim / 2;
  ctx.pool->parallel_for(p.x.rows, grain_of(static_cast<int64_t>(p.heads) * p.rope_dim * 16),
                         [&](int64_t begin, int64_t end, int) {
                           for (int64_t r = begin; r < end; ++r)
                             for (int h = 0; h < p.heads; ++h)
                               k.rotate(p.x.dtype, at(p.x, r, static_cast<int64_t>(h + 1) * p.head_dim - p.rope_dim),
                                        p.cos + r * half, p.sin + r * half, half, p.inverse);
                         });
}

template <Isa isa>
void store_records(const ops::StoreRecordsParams& p, ops::Context& ctx) {
  const RowKernels& k = row_kernels(isa);
  const int64_t bytes = record_bytes(p.format, p.dim);
  const int half = p.rope_dim / 2;
  float* u = ctx.scratch->alloc<float>(static_cast<int64_t>(p.dim) * ctx.pool->num_threads());
  ctx.pool->parallel_for(
      p.x.rows, grain_of(static_cast<int64_t>(p.heads) * p.dim * 16), [&](int64_t begin, int64_t end, int thread) {
        float* v = u + static_cast<int64_t>(thread) * p.dim;
        for (int64_t r = begin; r < end; ++r) {
          if (p.offsets[r] < 0) continue;
          for (int h = 0; h < p.heads; ++h) {
            uint8_t* x = at(p.x, r, static_cast<int64_t>(h) * p.dim);
            k.load(p.x.dtype, x, p.dim, v);
            if (p.norm_weight) k.norm_rounded(p.x.dtype, v, p.norm_weight, p.dim, p.eps);
            if (p.cos) k.rotate_f32(p.x.dtype, v + p.dim - p.rope_dim, p.cos + r * half, p.sin + r * half, half);
            k.encode(p.format, v, p.dim, p.base + p.offsets[r] + h * bytes);
          }
        }
      });
}

template <Isa isa>
void compress(const ops::CompressParams& p, ops::Context& ctx) {
  const RowKernels& k = row_kernels(isa);
  const int64_t d = p.score.cols;
  auto score_of = [&](int32_t seq, int64_t position) -> const float* {
    if (position >= p.start_position[seq])
      return p.score.row<float>(p.first_row[seq] + position - p.start_position[seq]);
    return p.carry[seq] + position % p.carry_slots * 2 * d;
  };
  auto latent_of = [&](int32_t seq, int64_t position) -> const float* {
    if (position >= p.start_position[seq])
      return p.latent.row<float>(p.first_row[seq] + position - p.start_position[seq]);
    return p.carry[seq] + (position % p.carry_slots * 2 + 1) * d;
  };
  float* pooled = ctx.scratch->alloc<float>(d * ctx.pool->num_threads());
  ctx.pool->parallel_for(p.num_entries, grain_of(d * 32), [&](int64_t begin, int64_t end, int thread) {
    float* v = pooled + thread * d;
    for (int64_t e = begin; e < end; ++e) {
      const int32_t seq = p.entry_sequence[e];
      const int64_t first = static_cast<int64_t>(p.entry_index[e]) * p.ratio;
      if (p.ratio == 1) {
        k.store(p.out.dtype, latent_of(seq, first), d, at(p.out, e));  // rounded before the norm
        k.load(p.out.dtype, at(p.out, e), d, v);
      } else {
        k.pool2(p.out.dtype, score_of(seq, first), latent_of(seq, first), score_of(seq, first + 1),
                latent_of(seq, first + 1), d, v);
      }
      k.norm(p.out.dtype, v, p.norm_weight, d, p.eps, at(p.out, e));
    }
  });
  for (int s = 0; s < p.num_sequences; ++s)
    for (int i = std::max(0, p.num_tokens[s] - p.carry_slots); i < p.num_tokens[s]; ++i) {
      float* slot = p.carry[s] + static_cast<int64_t>((p.start_position[s] + i) % p.carry_slots) * 2 * d;
      const int64_t row = p.first_row[s] + i;
      std::memcpy(slot, p.score.row<float>(row), static_cast<size_t>(4 * d));
      std::memcpy(slot + d, p.latent.row<float>(row), static_cast<size_t>(4 * d));
    }
}

namespace {

// The `top` best of rank by falling rank, lower expert first among equals; NaN (damaged weights) comes last, ids stay
// valid. `rank` is used up.
void choose_experts(const RowKernels& k, float* rank, int experts, int top, int32_t* ids) {
  constexpr int kMany = 64;  // from here on a top-k and a sort of its result beat `top` passes (Zen 5, 2026-12-01, 384
  // experts, top 6, one core: 0.6 us a row instead of 1.6)
  if (experts >= kMany && k.topk(rank, experts, top, ids) == top) {
    for (int i = 1; i < top; ++i) {  // ids ascend, so equals stay in order
      const int32_t id = ids[i];
      int at = i;
      for (; at > 0 && rank[id] > rank[ids[at - 1]]; --at) ids[at] = ids[at - 1];
      ids[at] = id;
    }
    return;
  }
  for (int i = 0; i < top; ++i) {
    int best = -1;
    for (int e = 0; e < experts; ++e)
      if (best < 0 ? rank[e] == rank[e] : rank[e] > rank[best]) best = e;
    if (best < 0) {
      best = 0;
      while (std::find(ids, ids + i, best) != ids + i) ++best;
    }
    ids[i] = best;
    rank[best] = std::numeric_limits<float>::quiet_NaN();  // never wins: a chosen expert is not chosen again
  }
}

}  // namespace

template <Isa isa>
void router(const ops::RouterParams& p, ops::Context& ctx) {
  const RowKernels& k = row_kernels(isa);
  const int experts = static_cast<int>(p.logits.cols), top = p.top_k;
  float* scratch = ctx.scratch->alloc<float>(static_cast<int64_t>(2) * experts * ctx.pool->num_threads());
  ctx.pool->parallel_for(p.logits.rows, grain_of(static_cast<int64_t>(experts) * 128),
                         [&](int64_t begin, int64_t end, int thread) {
                           float* score = scratch + static_cast<int64_t>(2) * experts * thread;
                           float* rank = score + experts;
                           for (int64_t r = begin; r < end; ++r) {
                             const float* z = p.logits.row<float>(r);
                             const float* bias = p.image && p.image[r] && p.bias_vl ? p.bias_vl : p.bias;
                             k.router_scores(z, experts, score);
                             for (int e = 0; e < experts; ++e) rank[e] = score[e] + bias[e];
                             int32_t* ids = p.ids + r * top;
                             float* weights = p.weights + r * top;
                             float sum = 0;
                             choose_experts(k, rank, experts, top, ids);
                             for (int i = 0; i < top; ++i) sum += score[ids[i]];
                             for (int i = 0; i < top; ++i)
                               weights[i] = (top == 1 ? score[ids[i]] : score[ids[i]] / (sum + 1e-20f)) * p.scale;
                           }
                         });
}

template <Isa isa>
void gather_rows(const ops::GatherRowsParams& p, ops::Context&) {
  const size_t bytes = static_cast<size_t>(p.x.cols * size_of(p.x));
  for (int64_t r = 0; r < p.out.rows; ++r) {
    if (p.index[r] < 0 || p.index[r] >= p.x.rows)
      std::memset(at(p.out, r), 0, bytes);
    else
      std::memcpy(at(p.out, r), at(p.x, p.index[r]), bytes);
  }
}

#define DEEPINFER_ROW_INSTANCE(name, Params)                               \
  template void name<Isa::kGeneric>(const ops::Params&, ops::Context&);    \
  template void name<Isa::kAvx2>(const ops::Params&, ops::Context&);       \
  template void name<Isa::kAvx512>(const ops::Params&, ops::Context&);     \
  template void name<Isa::kAvx512Bf16>(const ops::Params&, ops::Context&); \
  template void name<Isa::kAmx>(const ops::Params&, ops::Context&);
DEEPINFER_ROW_OPS(DEEPINFER_ROW_INSTANCE)
#undef DEEPINFER_ROW_INSTANCE

}  // namespace deepinfer::cpu
