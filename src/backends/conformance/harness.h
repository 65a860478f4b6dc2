// How suites describe cases: inputs are gathered row by row, outputs are guarded by canary bytes.
#pragma once
#include <cmath>
#include <cstring>
#include <deque>
#include <functional>
#include <memory>
#include <random>
#include <span>

#include "backends/conformance/conformance.h"

namespace deepinfer::conformance {

using Rows = std::vector<int64_t>;

// |got - want| <= relative * |want| + of_row * (largest |want| of the row) + absolute; all zero: the same bits.
// Where want is not finite, got must be the same infinity, or any NaN for a NaN.
// rms > 0 additionally bounds the root mean square of the difference over that of `want`, over a whole output.
struct Tolerance {
  double relative = 0, of_row = 0, absolute = 0, rms = 0;
  bool exact() const { return relative == 0 && of_row == 0 && absolute == 0; }
};
inline constexpr Tolerance kExact{};

// One output: rows x cols values `stride` apart with canaries before, between and behind them.
struct Output {
  std::string name;
  DType dtype;
  int64_t rows, cols, stride;
  Tolerance tolerance;
  Rows unit;                     // which row of the case each row belongs to
  std::vector<uint8_t> storage;  // canary, data, canary
  static constexpr int64_t kGuard = 64;
  static constexpr uint8_t kCanary = 0xa5;
  uint8_t* data() { return storage.data() + kGuard; }
  const uint8_t* row(int64_t r) const {
    return storage.data() + kGuard + r * stride * static_cast<int64_t>(dtype_size(dtype));
  }
  int64_t row_bytes() const { return cols * static_cast<int64_t>(dtype_size(dtype)); }
};

// Values with the type of an activation; source of gathered inputs.
struct Values {
  DType dtype = DType::kF32;
  int64_t cols = 0;
  std::vector<float> v;  // already rounded to dtype
  int64_t rows() const { return cols ? static_cast<int64_t>(v.size()) / cols : 0; }
};

// One execution of one case: gives out memory, calls the operator, keeps the outputs.
class Call {
 public:
  Call(const OpTable& table, ops::Context ctx, Rows rows) : table_(table), ctx_(ctx), rows_(std::move(rows)) {}

  const Rows& rows() const { return rows_; }
  int64_t n() const { return static_cast<int64_t>(rows_.size()); }

  // Selected rows of `source` as a matrix; memory ends exactly behind the last value.
  ops::Mat in(const Values& source, int64_t pad = 0) { return in(source, rows_, pad); }
  ops::Mat in(const Values& source, const Rows& rows, int64_t pad);
  // Selected rows of an array with `width` items each.
  template <typename T>
  const T* in(const std::vector<T>& source, int64_t width = 1) {
    return in(source, rows_, width);
  }
  template <typename T>
  const T* in(const std::vector<T>& source, const Rows& rows, int64_t width) {
    auto& bytes = inputs_.emplace_back(std::max<size_t>(1, rows.size() * static_cast<size_t>(width) * sizeof(T)));
    for (size_t i = 0; i < rows.size(); ++i)
      if (width > 0)
        std::memcpy(&bytes[i * static_cast<size_t>(width) * sizeof(T)], &source[static_cast<size_t>(rows[i] * width)],
                    static_cast<size_t>(width) * sizeof(T));
    return reinterpret_cast<const T*>(bytes.data());
  }

  // Outputs: one row per selected row unless `unit` says otherwise. `initial`: what an in/out operand starts with.
  ops::Mat out(const char* name, DType dtype, int64_t cols, Tolerance t, int64_t pad = 0,
               const Values* initial = nullptr);
  ops::Mat out(const char* name, DType dtype, int64_t cols, Tolerance t, int64_t pad, const Values* initial,
               const Rows& unit);
  template <typename T>
  T* array(const char* name, int64_t width, Tolerance t = kExact) {
    const DType type = std::is_same_v<T, float>     ? DType::kF32
                       : std::is_same_v<T, int32_t> ? DType::kI32
                       : std::is_same_v<T, int64_t> ? DType::kI64
                                                    : DType::kU8;
    return static_cast<T*>(out(name, type, width, t).data);
  }

  // Checks the parameters, then calls the operator.
  template <typename Params>
  void operator()(void (*OpTable::*op)(const Params&, ops::Context&), const Params& p) {
    if (const Status s = ops::check(p); !s) {
      if (fault_.empty()) fault_ = "check refuses the case: " + s.error().message;
      return;
    }
    (table_.*op)(p, ctx_);
  }

  const std::deque<Output>& outputs() const { return outputs_; }
  const std::string& fault() const { return fault_; }
  std::string canary_fault() const;

 private:
  const OpTable& table_;
  ops::Context ctx_;
  Rows rows_;
  std::deque<std::vector<uint8_t>> inputs_;
  std::deque<Output> outputs_;
  std::string fault_;
};

struct Case {
  std::string name;
  int64_t rows = 0;
  std::function<void(Call&)> run;
};

struct Suite {
  const char* op;
  const char* tolerance;
  std::vector<Case> (*cases)(uint64_t seed);
};
// All suites; each suites_*.cpp adds its own.
std::vector<Suite> all_suites();
void add_elementwise(std::vector<Suite>& out);
void add_records(std::vector<Suite>& out);
void add_products(std::vector<Suite>& out);
void add_attention(std::vector<Suite>& out);
void add_sampling(std::vector<Suite>& out);

// ---- data
using Random = std::mt19937_64;
inline float uniform(Random& r, float low, float high) { return std::uniform_real_distribution<float>(low, high)(r); }
inline int64_t below(Random& r, int64_t n) { return static_cast<int64_t>(r() % static_cast<uint64_t>(n)); }
inline constexpr DType kActs[] = {DType::kBF16, DType::kF32};

// Activations: mostly normal, with zeros, -0, tiny and large values; row 1 all zero when there are more than four rows.
std::shared_ptr<Values> random_values(Random& r, DType type, int64_t rows, int64_t cols, float range = 2);
std::vector<float> random_floats(Random& r, int64_t n, float low, float high);
std::vector<uint16_t> random_bf16(Random& r, int64_t n, float low, float high);
std::string label(DType act, int64_t rows, int64_t cols, const std::string& more = {});

struct OwnedWeight {
  std::vector<uint8_t> data, scale;
  ops::Weight view;
};
enum class Scales { kUsual, kAllLow, kAllHigh, kWide };  // usual 118..126; all 0; all 254 (with small codes); 64..190
std::shared_ptr<OwnedWeight> random_weight(Random& r, DType type, int64_t rows, int64_t cols,
                                           Scales scales = Scales::kUsual);

// Tolerances of one rounding of the activation type plus the order of an fp32 sum.
inline Tolerance rounding(DType act, double of_row = 2e-6) {
  return act == DType::kBF16 ? Tolerance{0x1p-7, of_row, 1e-30} : Tolerance{4e-6, of_row, 1e-30};
}

}  // namespace deepinfer::conformance
