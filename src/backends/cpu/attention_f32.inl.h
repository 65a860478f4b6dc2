// Attention and index scores in fp32 over a vector type V (as in gemm_f32.inl.h), compiled per instruction set.
// kRounded: quantized mode on processors without bf16 arithmetic: inputs and outputs are bf16, weights p are rounded to
// bf16, the arithmetic is fp32. Included inside an anonymous namespace; no standard containers.

inline float bf16_float(uint16_t h) { return __builtin_bit_cast(float, static_cast<uint32_t>(h) << 16); }
inline uint16_t float_bf16(float x) {
  uint32_t u = __builtin_bit_cast(uint32_t, x);
  if ((u & 0x7fffffffu) > 0x7f800000u) return static_cast<uint16_t>((u >> 16) | 0x40);
  return static_cast<uint16_t>((u + 0x7fffu + ((u >> 16) & 1)) >> 16);
}
inline float round_bf16(float x) { return bf16_float(float_bf16(x)); }
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
inline float e2m1(int code) {
  constexpr float kValues[16] = {0, .5f, 1, 1.5f, 2, 3, 4, 6, -0.0f, -.5f, -1, -1.5f, -2, -3, -4, -6};
  return kValues[code & 15];
}

inline void decode_f32(CacheFormat format, const uint8_t* r, int dim, float* out) {
  if (format == CacheFormat::kF32) {
    std::memcpy(out, r, static_cast<size_t>(dim) * 4);
  } else if (format == CacheFormat::kFp8) {
    for (int g = 0; g < dim; g += 32) {
      const float s = ue8m0(r[dim + g / 32]);
      for (int i = g; i < g + 32; ++i) out[i] = e4m3(r[i]) * s;
    }
  } else {
    const int group = format == CacheFormat::kFp4E4m3 ? 16 : 32;
    for (int g = 0; g < dim; g += group) {
      const uint8_t b = r[dim / 2 + g / group];
      const float s = format == CacheFormat::kFp4E4m3 ? e4m3(b) : ue8m0(b);
      for (int i = g; i < g + group; i += 2) {
        out[i] = e2m1(r[i / 2]) * s;
        out[i + 1] = e2m1(r[i / 2] >> 4) * s;
      }
    }
  }
}

template <bool kRounded>
void decode(CacheFormat format, const uint8_t* record, int dim, uint8_t* key) {
  if constexpr (!kRounded) {
    decode_f32(format, record, dim, reinterpret_cast<float*>(key));
  } else {
    uint16_t* out = reinterpret_cast<uint16_t*>(key);
    float chunk[32];
    // Through a small buffer: group by group for the block formats.
    if (format == CacheFormat::kF32) {
      for (int i = 0; i < dim; ++i) {
        float v;
        std::memcpy(&v, record + 4 * i, 4);
        out[i] = float_bf16(v);
      }
      return;
    }
    for (int g = 0; g < dim; g += 32) {
      if (format == CacheFormat::kFp8) {
        const float s = ue8m0(record[dim + g / 32]);
        for (int i = 0; i < 32; ++i) chunk[i] = e4m3(record[g + i]) * s;
      } else {
        for (int i = 0; i < 32; ++i) {
          const float s =
              format == CacheFormat::kFp4E4m3 ? e4m3(record[dim / 2 + (g + i) / 16]) : ue8m0(record[dim / 2 + g / 32]);
          chunk[i] = e2m1(record[(g + i) / 2] >> (4 * (i & 1))) * s;
        }
      }
      for (int i = 0; i < 32; ++i) out[g + i] = float_bf16(chunk[i]);
    }
  }
}

template <bool kRounded>
inline typename V::T load(const uint8_t* p, int64_t i) {
  if constexpr (kRounded)
    return V::load_bf16(reinterpret_cast<const uint16_t*>(p) + i);
  else
    return V::load(reinterpret_cast<const float*>(p) + i);
}

template <bool kRounded>
void scores(const uint8_t* q, int heads, int dim, const uint8_t* const* keys, int n, float scale, float* z,
            int64_t z_stride) {
  for (int i = 0; i < n; ++i)
    for (int h0 = 0; h0 < heads; h0 += 4) {
      const int hn = heads - h0 < 4 ? heads - h0 : 4;
      typename V::T acc[4];
      for (int h = 0; h < 4; ++h) acc[h] = V::zero();
      for (int d = 0; d < dim; d += V::kLanes) {
        const typename V::T key = load<kRounded>(keys[i], d);
        for (int h = 0; h < hn; ++h)
          acc[h] = V::fma(load<kRounded>(q, static_cast<int64_t>(h0 + h) * dim + d), key, acc[h]);
      }
      for (int h = 0; h < hn; ++h) z[(h0 + h) * z_stride + i] = V::sum(acc[h]) * scale;
    }
}

