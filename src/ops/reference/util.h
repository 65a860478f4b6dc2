// Element access for the reference operators: by dtype, one value at a time.
#pragma once
#include <vector>

#include "ops/op.h"

namespace deepinfer::reference {

inline float get(const ops::Mat& m, int64_t r, int64_t c) {
  return m.dtype == DType::kBF16 ? bf16_to_float(m.row<uint16_t>(r)[c]) : m.row<float>(r)[c];
}
inline void put(const ops::Mat& m, int64_t r, int64_t c, float v) {
  if (m.dtype == DType::kBF16)
    m.row<uint16_t>(r)[c] = float_to_bf16(v);
  else
    m.row<float>(r)[c] = v;
}
// Rounding of the activation type.
inline float act(DType t, float v) { return t == DType::kBF16 ? round_bf16(v) : v; }

inline void load_row(const ops::Mat& m, int64_t r, int64_t first, int64_t n, float* out) {
  for (int64_t i = 0; i < n; ++i) out[i] = get(m, r, first + i);
}

// Row `r` of a weight, dequantised.
inline void weight_row(const ops::Weight& w, int64_t r, float* out) {
  const int64_t k = w.cols;
  switch (w.dtype) {
    case DType::kBF16:
      for (int64_t i = 0; i < k; ++i) {
        uint16_t v;
        __builtin_memcpy(&v, static_cast<const uint8_t*>(w.data) + 2 * (r * k + i), 2);
        out[i] = bf16_to_float(v);
      }
      return;
    case DType::kF32:
      __builtin_memcpy(out, static_cast<const uint8_t*>(w.data) + 4 * r * k, static_cast<size_t>(4 * k));
      return;
    case DType::kF8E4M3: {
      const uint8_t* row = static_cast<const uint8_t*>(w.data) + r * k;
      const uint8_t* scale = w.scale + (r / 32) * ((k + 31) / 32);
      for (int64_t i = 0; i < k; ++i) out[i] = e4m3_to_float(row[i]) * ue8m0_to_float(scale[i / 32]);
      return;
    }
    default: {  // FP4
      const uint8_t* row = static_cast<const uint8_t*>(w.data) + r * (k / 2);
      const uint8_t* scale = w.scale + r * (k / 32);
      for (int64_t i = 0; i < k; ++i)
        out[i] = e2m1_to_float(static_cast<uint8_t>(row[i / 2] >> (4 * (i & 1)))) * ue8m0_to_float(scale[i / 32]);
    }
  }
}

}  // namespace deepinfer::reference
