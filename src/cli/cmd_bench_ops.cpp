// `deepinfer bench ops`: every operator at a model's shapes against the ceilings measured in the same run
// (backends/bench/bench.h says how).
#include <unistd.h>

#include "backends/bench/bench.h"
#include "base/interrupt.h"
#include "base/json_writer.h"
#include "cli/command.h"

namespace deepinfer::cli {
namespace {

struct Options {
  std::string backend = "auto", rows = "1,512", working_set;
  bench::OpsOptions ops;
  int threads = 0;
  bool json = false;
};

void append(JsonWriter& w, const bench::OpTiming& t) {
  w.begin_object().field("op", t.op).field("case", t.name).field("rows", t.rows).field("calls", t.calls);
  w.field("us", t.seconds * 1e6).field("weight_bytes", t.cost.weight_bytes).field("cache_bytes", t.cost.cache_bytes);
  w.field("io_bytes", t.cost.io_bytes).field("flops", t.cost.flops).field("unit", ops::unit_name(t.cost.unit));
  w.field("read_gb_s", t.read_bandwidth * 1e-9).field("peak_gflop_s", t.peak_flops * 1e-9);
  w.field("floor_us", t.floor_seconds * 1e6).field("bound", t.bound).field("share", t.share()).end_object();
}

std::string row(const bench::OpTiming& t) {
  return fmt::format("{:<17}{:<20}{:>5}{:>11.1f}{:>9.1f}{:>10.1f}{:>9.1f}{:>10.1f}{:>11.1f}  {:<12}{:>6.1f} %\n", t.op,
                     t.name, t.rows, t.seconds * 1e6, t.cost.bytes() / t.seconds * 1e-9, t.read_bandwidth * 1e-9,
                     t.cost.flops / t.seconds * 1e-9, t.peak_flops * 1e-9, t.floor_seconds * 1e6, t.bound,
                     t.share() * 100);
}

Result<int> bench_ops(Options o) {
  DI_TRY(o.ops.rows, parse_integers("--rows", o.rows, 1));
  for (int64_t n : o.ops.rows)
    if (n > 8192) return fail(ErrorCode::kInvalidArgument, "--rows {}: at most 8192", n);
  if (o.threads < 0 || o.threads > 1024)
    return fail(ErrorCode::kInvalidArgument, "--threads {}: expected 1 to 1024, or 0 for all", o.threads);
  if (!o.working_set.empty()) {
    DI_TRY(o.ops.working_set, parse_bytes(o.working_set));
    const int64_t memory = int64_t{sysconf(_SC_PHYS_PAGES)} * sysconf(_SC_PAGESIZE);
    if (o.ops.working_set < (1 << 20) || o.ops.working_set > memory / 4)
      return fail(ErrorCode::kInvalidArgument, "--working-set {}: expected 1 MiB to a quarter of the memory, {}",
                  o.working_set, human_bytes(static_cast<double>(memory) / 4));
  }
  DI_TRY(const OpTable table, make_op_table(o.backend));
  ThreadPool pool(o.threads > 0 ? o.threads : default_thread_count());
  const MachineProbe probe = machine_probe(table);
  install_interrupt_handler();

  JsonWriter json;
  if (o.json) {
    json.begin_object().field("backend", table.backend).field("isa", table.isa).field("threads", pool.num_threads());
    json.field("shape", o.ops.shape).key("ops").begin_array();
  } else {
    DI_TRY_STATUS(write_stdout(
        fmt::format("{} ({}), {} threads, shapes of {}; matrix products use {}, fp32 sums {}\n"
                    "{:<17}{:<20}{:>5}{:>11}{:>9}{:>10}{:>9}{:>10}{:>11}  {:<12}{:>8}\n",
                    table.backend, table.isa, pool.num_threads(), o.ops.shape, probe.instruction(ops::Unit::kMatrix),
                    probe.instruction(ops::Unit::kFma), "operator", "case", "rows", "us", "GB/s", "of GB/s", "GFLOP/s",
                    "of GFL/s", "floor us", "bound by", "of floor")));
  }
  Status status, written;
  status = bench::run_ops(table, pool, o.ops, [&](const bench::OpTiming& t) {
    if (o.json) {
      append(json, t);
    } else {
      written = write_stdout(row(t));
    }
    return written.has_value() && !interrupted();
  });
  DI_TRY_STATUS(status);
  DI_TRY_STATUS(written);
  if (interrupted()) return fail(ErrorCode::kCancelled, "cancelled; what was measured is shown");
  if (o.json) DI_TRY_STATUS(write_stdout(json.end_array().end_object().take() + "\n"));
  return 0;
}

}  // namespace

void add_bench_ops(CLI::App& app, CommandContext& context) {
  auto o = std::make_shared<Options>();
  CLI::App* sub = app.add_subcommand("ops", "every operator against the ceilings of this machine");
  sub->add_option("--op", o->ops.op, "only this operator");
  sub->add_option("--shape", o->ops.shape, "v41-flash (weights far larger than the caches) or small")
      ->capture_default_str();
  sub->add_option("--rows", o->rows, "tokens of a call, a comma list")->capture_default_str();
  sub->add_option("--working-set", o->working_set, "bytes of weights gone through in turn, such as 64MiB");
  sub->add_option("--backend", o->backend, "auto, cpu or reference")->capture_default_str();
  sub->add_option("--threads", o->threads, "0: one per core")->capture_default_str();
  sub->add_option("--seconds", o->ops.seconds, "to spend on each case")
      ->check(CLI::Range(0.001, 60.0))
      ->capture_default_str();
  sub->add_flag("--json", o->json, "one JSON object");
  sub->callback([&context, o] { context.run = [o] { return bench_ops(*o); }; });
}

}  // namespace deepinfer::cli
