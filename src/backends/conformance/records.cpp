// Suites of the operators that write cache records and carry rings.
#include <algorithm>

#include "backends/conformance/harness.h"

namespace deepinfer::conformance {
namespace {

std::vector<Case> store_records_cases(uint64_t seed) {
  std::vector<Case> out;
  Random r(seed);
  struct Shape {
    int64_t rows;
    int heads, dim, rope_dim;
  };
  for (DType act : kActs)
    for (CacheFormat format : {CacheFormat::kF32, CacheFormat::kFp8, CacheFormat::kFp4E4m3, CacheFormat::kFp4Ue8m0})
      for (const Shape& s :
           std::vector<Shape>{{0, 1, 32, 8}, {1, 1, 512, 64}, {7, 5, 96, 10}, {9, 3, 32, 32}, {5, 2, 128, 64}})
        for (int stages = 0; stages < 4; ++stages) {
          const bool norm = stages & 1, rotate = stages & 2;
          // The record is bit-exact given the value before it, and that is rounded by norm and rotation: where fp32
          // sums may be in another order only values whose square sum is exact can be compared bit for bit. Signed
          // powers of two have exact squares; one per row is different so that the scale moves.
          auto x = random_values(r, act, s.rows, static_cast<int64_t>(s.heads) * s.dim, 3);
          if (norm)
            for (size_t i = 0; i < x->v.size(); ++i)
              x->v[i] = std::ldexp(r() % 2 ? 1.0f : -1.0f, static_cast<int>(r() % 6) - 3);
          std::vector<float> cos, sin;
          for (int64_t i = 0; i < s.rows * (s.rope_dim / 2); ++i) {
            // Quarter turns and one exact slope: products are exact, so fused or not gives the same bits.
            const int turn = static_cast<int>(below(r, 5));
            cos.push_back(std::array{1.0f, 0.0f, -1.0f, 0.0f, 0.5f}[static_cast<size_t>(turn)]);
            sin.push_back(std::array{0.0f, 1.0f, 0.0f, -1.0f, 0.5f}[static_cast<size_t>(turn)]);
          }
          const auto weight = random_bf16(r, s.dim, 1, 1);
          const int64_t bytes = s.heads * record_bytes(format, s.dim);
          out.push_back({label(act, s.rows, s.dim,
                               fmt::format("heads {} {}{}{}", s.heads, cache_format_name(format), norm ? " norm" : "",
                                           rotate ? " rope" : "")),
                         s.rows, [=](Call& call) {
                           // fp32 records of normed fp32 values are not rounded: the only ones with a tolerance.
                           const bool rounded = !(format == CacheFormat::kF32 && act == DType::kF32 && norm);
                           const ops::Mat records =
                               rounded ? call.out("records", DType::kU8, bytes, kExact,
                                                  format == CacheFormat::kF32 ? 12 : 13)
                                       : call.out("records", DType::kF32, bytes / 4, rounding(act, 2e-6), 3);
                           const int64_t record_stride = rounded ? records.stride : records.stride * 4;
                           std::vector<int64_t> offsets;
                           for (int64_t i = 0; i < call.n(); ++i)
                             offsets.push_back(call.rows()[static_cast<size_t>(i)] % 4 == 2 ? -1 : i * record_stride);
                           Rows all;
                           for (int64_t i = 0; i < call.n(); ++i) all.push_back(i);
                           ops::StoreRecordsParams p;
                           p.x = call.in(*x, 5);
                           p.heads = s.heads;
                           p.dim = s.dim;
                           p.rope_dim = rotate ? s.rope_dim : 0;
                           p.norm_weight = norm ? weight.data() : nullptr;
                           p.eps = 1e-6f;
                           p.cos = rotate ? call.in(cos, s.rope_dim / 2) : nullptr;
                           p.sin = rotate ? call.in(sin, s.rope_dim / 2) : nullptr;
                           p.format = format;
                           p.base = static_cast<uint8_t*>(records.data);
                           p.offsets = call.in(offsets, all, 1);
                           call(&OpTable::store_records, p);
                         }});
        }
  return out;
}

// A row of a case is a sequence with tokens of its own.
std::vector<Case> compress_cases(uint64_t seed) {
  std::vector<Case> out;
  Random r(seed);
  struct Shape {
    int sequences, ratio, carry_slots, d, most_tokens;
  };
  for (DType act : kActs)
    for (const Shape& s : std::vector<Shape>{{0, 2, 2, 32, 1},
                                             {1, 2, 2, 96, 1},
                                             {5, 2, 3, 33, 9},
                                             {4, 2, 7, 160, 6},
                                             {3, 2, 2, 512, 20},
                                             {6, 1, 1, 64, 4}}) {
      struct Data {
        std::vector<int32_t> start, tokens, first;
        std::shared_ptr<Values> score, latent, carry;
      };
      auto data = std::make_shared<Data>();
      int64_t rows = 0;
      for (int i = 0; i < s.sequences; ++i) {
        data->start.push_back(i == 0 ? 0 : static_cast<int32_t>(below(r, 50)));
        data->tokens.push_back(i == 2 ? 0 : static_cast<int32_t>(1 + below(r, s.most_tokens)));
        data->first.push_back(static_cast<int32_t>(rows));
        rows += data->tokens.back();
      }
      data->score = random_values(r, DType::kF32, rows, s.d, 6);
      data->latent = random_values(r, DType::kF32, rows, s.d);
      data->carry = random_values(r, DType::kF32, s.sequences, static_cast<int64_t>(s.carry_slots) * 2 * s.d, 6);
      const auto weight = random_bf16(r, s.d, -2, 2);
      out.push_back({fmt::format("{} {} sequences, ratio {}, {} slots, d {}", dtype_name(act), s.sequences, s.ratio,
                                 s.carry_slots, s.d),
                     s.sequences, [=](Call& call) {
                       Rows token_rows, entry_unit;
                       std::vector<int32_t> first, tokens, start, entry_sequence, entry_index;
                       for (int64_t i = 0; i < call.n(); ++i) {
                         const size_t q = static_cast<size_t>(call.rows()[static_cast<size_t>(i)]);
                         first.push_back(static_cast<int32_t>(token_rows.size()));
                         tokens.push_back(data->tokens[q]);
                         start.push_back(data->start[q]);
                         for (int t = 0; t < data->tokens[q]; ++t) {
                           token_rows.push_back(data->first[q] + t);
                           const int position = data->start[q] + t;
                           if (position % s.ratio != s.ratio - 1) continue;
                           entry_sequence.push_back(static_cast<int32_t>(i));
                           entry_index.push_back(position / s.ratio);
                           entry_unit.push_back(static_cast<int64_t>(q));
                         }
                       }
                       ops::CompressParams p;
                       p.score = call.in(*data->score, token_rows, 3);
                       p.latent = call.in(*data->latent, token_rows, 0);
                       p.ratio = s.ratio;
                       p.num_sequences = static_cast<int>(call.n());
                       p.first_row = first.data();
                       p.num_tokens = tokens.data();
                       p.start_position = start.data();
                       const ops::Mat carry =
                           call.out("carry", DType::kF32, data->carry->cols, kExact, 5, data->carry.get());
                       std::vector<float*> rings;
                       for (int64_t i = 0; i < call.n(); ++i) rings.push_back(carry.row<float>(i));
                       p.carry = rings.data();
                       p.carry_slots = s.carry_slots;
                       p.num_entries = static_cast<int>(entry_index.size());
                       p.entry_sequence = entry_sequence.data();
                       p.entry_index = entry_index.data();
                       p.norm_weight = weight.data();
                       p.eps = 1e-6f;
                       Tolerance t = rounding(act, 4e-6);
                       t.relative *= 2;  // the pooled value rounds before the norm rounds again
                       p.out = call.out("out", act, s.d, t, 7, nullptr, entry_unit);
                       call(&OpTable::compress, p);
                     }});
    }
  return out;
}

}  // namespace

void add_records(std::vector<Suite>& out) {
  out.push_back(
      {"store_records", "exact: bytes of records (inputs whose sums and products are exact)", store_records_cases});
  out.push_back({"compress", "carry exact; entries two roundings of act, 4e-6 of the row", compress_cases});
}

}  // namespace deepinfer::conformance
