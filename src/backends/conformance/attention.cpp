// Suites of sparse attention and of the two-level search before it.
#include <algorithm>
#include <limits>
#include <numeric>

#include "backends/conformance/harness.h"

namespace deepinfer::conformance {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();

void random_record(Random& r, CacheFormat format, int dim, uint8_t* to) {
  std::vector<float> x(static_cast<size_t>(dim));
  const uint64_t kind = r() % 13;
  for (float& v : x) v = kind == 0 ? 0.0f : uniform(r, -2, 2);
  if (kind == 1) x[static_cast<size_t>(below(r, dim))] *= 30;
  encode_record(format, x.data(), dim, to);
}

// Entries of several sequences in shuffled blocks; everything that is no record is 0xff (NaN scales).
struct OwnedCache {
  OwnedCache(Random& r, CacheFormat format, int dim, int sequences, int entries, int per_block) {
    const int blocks = (entries + per_block - 1) / per_block;
    view.format = format;
    view.dim = dim;
    view.record_bytes = record_bytes(format, dim);
    view.block_stride = view.record_bytes * per_block + 40;
    view.entries_per_block = per_block;
    view.table_stride = blocks + 1;
    bytes.assign(static_cast<size_t>(view.block_stride * blocks * sequences + 1), 0xff);
    tables.assign(static_cast<size_t>(view.table_stride * sequences + 1), 1 << 30);
    std::vector<int32_t> order(static_cast<size_t>(blocks * sequences));
    std::iota(order.begin(), order.end(), 0);
    std::shuffle(order.begin(), order.end(), r);
    for (int s = 0; s < sequences; ++s)
      for (int b = 0; b < blocks; ++b)
        tables[static_cast<size_t>(s * view.table_stride + b)] = order[static_cast<size_t>(s * blocks + b)];
    view.base = bytes.data();
    view.tables = tables.data();
    for (int s = 0; s < sequences; ++s)
      for (int e = 0; e < entries; ++e) random_record(r, format, dim, view.record(s, e));
  }
  OwnedCache(const OwnedCache&) = delete;
  std::vector<uint8_t> bytes;
  std::vector<int32_t> tables;
  ops::PagedCache view;
};

struct AttentionShape {
  CacheFormat window, compressed;
  int heads, dim, window_size, entries, selected, start;
  int64_t rows;
  float sink = 0;
};

// Rows are tokens of two sequences in turns. A position before `start` lies in the ring, later ones in fresh rows.
std::vector<Case> sparse_attention_cases(uint64_t seed) {
  constexpr CacheFormat kFp8 = CacheFormat::kFp8, kFp4 = CacheFormat::kFp4E4m3, kF32 = CacheFormat::kF32;
  std::vector<Case> out;
  Random r(seed);
  const std::vector<AttentionShape> quantised = {
      {kFp8, kFp4, 4, 512, 13, 40, 20, 29, 6},    {kFp8, kFp4, 6, 96, 13, 23, 9, 29, 7},
      {kFp8, kFp8, 1, 32, 7, 3, 8, 100, 5},       {kFp8, kFp4, 5, 160, 1, 70, 64, 2, 4},
      {kFp8, kFp4, 2, 64, 128, 300, 256, 200, 9}, {kFp8, kFp4, 64, 64, 9, 12, 5, 0, 3},
      {kFp8, kFp4, 3, 64, 12, 20, 10, 31, 40},    {kFp8, kFp4, 3, 64, 12, 20, 10, 31, 5, 200},
      {kFp8, kFp4, 3, 64, 12, 20, 10, 31, 0},     {kFp8, kFp4, 3, 64, 12, 20, 0, 31, 1}};
  const std::vector<AttentionShape> plain = {
      {kF32, kF32, 4, 512, 13, 40, 20, 29, 6}, {kF32, kF32, 6, 96, 13, 23, 9, 29, 7},
      {kF32, kF32, 7, 32, 3, 5, 4, 4, 8},      {kF32, kF32, 3, 64, 12, 20, 10, 31, 6, -200},
      {kFp8, kFp4, 5, 64, 13, 23, 9, 29, 7},   {kF32, kF32, 1, 32, 1, 1, 1, 0, 1}};
  for (DType act : kActs)
    for (const AttentionShape& c : act == DType::kBF16 ? quantised : plain) {
      struct Data {
        std::unique_ptr<OwnedCache> compressed;
        std::vector<std::vector<uint8_t>> rings;
        std::vector<uint8_t> fresh;
        std::vector<int32_t> sequence, begin, end, selected, num_selected;
        std::vector<float> sink;
        std::shared_ptr<Values> q;
      };
      auto d = std::make_shared<Data>();
      const int slots = c.window_size + 3;
      const int64_t bytes = record_bytes(c.window, c.dim);
      const int per = static_cast<int>((c.rows + 1) / 2);
      d->compressed = std::make_unique<OwnedCache>(r, c.compressed, c.dim, 2, c.entries, 5);
      d->fresh.resize(static_cast<size_t>(2 * per * bytes + 1));
      for (int s = 0; s < 2; ++s) {
        d->rings.emplace_back(static_cast<size_t>(slots * bytes), uint8_t{0xff});
        for (int p = std::max(0, c.start - slots); p < c.start; ++p)
          random_record(r, c.window, c.dim, &d->rings.back()[static_cast<size_t>(p % slots * bytes)]);
        for (int i = 0; i < per; ++i)
          random_record(r, c.window, c.dim, &d->fresh[static_cast<size_t>((s * per + i) * bytes)]);
      }
      for (int64_t i = 0; i < c.rows; ++i) {
        const int position = c.start + static_cast<int>(i / 2);
        d->sequence.push_back(static_cast<int32_t>(i % 2));
        d->end.push_back(position + 1);
        d->begin.push_back(i % 5 == 3 ? position + 1
                                      : std::max(0, position + 1 - c.window_size));  // some see no window
        std::vector<int32_t> all(static_cast<size_t>(c.entries));
        std::iota(all.begin(), all.end(), 0);
        std::shuffle(all.begin(), all.end(), r);
        int n = i % 4 == 3 ? 0 : std::min(c.entries, c.selected);
        if (i % 4 == 1 && n > 0) n -= 1;
        std::sort(all.begin(), all.begin() + n);
        std::fill(all.begin() + n, all.end(), -1);
        all.resize(static_cast<size_t>(c.selected), -1);
        d->selected.insert(d->selected.end(), all.begin(), all.end());
        d->num_selected.push_back(n);
      }
      d->sink = random_floats(r, c.heads, c.sink - 1, c.sink + 1);
      d->q = random_values(r, act, c.rows, static_cast<int64_t>(c.heads) * c.dim, 1);
      for (bool with_compressed : {true, false})
        out.push_back(
            {fmt::format("{} {} + {}, heads {}, dim {}, window {}, {} rows, sink {}", dtype_name(act),
                         cache_format_name(c.window), with_compressed ? cache_format_name(c.compressed) : "nothing",
                         c.heads, c.dim, c.window_size, c.rows, c.sink),
             c.rows, [=](Call& call) {
               const std::vector<const uint8_t*> rings = {d->rings[0].data(), d->rings[1].data()};
               const std::vector<int32_t> first = {0, per}, start = {c.start, c.start};
               ops::SparseAttentionParams p;
               p.q = call.in(*d->q, c.dim);
               p.heads = c.heads;
               p.dim = c.dim;
               p.sequence = call.in(d->sequence);
               p.window = {c.window, c.dim, bytes, slots, rings.data(), d->fresh.data(), first.data(), start.data()};
               p.window_begin = call.in(d->begin);
               p.window_end = call.in(d->end);
               if (with_compressed) p.compressed = d->compressed->view;
               p.selected = call.in(d->selected, c.selected);
               p.num_selected = call.in(d->num_selected);
               p.selected_stride = c.selected;
               p.sink = d->sink.data();
               p.scale = 1 / std::sqrt(static_cast<float>(c.dim));
               // bf16: probabilities may round the other way; values are averages of keys of about 2.
               const Tolerance t =
                   act == DType::kBF16 ? Tolerance{0x1p-7, 0.01, 1e-6, 4e-3} : Tolerance{1e-5, 1e-5, 1e-9};
               p.out = call.out("out", act, static_cast<int64_t>(c.heads) * c.dim, t, 8);
               call(&OpTable::sparse_attention, p);
             }});
    }
  return out;
}

std::vector<Case> index_scores_cases(uint64_t seed) {
  std::vector<Case> out;
  Random r(seed);
  struct Shape {
    CacheFormat format;
    int heads, dim, entries;
    int64_t rows;
  };
  for (DType act : kActs)
    for (const Shape& c : std::vector<Shape>{{CacheFormat::kFp4Ue8m0, 32, 128, 70, 5},
                                             {CacheFormat::kFp4Ue8m0, 5, 32, 23, 7},
                                             {CacheFormat::kFp4Ue8m0, 3, 96, 9, 33},
                                             {CacheFormat::kFp4Ue8m0, 8, 64, 150, 3},
                                             {CacheFormat::kFp4Ue8m0, 4, 32, 1, 1},
                                             {CacheFormat::kFp4Ue8m0, 4, 32, 4, 0},
                                             {CacheFormat::kF32, 5, 128, 33, 6},
                                             {CacheFormat::kF32, 3, 32, 12, 4}})
      for (bool with_blocks : {false, true}) {
        struct Data {
          std::unique_ptr<OwnedCache> keys;
          std::vector<uint8_t> q;
          std::vector<int32_t> sequence, visible, blocks, num_blocks;
          std::shared_ptr<Values> weights;
        };
        auto d = std::make_shared<Data>();
        const int block_size = 4, all_blocks = (c.entries + block_size - 1) / block_size;
        d->keys = std::make_unique<OwnedCache>(r, c.format, c.dim, 3, c.entries, 6);
        const int64_t bytes = record_bytes(c.format, c.dim) * c.heads;
        d->q.resize(static_cast<size_t>(c.rows * bytes));
        for (int64_t i = 0; i < c.rows * c.heads; ++i)
          random_record(r, c.format, c.dim, &d->q[static_cast<size_t>(i * record_bytes(c.format, c.dim))]);
        d->weights = random_values(r, act, c.rows, c.heads);
        for (int64_t i = 0; i < c.rows; ++i) {
          d->sequence.push_back(static_cast<int32_t>(i % 3));
          const int visible = i % 4 == 3 ? 0 : i == 0 ? c.entries : static_cast<int>(below(r, c.entries + 1));
          d->visible.push_back(visible);
          int n = 0;
          for (int b = 0; b < all_blocks; ++b)
            if (b * block_size < visible && (r() % 3 || (b + 1) * block_size >= visible)) {
              d->blocks.push_back(b);
              ++n;
            }
          d->num_blocks.push_back(n);
          d->blocks.resize(static_cast<size_t>((i + 1) * all_blocks), -1);
        }
        const int64_t stride = static_cast<int64_t>(all_blocks) * block_size;
        out.push_back(
            {fmt::format("{} {} heads {} dim {}, {} entries, {} rows{}", dtype_name(act), cache_format_name(c.format),
                         c.heads, c.dim, c.entries, c.rows, with_blocks ? ", blocks" : ""),
             c.rows, [=](Call& call) {
               ops::IndexScoresParams p;
               p.q = call.in(d->q, bytes);
               p.format = c.format;
               p.heads = c.heads;
               p.dim = c.dim;
               p.weights = call.in(*d->weights, 3);
               p.weight_scale = 1 / std::sqrt(static_cast<float>(c.dim * c.heads));
               p.keys = d->keys->view;
               p.rows = call.n();
               p.sequence = call.in(d->sequence);
               p.visible = call.in(d->visible);
               if (with_blocks) {
                 p.blocks = call.in(d->blocks, all_blocks);
                 p.num_blocks = call.in(d->num_blocks);
                 p.blocks_stride = all_blocks;
                 p.block_size = block_size;
               }
               // FP4 dots of a group are exact; groups, heads and the weight are fp32.
               // Columns behind the last are not part of the result: writing there is allowed up to the
               // stride, so the comparison below covers what the operator promises only.
               Values start;
               start.dtype = DType::kF32;
               start.cols = stride;
               start.v.assign(static_cast<size_t>(std::max<int64_t>(c.rows, 1) * stride), 0.0f);
               const ops::Mat m = call.out("out", DType::kF32, stride, {1e-5, 1e-5, 1e-12}, 0, &start);
               p.out = static_cast<float*>(m.data);
               p.out_stride = stride;
               call(&OpTable::index_scores, p);
               for (int64_t i = 0; i < call.n(); ++i) {
                 const int64_t columns =
                     with_blocks ? static_cast<int64_t>(p.num_blocks[i]) * block_size : p.visible[i];
                 std::fill(p.out + i * stride + columns, p.out + (i + 1) * stride, 0.0f);
               }
             }});
      }
  return out;
}

// Scores with ties, -infinity and -0; some rows empty.
std::shared_ptr<Values> scores_of(Random& r, int64_t rows, int64_t columns) {
  auto x = random_values(r, DType::kF32, rows, columns, 4);
  for (int64_t i = 0; i < rows; ++i)
    for (int64_t j = 0; j < columns; ++j) {
      float& v = x->v[static_cast<size_t>(i * columns + j)];
      if (i % 3 == 1) v = static_cast<float>(below(r, 3)) - 1;  // ties
      if (i % 3 == 2 && r() % 2) v = -kInfinity;
      if (i % 5 == 4) v = j % 2 ? 0.0f : -0.0f;
    }
  return x;
}

std::vector<Case> index_topk_cases(uint64_t seed) {
  std::vector<Case> out;
  Random r(seed);
  for (auto [rows, columns, k] : std::vector<std::array<int64_t, 3>>{
           {0, 8, 4}, {1, 8, 4}, {9, 33, 5}, {11, 64, 64}, {7, 100, 200}, {6, 1500, 512}, {10, 17, 1}, {5, 4096, 100}})
    for (bool with_blocks : {false, true}) {
      const int block_size = 4;
      const int64_t blocks = (columns + block_size - 1) / block_size;
      auto x = scores_of(r, rows, blocks * block_size);
      std::vector<int32_t> count, table;
      for (int64_t i = 0; i < rows; ++i) {
        const int64_t all = with_blocks ? below(r, blocks + 1) * block_size : below(r, columns + 1);
        count.push_back(static_cast<int32_t>(i == 0   ? (with_blocks ? blocks * block_size : columns)
                                             : i == 3 ? 0
                                                      : all));
        int32_t at = 0;
        for (int64_t b = 0; b < blocks; ++b) table.push_back(at += 1 + static_cast<int32_t>(below(r, 3)));
      }
      out.push_back({fmt::format("{} rows, {} of {}{}", rows, k, columns, with_blocks ? ", blocks" : ""), rows,
                     [=, k = k](Call& call) {
                       ops::IndexTopkParams p;
                       const ops::Mat m = call.in(*x, 3);
                       p.scores = static_cast<const float*>(m.data);
                       p.stride = m.stride;
                       p.rows = call.n();
                       p.num_columns = call.in(count);
                       p.k = static_cast<int>(k);
                       if (with_blocks) {
                         p.blocks = call.in(table, blocks);
                         p.blocks_stride = blocks;
                         p.block_size = block_size;
                       }
                       p.selected = call.array<int32_t>("selected", k);
                       p.num_selected = call.array<int32_t>("num_selected", 1);
                       call(&OpTable::index_topk, p);
                     }});
    }
  return out;
}

std::vector<Case> candidate_blocks_cases(uint64_t seed) {
  std::vector<Case> out;
  Random r(seed);
  for (auto [rows, columns, block, keep] : std::vector<std::array<int64_t, 4>>{{0, 8, 4, 2},
                                                                               {1, 8, 4, 2},
                                                                               {9, 33, 8, 3},
                                                                               {11, 65, 16, 2},
                                                                               {7, 100, 1, 40},
                                                                               {6, 1500, 16, 64},
                                                                               {8, 30, 7, 50}}) {
    auto x = scores_of(r, rows, columns);
    std::vector<int32_t> visible;
    for (int64_t i = 0; i < rows; ++i)
      visible.push_back(static_cast<int32_t>(i == 0 ? columns : i == 3 ? 0 : below(r, columns + 1)));
    out.push_back({fmt::format("{} rows, {} columns, {} blocks of {}", rows, columns, keep, block), rows,
                   [=, block = block, keep = keep](Call& call) {
                     ops::CandidateBlocksParams p;
                     const ops::Mat m = call.in(*x, 5);
                     p.scores = static_cast<const float*>(m.data);
                     p.stride = m.stride;
                     p.rows = call.n();
                     p.visible = call.in(visible);
                     p.block_size = static_cast<int>(block);
                     p.keep = static_cast<int>(keep);
                     p.blocks = call.array<int32_t>("blocks", keep);
                     p.num_blocks = call.array<int32_t>("num_blocks", 1);
                     call(&OpTable::candidate_blocks, p);
                   }});
  }
  return out;
}

}  // namespace

void add_attention(std::vector<Suite>& out) {
  out.push_back({"index_scores", "1e-5: fp32 sums over groups and heads", index_scores_cases});
  out.push_back({"index_topk", "exact: indices", index_topk_cases});
  out.push_back({"candidate_blocks", "exact: indices", candidate_blocks_cases});
  out.push_back({"sparse_attention", "bf16: 1% of the row (probabilities round the other way), rms 0.4%; f32: 1e-5",
                 sparse_attention_cases});
}

}  // namespace deepinfer::conformance
