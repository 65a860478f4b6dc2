// What the check functions of operators share: each looks at one parameter and says in words what is wrong with it.
#pragma once
#include "ops/op.h"

// Returns from the check function with a message unless `condition` holds.
#define OPS_REQUIRE(condition, ...) \
  if (!(condition)) return fail(ErrorCode::kInvalidArgument, __VA_ARGS__)
#define OPS_TRY(expression) \
  if (Status s_ = (expression); !s_) return s_

namespace deepinfer::ops {

inline bool is_act(DType t) { return t == DType::kBF16 || t == DType::kF32; }

// Rows, columns, stride and pointer of a matrix; any number of rows where `rows` < 0, of columns where `cols` < 0.
inline Status check_mat(const char* name, const Mat& m, int64_t rows, int64_t cols) {
  OPS_REQUIRE(m.rows >= 0 && m.cols >= 0, "{}: {} x {} is no shape", name, m.rows, m.cols);
  OPS_REQUIRE(rows < 0 || m.rows == rows, "{}: {} rows, expected {}", name, m.rows, rows);
  OPS_REQUIRE(cols < 0 || m.cols == cols, "{}: {} columns, expected {}", name, m.cols, cols);
  OPS_REQUIRE(m.stride >= m.cols, "{}: stride {} is less than its {} columns", name, m.stride, m.cols);
  OPS_REQUIRE(m.data != nullptr || m.rows == 0 || m.cols == 0, "{}: null pointer", name);
  OPS_REQUIRE(reinterpret_cast<uintptr_t>(m.data) % dtype_size(m.dtype) == 0, "{}: not aligned to its element type",
              name);
  return {};
}
inline Status check_act(const char* name, const Mat& m, int64_t rows, int64_t cols) {
  OPS_REQUIRE(is_act(m.dtype), "{}: type {}, expected BF16 or F32", name, dtype_name(m.dtype));
  return check_mat(name, m, rows, cols);
}
inline Status check_f32(const char* name, const Mat& m, int64_t rows, int64_t cols) {
  OPS_REQUIRE(m.dtype == DType::kF32, "{}: type {}, expected F32", name, dtype_name(m.dtype));
  return check_mat(name, m, rows, cols);
}
inline Status check_same_type(const char* a, const Mat& x, const char* b, const Mat& y) {
  OPS_REQUIRE(x.dtype == y.dtype, "{} is {}, {} is {}: expected one type", a, dtype_name(x.dtype), b,
              dtype_name(y.dtype));
  return {};
}
// An array that must exist as soon as there is a row.
inline Status check_pointer(const char* name, const void* p, int64_t rows) {
  OPS_REQUIRE(p != nullptr || rows == 0, "{}: null pointer", name);
  return {};
}
inline Status check_weight(const char* name, const Weight& w, int64_t rows, int64_t cols) {
  OPS_REQUIRE(w.rows > 0 && w.cols > 0, "{}: {} x {} is no shape", name, w.rows, w.cols);
  OPS_REQUIRE(rows < 0 || w.rows == rows, "{}: {} rows, expected {}", name, w.rows, rows);
  OPS_REQUIRE(cols < 0 || w.cols == cols, "{}: {} columns, expected {}", name, w.cols, cols);
  OPS_REQUIRE(w.data != nullptr, "{}: null pointer", name);
  const bool scaled = w.dtype == DType::kF8E4M3 || w.dtype == DType::kF4E2M1x2;
  OPS_REQUIRE(scaled || is_act(w.dtype), "{}: type {}, expected F8_E4M3, FP4, BF16 or F32", name, dtype_name(w.dtype));
  OPS_REQUIRE(!scaled || w.scale != nullptr, "{}: no scales", name);
  OPS_REQUIRE(!scaled || w.cols % 32 == 0, "{}: {} columns, expected a multiple of 32 (one scale per 32)", name,
              w.cols);
  return {};
}
inline Status check_format(const char* name, CacheFormat format, int dim) {
  OPS_REQUIRE(dim > 0, "{}: {} values per record", name, dim);
  OPS_REQUIRE(dim % 32 == 0, "{}: {} values per {} record, expected a multiple of 32", name, dim,
              cache_format_name(format));
  return {};
}
inline Status check_paged(const char* name, const PagedCache& c, int dim) {
  OPS_TRY(check_format(name, c.format, c.dim));
  OPS_REQUIRE(c.dim == dim, "{}: {} values per record, expected {}", name, c.dim, dim);
  OPS_REQUIRE(c.record_bytes == record_bytes(c.format, c.dim), "{}: {} bytes per record, expected {}", name,
              c.record_bytes, record_bytes(c.format, c.dim));
  OPS_REQUIRE(c.entries_per_block > 0 && c.block_stride >= c.entries_per_block * c.record_bytes,
              "{}: blocks of {} bytes do not hold {} records of {}", name, c.block_stride, c.entries_per_block,
              c.record_bytes);
  return {};
}
inline Status check_streams(const char* name, const Mat& m, int streams, int64_t dim) {
  OPS_REQUIRE(streams > 0, "{}: {} streams", name, streams);
  return check_act(name, m, -1, dim < 0 ? -1 : streams * dim);
}

}  // namespace deepinfer::ops