// e^x for x <= 0, relative error below 1e-6; below -87 it is 0.
inline float exp_lane(float x) {
  const float c = x < -87.0f ? -87.0f : x > 80.0f ? 80.0f : x;
  const float n = __builtin_floorf(c * 1.44269504f + 0.5f);
  const float r = (c - n * 0.693359375f) + n * 2.12194440e-4f;
  float p = 1.0f / 720;
  p = p * r + 1.0f / 120;
  p = p * r + 1.0f / 24;
  p = p * r + 1.0f / 6;
  p = p * r + 0.5f;
  p = p * r + 1.0f;
  p = p * r + 1.0f;
  const float e = p * __builtin_bit_cast(float, static_cast<uint32_t>(static_cast<int32_t>(n) + 127) << 23);
  return x < -87.0f ? 0.0f : e;
}

template <bool kRounded>
float weights(const float* z, int n, float sink, uint8_t* p) {
  float best = -1e30f;
  for (int i = 0; i < n; ++i) best = z[i] > best ? z[i] : best;
  float lanes[8] = {};
  for (int i = 0; i < n; ++i) {
    const float e = exp_lane(z[i] - best);
    lanes[i & 7] += e;
    if constexpr (kRounded)
      reinterpret_cast<uint16_t*>(p)[i] = float_bf16(e);
    else
      reinterpret_cast<float*>(p)[i] = e;
  }
  if (n == 0) return 0;
  const float total = ((lanes[0] + lanes[4]) + (lanes[2] + lanes[6])) + ((lanes[1] + lanes[5]) + (lanes[3] + lanes[7]));
  return 1.0f / (total + exp_lane(sink - best));
}

template <bool kRounded>
void values(const uint8_t* p, int64_t p_stride, const float* inverse, int heads, int dim, const uint8_t* const* keys,
            int n, int begin, int end, uint8_t* out) {
  for (int h0 = 0; h0 < heads; h0 += 4) {
    const int hn = heads - h0 < 4 ? heads - h0 : 4;
    for (int d = begin; d < end; d += V::kLanes) {
      typename V::T acc[4];
      for (int h = 0; h < 4; ++h) acc[h] = V::zero();
      for (int i = 0; i < n; ++i) {
        const typename V::T key = load<kRounded>(keys[i], d);
        for (int h = 0; h < hn; ++h) {
          const uint8_t* w = p + (h0 + h) * p_stride;
          float weight;
          if constexpr (kRounded)
            weight = bf16_float(reinterpret_cast<const uint16_t*>(w)[i]);
          else
            weight = reinterpret_cast<const float*>(w)[i];
          acc[h] = V::fma(V::set1(weight), key, acc[h]);
        }
      }
      for (int h = 0; h < hn; ++h) {
        float lanes[V::kLanes];
        V::store(lanes, acc[h]);
        const int64_t at = static_cast<int64_t>(h0 + h) * dim + d;
        for (int i = 0; i < V::kLanes; ++i) {
          const float v = lanes[i] * inverse[h0 + h];
          if constexpr (kRounded)
            reinterpret_cast<uint16_t*>(out)[at + i] = float_bf16(v);
          else
            reinterpret_cast<float*>(out)[at + i] = v;
        }
      }
    }
  }
}

// ---- index scores: keys and queries as fp32, one dot at a time
constexpr int kIndexKeys = 16;
int64_t block_bytes(int dim) { return static_cast<int64_t>(kIndexKeys) * dim * 4; }
int64_t query_bytes(int heads, int dim) { return static_cast<int64_t>(heads) * dim * 4; }
inline int64_t record_size(CacheFormat format, int dim) {
  return format == CacheFormat::kF32 ? 4 * dim : dim / 2 + dim / 32;
}
void decode_keys(CacheFormat format, const uint8_t* const* records, int n, int dim, uint8_t* block) {
  for (int i = 0; i < n; ++i)
    decode_f32(format, records[i], dim, reinterpret_cast<float*>(block) + static_cast<int64_t>(i) * dim);
}
void decode_query(CacheFormat format, const uint8_t* records, int heads, int dim, uint8_t* query) {
  for (int h = 0; h < heads; ++h)
    decode_f32(format, records + h * record_size(format, dim), dim,
               reinterpret_cast<float*>(query) + static_cast<int64_t>(h) * dim);
}
void score(const uint8_t* query, const uint8_t* block, int heads, int dim, const float* head_weights, int n,
           float* out) {
  for (int i = 0; i < n; ++i) {
    const float* key = reinterpret_cast<const float*>(block) + static_cast<int64_t>(i) * dim;
    float total = 0;
    for (int h = 0; h < heads; ++h) {
      const float* q = reinterpret_cast<const float*>(query) + static_cast<int64_t>(h) * dim;
      typename V::T acc = V::zero();
      for (int d = 0; d < dim; d += V::kLanes) acc = V::fma(V::load(q + d), V::load(key + d), acc);
      const float dot = V::sum(acc);
      total += (dot > 0 ? dot : 0.0f) * head_weights[h];
    }
    out[i] = total;
  }
}
