#include "backends/bench/cases.h"

#include <cmath>

#include "tensor/float_formats.h"

namespace deepinfer::bench {
namespace {

constexpr DType kAct = DType::kBF16;

// Buffers of one case, zeroed or filled with small random values.
class Maker {
 public:
  Maker(const char* op, std::string name, int64_t rows) : case_(op, std::move(name), rows) {}

  template <typename T>
  T* array(int64_t n) {
    auto buffer = std::make_shared<AlignedBuffer>(static_cast<size_t>(std::max<int64_t>(1, n)) * sizeof(T));
    case_.owned.push_back(buffer);
    return buffer->as<T>();
  }
  ops::Mat mat(DType type, int64_t rows, int64_t cols) {
    uint8_t* data = array<uint8_t>(rows * cols * static_cast<int64_t>(dtype_size(type)));
    const ops::Mat m{data, type, rows, cols, cols};
    for (int64_t i = 0; i < rows * cols; ++i) {
      const float v = value();
      if (type == DType::kBF16) reinterpret_cast<uint16_t*>(data)[i] = float_to_bf16(v);
      if (type == DType::kF32) reinterpret_cast<float*>(data)[i] = v;
    }
    return m;
  }
  float* floats(int64_t n, float low = -1, float high = 1) {
    float* out = array<float>(n);
    for (int64_t i = 0; i < n; ++i) out[i] = low + (high - low) * (value() + 1) / 2;
    return out;
  }
  uint16_t* bf16(int64_t n) {
    uint16_t* out = array<uint16_t>(n);
    for (int64_t i = 0; i < n; ++i) out[i] = float_to_bf16(value());
    return out;
  }
  template <typename F>
  int32_t* ints(int64_t n, F f) {
    int32_t* out = array<int32_t>(n);
    for (int64_t i = 0; i < n; ++i) out[i] = static_cast<int32_t>(f(i));
    return out;
  }
  uint8_t* records(CacheFormat format, int64_t n, int64_t dim) {
    const int64_t bytes = record_bytes(format, dim);
    uint8_t* out = array<uint8_t>(n * bytes);
    std::vector<float> x(static_cast<size_t>(dim));
    for (int64_t i = 0; i < n; ++i) {
      for (float& v : x) v = value();
      encode_record(format, x.data(), dim, out + i * bytes);
    }
    return out;
  }
  // All entries of one sequence in blocks of 128 tokens, as kv/ lays them out.
  ops::PagedCache paged(CacheFormat format, int64_t entries, int64_t dim) {
    constexpr int kPerBlock = 64;
    const int64_t blocks = (entries + kPerBlock - 1) / kPerBlock;
    return {.format = format,
            .dim = static_cast<int>(dim),
            .record_bytes = record_bytes(format, dim),
            .base = records(format, blocks * kPerBlock, dim),
            .block_stride = kPerBlock * record_bytes(format, dim),
            .entries_per_block = kPerBlock,
            .tables = ints(blocks, [](int64_t i) { return i; }),
            .table_stride = blocks};
  }
  int64_t below(int64_t n) { return static_cast<int64_t>((next() >> 33) % static_cast<uint64_t>(n)); }
  float value() { return static_cast<float>(static_cast<int64_t>(next() >> 40) - (1 << 23)) * 0x1p-23f; }

  // The finished case: `params` are used again and again, after `before` has changed them (other weights).
  template <typename Params, typename Before>
  Case done(void (*op)(const Params&, ops::Context&), Params params, Before before,
            std::shared_ptr<WeightSource> weights = nullptr) {
    auto p = std::make_shared<Params>(params);
    case_.owned.push_back(p);
    case_.weights = std::move(weights);
    case_.call = [p, op, before](ops::Context& ctx) mutable {
      before(*p);
      op(*p, ctx);
    };
    case_.cost = [p] { return ops::cost(*p); };
    case_.check = [p] { return ops::check(*p); };
    return std::move(case_);
  }
  template <typename Params>
  Case done(void (*op)(const Params&, ops::Context&), Params params) {
    return done(op, params, [](Params&) {});
  }

