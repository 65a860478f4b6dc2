// Inner loops of rows.h over a vector type V: kLanes, zero, set1, load, store, load_bf16, store_bf16, add, mul, fma,
// sum. Compiled per instruction set inside an anonymous namespace; no standard containers. Lengths need not be
// multiples of the lanes: tails run lane by lane in plain C++.

inline float bf16_float(uint16_t h) { return __builtin_bit_cast(float, static_cast<uint32_t>(h) << 16); }
inline uint16_t float_bf16(float x) {
  uint32_t u = __builtin_bit_cast(uint32_t, x);
  if ((u & 0x7fffffffu) > 0x7f800000u) return static_cast<uint16_t>((u >> 16) | 0x40);
  return static_cast<uint16_t>((u + 0x7fffu + ((u >> 16) & 1)) >> 16);
}
inline float round_act(DType act, float x) { return act == DType::kBF16 ? bf16_float(float_bf16(x)) : x; }
inline float get(DType act, const void* x, int64_t i) {
  return act == DType::kBF16 ? bf16_float(static_cast<const uint16_t*>(x)[i]) : static_cast<const float*>(x)[i];
}
inline void put(DType act, void* x, int64_t i, float v) {
  if (act == DType::kBF16)
    static_cast<uint16_t*>(x)[i] = float_bf16(v);
  else
    static_cast<float*>(x)[i] = v;
}
inline V::T vload(DType act, const void* x, int64_t i) {
  return act == DType::kBF16 ? V::load_bf16(static_cast<const uint16_t*>(x) + i)
                             : V::load(static_cast<const float*>(x) + i);
}
inline void vstore(DType act, void* x, int64_t i, V::T v) {
  if (act == DType::kBF16)
    V::store_bf16(static_cast<uint16_t*>(x) + i, v);
  else
    V::store(static_cast<float*>(x) + i, v);
}
inline float rsqrt_exact(float x) { return 1.0f / __builtin_sqrtf(x); }

void load(DType act, const void* x, int64_t n, float* out) {
  int64_t i = 0;
  for (; i + V::kLanes <= n; i += V::kLanes) V::store(out + i, vload(act, x, i));
  for (; i < n; ++i) out[i] = get(act, x, i);
}

void store(DType act, const float* x, int64_t n, void* out) {
  int64_t i = 0;
  for (; i + V::kLanes <= n; i += V::kLanes) vstore(act, out, i, V::load(x + i));
  for (; i < n; ++i) put(act, out, i, x[i]);
}

float sum_squares(const float* x, int64_t n) {
  V::T a = V::zero(), b = V::zero();
  int64_t i = 0;
  for (; i + 2 * V::kLanes <= n; i += 2 * V::kLanes) {
    const V::T u = V::load(x + i), v = V::load(x + i + V::kLanes);
    a = V::fma(u, u, a);
    b = V::fma(v, v, b);
  }
  float s = V::sum(V::add(a, b));
  for (; i < n; ++i) s += x[i] * x[i];
  return s;
}

void norm(DType act, float* x, const uint16_t* weight, int64_t n, float eps, void* out) {
  const float inverse = rsqrt_exact(sum_squares(x, n) / static_cast<float>(n) + eps);
  const V::T s = V::set1(inverse);
  int64_t i = 0;
  for (; i + V::kLanes <= n; i += V::kLanes) {
    const V::T y = V::mul(V::mul(V::load(x + i), s), V::load_bf16(weight + i));
    V::store(x + i, y);
    vstore(act, out, i, y);
  }
  for (; i < n; ++i) {
    x[i] = x[i] * inverse * bf16_float(weight[i]);
    put(act, out, i, x[i]);
  }
}

