// Inner loops of sampling.h over a vector type V: T (floats), I (as many uint32), M (lane mask), kLanes (a divisor of
// 16) and the operations used below. Compiled per instruction set inside an anonymous namespace; no standard
// containers. Every float operation is the scalar one of ops/math.h in the same order.

inline constexpr float kMinusInfinity = -__builtin_inff();

// exp of ops/math.h
inline V::T vexp(V::T x) {
  const V::M high = V::gt(x, V::set1(-87.33f)), nan = V::unordered(x);
  const V::T c = V::min(x, V::set1(88.72f));
  const V::T n = V::nearest(V::mul(c, V::set1(1.44269504f)));
  V::T r = V::fma(n, V::set1(-0.693359375f), c);
  r = V::fma(n, V::set1(2.12194440e-4f), r);
  V::T p = V::set1(1.9875691500e-4f);
  p = V::fma(p, r, V::set1(1.3981999507e-3f));
  p = V::fma(p, r, V::set1(8.3334519073e-3f));
  p = V::fma(p, r, V::set1(4.1665795894e-2f));
  p = V::fma(p, r, V::set1(1.6666665459e-1f));
  p = V::fma(p, r, V::set1(5.0000001201e-1f));
  const V::T y = V::add(V::fma(p, V::mul(r, r), r), V::set1(1.0f));
  const V::I e = V::to_int(n);
  const V::I half = V::template sra<1>(V::iadd(e, V::template srl<31>(e)));  // e / 2 towards zero
  const V::I bias = V::iset1(127);
  const V::T a = V::as_float(V::template sll<23>(V::iadd(half, bias)));
  const V::T b = V::as_float(V::template sll<23>(V::iadd(V::isub(e, half), bias)));
  const V::T value = V::mul(V::mul(y, a), b);
  return V::select(high, value, V::select(nan, x, V::set1(0.0f)));
}

// log of ops/math.h
inline V::T vlog(V::T x) {
  const V::I u = V::as_int(x);
  V::I e = V::isub(V::template srl<23>(u), V::iset1(126));
  V::T m = V::as_float(V::ior(V::iand(u, V::iset1(0x007fffff)), V::iset1(0x3f000000)));
  const V::M small = V::gt(V::set1(0.70710678f), m);
  m = V::select(small, V::add(m, m), m);
  e = V::iselect(small, V::isub(e, V::iset1(1)), e);
  const V::T f = V::sub(m, V::set1(1.0f));
  const V::T z = V::mul(f, f);
  V::T p = V::set1(7.0376836292e-2f);
  p = V::fma(p, f, V::set1(-1.1514610310e-1f));
  p = V::fma(p, f, V::set1(1.1676998740e-1f));
  p = V::fma(p, f, V::set1(-1.2420140846e-1f));
  p = V::fma(p, f, V::set1(1.4249322787e-1f));
  p = V::fma(p, f, V::set1(-1.6668057665e-1f));
  p = V::fma(p, f, V::set1(2.0000714765e-1f));
  p = V::fma(p, f, V::set1(-2.4999993993e-1f));
  p = V::fma(p, f, V::set1(3.3333331174e-1f));
  const V::T n = V::from_int(e);
  V::T y = V::mul(V::mul(p, f), z);
  y = V::fma(n, V::set1(-2.12194440e-4f), y);
  y = V::fma(z, V::set1(-0.5f), y);
  return V::fma(n, V::set1(0.693359375f), V::add(f, y));
}

