#include <algorithm>
#include <limits>

#include "backends/cpu/attention.h"

namespace deepinfer::cpu {

const IndexKernels& index_kernels(Isa isa, CacheFormat format, int dim) {
  switch (isa) {
    case Isa::kGeneric:
      return kIndexF32Generic;
    case Isa::kAvx2:
      return kIndexF32Avx2;
    case Isa::kAvx512:
      return kIndexF32Avx512;
    default:
      return format == CacheFormat::kFp4Ue8m0 && dim % 32 == 0 ? kIndexAvx512Vnni : kIndexF32Avx512;
  }
}

namespace {

float weight_value(const ops::Mat& m, int64_t r, int h) {
  return m.dtype == DType::kBF16 ? bf16_to_float(m.row<uint16_t>(r)[h]) : m.row<float>(r)[h];
}

}  // namespace

template <Isa isa>
void index_scores(const ops::IndexScoresParams& p, ops::Context& ctx) {
  if (p.rows == 0) return;
  const IndexKernels& k = index_kernels(isa, p.format, p.dim);
  const int64_t record = record_bytes(p.format, p.dim), query_bytes = (k.query_bytes(p.heads, p.dim) + 63) / 64 * 64;
  const int64_t block_bytes = (k.block_bytes(p.dim) + 63) / 64 * 64;
  const int threads = ctx.pool->num_threads(), width = k.keys;
  uint8_t* queries = ctx.scratch->alloc<uint8_t>(p.rows * query_bytes);
  float* weights = ctx.scratch->alloc<float>(p.rows * p.heads);
  uint8_t* blocks = ctx.scratch->alloc<uint8_t>(threads * block_bytes);
  constexpr float kNone = -std::numeric_limits<float>::infinity();
  auto columns_of = [&](int64_t r) {
    return p.blocks ? static_cast<int64_t>(p.num_blocks[r]) * p.block_size : p.visible[r];
  };
  auto decode_rows = [&](int64_t begin, int64_t end) {
    for (int64_t r = begin; r < end; ++r) {
      k.decode_query(p.format, p.q + r * p.heads * record, p.heads, p.dim, queries + r * query_bytes);
      for (int h = 0; h < p.heads; ++h) weights[r * p.heads + h] = weight_value(p.weights, r, h) * p.weight_scale;
    }
  };
  // Columns [begin, end) of rows [r0, r1) of one sequence that share their columns: a block of keys is decoded once for
  // all of them.
  auto full = [&](int64_t r0, int64_t r1, int64_t begin, int64_t end, uint8_t* block) {
    const uint8_t* records[16];
    for (int64_t c = begin; c < end; c += width) {
      const int n = static_cast<int>(std::min<int64_t>(width, end - c));
      for (int i = 0; i < n; ++i) records[i] = p.keys.record(p.sequence[r0], c + i);
      k.decode_keys(p.format, records, n, p.dim, block);
      for (int64_t r = r0; r < r1; ++r) {
        const int64_t m = std::min<int64_t>(n, p.visible[r] - c);
        if (m > 0)
          k.score(queries + r * query_bytes, block, p.heads, p.dim, weights + r * p.heads, static_cast<int>(m),
                  p.out + r * p.out_stride + c);
      }
    }
  };
  auto compact = [&](int64_t r, int64_t begin, int64_t end, uint8_t* block) {
    const uint8_t* records[16];
    int64_t column[16];
    float scored[16];
    float* out = p.out + r * p.out_stride;
    const int32_t* mine = p.blocks + r * p.blocks_stride;
    for (int64_t c = begin; c < end;) {
      int n = 0;
      for (; c < end && n < width; ++c) {
        const int64_t entry = static_cast<int64_t>(mine[c / p.block_size]) * p.block_size + c % p.block_size;
        if (entry >= p.visible[r]) {
          out[c] = kNone;
          continue;
        }
        records[n] = p.keys.record(p.sequence[r], entry);
        column[n++] = c;
      }
      if (n == 0) continue;
      k.decode_keys(p.format, records, n, p.dim, block);
      k.score(queries + r * query_bytes, block, p.heads, p.dim, weights + r * p.heads, n, scored);
      for (int i = 0; i < n; ++i) out[column[i]] = scored[i];
    }
  };

  if (p.rows < threads * 2) {  // few rows: split the columns of each
    decode_rows(0, p.rows);
    for (int64_t r = 0; r < p.rows; ++r) {
      const int64_t columns = columns_of(r), chunks = (columns + width - 1) / width;
      ctx.pool->parallel_for(chunks, 8, [&](int64_t begin, int64_t end, int thread) {
        uint8_t* block = blocks + thread * block_bytes;
        const int64_t c0 = begin * width, c1 = std::min(columns, end * width);
        if (p.blocks)
          compact(r, c0, c1, block);
        else
          full(r, r + 1, c0, c1, block);
      });
    }
    return;
  }
  ctx.pool->run([&](int thread, int n) {
    // Later rows see more: cut so that both halves have about equal work (rows are sorted by position inside a
    // sequence).
    int64_t total = 0;
    for (int64_t r = 0; r < p.rows; ++r) total += columns_of(r) + 1;
    const int64_t low = total * thread / n, high = total * (thread + 1) / n;
    int64_t begin = p.rows, end = 0, at = 0;
    for (int64_t r = 0; r < p.rows; ++r) {
      if (at >= low && at < high) {
        begin = std::min(begin, r);
        end = r + 1;
      }
      at += columns_of(r) + 1;
    }
    if (begin >= end) return;
    decode_rows(begin, end);
    uint8_t* block = blocks + thread * block_bytes;
    for (int64_t r = begin; r < end;) {
      int64_t stop = r + 1;
      if (p.blocks) {
        compact(r, 0, columns_of(r), block);
      } else {
        int64_t columns = columns_of(r);
        for (; stop < end && p.sequence[stop] == p.sequence[r]; ++stop) columns = std::max(columns, columns_of(stop));
        full(r, stop, 0, columns, block);
      }
      r = stop;
    }
  });
}

template void index_scores<Isa::kGeneric>(const ops::IndexScoresParams&, ops::Context&);
template void index_scores<Isa::kAvx2>(const ops::IndexScoresParams&, ops::Context&);
template void index_scores<Isa::kAvx512>(const ops::IndexScoresParams&, ops::Context&);
template void index_scores<Isa::kAvx512Bf16>(const ops::IndexScoresParams&, ops::Context&);
template void index_scores<Isa::kAmx>(const ops::IndexScoresParams&, ops::Context&);

}  // namespace deepinfer::cpu