// M streams, or m when M is 0: a fixed number keeps the streams of a column in registers.
template <int M>
void collapse_streams(DType act, const void* streams, int m, int64_t d, const float* pre, float* u) {
  const int count = M ? M : m;
  int64_t i = 0;
  for (; i + V::kLanes <= d; i += V::kLanes) {
    V::T sum = V::mul(V::set1(pre[0]), vload(act, streams, i));
    for (int s = 1; s < count; ++s) sum = V::fma(V::set1(pre[s]), vload(act, streams, s * d + i), sum);
    V::store(u + i, act == DType::kBF16 ? V::round_bf16(sum) : sum);
  }
  for (; i < d; ++i) {
    float sum = pre[0] * get(act, streams, i);
    for (int s = 1; s < count; ++s) sum = __builtin_fmaf(pre[s], get(act, streams, s * d + i), sum);
    u[i] = round_act(act, sum);
  }
}
void collapse(DType act, const void* streams, int m, int64_t d, const float* pre, float* u) {
  if (m == 4)
    collapse_streams<4>(act, streams, m, d, pre, u);
  else
    collapse_streams<0>(act, streams, m, d, pre, u);
}

template <int M>
void expand_streams(DType act, void* streams, int m, int64_t d, const void* y, const float* post, const float* comb) {
  const int count = M ? M : m;
  constexpr int kRoom = M ? M : 16;
  int64_t i = 0;
  for (; i + V::kLanes <= d; i += V::kLanes) {
    V::T old[kRoom];
    for (int s = 0; s < count; ++s) old[s] = vload(act, streams, s * d + i);
    const V::T in = vload(act, y, i);
    for (int j = 0; j < count; ++j) {
      V::T sum = V::mul(V::set1(post[j]), in);
      for (int s = 0; s < count; ++s) sum = V::fma(V::set1(comb[s * count + j]), old[s], sum);
      vstore(act, streams, j * d + i, sum);
    }
  }
  for (; i < d; ++i) {
    float old[kRoom];
    for (int s = 0; s < count; ++s) old[s] = get(act, streams, s * d + i);
    const float in = get(act, y, i);
    for (int j = 0; j < count; ++j) {
      float sum = post[j] * in;
      for (int s = 0; s < count; ++s) sum = __builtin_fmaf(comb[s * count + j], old[s], sum);
      put(act, streams, j * d + i, sum);
    }
  }
}
void expand(DType act, void* streams, int m, int64_t d, const void* y, const float* post, const float* comb) {
  if (m == 4)
    expand_streams<4>(act, streams, m, d, y, post, comb);
  else
    expand_streams<0>(act, streams, m, d, y, post, comb);
}

// Accurate to about one unit in the last place; scalar, for the few values of a softmax over m streams or a gate.
inline float exp_scalar(float x) {
  x = x < -87.0f ? -87.0f : x > 88.0f ? 88.0f : x;
  const float n = __builtin_floorf(x * 1.44269504f + 0.5f);
  const float r = (x - n * 0.693359375f) + n * 2.12194440e-4f;
  float p = 1.0f / 5040;
  p = p * r + 1.0f / 720;
  p = p * r + 1.0f / 120;
  p = p * r + 1.0f / 24;
  p = p * r + 1.0f / 6;
  p = p * r + 0.5f;
  p = p * r + 1.0f;
  p = p * r + 1.0f;
  return p * __builtin_bit_cast(float, static_cast<uint32_t>(static_cast<int32_t>(n) + 127) << 23);
}

inline void row_softmax(float* c, int m, float eps) {
  for (int i = 0; i < m; ++i) {
    float* row = c + i * m;
    float top = row[0], sum = 0;
    for (int j = 1; j < m; ++j) top = row[j] > top ? row[j] : top;
    for (int j = 0; j < m; ++j) sum += row[j] = exp_scalar(row[j] - top);
    for (int j = 0; j < m; ++j) row[j] = row[j] / sum + eps;
  }
}

