// fp32 products, written once over a vector type V and compiled per instruction set
// (gemm_f32_{generic,avx2,avx512}.cpp). V gives: kLanes, load, zero, fma, add, and decoding of weight groups of kLanes
// values. Weights are decoded into a tile of four rows, then rows of X go by; one row uses the same order, so its bits
// do not depend on the others. Included inside an anonymous namespace: no function of it may be shared between
// instruction sets. No standard containers here (see CMakeLists.txt).

inline int64_t padded(int64_t k) { return (k + 31) / 32 * 32; }
int64_t row_bytes(DType, int64_t k) { return padded(k) * 4; }
int64_t tile_bytes(DType, int64_t k) { return 4 * padded(k) * 4; }

inline float bf16_float(uint16_t h) { return __builtin_bit_cast(float, static_cast<uint32_t>(h) << 16); }
inline uint16_t float_bf16(float x) {  // no branches: loops over it are vectorised
  const uint32_t u = __builtin_bit_cast(uint32_t, x);
  const uint32_t rounded = (u + 0x7fffu + ((u >> 16) & 1)) >> 16, quiet = (u >> 16) | 0x40;
  return static_cast<uint16_t>((u & 0x7fffffffu) > 0x7f800000u ? quiet : rounded);
}
inline float ue8m0(uint8_t b) {
  return b == 0 ? __builtin_bit_cast(float, 0x00400000u)
                : __builtin_bit_cast(float, b == 255 ? 0x7fc00000u : static_cast<uint32_t>(b) << 23);
}

inline float round8(float v) {  // v = |x| / scale <= 448 -> E4M3 grid; NaN stays NaN
  const float small = (v + 16384.0f) - 16384.0f;
  const uint32_t u = __builtin_bit_cast(uint32_t, v);
  const float rounded = __builtin_bit_cast(float, (u + 0x7ffff + ((u >> 20) & 1)) & 0xfff00000u);
  return v < 0x1p-6f ? small : v <= 448.0f ? rounded : v;
}

void prepare(DType, DType x_type, const void* x, int64_t k, bool quantize, uint8_t* bytes) {
  float* out = reinterpret_cast<float*>(bytes);
  if (x_type == DType::kBF16)
    for (int64_t i = 0; i < k; ++i) out[i] = bf16_float(static_cast<const uint16_t*>(x)[i]);
  else
    std::memcpy(out, x, static_cast<size_t>(k) * 4);
  for (int64_t i = k; i < padded(k); ++i) out[i] = 0;
  if (!quantize) return;
  for (int64_t g = 0; g < k; g += 32) {
    float a = 1e-4f;
    for (int i = 0; i < 32; ++i) {
      const float m = __builtin_fabsf(out[g + i]);
      a = m > a ? m : a;
    }
    uint32_t e = (__builtin_bit_cast(uint32_t, a * (1.0f / 448.0f)) + 0x7fffff) >> 23;
    if (e > 254) e = 254;
    const float scale = __builtin_bit_cast(float, e << 23),
                inverse = __builtin_bit_cast(float, e == 254 ? 0x00400000u : (254 - e) << 23);
    for (int i = 0; i < 32; ++i) {
      float m = __builtin_fabsf(out[g + i]) * inverse;
      m = m > 448.0f ? 448.0f : m;
      out[g + i] = __builtin_copysignf(round8(m) * scale, out[g + i]);
    }
  }
}

// One weight row as fp32.
inline void decode_row(const ops::Weight& w, int64_t row, float* out) {
  const int64_t k = w.cols;
  switch (w.dtype) {
    case DType::kF32:
      std::memcpy(out, static_cast<const uint8_t*>(w.data) + row * k * 4, static_cast<size_t>(k) * 4);
      break;
    case DType::kBF16:
      V::decode_bf16(static_cast<const uint16_t*>(w.data) + row * k, k, out);
      break;
    case DType::kF8E4M3: {
      const uint8_t* p = static_cast<const uint8_t*>(w.data) + row * k;
      const uint8_t* s = w.scale + (row / 32) * ((k + 31) / 32);
      for (int64_t g = 0; g < k; g += 32)
        V::decode_fp8(p + g, k - g < 32 ? static_cast<int>(k - g) : 32, ue8m0(s[g / 32]), out + g);
      break;
    }
    default: {
      const uint8_t* p = static_cast<const uint8_t*>(w.data) + row * (k / 2);
      const uint8_t* s = w.scale + row * (k / 32);
      for (int64_t g = 0; g < k; g += 32) V::decode_fp4(p + g / 2, ue8m0(s[g / 32]), out + g);
    }
  }
  for (int64_t i = k; i < padded(k); ++i) out[i] = 0;
}

inline const float* x_row(const GemmTask& t, int64_t r) {
  return reinterpret_cast<const float*>(t.x + (t.x_rows ? t.x_rows[r] : r) * t.x_stride);
}

inline void store(const GemmTask& t, int64_t row, int64_t out, float v) {
  if (t.out_rows) row = t.out_rows[row];
  if (t.out_bf16) {
    static_cast<uint16_t*>(t.out)[row * t.out_stride + out - t.out_first] = float_bf16(v);
  } else {
    float* p = static_cast<float*>(t.out) + row * t.out_stride + out - t.out_first;
    *p = t.accumulate ? *p + v : v;
  }
}

