// `deepinfer check WHAT`: proofs that this build is right on this machine. `check ops` runs every operator's
// conformance suite on a backend against the reference; for the cpu backend on every instruction-set path this
// processor has, or on the one that DEEPINFER_CPU_ISA names.
#include <algorithm>
#include <cstdlib>

#include "backends/conformance/conformance.h"
#include "base/json_writer.h"
#include "cli/command.h"

namespace deepinfer::cli {
namespace {

struct Options {
  std::string backend = "auto", op;
  uint64_t seed = 1;
  bool json = false;
};

struct Outcome {
  int passed = 0, failed = 0;
};

Status check_table(const OpTable& table, const Options& o, JsonWriter& json, Outcome& total) {
  DI_TRY(const std::vector<conformance::SuiteReport> reports, conformance::run_suites(table, o.op, o.seed));
  const std::vector<std::string> missing = missing_operators(table);
  if (!o.json)
    DI_TRY_STATUS(write_stdout(
        fmt::format("{} ({})\n  {:<18}{:>7}{:>7}{:>10}  {}\n", table.backend, table.isa, "operator", "passed", "failed",
                    "worst", "allowed difference from the reference (worst: share of it that was used)")));
  for (const conformance::SuiteReport& r : reports) {
    total.passed += r.passed;
    total.failed += r.failed;
    bool lacks = false;
    for (const std::string& name : missing) lacks |= name == r.op;
    total.failed += lacks;
    if (o.json) {
      json.begin_object().field("backend", table.backend).field("isa", table.isa).field("op", r.op);
      json.field("passed", r.passed).field("failed", r.failed).field("worst", r.worst).field("missing", lacks);
      json.field("first_failure", r.first_failure).end_object();
      continue;
    }
    std::string line = fmt::format("  {:<18}{:>7}{:>7}{:>10.3f}  {}\n", r.op, r.passed, r.failed, r.worst, r.tolerance);
    if (lacks) line += "      MISSING: the backend has none and borrows the reference\n";
    if (!r.first_failure.empty()) line += "      FAILED " + r.first_failure + "\n";
    DI_TRY_STATUS(write_stdout(line));
  }
  return {};
}

Result<int> check_ops(const Options& o) {
  Outcome total;
  JsonWriter json;
  json.begin_array();
  const char* forced = std::getenv("DEEPINFER_CPU_ISA");
  const bool every_path = (o.backend == "cpu" || o.backend == "auto") && !(forced && *forced);
  if (every_path) {
    const std::vector<std::string> available = available_cpu_isas();
    for (const char* isa : {"generic", "avx2", "avx512", "avx512_bf16", "amx"}) {
      if (std::find(available.begin(), available.end(), isa) == available.end()) {
        if (!o.json) DI_TRY_STATUS(write_stdout(fmt::format("cpu ({}): skipped, this processor cannot run it\n", isa)));
        continue;
      }
      ::setenv("DEEPINFER_CPU_ISA", isa, 1);
      Result<OpTable> table = make_op_table(o.backend);
      ::unsetenv("DEEPINFER_CPU_ISA");
      if (!table) return tl::unexpected<Error>(table.error());
      DI_TRY_STATUS(check_table(*table, o, json, total));
    }
  } else {
    DI_TRY(const OpTable table, make_op_table(o.backend));
    DI_TRY_STATUS(check_table(table, o, json, total));
  }
  if (o.json) {
    DI_TRY_STATUS(write_stdout(json.end_array().take() + "\n"));
  } else {
    DI_TRY_STATUS(write_stdout(fmt::format("{} cases passed, {} failed\n", total.passed, total.failed)));
  }
  if (total.failed > 0)
    return fail(ErrorCode::kInternal, "check ops: {} of {} cases failed; the table above names them", total.failed,
                total.passed + total.failed);
  return 0;
}

}  // namespace

void add_check(CLI::App& app, CommandContext& context) {
  CLI::App* check = app.add_subcommand("check", "prove that this build computes what it should on this machine");
  check->require_subcommand(1);
  auto o = std::make_shared<Options>();
  CLI::App* sub = check->add_subcommand("ops", "every operator's cases on a backend against the reference");
  sub->add_option("--backend", o->backend, "auto, cpu or reference");
  sub->add_option("--op", o->op, "only this operator");
  sub->add_option("--seed", o->seed, "other random data");
  sub->add_flag("--json", o->json, "one JSON array on stdout");
  sub->callback([&context, o] { context.run = [o] { return check_ops(*o); }; });
}

}  // namespace deepinfer::cli