// Lane `id % 4` of Philox4x32-10 with counter (id / 4, position, choice, 0).
inline V::I noise_bits(V::I ids, uint64_t seed, uint32_t choice, uint32_t position) {
  V::I c0 = V::template srl<2>(ids), c1 = V::iset1(position), c2 = V::iset1(choice), c3 = V::iset1(0);
  uint32_t k0 = static_cast<uint32_t>(seed), k1 = static_cast<uint32_t>(seed >> 32);
  for (int round = 0; round < 10; ++round) {
    V::I a_high, a_low, b_high, b_low;
    V::multiply(c0, 0xD2511F53u, a_high, a_low);
    V::multiply(c2, 0xCD9E8D57u, b_high, b_low);
    c0 = V::ixor(V::ixor(b_high, c1), V::iset1(k0));
    c1 = b_low;
    c2 = V::ixor(V::ixor(a_high, c3), V::iset1(k1));
    c3 = a_low;
    k0 += 0x9E3779B9u;
    k1 += 0xBB67AE85u;
  }
  const V::I lane = V::iand(ids, V::iset1(3));
  V::I v = V::iselect(V::ieq(lane, V::iset1(1)), c1, c0);
  v = V::iselect(V::ieq(lane, V::iset1(2)), c2, v);
  return V::iselect(V::ieq(lane, V::iset1(3)), c3, v);
}

// Logits [i, n) from p = z + i, lanes behind the end -infinity.
inline V::T load_part(const float* p, int left) {
  if (left >= V::kLanes) return V::load(p);
  float part[V::kLanes];
  for (int j = 0; j < V::kLanes; ++j) part[j] = j < left ? p[j] : kMinusInfinity;
  return V::load(part);
}

constexpr uint32_t kAllLanes = (1u << V::kLanes) - 1;
inline uint32_t allowed_bits(const uint32_t* mask, int i) {
  return mask ? mask[i / 32] >> (i % 32) & kAllLanes : kAllLanes;
}

float best(const float* z, const uint32_t* mask, int n, int32_t* id) {
  V::T top = V::set1(kMinusInfinity);
  if (mask) {
    for (int i = 0; i < n; i += V::kLanes)
      top =
          V::max(V::select(V::from_bits(allowed_bits(mask, i)), load_part(z + i, n - i), V::set1(kMinusInfinity)), top);
  } else {
    V::T other = top;
    int i = 0;
    for (; i + 2 * V::kLanes <= n; i += 2 * V::kLanes) {
      top = V::max(V::load(z + i), top);
      other = V::max(V::load(z + i + V::kLanes), other);
    }
    for (; i < n; i += V::kLanes) top = V::max(load_part(z + i, n - i), top);
    top = V::max(other, top);
  }
  float lanes[V::kLanes], most = kMinusInfinity;
  V::store(lanes, top);
  for (float v : lanes) most = v > most ? v : most;
  *id = -1;
  if (most == kMinusInfinity) return most;
  for (int i = 0; i < n; i += V::kLanes) {
    const uint32_t hit = V::bits(V::eq(load_part(z + i, n - i), V::set1(most))) & allowed_bits(mask, i);
    if (hit) {
      *id = i + __builtin_ctz(hit);
      break;
    }
  }
  return most;
}

int candidates(const float* z, const uint32_t* mask, int n, float top, float inverse, float floor, int32_t* ids,
               float* x) {
  const V::T t = V::set1(top), s = V::set1(inverse), least = V::set1(floor);
  int count = 0;
  for (int i = 0; i < n; i += V::kLanes) {
    const V::T v = V::mul(V::sub(load_part(z + i, n - i), t), s);
    const uint32_t keep = V::bits(V::ge(v, least)) & allowed_bits(mask, i);
    if (!keep) continue;
    V::compress(keep, i, v, ids + count, x + count);
    count += __builtin_popcount(keep);
  }
  return count;
}

void weights(const float* x, int n, float* w) {
  for (int i = 0; i < n; i += V::kLanes) V::store(w + i, vexp(V::load(x + i)));
}