template <int R>
inline void block(const GemmTask& t, const float* tile, int64_t k, int64_t row0, int64_t out, int n) {
  const float* x[R];
  for (int r = 0; r < R; ++r) x[r] = x_row(t, row0 + r);
  typename V::T acc[R][4];
  for (int r = 0; r < R; ++r)
    for (int i = 0; i < 4; ++i) acc[r][i] = V::zero();
  for (int64_t j = 0; j < k; j += V::kLanes) {
    typename V::T w[4];
    for (int i = 0; i < 4; ++i) w[i] = V::load(tile + i * k + j);
    for (int r = 0; r < R; ++r) {
      const typename V::T xv = V::load(x[r] + j);
      for (int i = 0; i < 4; ++i) acc[r][i] = V::fma(w[i], xv, acc[r][i]);
    }
  }
  for (int r = 0; r < R; ++r)
    for (int i = 0; i < n; ++i) store(t, row0 + r, out + i, V::sum(acc[r][i]));
}

void gemm(const GemmTask& t) {
  const int64_t k = padded(t.weight->cols);
  float* tile = reinterpret_cast<float*>(t.tile);
  for (int64_t o = t.out_begin; o < t.out_end; o += 4) {
    const int n = static_cast<int>(t.out_end - o < 4 ? t.out_end - o : 4);
    for (int i = 0; i < 4; ++i) decode_row(*t.weight, o + (i < n ? i : 0), tile + i * k);
    int64_t r = 0;
    for (; r + V::kRows <= t.rows; r += V::kRows) block<V::kRows>(t, tile, k, r, o, n);
    for (; r < t.rows; ++r) block<1>(t, tile, k, r, o, n);
  }
}

inline float mul_add(float a, float b, float c) {
#ifdef __FMA__
  return __builtin_fmaf(a, b, c);
#else
  return a * b + c;
#endif
}

// e^x in fp32, relative error below 3e-7, saturating outside [-87.3, 88.7]; one operation a line and no branches, so
// loops over it are vectorised. Reduction by ln 2 in two parts; polynomial: Cephes' expf (S. Moshier), public
// constants.
inline float exp_lane(float x) {
  x = x > 88.72f ? 88.72f : x;
  x = x < -87.33f ? -87.33f : x;
  constexpr float kRound = 12582912.0f;  // 1.5 * 2^23: adding it rounds to an integer, found in the low bits
  const float shifted = mul_add(x, 1.44269504f, kRound);
  const float n = shifted - kRound;
  float r = mul_add(n, -0.693359375f, x);
  r = mul_add(n, 2.12194440e-4f, r);
  float p = 1.9875691500e-4f;
  p = mul_add(p, r, 1.3981999507e-3f);
  p = mul_add(p, r, 8.3334519073e-3f);
  p = mul_add(p, r, 4.1665795894e-2f);
  p = mul_add(p, r, 1.6666665459e-1f);
  p = mul_add(p, r, 5.0000001201e-1f);
  const float y = mul_add(p, r * r, r) + 1.0f;
  const int32_t e = static_cast<int32_t>(__builtin_bit_cast(uint32_t, shifted) - __builtin_bit_cast(uint32_t, kRound));
  const int32_t half = e >> 1;  // two steps: 2^128 is not a float
  return y * __builtin_bit_cast(float, static_cast<uint32_t>(half + 127) << 23) *
         __builtin_bit_cast(float, static_cast<uint32_t>(e - half + 127) << 23);
}

template <bool BF16>
void swiglu_of(const float* a, const float* b, int64_t n, float top, float weight, float* h) {
  for (int64_t i = 0; i < n; ++i) {
    float g = BF16 ? bf16_float(float_bf16(a[i])) : a[i];
    float u = BF16 ? bf16_float(float_bf16(b[i])) : b[i];
    g = g > top ? top : g;
    u = u > top ? top : u;
    u = u < -top ? -top : u;
    const float v = g / (1.0f + exp_lane(-g)) * u * weight;
    h[i] = BF16 ? bf16_float(float_bf16(v)) : v;
  }
}

void swiglu(const float* a, const float* b, int64_t n, float limit, float weight, bool round_bf16, float* h) {
  const float top = limit > 0 ? limit : __builtin_inff();
  if (round_bf16)
    swiglu_of<true>(a, b, n, top, weight, h);
  else
    swiglu_of<false>(a, b, n, top, weight, h);
}

void sum_rows(const float* const* y, int count, int64_t n, DType out_type, void* out) {
  for (int64_t at = 0; at < n; at += 64) {
    const int64_t len = n - at < 64 ? n - at : 64;
    float s[64] = {};
    for (int j = 0; j < count; ++j)
      for (int64_t i = 0; i < len; ++i) s[i] += y[j][at + i];
    if (out_type == DType::kBF16)
      for (int64_t i = 0; i < len; ++i) static_cast<uint16_t*>(out)[at + i] = float_bf16(s[i]);
    else
      std::memcpy(static_cast<float*>(out) + at, s, static_cast<size_t>(len) * 4);
  }
}
