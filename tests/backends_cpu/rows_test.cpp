// Row-wise operators on every instruction-set path: close to the reference (exact ones: equal to it), also for odd
// dimensions, and the same bits for every number of rows a call and every number of threads.
#include "op_cases.h"

namespace deepinfer {
namespace {

TEST(CpuEmbed, CopiesTheTokenRowIntoEveryStream) {
  for (DType act : kActs)
    for (int64_t d : {1, 33, 96, 256}) {
      Random r(1);
      const int64_t vocab = 50, rows = 9, m = 3;
      const auto table = random_bf16(r, vocab * d, -3, 3);
      std::vector<int32_t> ids;
      for (int64_t i = 0; i < rows; ++i) ids.push_back(static_cast<int32_t>(r() % vocab));
      OwnedMat out = empty_mat(act, rows, m * d, m * d + 1);
      out.view.data = out.bytes.data();
      ops::EmbedParams p;
      p.table = {.data = table.data(), .dtype = DType::kBF16, .rows = vocab, .cols = d};
      p.num_streams = m;
      expect_same_bits_however_split(
          rows,
          [&](OpEngine& engine, int64_t first, int64_t count) {
            p.ids = ids.data() + first;
            p.streams = rows_of(out.view, first, count);
            engine(&OpTable::embed, p);
          },
          [&] { return out.bytes; },
          [&](const std::string& name) {
            for (int64_t i = 0; i < rows; ++i)
              for (int64_t j = 0; j < m * d; ++j)
                ASSERT_EQ(at(out.view, i, j), bf16_to_float(table[ids[i] * d + j % d])) << label("embed", act, d, name);
          });
    }
}

TEST(CpuEngramHash, GivesTheIntegersOfTheReference) {
  Random r(2);
  const int64_t rows = 200;
  const int ngram = 3, heads = 4, columns = (ngram - 1) * heads;
  std::vector<int32_t> lookback;
  for (int64_t i = 0; i < rows * ngram; ++i) lookback.push_back(static_cast<int32_t>(r() % 130000));
  std::vector<int64_t> multipliers, primes, offsets, want(static_cast<size_t>(rows * columns)), got(want);
  for (int i = 0; i < ngram; ++i) multipliers.push_back(static_cast<int64_t>(r() % (int64_t{1} << 40)) | 1);
  for (int i = 0; i < columns; ++i) {
    primes.push_back(static_cast<int64_t>(1000003 + 2 * (r() % 1000)));
    offsets.push_back(i * 2000000);
  }
  auto params = [&](std::vector<int64_t>& out, int64_t first, int64_t count) {
    return ops::EngramHashParams{
        lookback.data() + first * ngram, count, ngram, heads, multipliers.data(), primes.data(), offsets.data(),
        out.data() + first * columns};
  };
  OpEngine reference(1);
  reference(&OpTable::engram_hash, params(want, 0, rows));
  expect_same_bits_however_split(
      rows, [&](OpEngine& e, int64_t f, int64_t n) { e(&OpTable::engram_hash, params(got, f, n)); },
      [&] { return bytes_of(got); }, [&](const std::string& name) { ASSERT_EQ(got, want) << name; });
}

TEST(CpuEngramGather, DequantisesEveryCodeAndScaleExactly) {
  for (DType act : kActs)
    for (int dim : {32, 96, 256}) {
      Random r(3);
      const int64_t table_rows = 256, rows = 40;
      const int columns = 3;
      std::vector<uint8_t> table(static_cast<size_t>(table_rows * dim)),
          scale(static_cast<size_t>(table_rows * dim / 32));
      for (size_t i = 0; i < table.size(); ++i) table[i] = (i & 0x7f) == 0x7f ? 0 : static_cast<uint8_t>(i);
      for (size_t i = 0; i < scale.size(); ++i) scale[i] = static_cast<uint8_t>(i % 3 ? 100 + r() % 40 : r() % 240);
      std::vector<int64_t> ids;
      for (int64_t i = 0; i < rows * columns; ++i) ids.push_back(static_cast<int64_t>(r() % table_rows));
      ids.back() = table_rows - 1;
      OwnedMat want = empty_mat(act, rows, columns * dim, columns * dim), got = want;
      got.view.data = got.bytes.data();
      auto call = [&](OpEngine& engine, const OwnedMat& out, int64_t first, int64_t count) {
        engine(&OpTable::engram_gather,
               ops::EngramGatherParams{table.data(), scale.data(), table_rows, dim, ids.data() + first * columns,
                                       columns, rows_of(out.view, first, count)});
      };
      OpEngine reference(1);
      want.view.data = want.bytes.data();
      call(reference, want, 0, rows);
      expect_same_bits_however_split(
          rows, [&](OpEngine& e, int64_t f, int64_t n) { call(e, got, f, n); }, [&] { return got.bytes; },
          [&](const std::string& name) { ASSERT_EQ(got.bytes, want.bytes) << label("engram_gather", act, dim, name); });
    }
}

TEST(CpuEngramGate, AddsTheGatedValueAndSkipsMarkedRows) {
  for (DType act : kActs)
    for (int64_t d : {5, 32, 96, 300}) {
      Random r(4);
      const int64_t rows = 13, m = 4;
      const OwnedMat start = random_mat(r, act, rows, m * d, m * d),
                     kv = random_mat(r, act, rows, (m + 1) * d, (m + 1) * d + 2);
      const auto qw = random_bf16(r, m * d, -2, 2), kw = random_bf16(r, m * d, -2, 2);
      std::vector<uint8_t> skip;
      for (int64_t i = 0; i < rows; ++i) skip.push_back(i % 5 == 2);
      OwnedMat want = copy_of(start), got = copy_of(start);
      auto call = [&](OpEngine& engine, OwnedMat& x, int64_t first, int64_t count) {
        restore_rows(x, start, first, count);
        engine(&OpTable::engram_gate,
               ops::EngramGateParams{rows_of(x.view, first, count), rows_of(kv.view, first, count), static_cast<int>(m),
                                     qw.data(), kw.data(), 1e-6f, skip.data() + first});
      };
      OpEngine reference(1);
      call(reference, want, 0, rows);
      expect_same_bits_however_split(
          rows, [&](OpEngine& e, int64_t f, int64_t n) { call(e, got, f, n); }, [&] { return got.bytes; },
          [&](const std::string& name) {
            expect_close(got.view, want.view, 2e-6f, label("engram_gate", act, d, name));
          });
    }
}

TEST(CpuHcMix, AgreesWithDoublePrecisionSinkhorn) {
  for (DType act : kActs)
    for (int m : {1, 2, 3, 4})
      for (int64_t d : {8, 96, 256, 1280}) {
        Random r(5);
        const int64_t rows = 19, n = m * d, mix = m * (m + 2);
        const OwnedMat x = random_mat(r, act, rows, n, n + 4);
        const auto fn = random_floats(r, mix * n, -0.2f, 0.2f), base = random_floats(r, mix, -2, 2),
                   scale = random_floats(r, 3, 0.2f, 1);
        struct Out {
          std::vector<float> pre, post, comb;
        };
        Out want{std::vector<float>(static_cast<size_t>(rows * m)), std::vector<float>(static_cast<size_t>(rows * m)),
                 std::vector<float>(static_cast<size_t>(rows * m * m))};
        Out got = want;
        auto params = [&](Out& o, int64_t first, int64_t count) {
          return ops::HcMixParams{rows_of(x.view, first, count),
                                  m,
                                  fn.data(),
                                  base.data(),
                                  scale.data(),
                                  1e-6f,
                                  1e-6f,
                                  20,
                                  o.pre.data() + first * m,
                                  o.post.data() + first * m,
                                  o.comb.data() + first * m * m};
        };
        OpEngine reference(1);
        reference(&OpTable::hc_mix, params(want, 0, rows));
        expect_same_bits_however_split(
            rows, [&](OpEngine& e, int64_t f, int64_t c) { e(&OpTable::hc_mix, params(got, f, c)); },
            [&] {
              auto b = bytes_of(got.pre);
              for (const auto& more : {bytes_of(got.post), bytes_of(got.comb)})
                b.insert(b.end(), more.begin(), more.end());
              return b;
            },
            [&](const std::string& name) {
              const std::string what = label("hc_mix", act, d, name) + " streams " + std::to_string(m);
              expect_close(got.pre, want.pre, 5e-6f, what + " pre");
              expect_close(got.post, want.post, 5e-6f, what + " post");
              expect_close(got.comb, want.comb, 5e-6f, what + " comb");
            });
      }
}

TEST(CpuHcCollapse, SumsTheStreamsWithAndWithoutTheNorm) {
  for (DType act : kActs)
    for (bool norm : {false, true})
      for (int64_t d : {1, 20, 96, 515}) {
        Random r(6);
        const int64_t rows = 11, m = 4;
        const OwnedMat x = random_mat(r, act, rows, m * d, m * d + 1);
        const auto pre = random_floats(r, rows * m, 0, 1);
        const auto weight = random_bf16(r, d, 0.5f, 2);
        OwnedMat want = empty_mat(act, rows, d, d + 3), got = copy_of(want);
        auto call = [&](OpEngine& engine, OwnedMat& out, int64_t first, int64_t count) {
          engine(&OpTable::hc_collapse,
                 ops::HcCollapseParams{rows_of(x.view, first, count), static_cast<int>(m), pre.data() + first * m,
                                       norm ? weight.data() : nullptr, 1e-6f, rows_of(out.view, first, count)});
        };
        OpEngine reference(1);
        want.view.data = want.bytes.data();
        call(reference, want, 0, rows);
        expect_same_bits_however_split(
            rows, [&](OpEngine& e, int64_t f, int64_t n) { call(e, got, f, n); }, [&] { return got.bytes; },
            // The sum is rounded before the norm: where it falls on the other side of a tie, one unit more.
            [&](const std::string& name) {
              expect_close(got.view, want.view, 2e-6f, label("hc_collapse", act, d, name));
            });
      }
}

TEST(CpuHcExpand, MixesStreamsInPlace) {
  for (DType act : kActs)
    for (int64_t m : {1, 3, 4})
      for (int64_t d : {1, 20, 96, 515}) {
        Random r(7);
        const int64_t rows = 11;
        const OwnedMat start = random_mat(r, act, rows, m * d, m * d + 1), y = random_mat(r, act, rows, d, d + 2);
        const auto post = random_floats(r, rows * m, 0, 2), comb = random_floats(r, rows * m * m, 0, 1);
        OwnedMat want = copy_of(start), got = copy_of(start);
        auto call = [&](OpEngine& engine, OwnedMat& x, int64_t first, int64_t count) {
          restore_rows(x, start, first, count);
          engine(&OpTable::hc_expand,
                 ops::HcExpandParams{rows_of(x.view, first, count), static_cast<int>(m), rows_of(y.view, first, count),
                                     post.data() + first * m, comb.data() + first * m * m});
        };
        OpEngine reference(1);
        call(reference, want, 0, rows);
        expect_same_bits_however_split(
            rows, [&](OpEngine& e, int64_t f, int64_t n) { call(e, got, f, n); }, [&] { return got.bytes; },
            [&](const std::string& name) {
              expect_close(got.view, want.view, 2e-6f, label("hc_expand", act, d, name));
            });
      }
}

TEST(CpuStreamMean, WritesAColumnSlice) {
  for (DType act : kActs)
    for (int64_t d : {1, 33, 128}) {
      Random r(8);
      const int64_t rows = 10, m = 4;
      const OwnedMat x = random_mat(r, act, rows, m * d, m * d);
      OwnedMat want = empty_mat(act, rows, 3 * d, 3 * d), got = copy_of(want);
      want.view.data = want.bytes.data();
      auto call = [&](OpEngine& engine, OwnedMat& out, int64_t first, int64_t count) {
        ops::Mat slice = rows_of(out.view, first, count);
        slice.data = slice.row<uint8_t>(0) + d * static_cast<int64_t>(dtype_size(act));
        slice.cols = d;
        engine(&OpTable::stream_mean, ops::StreamMeanParams{rows_of(x.view, first, count), static_cast<int>(m), slice});
      };
      OpEngine reference(1);
      call(reference, want, 0, rows);
      expect_same_bits_however_split(
          rows, [&](OpEngine& e, int64_t f, int64_t n) { call(e, got, f, n); }, [&] { return got.bytes; },
          [&](const std::string& name) {
            expect_close(got.view, want.view, 1e-6f, label("stream_mean", act, d, name));
          });
    }
}

TEST(CpuRmsNorm, AlsoInPlace) {
  for (DType act : kActs)
    for (int64_t d : {1, 17, 64, 1000})
      for (bool in_place : {false, true}) {
        Random r(9);
        const int64_t rows = 33;
        const OwnedMat x = random_mat(r, act, rows, d, d + 1);
        const auto weight = random_bf16(r, d, -2, 2);
        OwnedMat want = copy_of(x), got = copy_of(x);
        auto call = [&](OpEngine& engine, OwnedMat& out, int64_t first, int64_t count) {
          restore_rows(out, x, first, count);
          engine(&OpTable::rms_norm, ops::RmsNormParams{rows_of(in_place ? out.view : x.view, first, count),
                                                        weight.data(), 1e-6f, rows_of(out.view, first, count)});
        };
        OpEngine reference(1);
        call(reference, want, 0, rows);
        expect_same_bits_however_split(
            rows, [&](OpEngine& e, int64_t f, int64_t n) { call(e, got, f, n); }, [&] { return got.bytes; },
            [&](const std::string& name) { expect_close(got.view, want.view, 0, label("rms_norm", act, d, name)); });
      }
}

TEST(CpuRope, RotatesTheEndOfEveryHeadBothWays) {
  for (DType act : kActs)
    for (auto [heads, dim, rope_dim] :
         std::vector<std::array<int, 3>>{{4, 512, 64}, {6, 96, 32}, {3, 40, 6}, {1, 2, 2}})
      for (bool inverse : {false, true}) {
        Random r(10);
        const int64_t rows = 9, width = heads * dim;
        const OwnedMat start = random_mat(r, act, rows, width, width + 1);
        std::vector<float> cos, sin;
        for (int64_t i = 0; i < rows * rope_dim / 2; ++i) {
          const float angle = uniform(r, -4, 4);
          cos.push_back(std::cos(angle));
          sin.push_back(std::sin(angle));
        }
        OwnedMat want = copy_of(start), got = copy_of(start);
        auto call = [&](OpEngine& engine, OwnedMat& x, int64_t first, int64_t count) {
          restore_rows(x, start, first, count);
          engine(&OpTable::rope,
                 ops::RopeParams{rows_of(x.view, first, count), heads, dim, rope_dim, cos.data() + first * rope_dim / 2,
                                 sin.data() + first * rope_dim / 2, inverse});
        };
        OpEngine reference(1);
        call(reference, want, 0, rows);
        expect_same_bits_however_split(
            rows, [&](OpEngine& e, int64_t f, int64_t n) { call(e, got, f, n); }, [&] { return got.bytes; },
            // Plain fp32 products and one sum, each rounded: the same bits everywhere.
            [&](const std::string& name) { ASSERT_EQ(got.bytes, want.bytes) << label("rope", act, dim, name); });
      }
}

}  // namespace
}  // namespace deepinfer