inline void sinkhorn(float* c, int m, int iters, float eps) {
  row_softmax(c, m, eps);
  for (int pass = 0; pass < 2 * iters - 1; ++pass) {
    const int across = pass % 2 == 0 ? m : 1, along = pass % 2 == 0 ? 1 : m;  // columns on even passes
    for (int a = 0; a < m; ++a) {
      float sum = 0;
      for (int b = 0; b < m; ++b) sum += c[a * along + b * across];
      sum += eps;
      for (int b = 0; b < m; ++b) c[a * along + b * across] /= sum;
    }
  }
}

inline float sigmoid(float x) { return 1.0f / (1.0f + exp_scalar(-x)); }

void hc_finish(const float* t, const float* inverse, int rows, int m, const float* scale, const float* base, int iters,
               float eps, float* pre, float* post, float* comb) {
  if (V::kHcFinish4 && m == 4) return V::hc_finish4(t, inverse, rows, scale, base, iters, eps, pre, post, comb);
  for (int r = 0; r < rows; ++r) {
    const float* v = t + r * m * (m + 2);
    for (int s = 0; s < m; ++s) {
      pre[r * m + s] = sigmoid(v[s] * inverse[r] * scale[0] + base[s]) + eps;
      post[r * m + s] = 2.0f * sigmoid(v[m + s] * inverse[r] * scale[1] + base[m + s]);
    }
    float* c = comb + r * m * m;
    for (int j = 0; j < m * m; ++j) c[j] = v[2 * m + j] * inverse[r] * scale[2] + base[2 * m + j];
    sinkhorn(c, m, iters, eps);
  }
}

void engram_gate(DType act, void* x, const void* key, const void* value, const uint16_t* qw, const uint16_t* kw,
                 int64_t d, float eps) {
  V::T dot = V::zero(), xx = V::zero(), kk = V::zero();
  int64_t i = 0;
  for (; i + V::kLanes <= d; i += V::kLanes) {
    const V::T a = vload(act, x, i), b = vload(act, key, i);
    dot = V::fma(V::mul(a, V::load_bf16(qw + i)), V::mul(b, V::load_bf16(kw + i)), dot);
    xx = V::fma(a, a, xx);
    kk = V::fma(b, b, kk);
  }
  float sdot = V::sum(dot), sxx = V::sum(xx), skk = V::sum(kk);
  for (int64_t j = i; j < d; ++j) {
    const float a = get(act, x, j), b = get(act, key, j);
    sdot += a * bf16_float(qw[j]) * (b * bf16_float(kw[j]));
    sxx += a * a;
    skk += b * b;
  }
  const float n = static_cast<float>(d);
  const float match = sdot * rsqrt_exact(sxx / n + eps) * rsqrt_exact(skk / n + eps) * rsqrt_exact(n);
  const float magnitude = __builtin_fabsf(match) > 1e-6f ? __builtin_fabsf(match) : 1e-6f;
  const float root = __builtin_copysignf(__builtin_sqrtf(magnitude), match);
  const float gate = 1.0f / (1.0f + exp_scalar(-root));
  const V::T g = V::set1(gate);
  for (i = 0; i + V::kLanes <= d; i += V::kLanes) vstore(act, x, i, V::fma(g, vload(act, value, i), vload(act, x, i)));
  for (; i < d; ++i) put(act, x, i, __builtin_fmaf(gate, get(act, value, i), get(act, x, i)));
}

inline float ue8m0(uint8_t b) {
  return b == 0 ? __builtin_bit_cast(float, 0x00400000u)
                : __builtin_bit_cast(float, b == 255 ? 0x7fc00000u : static_cast<uint32_t>(b) << 23);
}
inline float e4m3(uint8_t c) {
  const uint32_t a = c & 0x7f;
  const float m = a < 8 ? static_cast<float>(a) * 0x1p-9f
                        : __builtin_bit_cast(float, a == 127 ? 0x7fc00000u : (a << 20) + (120u << 23));
  return (c & 0x80) ? -m : m;
}
