// More inner loops of rows.h over the vector type V (see rows_f32.inl.h, included before): those that need exp and log,
// pairs of channels, or E4M3 codes. Beside the operations named there: sub, div, sqrt, min and max (the second argument
// where a value is NaN), less_select(a, b, x, y) = a < b ? x : y, pow2_of, mantissa, exponent, e4m3, dup_pairs,
// swap_pairs, negate_even. Tails of exp and log run through padded vectors, so every channel sees the same arithmetic.

constexpr float kMagic = 12582912.0f;  // 1.5 * 2^23: adding it rounds to an integer, kept in the low bits

// e^x for x in [-87, 88] (clamped), relative error below 2e-7; NaN stays NaN. Polynomial: Cephes' expf.
inline V::T vexp(V::T x) {
  x = V::max(V::set1(-87.0f), V::min(V::set1(88.0f), x));
  const V::T magic = V::fma(x, V::set1(1.44269504f), V::set1(kMagic));
  const V::T n = V::sub(magic, V::set1(kMagic));
  V::T r = V::fma(n, V::set1(-0.693359375f), x);
  r = V::fma(n, V::set1(2.12194440e-4f), r);
  V::T p = V::set1(1.9875691500e-4f);
  p = V::fma(p, r, V::set1(1.3981999507e-3f));
  p = V::fma(p, r, V::set1(8.3334519073e-3f));
  p = V::fma(p, r, V::set1(4.1665795894e-2f));
  p = V::fma(p, r, V::set1(1.6666665459e-1f));
  p = V::fma(p, r, V::set1(5.0000001201e-1f));
  return V::mul(V::add(V::fma(p, V::mul(r, r), r), V::set1(1.0f)), V::pow2_of(magic));
}

// ln x of normal x > 0, relative error below 3e-7. Polynomial: Cephes' logf.
inline V::T vlog(V::T x) {
  V::T m = V::mantissa(x), e = V::exponent(x);  // x = m 2^e, m in [0.5, 1)
  const V::T edge = V::set1(0.70710678f);
  e = V::less_select(m, edge, V::sub(e, V::set1(1.0f)), e);
  m = V::less_select(m, edge, V::add(m, m), m);
  const V::T f = V::sub(m, V::set1(1.0f)), z = V::mul(f, f);
  V::T p = V::set1(7.0376836292e-2f);
  p = V::fma(p, f, V::set1(-1.1514610310e-1f));
  p = V::fma(p, f, V::set1(1.1676998740e-1f));
  p = V::fma(p, f, V::set1(-1.2420140846e-1f));
  p = V::fma(p, f, V::set1(1.4249322787e-1f));
  p = V::fma(p, f, V::set1(-1.6668057665e-1f));
  p = V::fma(p, f, V::set1(2.0000714765e-1f));
  p = V::fma(p, f, V::set1(-2.4999993993e-1f));
  p = V::fma(p, f, V::set1(3.3333331174e-1f));
  V::T y = V::mul(V::mul(p, f), z);
  y = V::fma(e, V::set1(-2.12194440e-4f), y);
  y = V::fma(z, V::set1(-0.5f), y);
  return V::fma(e, V::set1(0.693359375f), V::add(f, y));
}

inline V::T load_part(const float* p, int64_t left) {
  if (left >= V::kLanes) return V::load(p);
  float part[V::kLanes] = {};
  for (int64_t j = 0; j < left; ++j) part[j] = p[j];
  return V::load(part);
}
inline void store_part(float* p, int64_t left, V::T v) {
  if (left >= V::kLanes) return V::store(p, v);
  float part[V::kLanes];
  V::store(part, v);
  for (int64_t j = 0; j < left; ++j) p[j] = part[j];
}

// (a, b) -> (a cos - b sin, b cos + a sin): plain products and one sum, so every path gives the same bits. s holds
// -sin at even lanes.
inline V::T rotated(V::T x, V::T c, V::T s) { return V::add(V::mul(x, c), V::mul(V::swap_pairs(x), s)); }

void rotate(DType act, void* x, const float* cos, const float* sin, int half, bool inverse) {
  constexpr int kPairs = V::kLanes / 2;
  int i = 0;
  for (; i + kPairs <= half; i += kPairs) {
    V::T s = V::negate_even(V::dup_pairs(sin + i));
    if (inverse) s = V::sub(V::zero(), s);
    vstore(act, x, 2 * i, rotated(vload(act, x, 2 * i), V::dup_pairs(cos + i), s));
  }
  for (; i < half; ++i) {
    const float c = cos[i], s = inverse ? -sin[i] : sin[i];
    const float a = get(act, x, 2 * i), b = get(act, x, 2 * i + 1);
    put(act, x, 2 * i, a * c - b * s);
    put(act, x, 2 * i + 1, a * s + b * c);
  }
}

void rotate_f32(DType act, float* x, const float* cos, const float* sin, int half) {
  constexpr int kPairs = V::kLanes / 2;
  int i = 0;
  for (; i + kPairs <= half; i += kPairs) {
    const V::T y = rotated(V::load(x + 2 * i), V::dup_pairs(cos + i), V::negate_even(V::dup_pairs(sin + i)));
    V::store(x + 2 * i, act == DType::kBF16 ? V::round_bf16(y) : y);
  }
  for (; i < half; ++i) {
    const float a = x[2 * i], b = x[2 * i + 1];
    x[2 * i] = round_act(act, a * cos[i] - b * sin[i]);
    x[2 * i + 1] = round_act(act, a * sin[i] + b * cos[i]);
  }
}

