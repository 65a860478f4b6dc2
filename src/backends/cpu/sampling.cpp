#include "backends/cpu/sampling.h"

#include <algorithm>
#include <cmath>
#include <cstring>

namespace deepinfer::cpu {

const SamplingKernels& sampling_kernels(Isa isa) {
  switch (isa) {
    case Isa::kGeneric:
      return kSamplingGeneric;
    case Isa::kAvx2:
      return kSamplingAvx2;
    default:
      return kSamplingAvx512;
  }
}

namespace {

// Ids below exp(-22) of the best one can be dropped before anything is counted, without changing any draw:
//   - their fixed-point weight floor(p * 2^31) is 0 (e^-21.49 = 2^-31) and they rank behind all that is not 0, so top_p
//     never reaches them: the sum before them is the whole, above top_p of the whole;
//   - noise lies between -log(log(2^24)) = -2.82 and 24 log 2 = 16.64, and the best id is never cut by top_k or top_p,
//     so a score below -19.5 never wins. min_p can cut the best id only together with all others.
constexpr float kNegligible = -22.0f;

// Order of logits as unsigned integers, larger first; both zeros are equal.
uint32_t rank_key(float z) {
  const uint32_t u = float_to_bits(z + 0.0f);
  return u ^ (static_cast<uint32_t>(static_cast<int32_t>(u) >> 31) | 0x80000000u);
}

// The longest prefix of the ranking (key falling, position rising) whose every member has at most `limit` weight before
// it: all keys above `key` and the first `equal` with that key.
struct Cut {
  uint32_t key;
  int64_t equal;
};
struct Histogram {
  static constexpr int kBits = 11, kBins = 1 << kBits;
  uint64_t sum[kBins];
  int32_t count[kBins];
};
// weights null: every weight is 1.
Cut find_cut(const uint32_t* keys, const uint32_t* weights, int n, uint64_t limit, Histogram& h) {
  uint32_t prefix = 0, prefix_mask = 0;
  uint64_t before = 0;
  for (int shift : {21, 10, 0}) {
    const int bits = shift == 0 ? 10 : Histogram::kBits, bins = 1 << bits;
    std::memset(h.sum, 0, sizeof h.sum);
    std::memset(h.count, 0, sizeof h.count);
    for (int i = 0; i < n; ++i) {
      if ((keys[i] & prefix_mask) != prefix) continue;
      const uint32_t bin = keys[i] >> shift & static_cast<uint32_t>(bins - 1);
      h.sum[bin] += weights ? weights[i] : 1;
      ++h.count[bin];
    }
    int bin = bins - 1;
    for (; bin >= 0 && before + h.sum[bin] <= limit; --bin) before += h.sum[bin];
    if (bin < 0) return {0, n};  // only on the first level: nothing is cut
    prefix |= static_cast<uint32_t>(bin) << shift;
    prefix_mask |= static_cast<uint32_t>(bins - 1) << shift;
    if (shift == 0) {  // equal keys have equal weights, which are not 0 here
      const uint64_t each = h.sum[bin] / static_cast<uint64_t>(h.count[bin]);
      return {prefix, static_cast<int64_t>((limit - before) / each) + 1};
    }
  }
  return {0, n};
}

// Candidates of one row: arrays of at least n + kSamplingPad.
struct Candidates {
  int32_t* ids;
  float* x;
  float* w;
  uint32_t *keys, *fixed;
  int n;