 private:
  uint64_t next() { return next_random(state_); }
  Case case_;
  uint64_t state_ = 12345;
};

using Cases = std::vector<Case>;
std::shared_ptr<WeightSource> source(const Shape& s, DType type) {
  return std::make_shared<WeightSource>(s.working_set, type);
}
template <typename... C>
Cases list(C&&... c) {
  Cases out;
  (out.push_back(std::forward<C>(c)), ...);
  return out;
}

Cases embed(const OpTable& t, const Shape& s, int64_t rows) {
  Maker m("embed", "", rows);
  auto table = source(s, DType::kBF16);
  const int64_t vocab = std::min(s.vocab, table->bytes() / (2 * s.hidden));
  ops::EmbedParams p{.table = table->next(vocab, s.hidden),
                     .ids = m.array<int32_t>(rows),
                     .num_streams = static_cast<int>(s.streams),
                     .streams = m.mat(kAct, rows, s.streams * s.hidden)};
  int32_t* ids = const_cast<int32_t*>(p.ids);
  return list(m.done(
      t.embed, p,
      [ids, rows, vocab, state = uint64_t{1}](ops::EmbedParams&) mutable {
        for (int64_t r = 0; r < rows; ++r)
          ids[r] = static_cast<int32_t>(next_random(state) % static_cast<uint64_t>(vocab));
      },
      table));
}

Cases engram_hash(const OpTable& t, const Shape& s, int64_t rows) {
  Maker m("engram_hash", "", rows);
  const int64_t columns = (s.engram_ngram - 1) * s.engram_heads;
  ops::EngramHashParams p{.lookback = m.ints(rows * s.engram_ngram, [&](int64_t) { return m.below(99'000); }),
                          .rows = rows,
                          .max_ngram = static_cast<int>(s.engram_ngram),
                          .heads = static_cast<int>(s.engram_heads)};
  int64_t* multipliers = m.array<int64_t>(s.engram_ngram);
  for (int64_t i = 0; i < s.engram_ngram; ++i) multipliers[i] = 2 * m.below(1 << 30) + 1;
  int64_t *primes = m.array<int64_t>(columns), *offsets = m.array<int64_t>(columns);
  for (int64_t i = 0; i < columns; ++i) primes[i] = 16'000'057 + 2 * i, offsets[i] = 16'000'057 * i;
  p.multipliers = multipliers, p.primes = primes, p.offsets = offsets;
  p.out = m.array<int64_t>(rows * columns);
  return list(m.done(t.engram_hash, p));
}

Cases engram_gather(const OpTable& t, const Shape& s, int64_t rows) {
  Maker m("engram_gather", "", rows);
  auto table = source(s, DType::kF8E4M3);
  const int64_t columns = (s.engram_ngram - 1) * s.engram_heads, n = table->bytes() / s.engram_dim;
  uint8_t* scale = m.array<uint8_t>(n * s.engram_dim / 32);
  std::fill(scale, scale + n * s.engram_dim / 32, uint8_t{120});
  int64_t* ids = m.array<int64_t>(rows * columns);
  ops::EngramGatherParams p{.table = table->data(),
                            .scale = scale,
                            .table_rows = n,
                            .dim = static_cast<int>(s.engram_dim),
                            .row_ids = ids,
                            .columns = static_cast<int>(columns),
                            .out = m.mat(kAct, rows, columns * s.engram_dim)};
  return list(m.done(
      t.engram_gather, p,
      [ids, n, count = rows * columns, state = uint64_t{1}](ops::EngramGatherParams&) mutable {
        for (int64_t i = 0; i < count; ++i)
          ids[i] = static_cast<int64_t>(next_random(state) % static_cast<uint64_t>(n));
      },
      table));
}

Cases engram_gate(const OpTable& t, const Shape& s, int64_t rows) {
  Maker m("engram_gate", "", rows);
  return list(m.done(t.engram_gate, ops::EngramGateParams{.streams = m.mat(kAct, rows, s.streams * s.hidden),
                                                          .kv = m.mat(kAct, rows, (s.streams + 1) * s.hidden),
                                                          .num_streams = static_cast<int>(s.streams),
                                                          .q_weight = m.bf16(s.streams * s.hidden),
                                                          .k_weight = m.bf16(s.streams * s.hidden),
                                                          .eps = 1e-6f}));
}

Cases hc_mix(const OpTable& t, const Shape& s, int64_t rows) {
  Maker m("hc_mix", "", rows);
  const int64_t n = s.streams * (s.streams + 2);
  auto fn = source(s, DType::kF32);
  ops::HcMixParams p{.streams = m.mat(kAct, rows, s.streams * s.hidden),
                     .num_streams = static_cast<int>(s.streams),
                     .base = m.floats(n),
                     .scale = m.floats(3),
                     .norm_eps = 1e-6f,
                     .hc_eps = 1e-6f,
                     .sinkhorn_iters = s.sinkhorn_iters,
                     .pre = m.array<float>(rows * s.streams),
                     .post = m.array<float>(rows * s.streams),
                     .comb = m.array<float>(rows * s.streams * s.streams)};
  const int64_t width = s.streams * s.hidden;
  return list(m.done(
      t.hc_mix, p, [fn, n, width](ops::HcMixParams& q) { q.fn = static_cast<const float*>(fn->next(n, width).data); },
      fn));
}

Cases hc_collapse(const OpTable& t, const Shape& s, int64_t rows) {
  Maker m("hc_collapse", "", rows);
  return list(m.done(t.hc_collapse, ops::HcCollapseParams{.streams = m.mat(kAct, rows, s.streams * s.hidden),
                                                          .num_streams = static_cast<int>(s.streams),
                                                          .pre = m.floats(rows * s.streams),
                                                          .norm_weight = m.bf16(s.hidden),
                                                          .eps = 1e-6f,
                                                          .out = m.mat(kAct, rows, s.hidden)}));
}

Cases hc_expand(const OpTable& t, const Shape& s, int64_t rows) {
  Maker m("hc_expand", "", rows);
  // Columns of comb sum to one and post stays small, so that repeated calls stay in range.
  float* comb = m.floats(rows * s.streams * s.streams, 0.2f, 0.25f);
  return list(m.done(t.hc_expand, ops::HcExpandParams{.streams = m.mat(kAct, rows, s.streams * s.hidden),
                                                      .num_streams = static_cast<int>(s.streams),
                                                      .y = m.mat(kAct, rows, s.hidden),
                                                      .post = m.floats(rows * s.streams, 0, 0.1f),
                                                      .comb = comb}));
}

Cases stream_mean(const OpTable& t, const Shape& s, int64_t rows) {
  Maker m("stream_mean", "", rows);
  return list(m.done(t.stream_mean, ops::StreamMeanParams{.streams = m.mat(kAct, rows, s.streams * s.hidden),
                                                          .num_streams = static_cast<int>(s.streams),
                                                          .out = m.mat(kAct, rows, s.hidden)}));
}

Cases rms_norm(const OpTable& t, const Shape& s, int64_t rows) {
  Maker m("rms_norm", "q", rows);
  return list(m.done(t.rms_norm, ops::RmsNormParams{.x = m.mat(kAct, rows, s.q_lora),
                                                    .weight = m.bf16(s.q_lora),
                                                    .eps = 1e-6f,
                                                    .out = m.mat(kAct, rows, s.q_lora)}));
}

Cases linear(const OpTable& t, const Shape& s, int64_t rows) {
  struct Product {
    const char* name;
    DType type;
    int64_t out, in;
    int groups;
    DType out_type;
  };
  const int64_t q = s.heads * s.head_dim, group_in = q / s.o_groups;
  const Product products[] = {
      {"wq_a", DType::kF8E4M3, s.q_lora, s.hidden, 1, kAct},
      {"wq_b", DType::kF8E4M3, q, s.q_lora, 1, kAct},
      {"wkv", DType::kF8E4M3, s.head_dim, s.hidden, 1, kAct},
      {"wo_a", DType::kF8E4M3, s.o_groups * s.o_lora, group_in, static_cast<int>(s.o_groups), kAct},
      {"wo_b", DType::kF8E4M3, s.hidden, s.o_groups * s.o_lora, 1, kAct},
      {"expert w1", DType::kF4E2M1x2, s.expert_hidden, s.hidden, 1, kAct},
      {"expert w2", DType::kF4E2M1x2, s.hidden, s.expert_hidden, 1, kAct},
      {"router gate", DType::kBF16, s.experts, s.hidden, 1, DType::kF32},
      {"head", DType::kBF16, s.vocab, s.hidden, 1, DType::kF32},
  };
  Cases out;
  std::shared_ptr<WeightSource> weights;
  DType held = DType::kF32;
  for (const Product& d : products) {
    const int64_t n = std::string_view(d.name) == "head" && rows > 8 ? 8 : rows;  // logits are wanted for few rows
    const int64_t bytes = d.out * d.in * static_cast<int64_t>(dtype_size(d.type)) + 64;
    if (!weights || held != d.type || weights->bytes() < bytes)
      weights = std::make_shared<WeightSource>(std::max(s.working_set, bytes), d.type), held = d.type;
    Maker m("linear", d.name, n);
    ops::LinearParams p{.x = m.mat(kAct, n, d.in * d.groups), .num_parts = 1};
    p.parts[0] = {.weight = {},
                  .out = m.mat(d.out_type, n, d.out),
                  .groups = d.groups,
                  .quantize = d.type != DType::kBF16 && d.groups == 1,
                  .accumulate = false};
    const int64_t cols = d.in;
    out.push_back(m.done(
        t.linear, p, [weights, r = d.out, cols](ops::LinearParams& l) { l.parts[0].weight = weights->next(r, cols); },
        weights));
  }
  return out;
}

Cases rope(const OpTable& t, const Shape& s, int64_t rows) {
  Maker m("rope", "q", rows);
  return list(m.done(t.rope, ops::RopeParams{.x = m.mat(kAct, rows, s.heads * s.head_dim),
                                             .heads = static_cast<int>(s.heads),
                                             .head_dim = static_cast<int>(s.head_dim),
                                             .rope_dim = static_cast<int>(s.rope_dim),
                                             .cos = m.floats(rows * s.rope_dim / 2, 0.6f, 0.6f),
                                             .sin = m.floats(rows * s.rope_dim / 2, 0.8f, 0.8f)}));
}

Cases store_records(const OpTable& t, const Shape& s, int64_t rows) {
  auto one = [&](const char* name, CacheFormat format, int64_t heads, int64_t dim, bool norm) {
    Maker m("store_records", name, rows);
    const int64_t bytes = heads * record_bytes(format, dim);
    int64_t* offsets = m.array<int64_t>(rows);
    for (int64_t r = 0; r < rows; ++r) offsets[r] = r * bytes;
    return m.done(t.store_records, ops::StoreRecordsParams{.x = m.mat(kAct, rows, heads * dim),
                                                           .heads = static_cast<int>(heads),
                                                           .dim = static_cast<int>(dim),
                                                           .rope_dim = static_cast<int>(s.rope_dim),
                                                           .norm_weight = norm ? m.bf16(dim) : nullptr,
                                                           .eps = 1e-6f,
                                                           .cos = m.floats(rows * s.rope_dim / 2, 0.6f, 0.6f),
                                                           .sin = m.floats(rows * s.rope_dim / 2, 0.8f, 0.8f),
                                                           .format = format,
                                                           .base = m.array<uint8_t>(rows * bytes),
                                                           .offsets = offsets});
  };
  return list(one("window", CacheFormat::kFp8, 1, s.head_dim, true),
              one("compressed", CacheFormat::kFp4E4m3, 1, s.head_dim, false),
              one("index q", CacheFormat::kFp4Ue8m0, s.index_heads, s.index_dim, false));
}

Cases compress(const OpTable& t, const Shape& s, int64_t rows) {
  Maker m("compress", "ratio 2", rows);
  constexpr int kSlots = 8;
  float** carry = m.array<float*>(1);
  carry[0] = m.floats(kSlots * 2 * s.head_dim);
  // The call stands at an odd position, so that one row alone completes an entry.
  const int64_t start = s.context + 1, entries = (rows + 1) / 2;
  return list(
      m.done(t.compress, ops::CompressParams{.score = m.mat(DType::kF32, rows, s.head_dim),
                                             .latent = m.mat(DType::kF32, rows, s.head_dim),
                                             .ratio = 2,
                                             .num_sequences = 1,
                                             .first_row = m.ints(1, [](int64_t) { return 0; }),
                                             .num_tokens = m.ints(1, [&](int64_t) { return rows; }),
                                             .start_position = m.ints(1, [&](int64_t) { return start; }),
                                             .carry = carry,
                                             .carry_slots = kSlots,
                                             .num_entries = static_cast<int>(entries),
                                             .entry_sequence = m.ints(entries, [](int64_t) { return 0; }),
                                             .entry_index = m.ints(entries, [&](int64_t i) { return start / 2 + i; }),
                                             .norm_weight = m.bf16(s.head_dim),
                                             .eps = 1e-6f,
                                             .out = m.mat(kAct, entries, s.head_dim)}));
}

Cases index_scores(const OpTable& t, const Shape& s, int64_t rows) {
  Maker m("index_scores", std::to_string(s.context) + " entries", rows);
  return list(m.done(t.index_scores,
                     ops::IndexScoresParams{.q = m.records(CacheFormat::kFp4Ue8m0, rows * s.index_heads, s.index_dim),
                                            .format = CacheFormat::kFp4Ue8m0,
                                            .heads = static_cast<int>(s.index_heads),
                                            .dim = static_cast<int>(s.index_dim),
                                            .weights = m.mat(kAct, rows, s.index_heads),
                                            .weight_scale = 0.01f,
                                            .keys = m.paged(CacheFormat::kFp4Ue8m0, s.context, s.index_dim),
                                            .rows = rows,
                                            .sequence = m.ints(rows, [](int64_t) { return 0; }),
                                            .visible = m.ints(rows, [&](int64_t) { return s.context; }),
                                            .out = m.array<float>(rows * s.context),
                                            .out_stride = s.context}));
}

Cases index_topk(const OpTable& t, const Shape& s, int64_t rows) {
  Maker m("index_topk", std::to_string(s.index_topk) + " of " + std::to_string(s.context), rows);
  return list(m.done(t.index_topk, ops::IndexTopkParams{.scores = m.floats(rows * s.context),
                                                        .stride = s.context,
                                                        .rows = rows,
                                                        .num_columns = m.ints(rows, [&](int64_t) { return s.context; }),
                                                        .k = static_cast<int>(s.index_topk),
                                                        .selected = m.array<int32_t>(rows * s.index_topk),
                                                        .num_selected = m.array<int32_t>(rows)}));
}

Cases candidate_blocks(const OpTable& t, const Shape& s, int64_t rows) {
  // Behind twice as many entries as the candidates hold, else every block is one.
  const int64_t entries = 2 * s.candidate_blocks * s.candidate_size, n = std::min<int64_t>(rows, 64);
  Maker m("candidate_blocks", std::to_string(entries) + " entries", n);
  return list(
      m.done(t.candidate_blocks, ops::CandidateBlocksParams{.scores = m.floats(n * entries),
                                                            .stride = entries,
                                                            .rows = n,
                                                            .visible = m.ints(n, [&](int64_t) { return entries; }),
                                                            .block_size = static_cast<int>(s.candidate_size),
                                                            .keep = static_cast<int>(s.candidate_blocks),
                                                            .blocks = m.array<int32_t>(n * s.candidate_blocks),
                                                            .num_blocks = m.array<int32_t>(n)}));
}

Cases sparse_attention(const OpTable& t, const Shape& s, int64_t rows) {
  auto one = [&](const char* name, bool compressed) {
    Maker m("sparse_attention", name, rows);
    const int64_t record = record_bytes(CacheFormat::kFp8, s.head_dim);
    const int64_t slots = s.window + 6, start = s.context - rows;
    const uint8_t** rings = m.array<const uint8_t*>(1);
    rings[0] = m.records(CacheFormat::kFp8, slots, s.head_dim);
    ops::SparseAttentionParams p{.q = m.mat(kAct, rows, s.heads * s.head_dim),
                                 .heads = static_cast<int>(s.heads),
                                 .dim = static_cast<int>(s.head_dim),
                                 .sequence = m.ints(rows, [](int64_t) { return 0; })};
    p.window = {.format = CacheFormat::kFp8,
                .dim = static_cast<int>(s.head_dim),
                .record_bytes = record,
                .ring_slots = static_cast<int>(slots),
                .rings = rings,
                .fresh = m.records(CacheFormat::kFp8, rows, s.head_dim),
                .fresh_first_row = m.ints(1, [](int64_t) { return 0; }),
                .fresh_start = m.ints(1, [&](int64_t) { return start; })};
    p.window_begin = m.ints(rows, [&](int64_t r) { return start + r + 1 - s.window; });
    p.window_end = m.ints(rows, [&](int64_t r) { return start + r + 1; });
    if (compressed) {
      p.compressed = m.paged(CacheFormat::kFp4E4m3, s.context, s.head_dim);
      int32_t* selected = m.array<int32_t>(rows * s.index_topk);
      const int64_t step = s.context / s.index_topk;
      for (int64_t r = 0; r < rows; ++r)  // ascending, other ones for every row
        for (int64_t i = 0; i < s.index_topk; ++i)
          selected[r * s.index_topk + i] = static_cast<int32_t>(i * step + m.below(step));
      p.selected = selected;
      p.num_selected = m.ints(rows, [&](int64_t) { return s.index_topk; });
      p.selected_stride = s.index_topk;
    }
    p.sink = m.floats(s.heads);
    p.scale = 1 / std::sqrt(static_cast<float>(s.head_dim));
    p.out = m.mat(kAct, rows, s.heads * s.head_dim);
    return m.done(t.sparse_attention, p);
  };
  return list(one("window", false), one("window + selected", true));
}

Cases router(const OpTable& t, const Shape& s, int64_t rows) {
  Maker m("router", "", rows);
  return list(m.done(t.router, ops::RouterParams{.logits = m.mat(DType::kF32, rows, s.experts),
                                                 .bias = m.floats(s.experts),
                                                 .top_k = static_cast<int>(s.top_k),
                                                 .scale = 1.5f,
                                                 .ids = m.array<int32_t>(rows * s.top_k),
                                                 .weights = m.array<float>(rows * s.top_k)}));
}

Cases moe(const OpTable& t, const Shape& s, int64_t rows) {
  const int64_t experts = s.experts_here;
  Maker m("moe", std::to_string(experts) + " experts held", rows);
  const int64_t per_expert = s.hidden * s.expert_hidden;
  auto weights = std::make_shared<WeightSource>(std::max(s.working_set, experts * 3 * per_expert / 2 + (1 << 20)),
                                                DType::kF4E2M1x2);
  auto shared = std::make_shared<WeightSource>(std::max(s.working_set / 4, 3 * per_expert + (1 << 20)), DType::kF8E4M3);
  auto three = [&](WeightSource& w) {
    return ops::ExpertWeights{.w1 = w.next(s.expert_hidden, s.hidden),
                              .w3 = w.next(s.expert_hidden, s.hidden),
                              .w2 = w.next(s.hidden, s.expert_hidden)};
  };
  auto table = std::make_shared<std::vector<ops::ExpertWeights>>();
  for (int64_t e = 0; e < experts; ++e) table->push_back(three(*weights));
  int32_t* ids = m.array<int32_t>(rows * s.top_k);
  ops::MoeParams p{.x = m.mat(kAct, rows, s.hidden),
                   .experts = table->data(),
                   .num_experts = static_cast<int>(experts),
                   .top_k = static_cast<int>(s.top_k),
                   .ids = ids,
                   .weights = m.floats(rows * s.top_k, 0.1f, 0.4f),
                   .limit = 10,
                   .quantize = true,
                   .out = m.mat(kAct, rows, s.hidden)};
  return list(m.done(
      t.moe, p,
      // Consecutive experts from a start that moves on: distinct within a row, the coldest ones next.
      [table, weights, shared, ids, rows, experts, top_k = s.top_k, hidden = s.hidden, inner = s.expert_hidden,
       first = int64_t{0}](ops::MoeParams& q) mutable {
        for (int64_t i = 0; i < rows * top_k; ++i) ids[i] = static_cast<int32_t>((first + i) % experts);
        first = (first + rows * top_k) % experts;
        q.shared = {
            .w1 = shared->next(inner, hidden), .w3 = shared->next(inner, hidden), .w2 = shared->next(hidden, inner)};
      },
      weights));
}

Cases gather_rows(const OpTable& t, const Shape& s, int64_t rows) {
  Maker m("gather_rows", "", rows);
  const int64_t cols = s.streams * s.hidden;
  return list(
      m.done(t.gather_rows, ops::GatherRowsParams{.x = m.mat(kAct, rows, cols),
                                                  .index = m.ints(rows, [&](int64_t i) { return rows - 1 - i; }),
                                                  .out = m.mat(kAct, rows, cols)}));
}

Cases confidence(const OpTable& t, const Shape& s, int64_t rows) {
  const int64_t rank = 256, n = std::min<int64_t>(rows, 64);
  Maker m("confidence", "", n);
  return list(m.done(t.confidence, ops::ConfidenceParams{.h = m.mat(kAct, n, s.hidden),
                                                         .e = m.mat(DType::kBF16, n, rank),
                                                         .weight = m.bf16(s.hidden + rank),
                                                         .out = m.array<float>(n)}));
}

// What draws tokens has a row a sequence, not one a prompt token.
constexpr int64_t kMaxDraws = 16;

Cases penalties(const OpTable& t, const Shape& s, int64_t rows) {
  const int64_t n = std::min(rows, kMaxDraws), seen = 1024;
  Maker m("penalties", "1024 seen", n);
  ops::PenaltyRow* row = m.array<ops::PenaltyRow>(n);
  for (int64_t r = 0; r < n; ++r)
    row[r] = {.seen_ids = m.ints(seen, [&](int64_t i) { return i * (s.vocab / seen); }),
              .output_counts = m.ints(seen, [](int64_t i) { return i % 3; }),
              .num_seen = static_cast<int>(seen),
              .repetition = 1.0f,
              .frequency = 1e-6f,
              .presence = 1e-6f};
  return list(m.done(t.penalties, ops::PenaltiesParams{.logits = m.mat(DType::kF32, n, s.vocab), .rows = row}));
}

Cases sample(const OpTable& t, const Shape& s, int64_t rows) {
  const int64_t n = std::min(rows, kMaxDraws);
  auto one = [&](const char* name, ops::SampleRow settings) {
    Maker m("sample", name, n);
    ops::SampleRow* row = m.array<ops::SampleRow>(n);
    for (int64_t r = 0; r < n; ++r) row[r] = settings, row[r].seed = static_cast<uint64_t>(r);
    return m.done(t.sample,
                  ops::SampleParams{.logits = {m.floats(n * s.vocab, -12, 12), DType::kF32, n, s.vocab, s.vocab},
                                    .rows = row,
                                    .tokens = m.array<int32_t>(n)});
  };
  ops::SampleRow greedy, plain, nucleus;
  greedy.temperature = 0;
  nucleus.top_p = 0.9f, nucleus.top_k = 50;
  return list(one("greedy", greedy), one("temperature 1", plain), one("top-p 0.9, top-k 50", nucleus));
}

Cases logprobs(const OpTable& t, const Shape& s, int64_t rows) {
  const int64_t n = std::min(rows, kMaxDraws), top = 20;
  Maker m("logprobs", "top 20", n);
  return list(m.done(t.logprobs, ops::LogprobsParams{.logits = m.mat(DType::kF32, n, s.vocab),
                                                     .ids = m.ints(n, [](int64_t i) { return i; }),
                                                     .top_n = static_cast<int>(top),
                                                     .logprob = m.array<float>(n),
                                                     .top_ids = m.array<int32_t>(n * top),
                                                     .top_logprobs = m.array<float>(n * top)}));
}

Cases accept_drafts(const OpTable& t, const Shape&, int64_t rows) {
  const int64_t n = std::min<int64_t>(rows, 64), drafts = 5;
  Maker m("accept_drafts", "5 drafts", n);
  return list(
      m.done(t.accept_drafts, ops::AcceptDraftsParams{.groups = static_cast<int>(n),
                                                      .first_row = m.ints(n, [](int64_t i) { return i * 6; }),
                                                      .num_drafts = m.ints(n, [](int64_t) { return drafts; }),
                                                      .sampled = m.ints(n * 6, [](int64_t i) { return i % 6; }),
                                                      .drafts = m.ints(n * drafts, [](int64_t i) { return i % 5; }),
                                                      .drafts_stride = drafts,
                                                      .accepted = m.array<int32_t>(n)}));
}

}  // namespace

const std::vector<CaseMaker>& case_makers() {
  static const std::vector<CaseMaker> makers = {
#define DEEPINFER_CASE(name, Params) {#name, name},
      DEEPINFER_OPS(DEEPINFER_CASE)
#undef DEEPINFER_CASE
  };
  return makers;
}

}  // namespace deepinfer::bench
