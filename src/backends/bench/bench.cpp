#include "backends/bench/bench.h"

#include <algorithm>

#include "backends/bench/cases.h"
#include "base/stopwatch.h"

namespace deepinfer::bench {
namespace {

double median(std::vector<double> v) {
  if (v.empty()) return 0;
  std::nth_element(v.begin(), v.begin() + static_cast<int64_t>(v.size() / 2), v.end());
  return v[v.size() / 2];
}

Result<OpTiming> time_case(Case& c, const MachineProbe& probe, ThreadPool& pool, const BandwidthLadder& ladder,
                           double seconds) {
  Arena scratch;
  ops::Context ctx{.pool = &pool, .scratch = &scratch};
  auto once = [&] {
    scratch.reset();
    const auto start = Clock::now();
    c.call(ctx);
    return seconds_since(start);
  };
  once();
  const double first = once();
  OpTiming t{.op = c.op, .name = c.name, .rows = c.rows};
  t.cost = c.cost();
  if (const Status valid = c.check(); !valid)
    return fail(ErrorCode::kInternal, "bench ops: {} {}: {}", c.op, c.name, valid.error().message);
  constexpr int kRounds = 7;
  const int64_t calls = std::clamp<int64_t>(static_cast<int64_t>(seconds / kRounds / std::max(first, 1e-7)), 1, 2000);
  std::vector<double> times, reads, peaks;
  for (int round = 0; round < kRounds; ++round) {
    if (c.weights) reads.push_back(probe.read_bandwidth(c.weights->data(), c.weights->bytes(), pool));
    if (t.cost.flops > 0) peaks.push_back(probe.peak_flops(t.cost.unit, pool));
    for (int64_t i = 0; i < calls; ++i) times.push_back(once());
  }
  t.calls = static_cast<int64_t>(times.size());
  t.seconds = median(times);
  t.read_bandwidth = median(reads);
  t.peak_flops = median(peaks);
  // Caches of a case without rotating weights stay warm: their bytes count as activations.
  ops::Cost cost = t.cost;
  if (!c.weights) cost.io_bytes += cost.weight_bytes + cost.cache_bytes, cost.weight_bytes = cost.cache_bytes = 0;
  const Floor f = floor_of(cost, t.read_bandwidth, ladder.at(cost.io_bytes), t.peak_flops);
  t.floor_seconds = f.seconds;
  t.bound = f.bound;
  return t;
}

}  // namespace

Floor floor_of(const ops::Cost& cost, double read_bandwidth, double io_bandwidth, double peak_flops) {
  const double read = read_bandwidth > 0 ? (cost.weight_bytes + cost.cache_bytes) / read_bandwidth : 0;
  const double io = io_bandwidth > 0 ? cost.io_bytes / io_bandwidth : 0;
  const double compute = peak_flops > 0 ? cost.flops / peak_flops : 0;
  if (compute >= read + io) return {compute, "compute"};
  return {read + io, read >= io ? "read" : "activations"};
}

BandwidthLadder::BandwidthLadder(const OpTable& table, ThreadPool& pool) {
  const MachineProbe probe = machine_probe(table);
  constexpr int64_t kSizes[] = {64 << 10, 1 << 20, 4 << 20, 32 << 20, int64_t{256} << 20};
  AlignedBuffer data(static_cast<size_t>(kSizes[4]));
  std::fill(data.data(), data.data() + data.size(), uint8_t{1});
  for (int64_t size : kSizes) {
    const int64_t bytes = size * (size <= (1 << 20) ? pool.num_threads() : 1);  // the first two are caches of a core
    std::vector<double> samples;
    for (int i = 0; i < 5; ++i) samples.push_back(probe.read_bandwidth(data.data(), std::min(bytes, kSizes[4]), pool));
    steps_.push_back({bytes, median(samples)});
  }
}

double BandwidthLadder::at(double bytes) const {
  for (const Step& s : steps_)
    if (bytes <= static_cast<double>(s.bytes)) return s.bandwidth;
  return steps_.back().bandwidth;
}

Status run_ops(const OpTable& table, ThreadPool& pool, const OpsOptions& o,
               const std::function<bool(const OpTiming&)>& done) {
  const Shape* known_shape = find_shape(o.shape);
  if (!known_shape) return fail(ErrorCode::kInvalidArgument, "--shape {}: unknown; choose v41-flash or small", o.shape);
  bool known = o.op.empty();
  for (const CaseMaker& m : case_makers()) known |= o.op == m.op;
  if (!known)
    return fail(ErrorCode::kInvalidArgument, "--op {}: no such operator; `deepinfer check ops` lists them", o.op);
  Shape shape = *known_shape;
  if (o.working_set > 0) shape.working_set = o.working_set;
  const BandwidthLadder ladder(table, pool);
  const MachineProbe probe = machine_probe(table);
  for (const CaseMaker& m : case_makers()) {
    if (!o.op.empty() && o.op != m.op) continue;
    std::vector<std::string> seen;  // operators that draw tokens cap their rows: show a case once
    for (int64_t rows : o.rows)
      for (Case& c : m.make(table, shape, rows)) {
        const std::string id = c.name + "/" + std::to_string(c.rows);
        if (std::find(seen.begin(), seen.end(), id) != seen.end()) continue;
        seen.push_back(id);
        DI_TRY(const OpTiming timing, time_case(c, probe, pool, ladder, o.seconds));
        if (!done(timing)) return {};
      }
  }
  return {};
}

}  // namespace deepinfer::bench
