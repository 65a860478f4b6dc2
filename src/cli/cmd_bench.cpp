// `deepinfer bench WHAT`: the group of benchmark commands, each in its own file cmd_bench_<what>.cpp.
#include "cli/command.h"

// One line a benchmark.
// clang-format off
#define DEEPINFER_BENCHMARKS(X) \
  X(engine) \
  X(ops) \
  X(tokenizer)
// clang-format on

namespace deepinfer::cli {

#define DEEPINFER_DECLARE(name) void add_bench_##name(CLI::App&, CommandContext&);
DEEPINFER_BENCHMARKS(DEEPINFER_DECLARE)
#undef DEEPINFER_DECLARE

void add_bench(CLI::App& app, CommandContext& context) {
  CLI::App* sub = app.add_subcommand("bench", "measure one part of the engine, or all of it");
  sub->require_subcommand(1);
#define DEEPINFER_ADD(name) add_bench_##name(*sub, context);
  DEEPINFER_BENCHMARKS(DEEPINFER_ADD)
#undef DEEPINFER_ADD
}

}  // namespace deepinfer::cli
