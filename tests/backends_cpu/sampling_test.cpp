// Sampling operators of the cpu backend: tokens equal to the reference's on every instruction-set path, for every
// parameter, batch and number of threads; the draw follows the softmax.
#include <limits>

#include "op_cases.h"
#include "ops/math.h"

namespace deepinfer {
namespace {

constexpr float kNone = -std::numeric_limits<float>::infinity();

// Logits of very different kinds: flat, peaked, many ties, with -infinity and NaN, all the same, nothing at all.
std::vector<float> logits_of_kind(Random& r, int kind, int vocab) {
  std::vector<float> z(static_cast<size_t>(vocab));
  for (int i = 0; i < vocab; ++i) {
    float v = uniform(r, -1, 1);
    switch (kind % 8) {
      case 0:
        v *= 1;
        break;
      case 1:
        v = v * v * v * 40;
        break;
      case 2:
        v = std::floor(v * 4);  // ties, also of 0 and -0
        if (v == 0 && r() % 2) v = -0.0f;
        break;
      case 3:
        v = r() % 3 ? kNone : v * 9;
        break;
      case 4:
        v = 7.25f;
        break;
      case 5:
        v = r() % 7 ? v * 100 : std::numeric_limits<float>::quiet_NaN();
        break;
      case 6:
        v = v * 3000;  // most ids underflow
        break;
      default:
        v = i % 97 == 0 ? v + 22 : v * 2;  // around the floor of what counts at all
    }
    z[i] = v;
  }
  if (kind == 15) z.assign(z.size(), kNone);
  return z;
}

ops::SampleRow random_parameters(Random& r) {
  ops::SampleRow row;
  const float temperatures[] = {0, 1e-6f, 0.01f, 0.3f, 0.7f, 1, 1.5f, 4, 100};
  const float tops[] = {1, 1, 0.999999f, 0.99f, 0.9f, 0.5f, 0.1f, 1e-6f, 0};
  const float mins[] = {0, 0, 0, 1e-7f, 0.01f, 0.05f, 0.3f, 1, 1.5f};
  const int32_t ks[] = {0, 0, 1, 2, 3, 20, 50, 1000, 100000};
  row.temperature = temperatures[r() % 9];
  row.top_p = tops[r() % 9];
  row.min_p = mins[r() % 9];
  row.top_k = ks[r() % 9];
  row.seed = r();
  row.choice = static_cast<uint32_t>(r() % 3);
  row.position = static_cast<int32_t>(r() % 100000);
  return row;
}

TEST(CpuSample, DrawsTheTokenOfTheReferenceForEveryKindOfLogitsAndParameters) {
  OpEngine reference(1);
  int drawn = 0, other_than_best = 0;
  for (int vocab : {1, 2, 7, 16, 31, 33, 500, 4099}) {
    Random r(static_cast<uint64_t>(vocab));
    const int64_t rows = 160, stride = vocab + 3;
    std::vector<float> logits(static_cast<size_t>(rows * stride), 1e30f);  // the gaps would win
    std::vector<std::vector<uint32_t>> masks(static_cast<size_t>(rows));
    std::vector<ops::SampleRow> parameters;
    for (int64_t i = 0; i < rows; ++i) {
      const auto z = logits_of_kind(r, static_cast<int>(i % 16), vocab);
      std::copy(z.begin(), z.end(), logits.begin() + i * stride);
      parameters.push_back(random_parameters(r));
      if (i % 3 == 0) {
        masks[i].resize(static_cast<size_t>((vocab + 31) / 32));
        for (uint32_t& word : masks[i]) word = static_cast<uint32_t>(r()) & static_cast<uint32_t>(r());
        if (i % 21 == 0) masks[i].assign(masks[i].size(), 0);  // nothing allowed
        parameters.back().mask = masks[i].data();
      }
    }
    const ops::Mat all{logits.data(), DType::kF32, rows, vocab, stride};
    std::vector<int32_t> want(static_cast<size_t>(rows)), got(want.size());
    reference(&OpTable::sample, {.logits = all, .rows = parameters.data(), .tokens = want.data()});
    for (int64_t i = 0; i < rows; ++i) {
      const float* z = all.row<float>(i);
      drawn += want[i] >= 0;
      other_than_best += want[i] >= 0 && z[want[i]] < *std::max_element(z, z + vocab);
    }
    expect_same_bits_however_split(
        rows,
        [&](OpEngine& engine, int64_t first, int64_t count) {
          std::fill_n(got.begin() + first, count, -7);
          engine(&OpTable::sample, ops::SampleParams{.logits = rows_of(all, first, count),
                                                     .rows = parameters.data() + first,
                                                     .tokens = got.data() + first});
        },
        [&] { return bytes_of(got); },
        [&](const std::string& name) {
          for (int64_t i = 0; i < rows; ++i)
            ASSERT_EQ(got[i], want[i]) << name << " vocab " << vocab << " row " << i << " temperature "
                                       << parameters[i].temperature << " top_p " << parameters[i].top_p << " top_k "
                                       << parameters[i].top_k << " min_p " << parameters[i].min_p;
        });
  }
  EXPECT_GT(drawn, 900);  // the cases above do draw
  EXPECT_GT(other_than_best, 150);
}

TEST(CpuSample, EqualsTheReferenceAtTheBordersOfTopPAndTopKAmongManyTies) {
  // Few distinct logits, many ids each: the cut falls inside a group of equals, where the lowest ids stay.
  OpEngine reference(1);
  Random r(5);
  for (cpu::Isa isa : supported_isas()) {
    OpEngine engine(isa, 1);
    for (int i = 0; i < 300; ++i) {
      const int vocab = 200;
      std::vector<float> z(vocab);
      for (float& v : z) v = static_cast<float>(r() % 3) * 0.5f;
      ops::SampleRow row;
      row.top_k = static_cast<int32_t>(r() % 201);
      row.top_p = uniform(r, 0, 1);
      row.seed = r();
      int32_t want = -2, got = -3;
      const ops::Mat m{z.data(), DType::kF32, 1, vocab, vocab};
      reference(&OpTable::sample, {.logits = m, .rows = &row, .tokens = &want});
      engine(&OpTable::sample, ops::SampleParams{.logits = m, .rows = &row, .tokens = &got});
      ASSERT_EQ(got, want) << engine.name << " top_k " << row.top_k << " top_p " << row.top_p;
    }
  }
}

TEST(CpuSample, DrawsFollowTheSoftmax) {
  const int vocab = 8, draws = 40000;
  const float logits[vocab] = {0, 1, -1, 2, 0.5f, kNone, -3, 1.5f};
  double total = 0;
  for (float z : logits) total += std::exp(static_cast<double>(z) / 0.8);
  OpEngine engine(cpu::best_isa(), 1);
  std::vector<int> seen(vocab);
  for (int i = 0; i < draws; ++i) {
    ops::SampleRow row;
    row.temperature = 0.8f;
    row.seed = 77;
    row.position = i;
    int32_t token = -1;
    engine(&OpTable::sample,
           ops::SampleParams{
               .logits = {const_cast<float*>(logits), DType::kF32, 1, vocab, vocab}, .rows = &row, .tokens = &token});
    ASSERT_GE(token, 0);
    ++seen[token];
  }
  EXPECT_EQ(seen[5], 0);
  double chi = 0;
  for (int i = 0; i < vocab; ++i) {
    if (i == 5) continue;
    const double want = draws * std::exp(static_cast<double>(logits[i]) / 0.8) / total;
    chi += (seen[i] - want) * (seen[i] - want) / want;
  }
  EXPECT_LT(chi, 22.46);  // 99.9 % point of chi-square with 6 degrees of freedom; the seed is fixed
}

TEST(CpuLogprobs, AreThoseOfTheSoftmaxAndTheSameBitsOnEveryPath) {
  OpEngine reference(2);
  for (int vocab : {1, 5, 16, 40, 1030, 7001}) {
    Random r(9);
    const int64_t rows = 24, stride = vocab + 1;
    const int top_n = 12;
    std::vector<float> logits(static_cast<size_t>(rows * stride), 1e30f);
    std::vector<int32_t> ids;
    const int kinds[] = {0, 1, 2, 3, 4, 6, 7};
    for (int64_t i = 0; i < rows; ++i) {
      auto z = logits_of_kind(r, kinds[i % 7], vocab);
      z[r() % z.size()] = 3;  // at least one is finite
      std::copy(z.begin(), z.end(), logits.begin() + i * stride);
      ids.push_back(i % 5 == 0 ? -1 : static_cast<int32_t>(r() % z.size()));
    }
    const ops::Mat all{logits.data(), DType::kF32, rows, vocab, stride};
    struct Out {
      std::vector<float> logprob, top;
      std::vector<int32_t> ids;
    };
    const size_t n = static_cast<size_t>(rows), m = n * top_n;
    Out want{std::vector<float>(n), std::vector<float>(m), std::vector<int32_t>(m)}, got = want;
    auto params = [&](Out& out, int64_t first, int64_t count) {
      return ops::LogprobsParams{.logits = rows_of(all, first, count),
                                 .ids = ids.data() + first,
                                 .top_n = top_n,
                                 .logprob = out.logprob.data() + first,
                                 .top_ids = out.ids.data() + first * top_n,
                                 .top_logprobs = out.top.data() + first * top_n};
    };
    reference(&OpTable::logprobs, params(want, 0, rows));
    std::vector<uint8_t> first_path;
    auto result = [&] {
      auto b = bytes_of(got.logprob);
      for (const auto& more : {bytes_of(got.top), bytes_of(got.ids)}) b.insert(b.end(), more.begin(), more.end());
      return b;
    };
    expect_same_bits_however_split(
        rows,
        [&](OpEngine& engine, int64_t first, int64_t count) { engine(&OpTable::logprobs, params(got, first, count)); },
        result,
        [&](const std::string& name) {
          EXPECT_EQ(got.ids, want.ids) << name << " vocab " << vocab;
          auto close = [&](float a, float b) {  // one rounding of the result and 1e-6 of the sum
            return a == b || std::fabs(a - b) <= 1e-6f + 2e-7f * std::fabs(b);
          };
          for (size_t i = 0; i < n; ++i) ASSERT_TRUE(close(got.logprob[i], want.logprob[i])) << name << " row " << i;
          for (size_t i = 0; i < m; ++i) ASSERT_TRUE(close(got.top[i], want.top[i])) << name << " " << i;
          if (first_path.empty()) first_path = result();
          EXPECT_EQ(result(), first_path) << name;
        });
  }
}

TEST(CpuPenalties, GiveTheBitsOfTheReferenceAndTouchNothingElse) {
  OpEngine reference(1);
  Random r(3);
  const int vocab = 300;
  const int64_t rows = 9;
  struct Lists {
    std::vector<int32_t> bias_ids, seen_ids, counts;
    std::vector<float> bias;
  };
  std::vector<Lists> lists(static_cast<size_t>(rows));
  std::vector<ops::PenaltyRow> parameters(lists.size());
  for (size_t i = 0; i < lists.size(); ++i) {
    for (int id = 0; id < vocab; ++id) {
      if (r() % 5 == 0) lists[i].bias_ids.push_back(id), lists[i].bias.push_back(uniform(r, -100, 100));
      if (r() % 3 == 0) lists[i].seen_ids.push_back(id), lists[i].counts.push_back(static_cast<int32_t>(r() % 4));
    }
    parameters[i] = {lists[i].bias_ids.data(), lists[i].bias.data(),   static_cast<int>(lists[i].bias_ids.size()),
                     lists[i].seen_ids.data(), lists[i].counts.data(), static_cast<int>(lists[i].seen_ids.size()),
                     i % 2 ? 1.3f : 1.0f,      i % 3 ? 0.7f : 0.0f,    i % 4 ? -0.4f : 0.0f};
  }
  const OwnedMat start = random_mat(r, DType::kF32, rows, vocab, vocab + 5, 20);
  OwnedMat want = start, got = start;
  want.view.data = want.bytes.data();
  got.view.data = got.bytes.data();
  reference(&OpTable::penalties, {.logits = want.view, .rows = parameters.data()});
  EXPECT_NE(want.bytes, start.bytes);
  expect_same_bits_however_split(
      rows,
      [&](OpEngine& engine, int64_t first, int64_t count) {
        if (first == 0) std::copy(start.bytes.begin(), start.bytes.end(), got.bytes.begin());
        engine(&OpTable::penalties,
               ops::PenaltiesParams{.logits = rows_of(got.view, first, count), .rows = parameters.data() + first});
      },
      [&] { return got.bytes; }, [&](const std::string& name) { EXPECT_EQ(got.bytes, want.bytes) << name; });
}

TEST(CpuConfidence, IsTheSigmoidOfTheClampedDotProduct) {
  for (DType act : {DType::kBF16, DType::kF32})
    for (int64_t d : {1, 31, 96, 1000}) {
      Random r(4);
      const int64_t rows = 37, rank = 13;
      const OwnedMat h = random_mat(r, act, rows, d, d + 2), e = random_mat(r, DType::kBF16, rows, rank, rank);
      const auto weight = random_bf16(r, d + rank, -1, 1);
      std::vector<float> got(static_cast<size_t>(rows));
      const float temperature = 0.3f;  // large enough logits to reach the clamp in the longest rows
      expect_same_bits_however_split(
          rows,
          [&](OpEngine& engine, int64_t first, int64_t count) {
            engine(&OpTable::confidence, ops::ConfidenceParams{.h = rows_of(h.view, first, count),
                                                               .e = rows_of(e.view, first, count),
                                                               .weight = weight.data(),
                                                               .temperature = temperature,
                                                               .out = got.data() + first});
          },
          [&] { return bytes_of(got); },
          [&](const std::string& name) {
            for (int64_t i = 0; i < rows; ++i) {
              double dot = 0;
              for (int64_t j = 0; j < d; ++j) dot += static_cast<double>(at(h.view, i, j)) * bf16_to_float(weight[j]);
              for (int64_t j = 0; j < rank; ++j)
                dot += static_cast<double>(at(e.view, i, j)) * bf16_to_float(weight[d + j]);
              ASSERT_NEAR(got[i], 1 / (1 + std::exp(-std::clamp(dot / temperature, -60.0, 60.0))), 2e-5)
                  << name << " d " << d << " row " << i;
            }
          });
    }
}

TEST(CpuAcceptDrafts, CountsTheLeadingDraftsThatEqualTheChoices) {
  const int32_t first_row[] = {0, 4, 5, 8}, num_drafts[] = {3, 0, 2, 3};
  const int32_t sampled[] = {10, 11, 12, 13, 20, 30, 31, 32, 40, 41, 42, 43};
  const int32_t drafts[] = {10, 11, 99, 0, /**/ 7, 7, 7, 7, /**/ 30, 31, 5, 5, /**/ 0, 41, 42, 43};
  for (cpu::Isa isa : supported_isas()) {
    OpEngine engine(isa, 2);
    int32_t accepted[4] = {-1, -1, -1, -1};
    engine(&OpTable::accept_drafts, ops::AcceptDraftsParams{.groups = 4,
                                                            .first_row = first_row,
                                                            .num_drafts = num_drafts,
                                                            .sampled = sampled,
                                                            .drafts = drafts,
                                                            .drafts_stride = 4,
                                                            .accepted = accepted});
    EXPECT_EQ(accepted[0], 2);
    EXPECT_EQ(accepted[1], 0);
    EXPECT_EQ(accepted[2], 2);
    EXPECT_EQ(accepted[3], 0);
  }
}

TEST(CpuBackend, HasEveryOperatorOnEveryPath) {
  for (cpu::Isa isa : supported_isas()) {
    OpEngine engine(isa, 1);
    EXPECT_EQ(missing_operators(engine.table), std::vector<std::string>{}) << engine.name;
  }
}

}  // namespace
}  // namespace deepinfer
