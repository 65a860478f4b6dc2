// linear: prepares the activations once per arithmetic, then one dispatch over all outputs of all parts.
#include "backends/cpu/linear.h"

#include <algorithm>
#include <atomic>
#include <new>

#include "backends/cpu/gemm.h"

namespace deepinfer::cpu {
namespace {

// Outputs handed out at a time: the height of an FP8 scale block, so that no block is prepared twice.
constexpr int64_t kUnit = 32;

// Estimated cycles below which waking another thread does not pay: dispatch and join take about 100 ns on an idle
// machine (Zen 5 at 4.3 GHz, 2026-12-01), and half of 2000 cycles is 230 ns.
constexpr int64_t kInlineCycles = 2000;
// Values prepared by the caller alone: 4096 take about 350 ns.
constexpr int64_t kPrepareInline = 4096;

// Estimated cycles of `outputs` rows of a weight. Few rows: 64 bytes in about 5 cycles and a little more for each
// further row; many: decoding and 64 products a cycle (vdpbf16ps, Zen 5, 2026-12-01). Only shares work out, never
// changes a result.
int64_t cost_of(const ops::Weight& w, int64_t outputs, int64_t rows) {
  if (rows <= 4) return outputs * w.row_bytes() * (3 + rows) / 48 + 1;
  return outputs * w.cols * (6 + rows) / 64 + 1;
}

struct Prepared {
  const GemmKernels* kernels = nullptr;
  DType weight = DType::kBF16;
  int64_t k = 0;
  int groups = 1;
  bool quantize = false;
  int64_t group_bytes = 0, row_bytes = 0;
  uint8_t* data = nullptr;
};

}  // namespace

template <Isa isa>
void linear(const ops::LinearParams& p, ops::Context& ctx) {
  const int64_t rows = p.x.rows;
  if (rows == 0) return;
  Prepared prepared[ops::LinearParams::kMaxParts];
  int of_part[ops::LinearParams::kMaxParts];
  int num_prepared = 0;
  int64_t tile = 0, work = 0;
  for (int i = 0; i < p.num_parts; ++i) {
    const ops::LinearParams::Part& part = p.parts[i];
    const ops::Weight& w = part.weight;
    const GemmKernels* k = &gemm_kernels(isa, p.x.dtype, w);
    int at = 0;
    for (; at < num_prepared; ++at) {
      const Prepared& q = prepared[at];
      // fp32 kernels do not care for the weight's type
      if (q.kernels == k && (q.weight == w.dtype || k->swiglu) && q.k == w.cols && q.groups == part.groups &&
          q.quantize == part.quantize)
        break;
    }
    of_part[i] = at;
    tile = std::max(tile, k->tile_bytes(w.dtype, w.cols));
    work += cost_of(w, w.rows, rows);
    if (at < num_prepared) continue;
    Prepared& q = prepared[num_prepared++];
    q = {k, w.dtype, w.cols, part.groups, part.quantize, k->row_bytes(w.dtype, w.cols), 0, nullptr};
    q.row_bytes = q.group_bytes * q.groups;
    q.data = ctx.scratch->alloc<uint8_t>(q.row_bytes * rows);
  }
  const int threads = ctx.pool->num_threads();
  uint8_t* tiles = ctx.scratch->alloc<uint8_t>(tile * threads);

  const int64_t x_size = static_cast<int64_t>(dtype_size(p.x.dtype));
  auto prepare_rows = [&](int64_t begin, int64_t end, int) {
    for (int64_t r = begin; r < end; ++r)
      for (int i = 0; i < num_prepared; ++i) {
        const Prepared& q = prepared[i];
        const uint8_t* x = p.x.row<uint8_t>(0) + r * p.x.stride * x_size;
        for (int g = 0; g < q.groups; ++g)
          q.kernels->prepare(q.weight, p.x.dtype, x + g * q.k * x_size, q.k, q.quantize,
                             q.data + r * q.row_bytes + g * q.group_bytes);
      }
  };
  if (rows * p.x.cols * num_prepared <= kPrepareInline)
    prepare_rows(0, rows, 0);
  else
    ctx.pool->parallel_for(rows, 1, prepare_rows);

  // Outputs [begin, end) of a part, cut at group borders; `after`: weights that this thread reads next, if known.
  auto outputs = [&](int i, int64_t begin, int64_t end, uint8_t* scratch, const uint8_t* after) {
    const ops::LinearParams::Part& part = p.parts[i];
    const Prepared& q = prepared[of_part[i]];
    const int64_t per_group = part.weight.rows / part.groups;
    for (int64_t o = begin; o < end;) {
      const int64_t g = o / per_group, stop = std::min(end, (g + 1) * per_group);
      GemmTask t;
      t.weight = &part.weight;
      t.out_begin = o;
      t.out_end = stop;
      t.x = q.data + g * q.group_bytes;
      t.x_stride = q.row_bytes;
      t.rows = rows;
      t.out = part.out.data;
      t.out_stride = part.out.stride;
      t.out_bf16 = part.out.dtype == DType::kBF16;
      t.accumulate = part.accumulate;
      t.tile = scratch;
      t.next = stop < end ? part.weight.row(stop) : after;
      q.kernels->gemm(t);
      o = stop;
    }
  };

  if (threads == 1 || work < kInlineCycles) {
    for (int i = 0; i < p.num_parts; ++i)
      outputs(i, 0, p.parts[i].weight.rows, tiles, i + 1 < p.num_parts ? p.parts[i + 1].weight.row(0) : nullptr);
    return;
  }
  // Units of all parts in one line, handed out in order; a unit's cost is its weight rows, so big parts come in many
  // units.
  int64_t first_unit[ops::LinearParams::kMaxParts + 1] = {0};
  for (int i = 0; i < p.num_parts; ++i)
    first_unit[i + 1] = first_unit[i] + (p.parts[i].weight.rows + kUnit - 1) / kUnit;
  const int64_t units = first_unit[p.num_parts];
  if (rows <= 4) {
    // Bandwidth-bound and short: a static split by bytes, no shared counter.
    int64_t cost[ops::LinearParams::kMaxParts], total = 0;  // of one output
    for (int i = 0; i < p.num_parts; ++i) {
      cost[i] = cost_of(p.parts[i].weight, kUnit, rows);
      total += cost[i] * p.parts[i].weight.rows;
    }
    ctx.pool->run([&](int thread, int n) {
      const int64_t low = total * thread / n, high = total * (thread + 1) / n;
      int64_t at = 0, first[ops::LinearParams::kMaxParts], last[ops::LinearParams::kMaxParts];
      for (int i = 0; i < p.num_parts; ++i) {
        const int64_t part_rows = p.parts[i].weight.rows, part_cost = cost[i] * part_rows;
        // Cut points are rounded to whole units; both neighbours round alike.
        auto cut = [&](int64_t share) {
          const int64_t row = std::clamp<int64_t>((share - at) / cost[i], 0, part_rows);
          return row == part_rows ? row : row / kUnit * kUnit;
        };
        first[i] = low <= at ? 0 : cut(low);
        last[i] = high >= at + part_cost ? part_rows : cut(high);
        at += part_cost;
      }
      for (int i = 0; i < p.num_parts; ++i) {
        if (first[i] >= last[i]) continue;
        const bool more = i + 1 < p.num_parts && first[i + 1] < last[i + 1];
        outputs(i, first[i], last[i], tiles + tile * thread, more ? p.parts[i + 1].weight.row(first[i + 1]) : nullptr);
      }
    });
    return;
  }
  // Every thread starts on a stretch of its own, so that neighbouring outputs are written by one processor, and then
  // helps the others with theirs: a thread that the system takes away for a while holds nobody up.
  struct alignas(64) Counter {
    std::atomic<int64_t> next{0};
  };
  Counter* counters = ctx.scratch->alloc<Counter>(threads);
  for (int i = 0; i < threads; ++i) new (&counters[i]) Counter;
  ctx.pool->run([&](int thread, int n) {
    for (int turn = 0; turn < n; ++turn) {
      const int owner = (thread + turn) % n;
      const int64_t low = units * owner / n, high = units * (owner + 1) / n;
      for (int64_t u; (u = low + counters[owner].next.fetch_add(1, std::memory_order_relaxed)) < high;) {
        int i = 0;
        while (u >= first_unit[i + 1]) ++i;
        const int64_t begin = (u - first_unit[i]) * kUnit;
        const int64_t end = std::min(begin + kUnit, p.parts[i].weight.rows);
        outputs(i, begin, end, tiles + tile * thread,
                end < p.parts[i].weight.rows ? p.parts[i].weight.row(end) : nullptr);
      }
    }
  });
}

template void linear<Isa::kGeneric>(const ops::LinearParams&, ops::Context&);
template void linear<Isa::kAvx2>(const ops::LinearParams&, ops::Context&);
template void linear<Isa::kAvx512>(const ops::LinearParams&, ops::Context&);
template void linear<Isa::kAvx512Bf16>(const ops::LinearParams&, ops::Context&);
template void linear<Isa::kAmx>(const ops::LinearParams&, ops::Context&);

}  // namespace deepinfer::cpu
