// Suites of the sampling and draft operators.
#include <algorithm>
#include <limits>
#include <set>

#include "backends/conformance/harness.h"

namespace deepinfer::conformance {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();

std::shared_ptr<Values> logits_of(Random& r, int64_t rows, int64_t vocab) {
  auto x = random_values(r, DType::kF32, rows, vocab, 8);
  for (int64_t i = 0; i < rows; ++i)
    for (int64_t j = 0; j < vocab; ++j) {
      float& v = x->v[static_cast<size_t>(i * vocab + j)];
      if (i % 4 == 1) v = std::nearbyint(v);      // ties
      if (i % 4 == 2 && r() % 3) v = -kInfinity;  // forbidden by an earlier step
      if (i % 7 == 6) v = 1.5f;                   // all equal
    }
  return x;
}

std::vector<Case> confidence_cases(uint64_t seed) {
  std::vector<Case> out;
  Random r(seed);
  for (DType act : kActs)
    for (auto [rows, d, rank] :
         std::vector<std::array<int64_t, 3>>{{0, 32, 8}, {1, 96, 32}, {9, 33, 7}, {5, 5120, 256}})
      for (float range : {1.0f, 60.0f}) {  // the second reaches the clamp
        auto h = random_values(r, act, rows, d, range), e = random_values(r, DType::kBF16, rows, rank, range);
        const auto weight = random_bf16(r, d + rank, -1, 1);
        out.push_back(
            {label(act, rows, d, fmt::format("rank {} range {}", rank, range)), rows, [=](Call& call) {
               ops::ConfidenceParams p;
               p.h = call.in(*h, 3);
               p.e = call.in(*e, 1);
               p.weight = weight.data();
               p.temperature = 0.7f;
               // sigmoid of a dot whose fp32 error is about 1e-7 of the sum of its magnitudes.
               p.out = call.array<float>("out", 1, range == 1.0f ? Tolerance{2e-5, 0, 2e-5} : Tolerance{2e-3, 0, 1e-4});
               call(&OpTable::confidence, p);
             }});
      }
  return out;
}

std::vector<Case> penalties_cases(uint64_t seed) {
  std::vector<Case> out;
  Random r(seed);
  for (auto [rows, vocab] : std::vector<std::pair<int64_t, int64_t>>{{0, 8}, {1, 33}, {9, 500}, {4, 16384}}) {
    struct Lists {
      std::vector<int32_t> bias_ids, seen_ids, counts;
      std::vector<float> bias;
      ops::PenaltyRow row;
    };
    auto lists = std::make_shared<std::vector<Lists>>(static_cast<size_t>(rows));
    const auto unique_ids = [&](int64_t n) {
      std::set<int32_t> ids;
      for (int64_t i = 0; i < n; ++i) ids.insert(static_cast<int32_t>(below(r, vocab)));
      return std::vector<int32_t>(ids.begin(), ids.end());
    };
    for (size_t i = 0; i < lists->size(); ++i) {
      Lists& l = (*lists)[i];
      if (i % 4 != 3) l.bias_ids = unique_ids(1 + below(r, 20));
      for (size_t j = 0; j < l.bias_ids.size(); ++j) l.bias.push_back(j % 5 == 4 ? -kInfinity : uniform(r, -9, 9));
      if (i % 4 != 2) l.seen_ids = unique_ids(1 + below(r, 90));
      for (size_t j = 0; j < l.seen_ids.size(); ++j) l.counts.push_back(static_cast<int32_t>(below(r, 4)));
      l.row = {l.bias_ids.data(),
               l.bias.data(),
               static_cast<int>(l.bias_ids.size()),
               l.seen_ids.data(),
               l.counts.data(),
               static_cast<int>(l.seen_ids.size()),
               i % 3 == 0 ? 1.0f : 1.3f,
               i % 2 == 0 ? 0.0f : 0.4f,
               i % 3 == 1 ? 0.7f : 0.0f};
    }
    auto x = logits_of(r, rows, vocab);
    out.push_back({fmt::format("{} rows of {}", rows, vocab), rows, [=, vocab = vocab](Call& call) {
                     std::vector<ops::PenaltyRow> settings;
                     for (int64_t i : call.rows()) settings.push_back((*lists)[static_cast<size_t>(i)].row);
                     ops::PenaltiesParams p;
                     p.logits = call.out("logits", DType::kF32, vocab, kExact, 7, x.get());
                     p.rows = settings.data();
                     call(&OpTable::penalties, p);
                   }});
  }
  return out;
}

std::vector<Case> sample_cases(uint64_t seed) {
  std::vector<Case> out;
  Random r(seed);
  const float temperatures[] = {0, 1e-6f, 0.01f, 0.7f, 1, 1.5f, 100};
  const float tops[] = {1, 1, 0.999999f, 0.9f, 0.5f, 1e-6f, 0};
  const float mins[] = {0, 0, 0, 1e-7f, 0.05f, 0.3f, 1};
  const int32_t ks[] = {0, 0, 1, 2, 20, 1000, 1 << 30};
  for (auto [rows, vocab] :
       std::vector<std::pair<int64_t, int64_t>>{{0, 8}, {1, 1}, {60, 33}, {60, 501}, {40, 16384}}) {
    auto x = logits_of(r, rows, vocab);
    auto masks = std::make_shared<std::vector<std::vector<uint32_t>>>();
    auto settings = std::make_shared<std::vector<ops::SampleRow>>();
    for (int64_t i = 0; i < rows; ++i) {
      ops::SampleRow s;
      s.temperature = temperatures[r() % 7];
      s.top_p = tops[r() % 7];
      s.min_p = mins[r() % 7];
      s.top_k = ks[r() % 7];
      s.seed = r();
      s.choice = static_cast<uint32_t>(r() % 3);
      s.position = static_cast<int32_t>(below(r, 1 << 20));
      auto& mask = masks->emplace_back(static_cast<size_t>((vocab + 31) / 32));
      for (uint32_t& w : mask) w = i % 9 == 8 ? 0u : static_cast<uint32_t>(r());  // nothing allowed: -1
      settings->push_back(s);
    }
    for (bool with_mask : {false, true})
      out.push_back({fmt::format("{} rows of {}{}", rows, vocab, with_mask ? ", masks" : ""), rows, [=](Call& call) {
                       std::vector<ops::SampleRow> chosen;
                       for (int64_t i : call.rows()) {
                         chosen.push_back((*settings)[static_cast<size_t>(i)]);
                         if (with_mask) chosen.back().mask = (*masks)[static_cast<size_t>(i)].data();
                       }
                       ops::SampleParams p;
                       p.logits = call.in(*x, 3);
                       p.rows = chosen.data();
                       p.tokens = call.array<int32_t>("tokens", 1);
                       call(&OpTable::sample, p);
                     }});
  }
  return out;
}

std::vector<Case> logprobs_cases(uint64_t seed) {
  std::vector<Case> out;
  Random r(seed);
  for (auto [rows, vocab, top] :
       std::vector<std::array<int64_t, 3>>{{0, 8, 2}, {1, 5, 9}, {9, 500, 20}, {3, 16384, 5}, {6, 77, 0}}) {
    auto x = logits_of(r, rows, vocab);
    std::vector<int32_t> ids;
    for (int64_t i = 0; i < rows; ++i) ids.push_back(i % 5 == 3 ? -1 : static_cast<int32_t>(below(r, vocab)));
    out.push_back({fmt::format("{} rows of {}, top {}", rows, vocab, top), rows, [=, top = top](Call& call) {
                     ops::LogprobsParams p;
                     p.logits = call.in(*x, 3);
                     p.ids = call.in(ids);
                     p.top_n = static_cast<int>(top);
                     const Tolerance t{1e-6, 0, 4e-6};
                     p.logprob = call.array<float>("logprob", 1, t);
                     if (top > 0) {
                       p.top_ids = call.array<int32_t>("top_ids", top);
                       p.top_logprobs = call.array<float>("top_logprobs", top, t);
                     }
                     call(&OpTable::logprobs, p);
                   }});
  }
  return out;
}

// A row of a case is a group of drafts.
std::vector<Case> accept_drafts_cases(uint64_t seed) {
  std::vector<Case> out;
  Random r(seed);
  for (auto [groups, most] : std::vector<std::pair<int64_t, int64_t>>{{0, 3}, {1, 1}, {30, 5}, {9, 0}}) {
    const int64_t stride = most + 2;
    auto count = std::make_shared<std::vector<int32_t>>(), drafts = std::make_shared<std::vector<int32_t>>(),
         sampled = std::make_shared<std::vector<int32_t>>();
    for (int64_t g = 0; g < groups; ++g) {
      count->push_back(static_cast<int32_t>(below(r, most + 1)));
      for (int64_t i = 0; i < stride; ++i) {
        drafts->push_back(static_cast<int32_t>(below(r, 1000)));
        sampled->push_back(r() % 4 ? drafts->back() : drafts->back() + 1);
      }
    }
    out.push_back({fmt::format("{} groups of up to {}", groups, most), groups, [=](Call& call) {
                     std::vector<int32_t> first;
                     for (int64_t g = 0; g < call.n(); ++g) first.push_back(static_cast<int32_t>(g * stride));
                     ops::AcceptDraftsParams p;
                     p.groups = static_cast<int>(call.n());
                     p.first_row = first.data();
                     p.num_drafts = call.in(*count);
                     p.sampled = call.in(*sampled, stride);
                     p.drafts = call.in(*drafts, stride);
                     p.drafts_stride = stride;
                     p.accepted = call.array<int32_t>("accepted", 1);
                     call(&OpTable::accept_drafts, p);
                   }});
  }
  return out;
}

}  // namespace

void add_sampling(std::vector<Suite>& out) {
  out.push_back(
      {"confidence", "2e-5 (large inputs 2e-3): a sigmoid of an fp32 sum of thousands of products", confidence_cases});
  out.push_back({"penalties", "exact: single fp32 operations", penalties_cases});
  out.push_back({"sample", "exact: the same token", sample_cases});
  out.push_back({"logprobs", "ids exact, values 4e-6 + 1e-6 relative: fp32 log-sum-exp", logprobs_cases});
  out.push_back({"accept_drafts", "exact: integers", accept_drafts_cases});
}

}  // namespace deepinfer::conformance
