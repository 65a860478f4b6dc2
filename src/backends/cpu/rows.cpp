// Row-wise operators: rows over threads, inner loops from RowKernels. A grain says how many rows are worth a thread of
// their own: a dispatch costs about 1 us, so decode steps (one row) run on the caller.
#include "backends/cpu/rows.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "backends/cpu/gemm.h"
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
  const GemmKernels& gemm = plain_kernels(isa);
  const int m = p.num_streams, mix = m * (m + 2);
  const int64_t n = p.streams.cols, rows = p.streams.rows, x_bytes = gemm.row_bytes(DType::kF32, n);
  ops::Weight fn;
  fn.data = p.fn;
  fn.dtype = DType::kF32;
  fn.rows = mix;
  fn.cols = n;
  // Rows in small batches: their fp32 copies stay in the first-level cache while the 24 rows of fn go by once per
  // batch.
  constexpr int64_t kBatch = 8;
  const int threads = ctx.pool->num_threads();
  uint8_t* x = ctx.scratch->alloc<uint8_t>(threads * kBatch * x_bytes);
  float* t = ctx.scratch->alloc<float>(threads * kBatch * mix);
  uint8_t* tile = ctx.scratch->alloc<uint8_t>(threads * gemm.tile_bytes(DType::kF32, n));
  ctx.pool->parallel_for(rows, 2, [&](int64_t begin, int64_t end, int thread) {
    uint8_t* my_x = x + thread * kBatch * x_bytes;
    float* my_t = t + thread * kBatch * mix;
    for (int64_t r0 = begin; r0 < end; r0 += kBatch) {
      const int64_t count = std::min(kBatch, end - r0);
      for (int64_t i = 0; i < count; ++i)
        gemm.prepare(DType::kF32, p.streams.dtype, at(p.streams, r0 + i), n, false, my_x + i * x_bytes);
      GemmTask task;
      task.weight = &fn;
      task.out_end = mix;
      task.x = my_x;
      task.x_stride = x_bytes;
      task.rows = count;
      task.out = my_t;
      task.out_stride = mix;
      task.tile = tile + thread * gemm.tile_bytes(DType::kF32, n);
      gemm.gemm(task);
      float inverse[kBatch];
      for (int64_t i = 0; i < count; ++i)
        inverse[i] = 1.0f / std::sqrt(k.sum_squares(reinterpret_cast<const float*>(my_x + i * x_bytes), n) /
                                          static_cast<float>(n) +
                                      p.norm_eps);
      k.hc_finish(my_t, inverse, static_cast<int>(count), m, p.scale, p.base, p.sinkhorn_iters, p.hc_eps,
                  p.pre + r0 * m, p.post + r0 * m, p.comb + r0 * m * m);
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
                             for (int i = 0; i < top; ++i) {
                               int best = -1;
                               for (int e = 0; e < experts; ++e)
                                 if (best < 0 ? rank[e] == rank[e] : rank[e] > rank[best]) best = e;
                               if (best < 0) {  // every rank is NaN (damaged weights): keep ids valid
                                 best = 0;
                                 while (std::find(ids, ids + i, best) != ids + i) ++best;
                               }
                               ids[i] = best;
                               // NaN never wins: a chosen expert cannot be chosen again.
                               rank[best] = std::numeric_limits<float>::quiet_NaN();
                               sum += score[best];
                             }
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
