// Suites of the row-wise operators.
#include <algorithm>
#include <numeric>

#include "backends/conformance/harness.h"

namespace deepinfer::conformance {
namespace {

constexpr float kEps = 1e-6f;

std::vector<Case> embed_cases(uint64_t seed) {
  std::vector<Case> out;
  Random r(seed);
  for (DType act : kActs)
    for (auto [rows, d, m] : std::vector<std::array<int64_t, 3>>{{0, 8, 2}, {1, 96, 1}, {7, 33, 4}, {5, 512, 3}}) {
      auto table = random_weight(r, DType::kBF16, 19, d);
      auto ids = std::make_shared<std::vector<int32_t>>();
      for (int64_t i = 0; i < rows; ++i) ids->push_back(static_cast<int32_t>(i == 0 ? 18 : below(r, 19)));
      out.push_back({label(act, rows, d, fmt::format("streams {}", m)), rows, [=, m = m, d = d](Call& call) {
                       ops::EmbedParams p;
                       p.table = table->view;
                       p.ids = call.in(*ids);
                       p.num_streams = static_cast<int>(m);
                       p.streams = call.out("streams", act, m * d, kExact, 3);
                       call(&OpTable::embed, p);
                     }});
    }
  return out;
}

std::vector<Case> engram_hash_cases(uint64_t seed) {
  std::vector<Case> out;
  Random r(seed);
  for (auto [rows, ngram, heads] :
       std::vector<std::array<int, 3>>{{0, 4, 8}, {1, 4, 8}, {13, 4, 8}, {9, 2, 3}, {6, 3, 1}}) {
    const int columns = (ngram - 1) * heads;
    auto tokens = std::make_shared<std::vector<int32_t>>();
    auto mult = std::make_shared<std::vector<int64_t>>(), primes = std::make_shared<std::vector<int64_t>>(),
         offsets = std::make_shared<std::vector<int64_t>>();
    for (int i = 0; i < rows * ngram; ++i)
      tokens->push_back(static_cast<int32_t>(i % 5 == 0 ? 99091 : below(r, 99092)));
    for (int i = 0; i < ngram; ++i) mult->push_back(2 * below(r, 46539438283891) + 1);
    for (int i = 0; i < columns; ++i) {
      primes->push_back(i % 4 == 3 ? 7 : 16000057 + 2 * below(r, 1000));
      offsets->push_back(i == 0 ? 0 : offsets->back() + (*primes)[static_cast<size_t>(i - 1)]);
    }
    out.push_back({fmt::format("{} rows, n-grams to {}, {} heads", rows, ngram, heads), rows,
                   [=, rows = rows, ngram = ngram, heads = heads](Call& call) {
                     ops::EngramHashParams p;
                     p.lookback = call.in(*tokens, ngram);
                     p.rows = call.n();
                     p.max_ngram = ngram;
                     p.heads = heads;
                     p.multipliers = mult->data();
                     p.primes = primes->data();
                     p.offsets = offsets->data();
                     p.out = call.array<int64_t>("rows", columns);
                     call(&OpTable::engram_hash, p);
                   }});
  }
  return out;
}

std::vector<Case> engram_gather_cases(uint64_t seed) {
  std::vector<Case> out;
  Random r(seed);
  for (DType act : kActs)
    for (auto [rows, dim, columns] :
         std::vector<std::array<int, 3>>{{0, 32, 2}, {1, 256, 24}, {9, 96, 5}, {3, 32, 1}}) {
      const int64_t table_rows = 41;
      auto table = std::make_shared<std::vector<uint8_t>>(static_cast<size_t>(table_rows * dim)),
           scale = std::make_shared<std::vector<uint8_t>>(static_cast<size_t>(table_rows * dim / 32));
      for (auto& b : *table) {
        b = static_cast<uint8_t>(r());
        if ((b & 0x7f) == 0x7f) b ^= 1;
      }
      for (auto& b : *scale) b = static_cast<uint8_t>(r() % 7 == 0 ? 0 : r() % 7 == 1 ? 240 : 100 + r() % 40);
      auto ids = std::make_shared<std::vector<int64_t>>();
      for (int i = 0; i < rows * columns; ++i) ids->push_back(i == 0 ? table_rows - 1 : below(r, table_rows));
      out.push_back({label(act, rows, dim, fmt::format("columns {}", columns)), rows,
                     [=, dim = dim, columns = columns](Call& call) {
                       ops::EngramGatherParams p;
                       p.table = table->data();
                       p.scale = scale->data();
                       p.table_rows = table_rows;
                       p.dim = dim;
                       p.columns = columns;
                       p.row_ids = call.in(*ids, columns);
                       p.out = call.out("out", act, static_cast<int64_t>(columns) * dim, kExact, 5);
                       call(&OpTable::engram_gather, p);
                     }});
    }
  return out;
}

struct StreamShape {
  int64_t rows, d;
  int m;
};
const std::vector<StreamShape> kStreamShapes = {{0, 64, 4},  {1, 96, 4},   {7, 33, 2},
                                                {9, 160, 3}, {3, 5120, 4}, {6, 64, 1}};

std::vector<Case> engram_gate_cases(uint64_t seed) {
  std::vector<Case> out;
  Random r(seed);
  for (DType act : kActs)
    for (const StreamShape& s : kStreamShapes) {
      auto x = random_values(r, act, s.rows, s.m * s.d), kv = random_values(r, act, s.rows, (s.m + 1) * s.d);
      auto q = random_bf16(r, s.m * s.d, -1, 1), k = random_bf16(r, s.m * s.d, -1, 1);
      auto skip = std::make_shared<std::vector<uint8_t>>();
      for (int64_t i = 0; i < s.rows; ++i) skip->push_back(i % 4 == 2);
      for (bool with_skip : {false, true})
        out.push_back({label(act, s.rows, s.d, fmt::format("streams {}{}", s.m, with_skip ? " skip" : "")), s.rows,
                       [=](Call& call) {
                         ops::EngramGateParams p;
                         // dot = 0 takes the gate to sigmoid(+-1e-3): the sign of a sum near zero is the only risk.
                         p.streams = call.out("streams", act, s.m * s.d, rounding(act, 2e-5), 7, x.get());
                         p.kv = call.in(*kv, 3);
                         p.num_streams = s.m;
                         p.q_weight = q.data();
                         p.k_weight = k.data();
                         p.eps = kEps;
                         p.skip = with_skip ? call.in(*skip) : nullptr;
                         call(&OpTable::engram_gate, p);
                       }});
    }
  return out;
}

std::vector<Case> hc_mix_cases(uint64_t seed) {
  std::vector<Case> out;
  Random r(seed);
  for (DType act : kActs)
    for (const StreamShape& s : kStreamShapes) {
      const int mix = s.m * (s.m + 2);
      auto x = random_values(r, act, s.rows, s.m * s.d);
      const float range = 1 / std::sqrt(static_cast<float>(s.m * s.d));
      auto fn = random_floats(r, mix * s.m * s.d, -range, range), base = random_floats(r, mix, -1, 1),
           scale = random_floats(r, 3, 0.2f, 2);
      for (int iters : {1, 20})
        out.push_back(
            {label(act, s.rows, s.d, fmt::format("streams {} iterations {}", s.m, iters)), s.rows, [=](Call& call) {
               ops::HcMixParams p;
               p.streams = call.in(*x, 5);
               p.num_streams = s.m;
               p.fn = fn.data();
               p.base = base.data();
               p.scale = scale.data();
               p.norm_eps = kEps;
               p.hc_eps = kEps;
               p.sinkhorn_iters = iters;
               const Tolerance t{1e-5, 0, 1e-6};
               p.pre = call.array<float>("pre", s.m, t);
               p.post = call.array<float>("post", s.m, t);
               p.comb = call.array<float>("comb", s.m * s.m, t);
               call(&OpTable::hc_mix, p);
             }});
    }
  return out;
}

std::vector<Case> hc_collapse_cases(uint64_t seed) {
  std::vector<Case> out;
  Random r(seed);
  for (DType act : kActs)
    for (const StreamShape& s : kStreamShapes)
      for (bool norm : {false, true}) {
        auto x = random_values(r, act, s.rows, s.m * s.d);
        auto pre = random_floats(r, s.rows * s.m, 0, 1);
        auto weight = random_bf16(r, s.d, -2, 2);
        out.push_back(
            {label(act, s.rows, s.d, fmt::format("streams {}{}", s.m, norm ? " norm" : "")), s.rows, [=](Call& call) {
               ops::HcCollapseParams p;
               p.streams = call.in(*x, 5);
               p.num_streams = s.m;
               p.pre = call.in(pre, s.m);
               p.norm_weight = norm ? weight.data() : nullptr;
               p.eps = kEps;
               // u may round the other way before the norm rounds again.
               Tolerance t = rounding(act);
               if (norm) t.relative *= 2;
               p.out = call.out("out", act, s.d, t, 3);
               call(&OpTable::hc_collapse, p);
             }});
      }
  return out;
}

std::vector<Case> hc_expand_cases(uint64_t seed) {
  std::vector<Case> out;
  Random r(seed);
  for (DType act : kActs)
    for (const StreamShape& s : kStreamShapes) {
      auto x = random_values(r, act, s.rows, s.m * s.d), y = random_values(r, act, s.rows, s.d);
      auto post = random_floats(r, s.rows * s.m, 0, 2), comb = random_floats(r, s.rows * s.m * s.m, 0, 1);
      out.push_back({label(act, s.rows, s.d, fmt::format("streams {}", s.m)), s.rows, [=](Call& call) {
                       ops::HcExpandParams p;
                       p.streams = call.out("streams", act, s.m * s.d, rounding(act), 7, x.get());
                       p.num_streams = s.m;
                       p.y = call.in(*y, 3);
                       p.post = call.in(post, s.m);
                       p.comb = call.in(comb, s.m * s.m);
                       call(&OpTable::hc_expand, p);
                     }});
    }
  return out;
}

std::vector<Case> stream_mean_cases(uint64_t seed) {
  std::vector<Case> out;
  Random r(seed);
  for (DType act : kActs)
    for (const StreamShape& s : kStreamShapes) {
      auto x = random_values(r, act, s.rows, s.m * s.d);
      out.push_back({label(act, s.rows, s.d, fmt::format("streams {}", s.m)), s.rows, [=](Call& call) {
                       ops::StreamMeanParams p;
                       p.streams = call.in(*x, 5);
                       p.num_streams = s.m;
                       p.out = call.out("out", act, s.d, rounding(act), 2 * s.d);
                       call(&OpTable::stream_mean, p);
                     }});
    }
  return out;
}

std::vector<Case> rms_norm_cases(uint64_t seed) {
  std::vector<Case> out;
  Random r(seed);
  for (DType act : kActs)
    for (auto [rows, d] :
         std::vector<std::pair<int64_t, int64_t>>{{0, 32}, {1, 96}, {9, 33}, {6, 1280}, {3, 5120}, {5, 1}})
      for (bool in_place : {false, true}) {
        auto x = random_values(r, act, rows, d);
        auto weight = random_bf16(r, d, -2, 2);
        out.push_back({label(act, rows, d, in_place ? "in place" : ""), rows, [=, d = d](Call& call) {
                         ops::RmsNormParams p;
                         p.out = call.out("out", act, d, rounding(act), 3, in_place ? x.get() : nullptr);
                         p.x = in_place ? p.out : call.in(*x, 5);
                         p.weight = weight.data();
                         p.eps = kEps;
                         call(&OpTable::rms_norm, p);
                       }});
      }
  return out;
}

std::vector<Case> rope_cases(uint64_t seed) {
  std::vector<Case> out;
  Random r(seed);
  struct Shape {
    int64_t rows;
    int heads, head_dim, rope_dim;
  };
  for (DType act : kActs)
    for (const Shape& s :
         std::vector<Shape>{{0, 2, 32, 8}, {1, 1, 96, 64}, {7, 5, 34, 10}, {4, 8, 512, 64}, {3, 3, 6, 6}})
      for (bool inverse : {false, true}) {
        const int half = s.rope_dim / 2;
        auto x = random_values(r, act, s.rows, static_cast<int64_t>(s.heads) * s.head_dim);
        std::vector<float> cos, sin;
        for (int64_t i = 0; i < s.rows * half; ++i) {
          const float angle = uniform(r, -4, 4);
          cos.push_back(std::cos(angle));
          sin.push_back(std::sin(angle));
        }
        out.push_back({label(act, s.rows, s.head_dim,
                             fmt::format("heads {} rope {}{}", s.heads, s.rope_dim, inverse ? " inverse" : "")),
                       s.rows, [=](Call& call) {
                         ops::RopeParams p;
                         // Products may be fused: an error of one ulp of the larger product.
                         p.x = call.out("x", act, x->cols, rounding(act, 2e-7), 9, x.get());
                         p.heads = s.heads;
                         p.head_dim = s.head_dim;
                         p.rope_dim = s.rope_dim;
                         p.cos = call.in(cos, half);
                         p.sin = call.in(sin, half);
                         p.inverse = inverse;
                         call(&OpTable::rope, p);
                       }});
      }
  return out;
}

std::vector<Case> router_cases(uint64_t seed) {
  std::vector<Case> out;
  Random r(seed);
  struct Shape {
    int64_t rows, experts;
    int top_k;
  };
  for (const Shape& s : std::vector<Shape>{{0, 8, 2}, {1, 384, 6}, {9, 24, 5}, {7, 7, 7}, {6, 33, 1}, {40, 10, 3}}) {
    for (int kind = 0; kind < 3; ++kind) {  // plain, ties, image rows
      auto x = random_values(r, DType::kF32, s.rows, s.experts, 4);
      if (kind == 1)
        for (float& v : x->v) v = static_cast<float>(below(r, 3));  // many equal ranks: the lower id wins
      else
        for (size_t i = 0; i < x->v.size(); i += 17) x->v[i] = i % 2 ? 30.0f : -90.0f;  // beyond the bend of softplus
      auto bias = random_floats(r, s.experts, -3, 3), image_bias = random_floats(r, s.experts, -3, 3);
      if (kind == 1)
        for (float& v : bias) v = 0.5f;
      std::vector<uint8_t> image;
      for (int64_t i = 0; i < s.rows; ++i) image.push_back(i % 3 == 1);
      out.push_back({fmt::format("{} rows, {} of {} experts{}", s.rows, s.top_k, s.experts,
                                 kind == 0   ? ""
                                 : kind == 1 ? ", ties"
                                             : ", image rows"),
                     s.rows, [=](Call& call) {
                       ops::RouterParams p;
                       p.logits = call.in(*x, 3);
                       p.bias = bias.data();
                       p.bias_vl = kind == 2 ? image_bias.data() : nullptr;
                       p.image = kind == 2 ? call.in(image) : nullptr;
                       p.top_k = s.top_k;
                       p.scale = 2.5f;
                       p.ids = call.array<int32_t>("ids", s.top_k);
                       p.weights = call.array<float>("weights", s.top_k, {4e-6, 0, 1e-12});
                       call(&OpTable::router, p);
                     }});
    }
  }
  return out;
}

std::vector<Case> gather_rows_cases(uint64_t seed) {
  std::vector<Case> out;
  Random r(seed);
  for (DType act : kActs)
    for (auto [rows, d] : std::vector<std::pair<int64_t, int64_t>>{{0, 8}, {1, 96}, {12, 33}, {5, 5120}}) {
      auto x = random_values(r, act, 7, d);
      std::vector<int32_t> index;
      for (int64_t i = 0; i < rows; ++i)
        index.push_back(i % 5 == 3 ? -1 : i % 5 == 4 ? 7 : static_cast<int32_t>(below(r, 7)));
      out.push_back({label(act, rows, d), rows, [=, d = d](Call& call) {
                       ops::GatherRowsParams p;
                       p.x = call.in(*x, {0, 1, 2, 3, 4, 5, 6}, 3);
                       p.index = call.in(index);
                       p.out = call.out("out", act, d, kExact, 5);
                       call(&OpTable::gather_rows, p);
                     }});
    }
  return out;
}

}  // namespace

void add_elementwise(std::vector<Suite>& out) {
  out.push_back({"embed", "exact: a copy", embed_cases});
  out.push_back({"engram_hash", "exact: integers", engram_hash_cases});
  out.push_back({"engram_gather", "exact: a product with a power of two, rounded once", engram_gather_cases});
  out.push_back(
      {"engram_gate", "one rounding of act, 2e-5 of the row for the order of three fp32 sums", engram_gate_cases});
  out.push_back({"hc_mix", "1e-5 relative + 1e-6: fp32 sums and exp, 20 normalisations", hc_mix_cases});
  out.push_back({"hc_collapse", "one rounding of act (two with norm), 2e-6 of the row", hc_collapse_cases});
  out.push_back({"hc_expand", "one rounding of act, 2e-6 of the row", hc_expand_cases});
  out.push_back({"stream_mean", "one rounding of act, 2e-6 of the row", stream_mean_cases});
  out.push_back({"rms_norm", "one rounding of act, 2e-6 of the row", rms_norm_cases});
  out.push_back({"rope", "one rounding of act, 2e-7 of the row for a fused product", rope_cases});
  out.push_back({"router", "ids exact, weights 4e-6: log and exp in fp32", router_cases});
  out.push_back({"gather_rows", "exact: a copy", gather_rows_cases});
}

}  // namespace deepinfer::conformance
