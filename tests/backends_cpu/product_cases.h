// Random weights in checkpoint layout and matrices for the tests of linear and moe. All memory is exactly as large as
// the layout says and weights start at an odd address, so that a read past the end or an alignment assumption shows
// under the sanitizers.
#pragma once
#include <cmath>
#include <cstring>
#include <random>
#include <vector>

#include "backends/cpu/cpu.h"
#include "backends/registry.h"

namespace deepinfer {

using Random = std::mt19937_64;

inline float uniform(Random& r, float low, float high) { return std::uniform_real_distribution<float>(low, high)(r); }

struct OwnedWeight {
  std::vector<uint8_t> data, scale;
  ops::Weight view;
};

inline OwnedWeight random_weight(Random& r, DType type, int64_t rows, int64_t cols, int scale_low = 118,
                                 int scale_high = 126) {
  OwnedWeight w;
  const bool fp8 = type == DType::kF8E4M3, fp4 = type == DType::kF4E2M1x2;
  const size_t skew = fp8 || fp4 ? 1 : 0;  // bf16 and f32 tensors are aligned by the loader
  const int64_t bytes = fp4 ? rows * cols / 2 : rows * cols * static_cast<int64_t>(dtype_size(type));
  w.data.resize(static_cast<size_t>(bytes) + skew);
  uint8_t* p = w.data.data() + skew;
  if (type == DType::kF32) {
    for (int64_t i = 0; i < rows * cols; ++i) {
      const float v = uniform(r, -1, 1);
      std::memcpy(p + 4 * i, &v, 4);
    }
  } else if (type == DType::kBF16) {
    for (int64_t i = 0; i < rows * cols; ++i) {
      const uint16_t v = float_to_bf16(uniform(r, -1, 1));
      std::memcpy(p + 2 * i, &v, 2);
    }
  } else {
    for (int64_t i = 0; i < bytes; ++i) {
      p[i] = static_cast<uint8_t>(r());
      if (fp8 && (p[i] & 0x7f) == 0x7f) p[i] ^= 1;  // no NaN
    }
    w.scale.resize(static_cast<size_t>(fp8 ? (rows + 31) / 32 * ((cols + 31) / 32) : rows * (cols / 32)));
    for (uint8_t& s : w.scale)
      s = static_cast<uint8_t>(scale_low + static_cast<int>(r() % static_cast<uint64_t>(scale_high - scale_low + 1)));
    w.view.scale = w.scale.data();
    w.view.plain_scales = scale_low >= 64 && scale_high <= 190;
  }
  w.view.data = p;
  w.view.dtype = type;
  w.view.rows = rows;
  w.view.cols = cols;
  return w;
}

// Rows `stride` elements apart, the gaps filled with a canary.
struct OwnedMat {
  std::vector<uint8_t> bytes;
  ops::Mat view;
};
inline OwnedMat empty_mat(DType type, int64_t rows, int64_t cols, int64_t stride) {
  OwnedMat m;
  m.bytes.assign(static_cast<size_t>(std::max<int64_t>(rows * stride, 1)) * dtype_size(type), 0xa5);
  m.view = {m.bytes.data(), type, rows, cols, stride};
  return m;
}
inline OwnedMat random_mat(Random& r, DType type, int64_t rows, int64_t cols, int64_t stride, float range = 2) {
  OwnedMat m = empty_mat(type, rows, cols, stride);
  for (int64_t i = 0; i < rows; ++i)
    for (int64_t j = 0; j < cols; ++j) {
      const float v = uniform(r, -range, range);
      if (type == DType::kBF16)
        m.view.row<uint16_t>(i)[j] = float_to_bf16(v);
      else
        m.view.row<float>(i)[j] = v;
    }
  return m;
}
inline float at(const ops::Mat& m, int64_t r, int64_t c) {
  return m.dtype == DType::kBF16 ? bf16_to_float(m.row<uint16_t>(r)[c]) : m.row<float>(r)[c];
}

inline double weight_at(const ops::Weight& w, int64_t r, int64_t c) {
  const uint8_t* p = static_cast<const uint8_t*>(w.data);
  const int64_t i = r * w.cols + c;
  switch (w.dtype) {
    case DType::kF32: {
      float v;
      std::memcpy(&v, p + 4 * i, 4);
      return v;
    }
    case DType::kBF16: {
      uint16_t v;
      std::memcpy(&v, p + 2 * i, 2);
      return bf16_to_float(v);
    }
    case DType::kF8E4M3:
      return static_cast<double>(e4m3_to_float(p[i])) *
             std::exp2(w.scale[r / 32 * ((w.cols + 31) / 32) + c / 32] - 127);
    default:
      return static_cast<double>(e2m1_to_float(static_cast<uint8_t>(p[i / 2] >> (4 * (i & 1))))) *
             std::exp2(w.scale[i / 32] - 127);
  }
}

// Every path of the cpu backend this processor can run; names the others once.
inline std::vector<cpu::Isa> runnable_isas() {
  std::vector<cpu::Isa> out;
  for (cpu::Isa isa : cpu::kIsas) {
    if (cpu::isa_supported(isa))
      out.push_back(isa);
    else
      std::printf("skipped: %s, this processor cannot run it\n", cpu::isa_name(isa));
  }
  return out;
}

// A pool and scratch of `threads`; runs operators of one path.
struct Engine {
  explicit Engine(cpu::Isa isa, int threads) : pool(threads, false) { cpu::fill_linear(table, isa); }
  void linear(const ops::LinearParams& p) {
    ops::Context ctx{&pool, &scratch};
    table.linear(p, ctx);
    scratch.reset();
  }
  void moe(const ops::MoeParams& p) {
    ops::Context ctx{&pool, &scratch};
    table.moe(p, ctx);
    scratch.reset();
  }
  ThreadPool pool;
  Arena scratch;
  OpTable table;
};

}  // namespace deepinfer