int32_t draw(int32_t* ids, float* x, int n, uint64_t seed, uint32_t choice, uint32_t position) {
  for (int j = 0; j < kSamplingPad; ++j) {
    ids[n + j] = 0;
    x[n + j] = kMinusInfinity;
  }
  V::T score = V::set1(kMinusInfinity);
  V::I winner = V::iset1(0xffffffffu);
  for (int i = 0; i < n; i += V::kLanes) {
    const V::I id = V::iload(ids + i);
    const V::I bits = V::template srl<9>(noise_bits(id, seed, choice, position));
    const V::T u = V::mul(V::add(V::from_int(bits), V::set1(0.5f)), V::set1(0x1p-23f));
    const V::T minus = V::set1(-1.0f);
    const V::T gumbel = V::mul(minus, vlog(V::mul(minus, vlog(u))));
    const V::T s = V::add(V::load(x + i), gumbel);
    const V::M more = V::gt(s, score);
    score = V::select(more, s, score);
    winner = V::iselect(more, id, winner);
  }
  float scores[V::kLanes];
  int32_t winners[V::kLanes], id = -1;
  V::store(scores, score);
  V::istore(winners, winner);
  float most = kMinusInfinity;
  for (int j = 0; j < V::kLanes; ++j)
    if (scores[j] > most || (scores[j] == most && winners[j] >= 0 && winners[j] < id)) {
      most = scores[j];
      id = winners[j];
    }
  return id;
}

void exp_sums(const float* z, int n, float top, double* sums) {
  for (int j = 0; j < 16; ++j) sums[j] = 0;
  const V::T t = V::set1(top);
  for (int i = 0; i < n; i += 16) {
    alignas(64) float e[16];
    for (int j = 0; j < 16; j += V::kLanes) {
      if (i + j >= n)
        V::store(e + j, V::set1(0.0f));
      else
        V::store(e + j, vexp(V::sub(load_part(z + i + j, n - i - j), t)));
    }
    if (i + 16 > n)  // lanes behind the end: also when top is -infinity and the difference NaN
      for (int j = n - i; j < 16; ++j) e[j] = 0;
    for (int j = 0; j < 16; ++j) sums[j] += static_cast<double>(e[j]);
  }
}

void best_n(const float* z, int n, int count, int32_t* ids, float* values) {
  if (count <= 0) return;
  int have = 0;
  auto insert = [&](float v, int32_t id) {  // ids come ascending: an equal one stays behind
    int at = have < count ? have++ : count - 1;
    for (; at > 0 && v > values[at - 1]; --at) {
      values[at] = values[at - 1];
      ids[at] = ids[at - 1];
    }
    values[at] = v;
    ids[at] = id;
  };
  int i = 0;
  for (; i < n && (have < count || i % V::kLanes); ++i) {
    const float v = z[i] == z[i] ? z[i] : kMinusInfinity;
    if (have < count || v > values[count - 1]) insert(v, i);
  }
  for (; i < n; i += V::kLanes)
    for (uint32_t hit = V::bits(V::gt(load_part(z + i, n - i), V::set1(values[count - 1]))); hit; hit &= hit - 1) {
      const int32_t id = i + __builtin_ctz(hit);
      if (z[id] > values[count - 1]) insert(z[id], id);
    }
}

inline float bf16_float(uint16_t h) { return __builtin_bit_cast(float, static_cast<uint32_t>(h) << 16); }

float dot(DType type, const void* x, const uint16_t* w, int64_t n) {
  V::T a = V::set1(0.0f), b = a;
  auto load = [&](int64_t i) {
    return type == DType::kBF16 ? V::load_bf16(static_cast<const uint16_t*>(x) + i)
                                : V::load(static_cast<const float*>(x) + i);
  };
  int64_t i = 0;
  for (; i + 2 * V::kLanes <= n; i += 2 * V::kLanes) {
    a = V::fma(load(i), V::load_bf16(w + i), a);
    b = V::fma(load(i + V::kLanes), V::load_bf16(w + i + V::kLanes), b);
  }
  float lanes[V::kLanes], sum = 0;
  V::store(lanes, V::add(a, b));
  for (float v : lanes) sum += v;
  for (; i < n; ++i)
    sum += (type == DType::kBF16 ? bf16_float(static_cast<const uint16_t*>(x)[i]) : static_cast<const float*>(x)[i]) *
           bf16_float(w[i]);
  return sum;
}