void norm_rounded(DType act, float* x, const uint16_t* weight, int64_t n, float eps) {
  const float inverse = rsqrt_exact(sum_squares(x, n) / static_cast<float>(n) + eps);
  const V::T s = V::set1(inverse);
  int64_t i = 0;
  for (; i + V::kLanes <= n; i += V::kLanes) {
    const V::T y = V::mul(V::mul(V::load(x + i), s), V::load_bf16(weight + i));
    V::store(x + i, act == DType::kBF16 ? V::round_bf16(y) : y);
  }
  for (; i < n; ++i) x[i] = round_act(act, x[i] * inverse * bf16_float(weight[i]));
}

void engram_row(DType act, const uint8_t* codes, const uint8_t* scale, int dim, void* out) {
  for (int g = 0; g < dim; g += 32) {
    const V::T s = V::set1(ue8m0(scale[g / 32]));
    for (int i = g; i < g + 32; i += V::kLanes) vstore(act, out, i, V::mul(V::e4m3(codes + i), s));
  }
}

void pool2(DType act, const float* s0, const float* l0, const float* s1, const float* l1, int64_t d, float* out) {
  for (int64_t i = 0; i < d; i += V::kLanes) {
    const int64_t left = d - i;
    const V::T x = load_part(s0 + i, left), y = load_part(s1 + i, left), top = V::max(x, y);
    const V::T a = vexp(V::sub(x, top)), b = vexp(V::sub(y, top));
    const V::T sum = V::fma(b, load_part(l1 + i, left), V::mul(a, load_part(l0 + i, left)));
    const V::T mean = V::div(sum, V::add(a, b));
    store_part(out + i, left, act == DType::kBF16 ? V::round_bf16(mean) : mean);
  }
}

// log(1 + e) = log(u) e / (u - 1) with u = 1 + e rounded: what rounding took from u is given back (W. Kahan).
void router_scores(const float* z, int n, float* scores) {
  const V::T one = V::set1(1.0f);
  for (int i = 0; i < n; i += V::kLanes) {
    const V::T v = load_part(z + i, n - i), e = vexp(v), u = V::add(one, e), d = V::sub(u, one);
    const V::T tiny = V::less_select(V::zero(), d, V::div(V::mul(vlog(u), e), d), e);
    store_part(scores + i, n - i, V::sqrt(V::less_select(V::set1(20.0f), v, v, tiny)));
  }
}

// Products of R rows with rows [first, first + 8) of fn, both read where they lie. A product is one accumulator over
// all columns and one tree, whatever R is.
template <int R>
inline void hc_block(DType act, const uint8_t* x, int64_t x_stride, int64_t n, const float* fn, int mix, int first,
                     float* t) {
  const float* w[8];
  for (int o = 0; o < 8; ++o) w[o] = fn + (first + o < mix ? first + o : mix - 1) * n;
  V::T acc[8][R];
  for (int o = 0; o < 8; ++o)
    for (int r = 0; r < R; ++r) acc[o][r] = V::zero();
  int64_t i = 0;
  auto columns = [&](auto load_x) {
    for (; i + V::kLanes <= n; i += V::kLanes) {
      V::T v[R];
      for (int r = 0; r < R; ++r) v[r] = load_x(x + r * x_stride);
      for (int o = 0; o < 8; ++o) {
        const V::T c = V::load(w[o] + i);
        for (int r = 0; r < R; ++r) acc[o][r] = V::fma(c, v[r], acc[o][r]);
      }
    }
  };
  if (act == DType::kBF16)
    columns([&](const uint8_t* row) { return V::load_bf16(reinterpret_cast<const uint16_t*>(row) + i); });
  else
    columns([&](const uint8_t* row) { return V::load(reinterpret_cast<const float*>(row) + i); });
  for (int o = 0; o < 8 && first + o < mix; ++o)
    for (int r = 0; r < R; ++r) {
      float sum = V::sum(acc[o][r]);
      for (int64_t j = i; j < n; ++j) sum += get(act, x + r * x_stride, j) * w[o][j];
      t[r * mix + first + o] = sum;
    }
}

void hc_products(DType act, const uint8_t* x, int64_t x_stride, int rows, int64_t n, const float* fn, int mix,
                 float eps, float* t, float* inverse) {
  int r;
  for (int first = 0; first < mix;
       first += 8) {  // 8 rows of fn stay in the first-level cache (up to n = 1024) for all rows
    for (r = 0; r + V::kHcRows <= rows; r += V::kHcRows)
      hc_block<V::kHcRows>(act, x + r * x_stride, x_stride, n, fn, mix, first, t + r * mix);
    for (; r < rows; ++r) hc_block<1>(act, x + r * x_stride, x_stride, n, fn, mix, first, t + r * mix);
  }
  for (r = 0; r < rows; ++r) {
    const uint8_t* row = x + r * x_stride;
    V::T a = V::zero(), b = V::zero();
    int64_t i = 0;
    for (; i + 2 * V::kLanes <= n; i += 2 * V::kLanes) {
      const V::T u = vload(act, row, i), v = vload(act, row, i + V::kLanes);
      a = V::fma(u, u, a);
      b = V::fma(v, v, b);
    }
    float square = V::sum(V::add(a, b));
    for (; i < n; ++i) square += get(act, row, i) * get(act, row, i);
    inverse[r] = rsqrt_exact(square / static_cast<float>(n) + eps);
  }
}
