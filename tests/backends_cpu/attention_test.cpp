// sparse_attention, index_scores, index_topk and candidate_blocks on every instruction-set path: close to the reference
// (selection: equal to it) and the same bits for every split of rows, from rings or from fresh records.
#include "op_cases.h"

namespace deepinfer {
namespace {

std::vector<uint8_t> random_record(Random& r, CacheFormat format, int dim, float range = 2) {
  std::vector<uint8_t> out(static_cast<size_t>(record_bytes(format, dim)));
  const auto x = random_floats(r, dim, -range, range);
  encode_record(format, x.data(), dim, out.data());
  return out;
}

// Compressed entries of several sequences in shuffled blocks, with canary bytes between the records of different
// layers.
struct OwnedCache {
  OwnedCache(Random& r, CacheFormat format, int dim, int sequences, int entries, int per_block, float range = 2) {
    const int blocks = (entries + per_block - 1) / per_block;
    view.format = format;
    view.dim = dim;
    view.record_bytes = record_bytes(format, dim);
    view.block_stride = view.record_bytes * per_block + 40;
    view.entries_per_block = per_block;
    view.table_stride = blocks + 1;
    bytes.assign(static_cast<size_t>(view.block_stride * blocks * sequences), 0xff);  // NaN scales: never to be read
    tables.assign(static_cast<size_t>(view.table_stride * sequences), 1 << 30);
    std::vector<int32_t> order(static_cast<size_t>(blocks * sequences));
    for (size_t i = 0; i < order.size(); ++i) order[i] = static_cast<int32_t>(i);
    std::shuffle(order.begin(), order.end(), r);
    for (int s = 0; s < sequences; ++s)
      for (int b = 0; b < blocks; ++b) tables[s * view.table_stride + b] = order[s * blocks + b];
    view.base = bytes.data();
    view.tables = tables.data();
    for (int s = 0; s < sequences; ++s)
      for (int e = 0; e < entries; ++e) {
        const auto record = random_record(r, format, dim, range);
        std::copy(record.begin(), record.end(), view.record(s, e));
      }
  }
  std::vector<uint8_t> bytes;
  std::vector<int32_t> tables;
  ops::PagedCache view;
};

struct AttentionCase {
  DType act;
  CacheFormat window, compressed;
  int heads, dim, window_size, entries, selected, rows_per_sequence;
  float sink = 0;
};

// Rows of two sequences that continue after `start` positions.
void check_attention(const AttentionCase& c) {
  Random r(static_cast<uint64_t>(c.dim * 1000 + c.heads * 10 + static_cast<int>(c.window)));
  const int sequences = 2, start = 29, ring_slots = c.window_size + 3, per = c.rows_per_sequence;
  const int64_t rows = static_cast<int64_t>(sequences) * per, width = static_cast<int64_t>(c.heads) * c.dim;
  OwnedCache compressed(r, c.compressed, c.dim, sequences, c.entries, 5);
  // Every position has one record. The ring holds those before `start`, fresh rows the others.
  const int64_t bytes = record_bytes(c.window, c.dim);
  std::vector<std::vector<std::vector<uint8_t>>> records(sequences);
  std::vector<std::vector<uint8_t>> rings;
  std::vector<uint8_t> fresh(static_cast<size_t>(rows * bytes));
  std::vector<int32_t> first_row, fresh_start, sequence, begin, end;
  for (int s = 0; s < sequences; ++s) {
    rings.emplace_back(static_cast<size_t>(ring_slots * bytes), uint8_t{0xff});
    first_row.push_back(s * per);
    fresh_start.push_back(start);
    for (int i = 0; i < start + per; ++i) {
      records[s].push_back(random_record(r, c.window, c.dim));
      uint8_t* to = i < start ? &rings[s][static_cast<size_t>(i % ring_slots * bytes)]
                              : &fresh[static_cast<size_t>((s * per + i - start) * bytes)];
      std::copy(records[s][i].begin(), records[s][i].end(), to);
    }
    for (int i = 0; i < per; ++i) {
      sequence.push_back(s);
      const int position = start + i;
      end.push_back(position + 1);
      begin.push_back(std::max(0, position + 1 - c.window_size));
    }
  }
  std::vector<int32_t> selected, num_selected;
  for (int64_t i = 0; i < rows; ++i) {
    std::vector<int32_t> all(static_cast<size_t>(c.entries));
    for (int e = 0; e < c.entries; ++e) all[e] = e;
    std::shuffle(all.begin(), all.end(), r);
    const int n = i % 4 == 3 ? 0 : std::min<int>(c.entries, c.selected - static_cast<int>(i % 3));
    std::sort(all.begin(), all.begin() + n);
    std::fill(all.begin() + n, all.end(), -1);
    all.resize(static_cast<size_t>(c.selected), -1);
    selected.insert(selected.end(), all.begin(), all.end());
    num_selected.push_back(n);
  }
  if (rows > 3) {  // a row without any key
    end[3] = begin[3];
    num_selected[3] = 0;
  }
  const auto sink = random_floats(r, c.heads, c.sink - 1, c.sink + 1);
  const OwnedMat q = random_mat(r, c.act, rows, width, width + 32, 1);
  OwnedMat want = empty_mat(c.act, rows, width, width + 8), got = want;
  got.view.data = got.bytes.data();
  std::vector<const uint8_t*> ring_pointers;
  for (const auto& ring : rings) ring_pointers.push_back(ring.data());
  ops::SparseAttentionParams p;
  p.heads = c.heads;
  p.dim = c.dim;
  p.window = {c.window,          c.dim, bytes, ring_slots, ring_pointers.data(), fresh.data(), first_row.data(),
              fresh_start.data()};
  p.compressed = compressed.view;
  p.selected_stride = c.selected;
  p.sink = sink.data();
  p.scale = 1 / std::sqrt(static_cast<float>(c.dim));
  auto call = [&](OpEngine& engine, const OwnedMat& out, int64_t first, int64_t count) {
    p.q = rows_of(q.view, first, count);
    p.out = rows_of(out.view, first, count);
    p.sequence = sequence.data() + first;
    p.window_begin = begin.data() + first;
    p.window_end = end.data() + first;
    p.selected = selected.data() + first * c.selected;
    p.num_selected = num_selected.data() + first;
    engine(&OpTable::sparse_attention, p);
  };
  OpEngine reference(2);
  call(reference, want, 0, rows);
  expect_same_bits_however_split(
      rows, [&](OpEngine& e, int64_t first, int64_t count) { call(e, got, first, count); }, [&] { return got.bytes; },
      [&](const std::string& name) {
        // Weights and results are rounded to bf16 in quantized mode; values are at most 2 or so.
        const float tolerance = c.act == DType::kBF16 ? 0.012f : 4e-6f;
        for (int64_t i = 0; i < rows; ++i)
          for (int64_t j = 0; j < width; ++j)
            ASSERT_NEAR(at(got.view, i, j), at(want.view, i, j), tolerance)
                << name << " act " << dtype_name(c.act) << " " << cache_format_name(c.window) << " heads " << c.heads
                << " dim " << c.dim << " row " << i << " value " << j;
      });

  // Token by token, each row fresh alone with everything before it in the ring: the same bits as in one chunk.
  for (cpu::Isa isa : supported_isas()) {
    OpEngine engine(isa, 2);
    call(engine, got, 0, rows);
    const std::vector<uint8_t> whole = got.bytes;
    auto one_ring = rings;
    std::vector<const uint8_t*> pointers;
    for (const auto& ring : one_ring) pointers.push_back(ring.data());
    const ops::WindowCache chunk = p.window;
    for (int i = 0; i < per; ++i) {
      std::vector<int32_t> now(sequences, start + i), zero(sequences, 0);
      for (int s = 0; s < sequences; ++s) {
        const int64_t row = s * per + i;
        p.window.rings = pointers.data();
        p.window.fresh = fresh.data() + row * bytes;
        p.window.fresh_first_row = zero.data();
        p.window.fresh_start = now.data();
        call(engine, got, row, 1);
        std::copy(records[s][start + i].begin(), records[s][start + i].end(),
                  &one_ring[s][static_cast<size_t>((start + i) % ring_slots * bytes)]);
      }
    }
    p.window = chunk;
    ASSERT_EQ(got.bytes, whole) << engine.name << ": token by token";
  }
}

TEST(CpuSparseAttention, AgreesWithTheReferenceAndIsTheSameForEverySplit) {
  constexpr CacheFormat kFp8 = CacheFormat::kFp8, kFp4 = CacheFormat::kFp4E4m3, kF32 = CacheFormat::kF32;
  for (const AttentionCase& c : {AttentionCase{DType::kBF16, kFp8, kFp4, 4, 512, 13, 40, 20, 6},
                                 AttentionCase{DType::kBF16, kFp8, kFp4, 6, 96, 13, 23, 9, 7},
                                 AttentionCase{DType::kBF16, kFp8, kFp8, 1, 32, 7, 3, 8, 5},
                                 AttentionCase{DType::kBF16, kFp8, kFp4, 5, 160, 1, 70, 64, 4},
                                 AttentionCase{DType::kBF16, kF32, kF32, 3, 64, 20, 9, 4, 3},
                                 AttentionCase{DType::kF32, kF32, kF32, 4, 512, 13, 40, 20, 6},
                                 AttentionCase{DType::kF32, kF32, kF32, 6, 96, 13, 23, 9, 7},
                                 AttentionCase{DType::kF32, kFp8, kFp4, 5, 64, 13, 23, 9, 7},
                                 AttentionCase{DType::kF32, kF32, kF32, 7, 32, 3, 5, 4, 1}})
    check_attention(c);
}

TEST(CpuSparseAttention, ManyRowsThatShareEntriesAndHugeSinksAgreeToo) {
  AttentionCase c{DType::kBF16, CacheFormat::kFp8, CacheFormat::kFp4E4m3, 4, 64, 13, 30, 25, 40};
  check_attention(c);
  c.sink = 200;  // the sink takes everything
  check_attention(c);
  c.sink = -200;
  c.act = DType::kF32;
  check_attention(c);
}

// With one key, a sink far below and a zero query the weight is exactly 1: the output is the record, rounded to bf16.
TEST(CpuSparseAttention, DecodesEveryCodeUnderEveryScaleExactly) {
  for (CacheFormat format : {CacheFormat::kFp8, CacheFormat::kFp4E4m3})
    for (cpu::Isa isa : supported_isas()) {
      OpEngine engine(isa, 1);
      const int dim = 96;  // an odd number of groups of 32
      const int64_t bytes = record_bytes(format, dim);
      const std::vector<uint16_t> q(dim, 0);
      std::vector<uint16_t> out(dim);
      const float sink = -1e30f;
      const int32_t zero = 0, one = 1;
      int compared = 0;
      for (int scale = 0; scale < (format == CacheFormat::kFp8 ? 246 : 256); ++scale)
        for (int first = 0; first < 256; first += format == CacheFormat::kFp8 ? dim : dim / 2) {
          if (format != CacheFormat::kFp8 && (scale & 0x7f) == 0x7f) continue;  // NaN
          std::vector<uint8_t> record(static_cast<size_t>(bytes), static_cast<uint8_t>(scale));
          const int codes = format == CacheFormat::kFp8 ? dim : dim / 2;
          for (int i = 0; i < codes; ++i) {
            record[i] = static_cast<uint8_t>(first + i);
            if (format == CacheFormat::kFp8 && (record[i] & 0x7f) == 0x7f) record[i] = 0;  // NaN
          }
          float want[96];
          decode_record(format, record.data(), dim, want);
          ops::SparseAttentionParams p;
          p.q = {const_cast<uint16_t*>(q.data()), DType::kBF16, 1, dim, dim};
          p.heads = 1;
          p.dim = dim;
          p.sequence = &zero;
          const uint8_t* ring = nullptr;
          p.window = {format, dim, bytes, 1, &ring, record.data(), &zero, &zero};
          p.window_begin = &zero;
          p.window_end = &one;
          p.sink = &sink;
          p.out = {out.data(), DType::kBF16, 1, dim, dim};
          engine(&OpTable::sparse_attention, p);
          for (int i = 0; i < dim; ++i, ++compared)  // the products may flush subnormals
            ASSERT_NEAR(bf16_to_float(out[i]), round_bf16(want[i]), 1.2e-38f)
                << engine.name << " " << cache_format_name(format) << " scale " << scale << " code " << int{record[i]};
        }
      EXPECT_GT(compared, 65536);
    }
}

struct IndexCase {
  CacheFormat format;
  int heads, dim, entries, rows;
};

void check_index_scores(const IndexCase& c, bool with_blocks) {
  Random r(static_cast<uint64_t>(c.dim + c.heads));
  const int sequences = 2, block_size = 5;
  const int64_t record = record_bytes(c.format, c.dim), stride = c.entries + block_size + 7;
  OwnedCache keys(r, c.format, c.dim, sequences, c.entries, 6);
  std::vector<uint8_t> q;
  std::vector<int32_t> sequence, visible, blocks, num_blocks;
  const int all_blocks = (c.entries + block_size - 1) / block_size;
  for (int i = 0; i < c.rows; ++i) {
    for (int h = 0; h < c.heads; ++h) {
      const auto v = random_record(r, c.format, c.dim);
      q.insert(q.end(), v.begin(), v.end());
    }
    sequence.push_back(i * sequences / c.rows);
    visible.push_back(i == 1 ? 0 : std::min(c.entries, c.entries - c.rows + i + 1));
    int n = 0;
    for (int b = 0; b < all_blocks; ++b)
      if (b * block_size < visible.back() && r() % 3) blocks.push_back(b), ++n;
    num_blocks.push_back(n);
    blocks.resize(static_cast<size_t>((i + 1) * all_blocks), -1);
  }
  const DType act = c.format == CacheFormat::kF32 ? DType::kF32 : DType::kBF16;
  const OwnedMat weights = random_mat(r, act, c.rows, c.heads, c.heads + 1, 1);
  std::vector<float> want(static_cast<size_t>(stride * c.rows)), got(want.size());
  ops::IndexScoresParams p;
  p.format = c.format;
  p.heads = c.heads;
  p.dim = c.dim;
  p.weight_scale = 1 / std::sqrt(static_cast<float>(c.dim * c.heads));
  p.keys = keys.view;
  p.out_stride = stride;
  auto call = [&](OpEngine& engine, std::vector<float>& out, int64_t first, int64_t count) {
    std::fill_n(out.begin() + first * stride, count * stride, -77.0f);
    p.q = q.data() + first * c.heads * record;
    p.weights = rows_of(weights.view, first, count);
    p.rows = count;
    p.sequence = sequence.data() + first;
    p.visible = visible.data() + first;
    if (with_blocks) {
      p.blocks = blocks.data() + first * all_blocks;
      p.num_blocks = num_blocks.data() + first;
      p.blocks_stride = all_blocks;
      p.block_size = block_size;
    }
    p.out = out.data() + first * stride;
    engine(&OpTable::index_scores, p);
  };
  OpEngine reference(1);
  call(reference, want, 0, c.rows);
  std::vector<uint8_t> vnni;
  expect_same_bits_however_split(
      c.rows, [&](OpEngine& e, int64_t first, int64_t count) { call(e, got, first, count); },
      [&] { return bytes_of(got); },
      [&](const std::string& name) {
        for (size_t i = 0; i < got.size(); ++i) {
          if (want[i] == -77.0f || std::isinf(want[i]))
            ASSERT_EQ(got[i], want[i]) << name << " " << i;  // nothing is written behind the columns
          else
            ASSERT_NEAR(got[i], want[i], 2e-5) << name << " heads " << c.heads << " dim " << c.dim << " " << i;
        }
      });
}

TEST(CpuIndexScores, AgreeWithTheReferenceAndAreTheSameForEverySplit) {
  for (bool with_blocks : {false, true})
    for (const IndexCase& c :
         {IndexCase{CacheFormat::kFp4Ue8m0, 32, 128, 70, 12}, IndexCase{CacheFormat::kFp4Ue8m0, 3, 96, 37, 9},
          IndexCase{CacheFormat::kFp4Ue8m0, 1, 32, 5, 5}, IndexCase{CacheFormat::kFp4Ue8m0, 4, 64, 700, 3},
          IndexCase{CacheFormat::kF32, 4, 128, 70, 12}, IndexCase{CacheFormat::kF32, 3, 96, 37, 9},
          IndexCase{CacheFormat::kF32, 2, 32, 300, 2}})
      check_index_scores(c, with_blocks);
}

TEST(CpuIndexTopk, SelectsExactlyWhatTheReferenceSelects) {
  OpEngine reference(1);
  constexpr float kNone = -std::numeric_limits<float>::infinity();
  for (int columns : {1, 15, 64, 65, 500, 3001, 40000})
    for (int k : {1, 5, 64, 512}) {
      Random r(static_cast<uint64_t>(columns + k));
      const int64_t rows = columns > 10000 ? 4 : 14, stride = columns + 3;
      std::vector<float> scores(static_cast<size_t>(rows * stride), 1e30f);
      std::vector<int32_t> num;
      for (int64_t i = 0; i < rows; ++i) {
        num.push_back(i == 2 ? 0 : std::max(1, columns - static_cast<int>(i)));
        for (int j = 0; j < num.back(); ++j) {
          float v = uniform(r, 0, 3);
          if (i % 7 == 1) v = std::floor(v);  // ties everywhere, with zeros
          if (i % 7 == 2) v = -v;
          if (i % 7 == 3) v = r() % 4 ? kNone : v;  // fewer finite ones
          if (i % 7 == 4) v = r() % 2 ? 0.0f : -0.0f;
          if (i % 7 == 5) v = v * 1e-40f;             // subnormals
          if (i % 7 == 6) v = static_cast<float>(j);  // sorted
          scores[i * stride + j] = v;
        }
      }
      std::vector<int32_t> want(static_cast<size_t>(rows * k)), got(want), want_n(static_cast<size_t>(rows)),
          got_n(want_n);
      auto params = [&](std::vector<int32_t>& out, std::vector<int32_t>& n, int64_t first, int64_t count) {
        return ops::IndexTopkParams{.scores = scores.data() + first * stride,
                                    .stride = stride,
                                    .rows = count,
                                    .num_columns = num.data() + first,
                                    .k = k,
                                    .selected = out.data() + first * k,
                                    .num_selected = n.data() + first};
      };
      reference(&OpTable::index_topk, params(want, want_n, 0, rows));
      expect_same_bits_however_split(
          rows, [&](OpEngine& e, int64_t f, int64_t n) { e(&OpTable::index_topk, params(got, got_n, f, n)); },
          [&] { return bytes_of(got); },
          [&](const std::string& name) {
            ASSERT_EQ(got_n, want_n) << name << " columns " << columns << " k " << k;
            ASSERT_EQ(got, want) << name << " columns " << columns << " k " << k;
          });
    }
}

TEST(CpuIndexTopk, MapsCompactColumnsBackToEntries) {
  for (cpu::Isa isa : supported_isas()) {
    OpEngine engine(isa, 1);
    const float scores[] = {1, 9, 3, 2, 8, 7};
    const int32_t blocks[] = {4, 11}, num_columns[] = {6};
    int32_t selected[4], num[1];
    engine(&OpTable::index_topk, ops::IndexTopkParams{.scores = scores,
                                                      .stride = 6,
                                                      .rows = 1,
                                                      .num_columns = num_columns,
                                                      .k = 4,
                                                      .blocks = blocks,
                                                      .blocks_stride = 2,
                                                      .block_size = 3,
                                                      .selected = selected,
                                                      .num_selected = num});
    EXPECT_EQ(num[0], 4);
    EXPECT_EQ(std::vector<int32_t>(selected, selected + 4), (std::vector<int32_t>{13, 14, 34, 35})) << engine.name;
  }
}

TEST(CpuCandidateBlocks, AreExactlyThoseOfTheReference) {
  OpEngine reference(1);
  for (int visible : {1, 4, 5, 6, 99, 1000})
    for (int block_size : {1, 5, 32})
      for (int keep : {1, 3, 40}) {
        Random r(static_cast<uint64_t>(visible + block_size));
        const int64_t rows = 11, stride = visible + 2;
        std::vector<float> scores(static_cast<size_t>(rows * stride), 1e30f);
        std::vector<int32_t> seen;
        for (int64_t i = 0; i < rows; ++i) {
          seen.push_back(std::max(0, visible - static_cast<int>(i)));
          for (int j = 0; j < seen.back(); ++j) {
            const float v = uniform(r, -2, 2);
            scores[i * stride + j] = i % 3 == 1 ? std::floor(v) : v;
          }
        }
        std::vector<int32_t> want(static_cast<size_t>(rows * keep)), got(want), want_n(static_cast<size_t>(rows)),
            got_n(want_n);
        auto params = [&](std::vector<int32_t>& out, std::vector<int32_t>& n, int64_t first, int64_t count) {
          return ops::CandidateBlocksParams{.scores = scores.data() + first * stride,
                                            .stride = stride,
                                            .rows = count,
                                            .visible = seen.data() + first,
                                            .block_size = block_size,
                                            .keep = keep,
                                            .blocks = out.data() + first * keep,
                                            .num_blocks = n.data() + first};
        };
        reference(&OpTable::candidate_blocks, params(want, want_n, 0, rows));
        expect_same_bits_however_split(
            rows, [&](OpEngine& e, int64_t f, int64_t n) { e(&OpTable::candidate_blocks, params(got, got_n, f, n)); },
            [&] { return bytes_of(got); },
            [&](const std::string& name) {
              ASSERT_EQ(got_n, want_n) << name << " visible " << visible << " block " << block_size;
              ASSERT_EQ(got, want) << name << " visible " << visible << " block " << block_size << " keep " << keep;
            });
      }
}

}  // namespace
}  // namespace deepinfer
