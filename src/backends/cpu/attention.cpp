#include "backends/cpu/attention.h"

#include <algorithm>
#include <atomic>

namespace deepinfer::cpu {

const AttentionKernels& attention_kernels(Isa isa, DType act) {
  const bool bf16 = act == DType::kBF16;
  switch (isa) {
    case Isa::kGeneric:
      return bf16 ? kAttentionRoundedGeneric : kAttentionF32Generic;
    case Isa::kAvx2:
      return bf16 ? kAttentionRoundedAvx2 : kAttentionF32Avx2;
    case Isa::kAvx512:
      return bf16 ? kAttentionRoundedAvx512 : kAttentionF32Avx512;
    default:
      return bf16 ? kAttentionAvx512Bf16 : kAttentionF32Avx512;
  }
}

namespace {

// Key rows of a whole sequence are decoded ahead only up to this much scratch; longer ones are decoded row by row.
constexpr int64_t kMaxShared = 64 << 20;
// From this many rows on, a row is one thread's work; below, the keys and then the outputs of a row are split over
// threads.
constexpr int64_t kManyRows = 4;
constexpr int kKeyChunk = 32;

struct SequenceKeys {  // of the rows of one sequence: contiguous in the call
  int32_t sequence;
  int64_t row_begin, row_end;
  int32_t window_begin, window_end;  // positions decoded ahead
  int32_t entries;                   // compressed entries 0..entries-1 decoded ahead; 0: none
  uint8_t* window;
  uint8_t* compressed;
};

}  // namespace

template <Isa isa>
void sparse_attention(const ops::SparseAttentionParams& p, ops::Context& ctx) {
  const int64_t rows = p.q.rows;
  if (rows == 0) return;
  const AttentionKernels& k = attention_kernels(isa, p.q.dtype);
  const int64_t value = k.value_bytes, key_bytes = p.dim * value;
  const int heads = p.heads, dim = p.dim, threads = ctx.pool->num_threads();
  const bool has_compressed = p.compressed.tables != nullptr;
  Arena& scratch = *ctx.scratch;
  auto keys_of = [&](int64_t r) {
    return std::max(0, p.window_end[r] - p.window_begin[r]) + (has_compressed ? p.num_selected[r] : 0);
  };
  int max_keys = 0;
  for (int64_t r = 0; r < rows; ++r) max_keys = std::max(max_keys, keys_of(r));
  const int64_t z_stride = (max_keys + 16) / 16 * 16, p_stride = (z_stride + 16) * value;

  if (rows < kManyRows) {
    // Few rows: decode and score chunks of keys in parallel, then split heads (and dims if there are few heads).
    const uint8_t** keys = scratch.alloc<const uint8_t*>(rows * (max_keys + 1));
    uint8_t* decoded = scratch.alloc<uint8_t>(rows * max_keys * key_bytes + 64);
    float* z = scratch.alloc<float>(rows * heads * z_stride);
    const int64_t chunks = (max_keys + kKeyChunk - 1) / kKeyChunk;
    ctx.pool->parallel_for(rows * chunks, 1, [&](int64_t begin, int64_t end, int) {
      for (int64_t u = begin; u < end; ++u) {
        const int64_t r = u / chunks;
        const int n = keys_of(r), first = static_cast<int>(u % chunks) * kKeyChunk,
                  last = std::min(n, first + kKeyChunk);
        if (first >= last) continue;
        const int window = std::max(0, p.window_end[r] - p.window_begin[r]);
        const uint8_t** row_keys = keys + r * (max_keys + 1);
        for (int i = first; i < last; ++i) {
          uint8_t* key = decoded + (r * max_keys + i) * key_bytes;
          if (i < window)
            k.decode(p.window.format, p.window.record(p.sequence[r], p.window_begin[r] + i), dim, key);
          else
            k.decode(p.compressed.format,
                     p.compressed.record(p.sequence[r], p.selected[r * p.selected_stride + i - window]), dim, key);
          row_keys[i] = key;
        }
        k.scores(p.q.row<uint8_t>(0) + r * p.q.stride * value, heads, dim, row_keys + first, last - first, p.scale,
                 z + r * heads * z_stride + first, z_stride);
      }
    });
    const int head_block = 4, head_blocks = (heads + head_block - 1) / head_block;
    const int parts = std::max(
        1, std::min<int>(static_cast<int>((threads + rows * head_blocks - 1) / (rows * head_blocks)), dim / 32));
    uint8_t* weights = scratch.alloc<uint8_t>(threads * head_block * p_stride);
    ctx.pool->parallel_for(rows * head_blocks * parts, 1, [&](int64_t begin, int64_t end, int thread) {
      uint8_t* w = weights + thread * head_block * p_stride;
      float inverse[4];
      int64_t ready = -1;
      for (int64_t u = begin; u < end; ++u) {
        const int64_t block = u / parts, r = block / head_blocks;
        const int h0 = static_cast<int>(block % head_blocks) * head_block, hn = std::min(head_block, heads - h0),
                  n = keys_of(r);
        if (block != ready)
          for (int h = 0; h < hn; ++h)
            inverse[h] = k.weights(z + (r * heads + h0 + h) * z_stride, n, p.sink[h0 + h], w + h * p_stride);
        ready = block;
        const int part = static_cast<int>(u % parts), d0 = dim / 32 * part / parts * 32,
                  d1 = dim / 32 * (part + 1) / parts * 32;
        uint8_t* out = p.out.row<uint8_t>(0) + (r * p.out.stride + static_cast<int64_t>(h0) * dim) * value;
        k.values(w, p_stride, inverse, hn, dim, keys + r * (max_keys + 1), n, d0, d1, out);
      }
    });
    return;
  }

  // Many rows: decode what several rows share, once.
  SequenceKeys* seqs = scratch.alloc<SequenceKeys>(rows);
  int num_seqs = 0;
  for (int64_t r = 0; r < rows;) {
    SequenceKeys s{p.sequence[r], r, r, INT32_MAX, 0, 0, nullptr, nullptr};
    int64_t chosen = 0;
    int32_t top = -1;
    for (; s.row_end < rows && p.sequence[s.row_end] == s.sequence; ++s.row_end) {
      const int64_t i = s.row_end;
      s.window_begin = std::min(s.window_begin, p.window_begin[i]);
      s.window_end = std::max(s.window_end, p.window_end[i]);
      if (has_compressed && p.num_selected[i] > 0) {
        chosen += p.num_selected[i];
        top = std::max(top, p.selected[i * p.selected_stride + p.num_selected[i] - 1]);
      }
    }
    r = s.row_end;
    if (s.window_end > s.window_begin) s.window = scratch.alloc<uint8_t>((s.window_end - s.window_begin) * key_bytes);
    if (top + 1 <= chosen && (top + 1) * key_bytes <= kMaxShared) {
      s.entries = top + 1;
      if (s.entries > 0) s.compressed = scratch.alloc<uint8_t>(s.entries * key_bytes);
    }
    seqs[num_seqs++] = s;
  }
  for (int i = 0; i < num_seqs; ++i) {
    const SequenceKeys& s = seqs[i];
    const int64_t window = std::max(0, s.window_end - s.window_begin);
    ctx.pool->parallel_for(window + s.entries, 16, [&](int64_t begin, int64_t end, int) {
      for (int64_t j = begin; j < end; ++j) {
        if (j < window)
          k.decode(p.window.format, p.window.record(s.sequence, static_cast<int32_t>(s.window_begin + j)), dim,
                   s.window + j * key_bytes);
        else
          k.decode(p.compressed.format, p.compressed.record(s.sequence, j - window), dim,
                   s.compressed + (j - window) * key_bytes);
      }
    });
  }
  bool own_rows = false;
  for (int i = 0; i < num_seqs; ++i) own_rows |= has_compressed && seqs[i].entries == 0;
  const int64_t own_bytes = own_rows ? static_cast<int64_t>(p.selected_stride) * key_bytes : 0;
  const uint8_t** keys = scratch.alloc<const uint8_t*>(threads * (max_keys + 1));
  float* z = scratch.alloc<float>(threads * heads * z_stride);
  uint8_t* weights = scratch.alloc<uint8_t>(threads * heads * p_stride);
  float* inverse = scratch.alloc<float>(threads * heads);
  uint8_t* own = scratch.alloc<uint8_t>(threads * own_bytes + 64);
  std::atomic<int64_t> next{0};
  constexpr int64_t kRowsAtOnce = 4;
  ctx.pool->run([&](int thread, int) {
    const uint8_t** row_keys = keys + thread * (max_keys + 1);
    float* my_z = z + thread * heads * z_stride;
    uint8_t* w = weights + thread * heads * p_stride;
    float* inv = inverse + thread * heads;
    int seq = 0;
    for (int64_t first; (first = next.fetch_add(kRowsAtOnce, std::memory_order_relaxed)) < rows;) {
      for (int64_t r = first; r < std::min(rows, first + kRowsAtOnce); ++r) {
        while (r >= seqs[seq].row_end) ++seq;
        const SequenceKeys& s = seqs[seq];
        int n = 0;
        for (int32_t pos = p.window_begin[r]; pos < p.window_end[r]; ++pos)
          row_keys[n++] = s.window + (pos - s.window_begin) * key_bytes;
        if (has_compressed) {
          for (int i = 0; i < p.num_selected[r]; ++i) {
            const int32_t entry = p.selected[r * p.selected_stride + i];
            if (s.entries > 0) {
              row_keys[n++] = s.compressed + entry * key_bytes;
            } else {
              uint8_t* key = own + thread * own_bytes + i * key_bytes;
              k.decode(p.compressed.format, p.compressed.record(s.sequence, entry), dim, key);
              row_keys[n++] = key;
            }
          }
        }
        k.scores(p.q.row<uint8_t>(0) + r * p.q.stride * value, heads, dim, row_keys, n, p.scale, my_z, z_stride);
        for (int h = 0; h < heads; ++h) inv[h] = k.weights(my_z + h * z_stride, n, p.sink[h], w + h * p_stride);
        k.values(w, p_stride, inv, heads, dim, row_keys, n, 0, dim, p.out.row<uint8_t>(0) + r * p.out.stride * value);
      }
    }
  });
}

template void sparse_attention<Isa::kGeneric>(const ops::SparseAttentionParams&, ops::Context&);
template void sparse_attention<Isa::kAvx2>(const ops::SparseAttentionParams&, ops::Context&);
template void sparse_attention<Isa::kAvx512>(const ops::SparseAttentionParams&, ops::Context&);
template void sparse_attention<Isa::kAvx512Bf16>(const ops::SparseAttentionParams&, ops::Context&);
template void sparse_attention<Isa::kAmx>(const ops::SparseAttentionParams&, ops::Context&);

}  // namespace deepinfer::cpu
