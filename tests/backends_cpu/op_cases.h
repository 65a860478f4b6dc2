// What the tests of row-wise, attention and sampling operators share: engines with every operator of one path, the
// reference, and the check that a result does not depend on how rows are split over calls and threads.
#pragma once
#include <gtest/gtest.h>

#include <functional>
#include <memory>

#include "product_cases.h"

namespace deepinfer {

struct OpEngine {
  explicit OpEngine(cpu::Isa isa, int threads) : pool(threads, false), name(cpu::isa_name(isa)) {
    cpu::fill_linear(table, isa);
    cpu::fill_attention(table, isa);
    cpu::fill_elementwise(table, isa);
    cpu::fill_sampling(table, isa);
  }
  explicit OpEngine(int threads) : pool(threads, false), name("reference") {
    table = make_op_table("reference").value();
  }
  template <typename Params>
  void operator()(void (*OpTable::*op)(const Params&, ops::Context&), const Params& p) {
    ops::Context ctx{&pool, &scratch};
    (table.*op)(p, ctx);
    scratch.reset();
  }
  ThreadPool pool;
  Arena scratch;
  OpTable table;
  std::string name;
};

// Paths this processor can run (linear_test.cpp prints which ones it cannot).
inline std::vector<cpu::Isa> supported_isas() {
  std::vector<cpu::Isa> out;
  for (cpu::Isa isa : cpu::kIsas)
    if (cpu::isa_supported(isa)) out.push_back(isa);
  return out;
}

template <typename T>
std::vector<uint8_t> bytes_of(const std::vector<T>& v) {
  const uint8_t* p = reinterpret_cast<const uint8_t*>(v.data());
  return {p, p + v.size() * sizeof(T)};
}

// run(engine, first, count) computes rows [first, first + count) and result() returns all output bytes. Called for
// every path with 1, 2 and 4 threads and several batch sizes; all results of a path must be the same bits.
// look(engine name) runs once per path, after the whole batch, to compare with the truth.
inline void expect_same_bits_however_split(int64_t rows, const std::function<void(OpEngine&, int64_t, int64_t)>& run,
                                           const std::function<std::vector<uint8_t>()>& result,
                                           const std::function<void(const std::string&)>& look) {
  for (cpu::Isa isa : supported_isas()) {
    std::vector<uint8_t> whole;
    for (int threads : {1, 2, 4}) {
      OpEngine engine(isa, threads);
      for (int64_t batch : {rows, int64_t{1}, int64_t{2}, int64_t{3}, int64_t{5}}) {
        for (int64_t r = 0; r < rows; r += batch) run(engine, r, std::min(batch, rows - r));
        if (whole.empty()) {
          whole = result();
          look(engine.name);
        } else {
          ASSERT_EQ(whole, result()) << engine.name << ", " << threads << " threads, " << batch << " rows at a time";
        }
      }
    }
  }
}

inline ops::Mat rows_of(const ops::Mat& m, int64_t first, int64_t count) {
  ops::Mat out = m;
  out.data = m.row<uint8_t>(0) + first * m.stride * static_cast<int64_t>(dtype_size(m.dtype));
  out.rows = count;
  return out;
}

inline std::vector<uint16_t> random_bf16(Random& r, int64_t n, float low, float high) {
  std::vector<uint16_t> v(static_cast<size_t>(n));
  for (uint16_t& x : v) x = float_to_bf16(uniform(r, low, high));
  return v;
}
inline std::vector<float> random_floats(Random& r, int64_t n, float low, float high) {
  std::vector<float> v(static_cast<size_t>(n));
  for (float& x : v) x = uniform(r, low, high);
  return v;
}

inline constexpr DType kActs[] = {DType::kBF16, DType::kF32};

// One unit in the last place of bf16, or a few of fp32, plus `absolute`.
inline void expect_close(const ops::Mat& got, const ops::Mat& want, float absolute, const std::string& what) {
  const float relative = got.dtype == DType::kBF16 ? 0x1p-7f : 2e-6f;
  for (int64_t r = 0; r < want.rows; ++r)
    for (int64_t c = 0; c < want.cols; ++c) {
      const float a = at(got, r, c), b = at(want, r, c);
      ASSERT_NEAR(a, b, relative * std::fabs(b) + absolute) << what << " row " << r << " column " << c;
    }
}
inline void expect_close(const std::vector<float>& got, const std::vector<float>& want, float tolerance,
                         const std::string& what) {
  for (size_t i = 0; i < want.size(); ++i)
    ASSERT_NEAR(got[i], want[i], tolerance * (1 + std::fabs(want[i]))) << what << " " << i;
}

inline OwnedMat copy_of(const OwnedMat& m) {
  OwnedMat out = m;
  out.view.data = out.bytes.data();
  return out;
}
inline void restore_rows(OwnedMat& to, const OwnedMat& from, int64_t first, int64_t count) {
  const int64_t row = from.view.stride * static_cast<int64_t>(dtype_size(from.view.dtype));
  std::copy_n(from.bytes.begin() + first * row, count * row, to.bytes.begin() + first * row);
}

inline std::string label(const char* op, DType act, int64_t d, const std::string& path) {
  return std::string(op) + " " + path + " act " + dtype_name(act) + " d " + std::to_string(d);
}

}  // namespace deepinfer