  template <typename Keep>
  void filter(bool ranked, Keep keep) {
    int m = 0;
    for (int i = 0; i < n; ++i) {
      if (!keep(i)) continue;
      ids[m] = ids[i];
      x[m] = x[i];
      w[m] = w[i];
      if (ranked) keys[m] = keys[i], fixed[m] = fixed[i];
      ++m;
    }
    n = m;
  }
  void apply(Cut cut) {
    int64_t equal_left = cut.equal;
    filter(true, [&](int i) { return keys[i] > cut.key || (keys[i] == cut.key && equal_left-- > 0); });
  }
};

int32_t sample_row(const SamplingKernels& k, const float* z, int vocab, const ops::SampleRow& row, Candidates c) {
  int32_t best;
  const float top = k.best(z, row.mask, vocab, &best);
  if (best < 0 || row.temperature < 1e-5f) return best;
  const float inverse = 1.0f / row.temperature;
  c.n = k.candidates(z, row.mask, vocab, top, inverse, kNegligible, c.ids, c.x);
  const bool ranked = row.top_k > 0 || row.top_p < 1;
  if (row.min_p > 0 || ranked) k.weights(c.x, c.n, c.w);
  if (row.min_p > 0) c.filter(false, [&](int i) { return !(c.w[i] < row.min_p); });
  if (ranked) {
    Histogram h;
    for (int i = 0; i < c.n; ++i) {
      c.keys[i] = rank_key(z[c.ids[i]]);
      c.fixed[i] = static_cast<uint32_t>(c.w[i] * 0x1p31f);
    }
    if (row.top_k > 0 && c.n > row.top_k)
      c.apply(find_cut(c.keys, nullptr, c.n, static_cast<uint64_t>(row.top_k) - 1, h));
    if (row.top_p < 1 && c.n > 0) {
      uint64_t total = 0;
      for (int i = 0; i < c.n; ++i) total += c.fixed[i];
      const double limit = static_cast<double>(row.top_p) * static_cast<double>(total);
      c.apply(find_cut(c.keys, c.fixed, c.n, limit > 0 ? static_cast<uint64_t>(limit) : 0, h));
    }
  }
  return k.draw(c.ids, c.x, c.n, row.seed, row.choice, static_cast<uint32_t>(row.position));
}

}  // namespace

template <Isa isa>
void sample(const ops::SampleParams& p, ops::Context& ctx) {
  const SamplingKernels& k = sampling_kernels(isa);
  const int vocab = static_cast<int>(p.logits.cols);
  bool greedy = true;
  for (int64_t r = 0; r < p.logits.rows; ++r) greedy &= p.rows[r].temperature < 1e-5f;
  const int64_t width = greedy ? 0 : vocab + kSamplingPad, threads = ctx.pool->num_threads();
  uint32_t* room = ctx.scratch->alloc<uint32_t>(5 * width * threads);
  ctx.pool->parallel_for(p.logits.rows, std::max<int64_t>(1, 32768 / std::max(vocab, 1)),
                         [&](int64_t begin, int64_t end, int thread) {
                           uint32_t* mine = room + 5 * width * thread;
                           const Candidates c{reinterpret_cast<int32_t*>(mine),
                                              reinterpret_cast<float*>(mine + width),
                                              reinterpret_cast<float*>(mine + 2 * width),
                                              mine + 3 * width,
                                              mine + 4 * width,
                                              0};
                           for (int64_t r = begin; r < end; ++r)
                             p.tokens[r] = sample_row(k, p.logits.row<float>(r), vocab, p.rows[r], c);
                         });
}

template <Isa isa>
void logprobs(const ops::LogprobsParams& p, ops::Context& ctx) {
  const SamplingKernels& k = sampling_kernels(isa);
  const int vocab = static_cast<int>(p.logits.cols), n = std::min(p.top_n, vocab);
  float* values = ctx.scratch->alloc<float>(static_cast<int64_t>(p.top_n) * ctx.pool->num_threads());
  ctx.pool->parallel_for(
      p.logits.rows, std::max<int64_t>(1, 8192 / std::max(vocab, 1)), [&](int64_t begin, int64_t end, int thread) {
        float* best_values = values + static_cast<int64_t>(p.top_n) * thread;
        for (int64_t r = begin; r < end; ++r) {
          const float* z = p.logits.row<float>(r);
          int32_t best;
          const float top = k.best(z, nullptr, vocab, &best);
          double sums[16], sum = 0;
          k.exp_sums(z, vocab, top, sums);
          for (double s : sums) sum += s;
          const double lse = static_cast<double>(top) + std::log(sum);
          p.logprob[r] = p.ids[r] < 0 ? 0.0f : static_cast<float>(static_cast<double>(z[p.ids[r]]) - lse);
          if (p.top_n == 0) continue;
          int32_t* ids = p.top_ids + r * p.top_n;
          float* out = p.top_logprobs + r * p.top_n;
          k.best_n(z, vocab, n, ids, best_values);
          for (int i = 0; i < p.top_n; ++i) {
            if (i >= n) ids[i] = -1;
            out[i] = i < n ? static_cast<float>(static_cast<double>(z[ids[i]]) - lse) : 0.0f;
          }
        }
      });
}

template <Isa isa>
void confidence(const ops::ConfidenceParams& p, ops::Context& ctx) {
  const SamplingKernels& k = sampling_kernels(isa);
  ctx.pool->parallel_for(p.h.rows, 16, [&](int64_t begin, int64_t end, int) {
    for (int64_t r = begin; r < end; ++r) {
      auto row = [&](const ops::Mat& m) {
        return m.row<uint8_t>(0) + r * m.stride * static_cast<int64_t>(dtype_size(m.dtype));
      };
      const float dot =
          k.dot(p.h.dtype, row(p.h), p.weight, p.h.cols) + k.dot(p.e.dtype, row(p.e), p.weight + p.h.cols, p.e.cols);
      p.out[r] = 1.0f / (1.0f + std::exp(-std::clamp(dot / p.temperature, -60.0f, 60.0f)));
    }
  });
}

// The lists of a row hold few ids, each edited once: there is nothing to vectorise, rows go over threads.
void penalties(const ops::PenaltiesParams& p, ops::Context& ctx) {
  ctx.pool->parallel_for(p.logits.rows, 1, [&](int64_t begin, int64_t end, int) {
    for (int64_t r = begin; r < end; ++r) {
      float* z = p.logits.row<float>(r);
      const ops::PenaltyRow& row = p.rows[r];
      for (int i = 0; i < row.num_bias; ++i) z[row.bias_ids[i]] += row.bias[i];
      for (int i = 0; i < row.num_seen; ++i) {
        float v = z[row.seen_ids[i]];
        if (row.repetition != 1) v = v > 0 ? v / row.repetition : v * row.repetition;
        if (row.output_counts[i] > 0) v = v - row.frequency * static_cast<float>(row.output_counts[i]) - row.presence;
        z[row.seen_ids[i]] = v;
      }
    }
  });
}

void accept_drafts(const ops::AcceptDraftsParams& p, ops::Context&) {
  for (int g = 0; g < p.groups; ++g) {
    const int32_t *drafts = p.drafts + g * p.drafts_stride, *sampled = p.sampled + p.first_row[g];
    p.accepted[g] = static_cast<int32_t>(std::mismatch(drafts, drafts + p.num_drafts[g], sampled).first - drafts);
  }
}

#define DEEPINFER_INSTANTIATE(isa)                                            \
  template void confidence<isa>(const ops::ConfidenceParams&, ops::Context&); \
  template void sample<isa>(const ops::SampleParams&, ops::Context&);         \
  template void logprobs<isa>(const ops::LogprobsParams&, ops::Context&);
DEEPINFER_INSTANTIATE(Isa::kGeneric)
DEEPINFER_INSTANTIATE(Isa::kAvx2)
DEEPINFER_INSTANTIATE(Isa::kAvx512)
DEEPINFER_INSTANTIATE(Isa::kAvx512Bf16)
DEEPINFER_INSTANTIATE(Isa::kAmx)
#undef DEEPINFER_INSTANTIATE

}  // namespace deepinfer::cpu
