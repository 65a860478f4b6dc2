#include "ops/cost.h"

#include <algorithm>
#include <vector>

namespace deepinfer::ops {
namespace {

double bytes_of(const Mat& m) {
  return static_cast<double>(m.rows) * static_cast<double>(m.cols) * static_cast<double>(dtype_size(m.dtype));
}

double bytes_of(const Weight& w) { return static_cast<double>(w.rows * w.row_bytes() + w.scale_bytes()); }

double product(double rows, const Weight& w) {
  return 2 * rows * static_cast<double>(w.rows) * static_cast<double>(w.cols);
}

Unit unit_of(DType act, DType weight) {
  return act == DType::kF32 || weight == DType::kF32 ? Unit::kFma : Unit::kMatrix;
}

// Sum over sequences of the largest `last` minus smallest `first`: records that the rows of a sequence share.
template <typename First, typename Last>
double shared_range(int64_t rows, const int32_t* sequence, First first, Last last) {
  double total = 0;
  for (int64_t r = 0; r < rows;) {
    int64_t low = first(r), high = last(r), end = r + 1;
    for (; end < rows && sequence[end] == sequence[r]; ++end) {
      low = std::min<int64_t>(low, first(end));
      high = std::max<int64_t>(high, last(end));
    }
    total += static_cast<double>(std::max<int64_t>(0, high - low));
    r = end;
  }
  return total;
}

}  // namespace

const char* unit_name(Unit unit) {
  switch (unit) {
    case Unit::kNone:
      return "none";
    case Unit::kFma:
      return "fma";
    case Unit::kInt8:
      return "int8";
    case Unit::kMatrix:
      return "matrix";
  }
  return "?";
}

Cost& Cost::operator+=(const Cost& o) {
  weight_bytes += o.weight_bytes;
  cache_bytes += o.cache_bytes;
  io_bytes += o.io_bytes;
  flops += o.flops;
  unit = std::max(unit, o.unit);
  return *this;
}

Cost cost(const EmbedParams& p) {
  const double rows = static_cast<double>(p.streams.rows);
  return {.weight_bytes = rows * static_cast<double>(p.table.cols) * 2, .io_bytes = bytes_of(p.streams) + rows * 4};
}

Cost cost(const EngramHashParams& p) {
  const double columns = static_cast<double>(p.max_ngram - 1) * p.heads;
  return {.io_bytes = static_cast<double>(p.rows) * (4.0 * p.max_ngram + 8 * columns)};
}

Cost cost(const EngramGatherParams& p) {
  const double picks = static_cast<double>(p.out.rows) * p.columns;
  return {.weight_bytes = picks * (p.dim + p.dim / 32.0), .io_bytes = bytes_of(p.out) + 8 * picks};
}

Cost cost(const EngramGateParams& p) {
  const double d = static_cast<double>(p.streams.cols);
  return {.weight_bytes = 4 * d, .io_bytes = 2 * bytes_of(p.streams) + bytes_of(p.kv)};
}

Cost cost(const HcMixParams& p) {
  const double m = p.num_streams, coefficients = m * (m + 2), width = static_cast<double>(p.streams.cols);
  return {.weight_bytes = 4 * coefficients * (width + 1) + 12,
          .io_bytes = bytes_of(p.streams) + static_cast<double>(p.streams.rows) * 4 * coefficients,
          .flops = 2 * static_cast<double>(p.streams.rows) * (coefficients + 1) * width,
          .unit = Unit::kFma};
}

Cost cost(const HcCollapseParams& p) {
  return {.weight_bytes = p.norm_weight ? 2 * static_cast<double>(p.out.cols) : 0,
          .io_bytes = bytes_of(p.streams) + bytes_of(p.out) + 4.0 * static_cast<double>(p.out.rows) * p.num_streams};
}

Cost cost(const HcExpandParams& p) {
  const double m = p.num_streams;
  return {.io_bytes = 2 * bytes_of(p.streams) + bytes_of(p.y) + 4 * static_cast<double>(p.y.rows) * m * (m + 1),
          .flops = 2 * static_cast<double>(p.streams.rows) * static_cast<double>(p.streams.cols) * (m + 1),
          .unit = Unit::kFma};
}

Cost cost(const StreamMeanParams& p) { return {.io_bytes = bytes_of(p.streams) + bytes_of(p.out)}; }

Cost cost(const RmsNormParams& p) {
  return {.weight_bytes = 2 * static_cast<double>(p.x.cols), .io_bytes = bytes_of(p.x) + bytes_of(p.out)};
}

Cost cost(const LinearParams& p) {
  Cost c{.io_bytes = bytes_of(p.x)};
  for (int i = 0; i < p.num_parts; ++i) {
    const LinearParams::Part& part = p.parts[i];
    c.weight_bytes += bytes_of(part.weight);
    c.io_bytes += bytes_of(part.out) * (part.accumulate ? 2 : 1);
    c.flops += product(static_cast<double>(p.x.rows), part.weight);  // [G*N, K]: every group uses its own K inputs
    // Parts of a call may use two units; the faster one keeps the figure a floor.
    c.unit = std::max(c.unit, unit_of(p.x.dtype, part.weight.dtype));
  }
  return c;
}

Cost cost(const RopeParams& p) {
  const double rows = static_cast<double>(p.x.rows), turned = rows * p.heads * p.rope_dim;
  return {.io_bytes = 2 * turned * static_cast<double>(dtype_size(p.x.dtype)) + rows * 4 * p.rope_dim};
}

Cost cost(const StoreRecordsParams& p) {
  const double rows = static_cast<double>(p.x.rows);
  return {.weight_bytes = p.norm_weight ? 2.0 * p.dim : 0,
          .io_bytes = bytes_of(p.x) + rows * p.heads * static_cast<double>(record_bytes(p.format, p.dim)) +
                      (p.cos ? rows * 4 * p.rope_dim : 0)};
}

Cost cost(const CompressParams& p) {
  const double pair = 8 * static_cast<double>(p.score.cols);
  double written = 0;
  for (int s = 0; s < p.num_sequences; ++s) written += std::min(p.num_tokens[s], p.carry_slots);
  return {.weight_bytes = 2 * static_cast<double>(p.score.cols),
          .io_bytes = bytes_of(p.score) + bytes_of(p.latent) + written * pair + bytes_of(p.out)};
}

Cost cost(const IndexScoresParams& p) {
  const double record = static_cast<double>(record_bytes(p.format, p.dim));
  auto columns = [&](int64_t r) -> int64_t {
    return p.blocks ? std::min<int64_t>(p.visible[r], int64_t{p.num_blocks[r]} * p.block_size) : p.visible[r];
  };
  double scored = 0;
  for (int64_t r = 0; r < p.rows; ++r) scored += static_cast<double>(columns(r));
  const double keys = shared_range(
      p.rows, p.sequence, [](int64_t) { return int64_t{0}; }, columns);
  return {.cache_bytes = keys * record,
          .io_bytes = static_cast<double>(p.rows) * p.heads * record + bytes_of(p.weights) + scored * 4,
          .flops = 2 * scored * p.heads * p.dim,
          .unit = p.format == CacheFormat::kF32 ? Unit::kFma : Unit::kInt8};
}

Cost cost(const IndexTopkParams& p) {
  double columns = 0;
  for (int64_t r = 0; r < p.rows; ++r) columns += p.num_columns[r];
  return {.io_bytes = 4 * columns + static_cast<double>(p.rows) * 4 * (p.k + 1)};
}

Cost cost(const CandidateBlocksParams& p) {
  double columns = 0;
  for (int64_t r = 0; r < p.rows; ++r) columns += p.visible[r];
  return {.io_bytes = 4 * columns + static_cast<double>(p.rows) * 4 * (p.keep + 1)};
}

Cost cost(const SparseAttentionParams& p) {
  const int64_t rows = p.q.rows;
  double keys = 0, compressed = 0, most = 0;
  for (int64_t r = 0; r < rows; ++r) {
    const double selected = p.compressed.tables ? p.num_selected[r] : 0;
    keys += std::max(0, p.window_end[r] - p.window_begin[r]) + selected;
    // Rows of a sequence may pick the same entries; at least the longest list must be read.
    most = r > 0 && p.sequence[r] == p.sequence[r - 1] ? std::max(most, selected) : selected;
    if (r + 1 == rows || p.sequence[r + 1] != p.sequence[r]) compressed += most;
  }
  const double window = shared_range(
      rows, p.sequence, [&](int64_t r) { return p.window_begin[r]; }, [&](int64_t r) { return p.window_end[r]; });
  return {.cache_bytes = window * static_cast<double>(record_bytes(p.window.format, p.dim)) +
                         compressed * static_cast<double>(record_bytes(p.compressed.format, p.dim)),
          .io_bytes = bytes_of(p.q) + bytes_of(p.out),
          .flops = 4 * keys * p.heads * p.dim,
          .unit = p.q.dtype == DType::kF32 ? Unit::kFma : Unit::kMatrix};
}

Cost cost(const RouterParams& p) {
  return {.weight_bytes = 4 * static_cast<double>(p.logits.cols),
          .io_bytes = bytes_of(p.logits) + 8 * static_cast<double>(p.logits.rows) * p.top_k};
}

Cost cost(const MoeParams& p) {
  Cost c{.io_bytes = bytes_of(p.x) + bytes_of(p.out)};
  auto add = [&](const ExpertWeights& e, double rows) {
    for (const Weight* w : {&e.w1, &e.w3, &e.w2}) {
      c.weight_bytes += bytes_of(*w);
      c.flops += product(rows, *w);
      c.unit = unit_of(p.x.dtype, w->dtype);
    }
  };
  std::vector<int64_t> uses(static_cast<size_t>(p.num_experts));
  for (int64_t i = 0; i < p.x.rows * p.top_k; ++i) ++uses[static_cast<size_t>(p.ids[i])];
  for (int e = 0; e < p.num_experts; ++e)
    if (uses[static_cast<size_t>(e)] > 0) add(p.experts[e], static_cast<double>(uses[static_cast<size_t>(e)]));
  if (!p.shared.w1.empty()) add(p.shared, static_cast<double>(p.x.rows));
  return c;
}

Cost cost(const GatherRowsParams& p) { return {.io_bytes = 2 * bytes_of(p.out)}; }

Cost cost(const ConfidenceParams& p) {
  return {.weight_bytes = 2 * static_cast<double>(p.h.cols + p.e.cols),
          .io_bytes = bytes_of(p.h) + bytes_of(p.e) + 4 * static_cast<double>(p.h.rows),
          .flops = 2 * static_cast<double>(p.h.rows) * static_cast<double>(p.h.cols + p.e.cols),
          .unit = Unit::kFma};
}

Cost cost(const PenaltiesParams& p) {
  double touched = 0;
  for (int64_t r = 0; r < p.logits.rows; ++r) touched += p.rows[r].num_bias + p.rows[r].num_seen;
  return {.io_bytes = 16 * touched};  // id, count or bias, logit read and written
}

Cost cost(const SampleParams& p) { return {.io_bytes = bytes_of(p.logits)}; }

Cost cost(const LogprobsParams& p) {
  return {.io_bytes = bytes_of(p.logits) + 8 * static_cast<double>(p.logits.rows) * (p.top_n + 1)};
}

Cost cost(const AcceptDraftsParams& p) {
  double drafts = 0;
  for (int g = 0; g < p.groups; ++g) drafts += p.num_drafts[g];
  return {.io_bytes = 8 * drafts + 4.0 * p.groups};
}

}  // namespace deepinfer::ops
