#include "backends/conformance/harness.h"

#include <algorithm>
#include <map>

namespace deepinfer::conformance {
namespace {

float value_at(DType type, const uint8_t* p, int64_t i) {
  if (type == DType::kBF16) {
    uint16_t h;
    std::memcpy(&h, p + 2 * i, 2);
    return bf16_to_float(h);
  }
  float f;
  std::memcpy(&f, p + 4 * i, 4);
  return f;
}

void put_value(DType type, uint8_t* p, int64_t i, float v) {
  if (type == DType::kBF16) {
    const uint16_t h = float_to_bf16(v);
    std::memcpy(p + 2 * i, &h, 2);
  } else {
    std::memcpy(p + 4 * i, &v, 4);
  }
}

using Bits = std::map<std::pair<size_t, int64_t>, std::vector<uint8_t>>;  // (output, row of the case) -> bytes

struct Run {
  Bits bits;
  std::deque<Output> outputs;
  std::string fault;
};

Run run_case(const Case& c, const OpTable& table, ThreadPool& pool, Arena& scratch, const Rows& rows) {
  Call call(table, ops::Context{&pool, &scratch}, rows);
  c.run(call);
  scratch.reset();
  Run out;
  out.fault = call.fault();
  if (out.fault.empty()) out.fault = call.canary_fault();
  out.outputs = call.outputs();
  for (size_t o = 0; o < out.outputs.size(); ++o) {
    const Output& output = out.outputs[o];
    for (int64_t r = 0; r < output.rows; ++r) {
      auto& bytes = out.bits[{o, output.unit[static_cast<size_t>(r)]}];
      bytes.insert(bytes.end(), output.row(r), output.row(r) + output.row_bytes());
    }
  }
  return out;
}

// "" or what differs; raises `worst`.
std::string compare(const Run& got, const Run& want, double& worst) {
  if (got.outputs.size() != want.outputs.size()) return "different outputs";
  for (size_t o = 0; o < want.outputs.size(); ++o) {
    const Output &a = got.outputs[o], &b = want.outputs[o];
    double square = 0, base = 0;
    for (int64_t r = 0; r < b.rows; ++r) {
      if (b.tolerance.exact()) {
        if (std::memcmp(a.row(r), b.row(r), static_cast<size_t>(b.row_bytes())) == 0) continue;
        int64_t at = 0;
        while (a.row(r)[at] == b.row(r)[at]) ++at;
        worst = std::max(worst, 2.0);
        return fmt::format("{} row {}: bits differ from the reference at column {}", b.name, b.unit[r],
                           at / static_cast<int64_t>(dtype_size(b.dtype)));
      }
      double largest = 0;
      for (int64_t i = 0; i < b.cols; ++i) {
        const double w = value_at(b.dtype, b.row(r), i);
        if (std::isfinite(w)) largest = std::max(largest, std::fabs(w));
      }
      for (int64_t i = 0; i < b.cols; ++i) {
        const double g = value_at(a.dtype, a.row(r), i), w = value_at(b.dtype, b.row(r), i);
        double share;
        if (std::isnan(w) || std::isnan(g)) {
          share = std::isnan(w) && std::isnan(g) ? 0 : 1e9;
        } else if (std::isinf(w) || std::isinf(g)) {
          share = w == g ? 0 : 1e9;
        } else {
          share = std::fabs(g - w) /
                  (b.tolerance.relative * std::fabs(w) + b.tolerance.of_row * largest + b.tolerance.absolute + 1e-300);
          square += (g - w) * (g - w);
          base += w * w;
        }
        worst = std::max(worst, share);
        if (share > 1)
          return fmt::format("{} row {} column {}: {:.9g}, reference {:.9g} ({:.3g} times the tolerance)", b.name,
                             b.unit[r], i, g, w, share);
      }
    }
    if (b.tolerance.rms > 0 && base > 0) {
      const double share = std::sqrt(square / base) / b.tolerance.rms;
      worst = std::max(worst, share);
      if (share > 1)
        return fmt::format("{}: root mean square difference {:.3g} of the values, {:.3g} allowed", b.name,
                           std::sqrt(square / base), b.tolerance.rms);
    }
  }
  return {};
}

// Every row of `part` has the bits it has in `whole`.
std::string same_bits(const Run& part, const Run& whole, const char* how) {
  for (const auto& [key, bytes] : part.bits) {
    const auto found = whole.bits.find(key);
    if (found == whole.bits.end() || found->second != bytes)
      return fmt::format("{} row {}: other bits {}", whole.outputs[key.first].name, key.second, how);
  }
  return {};
}

struct Pools {
  ThreadPool one{1, false}, two{2, false}, four{4, false};
};

// Passes, or says what is wrong.
std::string check_case(const Case& c, const OpTable& table, const OpTable& reference, Pools& pools, double& worst) {
  Arena scratch;
  Rows all(static_cast<size_t>(c.rows));
  for (int64_t r = 0; r < c.rows; ++r) all[static_cast<size_t>(r)] = r;
  const Run want = run_case(c, reference, pools.two, scratch, all);
  if (!want.fault.empty()) return "reference: " + want.fault;
  const Run whole = run_case(c, table, pools.one, scratch, all);
  if (!whole.fault.empty()) return whole.fault;
  if (std::string s = compare(whole, want, worst); !s.empty()) return s;

  std::string fault;
  const auto again = [&](ThreadPool& pool, const Rows& rows, const char* how) {
    if (!fault.empty()) return;
    const Run run = run_case(c, table, pool, scratch, rows);
    fault = run.fault.empty() ? same_bits(run, whole, how) : run.fault + " (" + how + ")";
  };
  again(pools.one, all, "on the second run");
  again(pools.two, all, "with 2 threads");
  again(pools.four, all, "with 4 threads");
  again(pools.one, {}, "without rows");
  if (c.rows < 2) return fault;
  again(pools.two, Rows(all.rbegin(), all.rend()), "in reverse order");
  const auto middle = all.begin() + (c.rows + 2) / 3;
  again(pools.two, Rows(all.begin(), middle), "in a smaller batch");
  again(pools.one, Rows(middle, all.end()), "in a smaller batch");
  const int64_t step = std::max<int64_t>(1, c.rows / 5);
  for (int64_t r = 0; r < c.rows; r += step) again(pools.two, {r}, "alone");
  return fault;
}

}  // namespace

ops::Mat Call::in(const Values& source, const Rows& rows, int64_t pad) {
  const int64_t n = static_cast<int64_t>(rows.size()), stride = source.cols + pad,
                size = static_cast<int64_t>(dtype_size(source.dtype));
  auto& bytes =
      inputs_.emplace_back(static_cast<size_t>(n == 0 ? 1 : ((n - 1) * stride + source.cols) * size), uint8_t{0xff});
  for (int64_t r = 0; r < n; ++r)
    for (int64_t i = 0; i < source.cols; ++i)
      put_value(source.dtype, bytes.data() + r * stride * size, i,
                source.v[static_cast<size_t>(rows[static_cast<size_t>(r)] * source.cols + i)]);
  return {bytes.data(), source.dtype, n, source.cols, stride};
}

ops::Mat Call::out(const char* name, DType dtype, int64_t cols, Tolerance t, int64_t pad, const Values* initial) {
  return out(name, dtype, cols, t, pad, initial, rows_);
}

ops::Mat Call::out(const char* name, DType dtype, int64_t cols, Tolerance t, int64_t pad, const Values* initial,
                   const Rows& unit) {
  Output& o = outputs_.emplace_back();
  o.name = name;
  o.dtype = dtype;
  o.rows = static_cast<int64_t>(unit.size());
  o.cols = cols;
  o.stride = cols + pad;
  o.tolerance = t;
  o.unit = unit;
  const int64_t size = static_cast<int64_t>(dtype_size(dtype));
  o.storage.assign(static_cast<size_t>(2 * Output::kGuard + o.rows * o.stride * size), Output::kCanary);
  for (int64_t r = 0; r < o.rows; ++r) {
    uint8_t* row = o.data() + r * o.stride * size;
    std::memset(row, 0xff, static_cast<size_t>(o.row_bytes()));  // NaN for floats
    if (initial)
      for (int64_t i = 0; i < cols; ++i) put_value(dtype, row, i, initial->v[static_cast<size_t>(unit[r] * cols + i)]);
  }
  return {o.data(), dtype, o.rows, cols, o.stride};
}

std::string Call::canary_fault() const {
  for (const Output& o : outputs_) {
    const int64_t size = static_cast<int64_t>(dtype_size(o.dtype)), row = o.stride * size;
    for (int64_t i = 0; i < static_cast<int64_t>(o.storage.size()); ++i) {
      const int64_t at = i - Output::kGuard;
      const bool inside = at >= 0 && at < o.rows * row && at % row < o.row_bytes();
      if (!inside && o.storage[static_cast<size_t>(i)] != Output::kCanary)
        return fmt::format("{}: byte {} outside the output was overwritten", o.name, at);
    }
  }
  return {};
}

std::shared_ptr<Values> random_values(Random& r, DType type, int64_t rows, int64_t cols, float range) {
  auto out = std::make_shared<Values>();
  out->dtype = type;
  out->cols = cols;
  out->v.resize(static_cast<size_t>(rows * cols));
  std::normal_distribution<float> normal(0, range / 2);
  for (int64_t i = 0; i < rows; ++i)
    for (int64_t j = 0; j < cols; ++j) {
      float v = normal(r);
      const uint64_t kind = r() % 97;
      if (kind == 0) v = 0;
      if (kind == 1) v = -0.0f;
      if (kind == 2) v *= 1e-6f;
      if (kind == 3) v *= 8;
      if (i == 1 && rows > 4) v = 0;
      out->v[static_cast<size_t>(i * cols + j)] = type == DType::kBF16 ? round_bf16(v) : v;
    }
  return out;
}

std::vector<float> random_floats(Random& r, int64_t n, float low, float high) {
  std::vector<float> v(static_cast<size_t>(n));
  for (float& x : v) x = uniform(r, low, high);
  return v;
}
std::vector<uint16_t> random_bf16(Random& r, int64_t n, float low, float high) {
  std::vector<uint16_t> v(static_cast<size_t>(n));
  for (uint16_t& x : v) x = float_to_bf16(uniform(r, low, high));
  return v;
}

std::string label(DType act, int64_t rows, int64_t cols, const std::string& more) {
  return fmt::format("{} {} x {}{}{}", dtype_name(act), rows, cols, more.empty() ? "" : " ", more);
}

std::shared_ptr<OwnedWeight> random_weight(Random& r, DType type, int64_t rows, int64_t cols, Scales scales) {
  auto w = std::make_shared<OwnedWeight>();
  const bool fp8 = type == DType::kF8E4M3, fp4 = type == DType::kF4E2M1x2;
  const int64_t bytes = fp4 ? rows * cols / 2 : rows * cols * static_cast<int64_t>(dtype_size(type));
  const int64_t skew = fp8 || fp4 ? 1 : 0;  // packed weights start anywhere in a mapped file
  w->data.resize(static_cast<size_t>(bytes + skew));
  uint8_t* p = w->data.data() + skew;
  if (!fp8 && !fp4) {
    for (int64_t i = 0; i < rows * cols; ++i) put_value(type, p, i, uniform(r, -1, 1));
  } else {
    for (int64_t i = 0; i < bytes; ++i) {
      p[i] = static_cast<uint8_t>(r());
      if (fp8 && (p[i] & 0x7f) == 0x7f) p[i] ^= 1;  // no NaN
      // With the largest scale only codes below 2 stay finite.
      if (scales == Scales::kAllHigh) p[i] = fp8 ? p[i] & 0xbf : p[i] & 0xbb;
    }
    w->scale.resize(static_cast<size_t>(fp8 ? (rows + 31) / 32 * ((cols + 31) / 32) : rows * (cols / 32)));
    for (uint8_t& s : w->scale) {
      if (scales == Scales::kUsual) s = static_cast<uint8_t>(118 + r() % 9);
      if (scales == Scales::kAllLow) s = 0;
      if (scales == Scales::kAllHigh) s = 254;
      if (scales == Scales::kWide) s = static_cast<uint8_t>(64 + r() % 127);
    }
    w->view.scale = w->scale.data();
    w->view.plain_scales = scales == Scales::kUsual || scales == Scales::kWide;
  }
  w->view.data = p;
  w->view.dtype = type;
  w->view.rows = rows;
  w->view.cols = cols;
  return w;
}

std::vector<Suite> all_suites() {
  std::vector<Suite> out;
  add_elementwise(out);
  add_records(out);
  add_products(out);
  add_attention(out);
  add_sampling(out);
  return out;
}

std::vector<std::string> operators_without_suite() {
  std::vector<std::string> out;
  const auto suites = all_suites();
#define DEEPINFER_NAME(name, Params)                                                                              \
  if (std::none_of(suites.begin(), suites.end(), [](const Suite& s) { return std::string_view(s.op) == #name; })) \
    out.emplace_back(#name);
  DEEPINFER_OPS(DEEPINFER_NAME)
#undef DEEPINFER_NAME
  return out;
}

Result<std::vector<SuiteReport>> run_suites(const OpTable& table, std::string_view op, uint64_t seed) {
  Result<OpTable> reference = make_op_table("reference");
  if (!reference) return tl::unexpected<Error>(reference.error());
  Pools pools;
  std::vector<SuiteReport> out;
  for (const Suite& suite : all_suites()) {
    if (!op.empty() && op != suite.op) continue;
    SuiteReport& report = out.emplace_back();
    report.op = suite.op;
    report.tolerance = suite.tolerance;
    for (const Case& c : suite.cases(seed)) {
      const std::string fault = check_case(c, table, *reference, pools, report.worst);
      ++(fault.empty() ? report.passed : report.failed);
      if (!fault.empty() && report.first_failure.empty()) report.first_failure = c.name + ": " + fault;
    }
  }
  if (out.empty()) return fail(ErrorCode::kInvalidArgument, "--op {}: no such operator; src/ops/list.h names them", op);
  return out;
}

}  // namespace deepinfer::conformance
