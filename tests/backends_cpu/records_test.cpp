// store_records, compress, router and gather_rows on every instruction-set path: records equal to the reference's byte
// for byte, and the same bits for every number of rows a call and every number of threads.
#include "op_cases.h"

namespace deepinfer {
namespace {

TEST(CpuStoreRecords, EncodesTheRecordsOfTheReferenceBitForBit) {
  for (DType act : kActs)
    for (CacheFormat format : {CacheFormat::kF32, CacheFormat::kFp8, CacheFormat::kFp4E4m3, CacheFormat::kFp4Ue8m0})
      for (auto [heads, dim, rope_dim] :
           std::vector<std::array<int, 3>>{{1, 512, 64}, {3, 96, 32}, {32, 128, 64}, {1, 32, 2}})
        for (bool rotated : {false, true}) {
          Random r(11);
          const int64_t rows = 14, width = heads * dim, bytes = record_bytes(format, dim) * heads;
          OwnedMat x = random_mat(r, act, rows, width, width + 2, 3);
          for (int64_t i = 0; i < rows; ++i)  // groups of zeros, tiny and huge values, NaN
            for (int64_t j = 0; j < 40 && j < width; ++j) {
              const float v = i == 3             ? 0.0f
                              : i == 4           ? 1e-30f * static_cast<float>(j)
                              : i == 5           ? 1e30f
                              : i == 6 && j == 7 ? std::numeric_limits<float>::quiet_NaN()
                              : i == 7 ? std::ldexp(1.0f + static_cast<float>(j % 8) / 8, static_cast<int>(j) - 20)
                                       : at(x.view, i, j);
              if (act == DType::kBF16)
                x.view.row<uint16_t>(i)[j] = float_to_bf16(v);
              else
                x.view.row<float>(i)[j] = v;
            }
          std::vector<float> cos, sin;
          for (int64_t i = 0; i < rows * rope_dim / 2; ++i) {
            const float angle = uniform(r, -4, 4);
            cos.push_back(std::cos(angle));
            sin.push_back(std::sin(angle));
          }
          std::vector<int64_t> offsets;  // backwards, one row skipped
          for (int64_t i = 0; i < rows; ++i)
            offsets.push_back(i == 2 ? -1 : (rows - i) * (bytes + 24) - bytes - 24 + 8);
          std::vector<uint8_t> want(static_cast<size_t>(rows * (bytes + 24) + 16), 0xa5), got = want;
          auto call = [&](OpEngine& engine, std::vector<uint8_t>& out, int64_t first, int64_t count) {
            engine(&OpTable::store_records,
                   ops::StoreRecordsParams{.x = rows_of(x.view, first, count),
                                           .heads = heads,
                                           .dim = dim,
                                           .rope_dim = rope_dim,
                                           .cos = rotated ? cos.data() + first * rope_dim / 2 : nullptr,
                                           .sin = rotated ? sin.data() + first * rope_dim / 2 : nullptr,
                                           .format = format,
                                           .base = out.data(),
                                           .offsets = offsets.data() + first});
          };
          OpEngine reference(1);
          call(reference, want, 0, rows);
          expect_same_bits_however_split(
              rows, [&](OpEngine& e, int64_t f, int64_t n) { call(e, got, f, n); }, [&] { return got; },
              [&](const std::string& name) {
                for (size_t i = 0; i < got.size(); ++i)
                  ASSERT_EQ(got[i], want[i])
                      << label("store_records", act, dim, name) << " " << cache_format_name(format)
                      << (rotated ? " rotated" : "") << " byte " << i;
              });
        }
}

TEST(CpuStoreRecords, NormalisesBeforeItEncodes) {
  for (DType act : kActs)
    for (int dim : {32, 96, 512}) {
      Random r(12);
      const int64_t rows = 9, bytes = record_bytes(CacheFormat::kF32, dim);
      const OwnedMat x = random_mat(r, act, rows, dim, dim);
      const auto weight = random_bf16(r, dim, 0.5f, 2);
      std::vector<int64_t> offsets;
      for (int64_t i = 0; i < rows; ++i) offsets.push_back(i * bytes);
      std::vector<float> want(static_cast<size_t>(rows * dim)), got = want;
      auto call = [&](OpEngine& engine, std::vector<float>& out, int64_t first, int64_t count) {
        engine(&OpTable::store_records, ops::StoreRecordsParams{.x = rows_of(x.view, first, count),
                                                                .heads = 1,
                                                                .dim = dim,
                                                                .norm_weight = weight.data(),
                                                                .eps = 1e-6f,
                                                                .format = CacheFormat::kF32,
                                                                .base = reinterpret_cast<uint8_t*>(out.data()),
                                                                .offsets = offsets.data() + first});
      };
      OpEngine reference(1);
      call(reference, want, 0, rows);
      expect_same_bits_however_split(
          rows, [&](OpEngine& e, int64_t f, int64_t n) { call(e, got, f, n); }, [&] { return bytes_of(got); },
          [&](const std::string& name) {
            expect_close({got.data(), DType::kF32, rows, dim, dim}, {want.data(), DType::kF32, rows, dim, dim},
                         act == DType::kBF16 ? 0.02f : 0, label("store_records norm", act, dim, name));
          });
    }
}

TEST(CpuCompress, PoolsEntriesFromRowsAndCarryAndKeepsTheCarry) {
  for (DType act : kActs)
    for (int ratio : {1, 2})
      for (int64_t d : {1, 32, 96, 515}) {
        Random r(13);
        const int sequences = 2, slots = 5, tokens = 9, starts[] = {3, 8};
        const int64_t slot_floats = 2 * d;
        // Every token has one (score, latent) pair; all arrive in chunks, whose bounds must not matter.
        std::vector<std::vector<float>> score, latent;
        for (int s = 0; s < sequences; ++s) {
          score.push_back(random_floats(r, (starts[s] + tokens) * d, -8, 8));
          latent.push_back(random_floats(r, (starts[s] + tokens) * d, -2, 2));
        }
        const auto weight = random_bf16(r, d, 0.5f, 2);
        struct Result {
          std::vector<OwnedMat> out;
          std::vector<std::vector<float>> carry;
        };
        const int most = 20;
        auto run = [&](OpEngine& engine, int chunk) {
          Result result;
          for (int s = 0; s < sequences; ++s) {
            result.out.push_back(empty_mat(act, most, d, d));
            result.carry.emplace_back(static_cast<size_t>(slots * slot_floats), -5.0f);
            for (int t = std::max(0, starts[s] - slots); t < starts[s]; ++t) {
              std::copy_n(&score[s][t * d], d, &result.carry[s][t % slots * slot_floats]);
              std::copy_n(&latent[s][t * d], d, &result.carry[s][t % slots * slot_floats + d]);
            }
          }
          for (int at_token = 0; at_token < tokens; at_token += chunk) {
            const int n = std::min(chunk, tokens - at_token);
            std::vector<float> rows_score, rows_latent;
            std::vector<int32_t> first_row, num_tokens, start, entry_sequence, entry_index;
            std::vector<float*> carry;
            for (int s = 0; s < sequences; ++s) {
              const int from = starts[s] + at_token;
              first_row.push_back(s * n);
              num_tokens.push_back(n);
              start.push_back(from);
              carry.push_back(result.carry[s].data());
              rows_score.insert(rows_score.end(), &score[s][from * d], &score[s][from * d] + n * d);
              rows_latent.insert(rows_latent.end(), &latent[s][from * d], &latent[s][from * d] + n * d);
              for (int e = from / ratio; (e + 1) * ratio <= from + n; ++e)
                if ((e + 1) * ratio > from) entry_sequence.push_back(s), entry_index.push_back(e);
            }
            const int entries = static_cast<int>(entry_index.size());
            OwnedMat out = empty_mat(act, entries, d, d);
            engine(&OpTable::compress,
                   ops::CompressParams{.score = {rows_score.data(), DType::kF32, sequences * n, d, d},
                                       .latent = {rows_latent.data(), DType::kF32, sequences * n, d, d},
                                       .ratio = ratio,
                                       .num_sequences = sequences,
                                       .first_row = first_row.data(),
                                       .num_tokens = num_tokens.data(),
                                       .start_position = start.data(),
                                       .carry = carry.data(),
                                       .carry_slots = slots,
                                       .num_entries = entries,
                                       .entry_sequence = entry_sequence.data(),
                                       .entry_index = entry_index.data(),
                                       .norm_weight = weight.data(),
                                       .eps = 1e-6f,
                                       .out = out.view});
            for (int e = 0; e < entries; ++e)
              std::memcpy(result.out[entry_sequence[e]].view.row<uint8_t>(0) + entry_index[e] * d * dtype_size(act),
                          out.view.row<uint8_t>(0) + e * d * dtype_size(act), static_cast<size_t>(d) * dtype_size(act));
          }
          return result;
        };
        OpEngine reference(1);
        const Result want = run(reference, tokens);
        for (cpu::Isa isa : supported_isas()) {
          std::vector<std::vector<uint8_t>> first;
          for (int threads : {1, 2, 4})
            for (int chunk : {tokens, 1, 2, 4}) {
              OpEngine engine(isa, threads);
              const Result got = run(engine, chunk);
              for (int s = 0; s < sequences; ++s) {
                // The pooled value is rounded before the norm: one unit more where it falls on the other side.
                expect_close(got.out[s].view, want.out[s].view, act == DType::kBF16 ? 0.02f : 1e-5f,
                             label("compress", act, d, engine.name));
                EXPECT_EQ(got.carry[s], want.carry[s]) << engine.name;
                if (static_cast<int>(first.size()) <= s)
                  first.push_back(got.out[s].bytes);
                else
                  ASSERT_EQ(got.out[s].bytes, first[s]) << engine.name << " threads " << threads << " chunk " << chunk;
              }
            }
        }
      }
}

TEST(CpuRouter, ChoosesTheExpertsOfTheReferenceInItsOrder) {
  for (int experts : {4, 16, 100, 384})
    for (int top_k : {1, 3, 4}) {
      Random r(14);
      const int64_t rows = 60;
      const OwnedMat logits = random_mat(r, DType::kF32, rows, experts, experts + 1, 30);
      OwnedMat tied = copy_of(logits);
      for (int64_t i = 0; i < rows; i += 3)
        for (int e = 0; e < experts; ++e) tied.view.row<float>(i)[e] = std::floor(tied.view.row<float>(i)[e] / 20);
      const auto bias = random_floats(r, experts, -0.5f, 0.5f), bias_vl = random_floats(r, experts, -0.5f, 0.5f);
      const std::vector<float> no_bias(static_cast<size_t>(experts), 0.0f);  // ties stay ties
      std::vector<uint8_t> image;
      for (int64_t i = 0; i < rows; ++i) image.push_back(i % 4 == 1);
      struct Out {
        std::vector<int32_t> ids;
        std::vector<float> weights;
      };
      for (bool with_bias : {true, false}) {
        Out want{std::vector<int32_t>(static_cast<size_t>(rows * top_k)),
                 std::vector<float>(static_cast<size_t>(rows * top_k))};
        Out got = want;
        auto params = [&](Out& o, int64_t first, int64_t count) {
          return ops::RouterParams{.logits = rows_of(tied.view, first, count),
                                   .bias = with_bias ? bias.data() : no_bias.data(),
                                   .bias_vl = with_bias ? bias_vl.data() : nullptr,
                                   .image = image.data() + first,
                                   .top_k = top_k,
                                   .scale = 1.5f,
                                   .ids = o.ids.data() + first * top_k,
                                   .weights = o.weights.data() + first * top_k};
        };
        OpEngine reference(1);
        reference(&OpTable::router, params(want, 0, rows));
        expect_same_bits_however_split(
            rows, [&](OpEngine& e, int64_t f, int64_t n) { e(&OpTable::router, params(got, f, n)); },
            [&] {
              auto b = bytes_of(got.ids);
              const auto more = bytes_of(got.weights);
              b.insert(b.end(), more.begin(), more.end());
              return b;
            },
            [&](const std::string& name) {
              ASSERT_EQ(got.ids, want.ids) << name << " experts " << experts << " top " << top_k;
              expect_close(got.weights, want.weights, 1e-6f, name);
            });
      }
    }
}

TEST(CpuGatherRows, CopiesRowsAndZeroesOutsideIndices) {
  for (DType type : {DType::kBF16, DType::kF32})
    for (cpu::Isa isa : supported_isas()) {
      Random r(15);
      const OwnedMat x = random_mat(r, type, 6, 33, 35);
      OwnedMat out = empty_mat(type, 5, 33, 34);
      const int32_t index[] = {5, -1, 0, 6, 5};
      OpEngine engine(isa, 2);
      engine(&OpTable::gather_rows, ops::GatherRowsParams{x.view, index, out.view});
      for (int64_t i = 0; i < 5; ++i) {
        const bool inside = index[i] >= 0 && index[i] < 6;
        for (int64_t c = 0; c < 33; ++c)
          EXPECT_EQ(at(out.view, i, c), inside ? at(x.view, index[i], c) : 0.0f) << engine.name;
        EXPECT_EQ(out.view.row<uint8_t>(0)[(i * 34 + 33) * static_cast<int64_t>(dtype_size(type))], 0xa5);
      }
    }
}

}  // namespace
}  // namespace deepinfer
