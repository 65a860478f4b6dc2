// What every operator shares: identity, execution context, views of matrices, weights and caches.
//
// An operator is a parameter struct (one header each in this folder), one `check` function that says in words what is
// wrong with the parameters, and one implementation per backend under the same file name. `ops/list.h` is the single
// list of operators; `backends/registry.h` turns a backend's functions into an OpTable. Operators never allocate
// results; scratch memory comes from Context::scratch. Contract of every operator: a row's result depends on that row's
// inputs only, never on the number of rows, their order, the number of threads or the split of work (batch invariance,
// bit for bit).
//
// "act" below is the activation type of the model's numerics: kBF16 (quantized mode; values are rounded to nearest even
// where the operator says "act(.)") or kF32 (fp32 mode; act(.) is the identity).
#pragma once
#include <cstdint>

#include "base/arena.h"
#include "base/result.h"
#include "base/thread_pool.h"
#include "tensor/dtype.h"
#include "tensor/quant.h"

namespace deepinfer::ops {

// What an operator may use beside its parameters. One Context belongs to one engine thread.
struct Context {
  ThreadPool* pool = nullptr;
  Arena* scratch = nullptr;  // reset by the model between operators: an operator's scratch dies with the call
};

// Row-major matrix view: row r starts at element r * stride. Strides are in elements and may exceed cols.
struct Mat {
  void* data = nullptr;
  DType dtype = DType::kF32;
  int64_t rows = 0, cols = 0, stride = 0;

  template <typename T>
  T* row(int64_t r) const {
    return static_cast<T*>(data) + r * stride;
  }
};

// A weight as it lies in the checkpoint ([out, in], y = W x), never expanded.
//   kF8E4M3: data [rows, cols] e4m3, scale UE8M0 [ceil(rows/32), ceil(cols/32)]          (model.md 3.2, FP8 linear)
//   kF4E2M1x2: data [rows, cols/2], even column in the low nibble, scale UE8M0 [rows, cols/32]  (FP4 linear)
//   kBF16, kF32: data [rows, cols], no scale
// `packed` is a backend's own re-arranged copy made once at load (null: use data).
struct Weight {
  const void* data = nullptr;
  const uint8_t* scale = nullptr;
  const void* packed = nullptr;
  DType dtype = DType::kBF16;
  int64_t rows = 0, cols = 0;
  bool plain_scales =
      true;  // every scale byte lies in [64, 190]: products stay far from fp32's subnormals and overflow
  bool empty() const { return data == nullptr; }
  int64_t row_bytes() const {
    return dtype == DType::kF4E2M1x2 ? cols / 2 : cols * static_cast<int64_t>(dtype_size(dtype));
  }
  int64_t scale_bytes() const {  // of the whole weight
    return dtype == DType::kF4E2M1x2 ? rows * (cols / 32)
           : dtype == DType::kF8E4M3 ? ((rows + 31) / 32) * ((cols + 31) / 32)
                                     : 0;
  }
  const uint8_t* row(int64_t r) const { return static_cast<const uint8_t*>(data) + r * row_bytes(); }
};

// Records of a growing cache in blocks: entry e of sequence s lies at
//   base + table[s * table_stride + e / entries_per_block] * block_stride + (e % entries_per_block) * record_bytes.
struct PagedCache {
  CacheFormat format = CacheFormat::kF32;
  int dim = 0;               // values per record
  int64_t record_bytes = 0;  // = deepinfer::record_bytes(format, dim)
  uint8_t* base = nullptr;   // already offset to this layer's part of a block
  int64_t block_stride = 0;  // bytes between blocks
  int entries_per_block = 1;
  const int32_t* tables = nullptr;  // [num_sequences, table_stride] block ids
  int64_t table_stride = 0;

  uint8_t* record(int32_t sequence, int64_t entry) const {
    const int64_t block = tables[sequence * table_stride + entry / entries_per_block];
    return base + block * block_stride + (entry % entries_per_block) * record_bytes;
  }
};

// Window KV of one layer: positions before `fresh_start[s]` are read from the sequence's ring (slot = position %
// ring_slots), later ones from this step's own records `fresh` (row fresh_first_row[s] + position - fresh_start[s]). So
// a chunk of any length sees exactly what token-by-token decoding sees, and the ring is written after attention (kv/
// owns the rings).
struct WindowCache {
  CacheFormat format = CacheFormat::kF32;
  int dim = 0;
  int64_t record_bytes = 0;
  int ring_slots = 0;
  const uint8_t* const* rings = nullptr;     // [num_sequences]
  const uint8_t* fresh = nullptr;            // [rows] records
  const int32_t* fresh_first_row = nullptr;  // [num_sequences]
  const int32_t* fresh_start = nullptr;      // [num_sequences] position

  const uint8_t* record(int32_t sequence, int32_t position) const {
    const int32_t start = fresh_start[sequence];
    if (position >= start)
      return fresh + static_cast<int64_t>(fresh_first_row[sequence] + position - start) * record_bytes;
    return rings[sequence] + static_cast<int64_t>(position % ring_slots) * record_bytes;
  }
};

}  // namespace deepinfer::ops
