// `deepinfer synth DIR --config FILE`: writes a random checkpoint in the published layout, as large or as small as
// asked.
#include "base/interrupt.h"
#include "base/mapped_file.h"
#include "checkpoint/shrink.h"
#include "checkpoint/synth.h"
#include "cli/command.h"

namespace deepinfer::cli {
namespace {

struct Options {
  std::string dir, config, shard_size;
  int64_t layers = 0, experts = 0, engram_rows = 0, draft_layers = -1;
  int threads = 0;
  bool no_vision = false;
  SynthOptions synth;
};

Result<int> synth(Options o) {
  install_interrupt_handler();
  if (!o.shard_size.empty()) {
    DI_TRY(o.synth.shard_bytes, parse_bytes(o.shard_size));
    if (o.synth.shard_bytes < 1'000'000)
      return fail(ErrorCode::kInvalidArgument, "--shard-size {}: expected at least 1M", o.shard_size);
  }
  DI_TRY(const MappedFile file, MappedFile::open(o.config));
  DI_TRY(const ModelConfig whole, ModelConfig::parse(file.text(), o.config));
  ShrinkOptions small;
  if (o.layers) small.layers = o.layers;
  if (o.experts) small.experts = o.experts;
  if (o.engram_rows) small.engram_rows = o.engram_rows;
  if (o.draft_layers >= 0) small.draft_layers = o.draft_layers;
  small.vision = !o.no_vision;
  DI_TRY(ModelConfig config, shrink(whole, small));
  DI_TRY(const std::string text, rewrite_config(file.text(), o.config, config));
  DI_TRY(config, ModelConfig::parse(
                     text, "config.json after --layers, --experts and the like"));  // the same rules as for any model
  ThreadPool pool(o.threads > 0 ? o.threads : default_thread_count());
  o.synth.progress = true;
  DI_TRY(const SynthSummary done, write_synthetic(o.dir, config, text, o.synth, pool));
  DI_TRY_STATUS(write_stdout(fmt::format(
      "{}: {} layers, {} tensors, {} bytes in {} shard{}{}\n", o.dir, config.num_hidden_layers, grouped(done.tensors),
      grouped(done.bytes), done.shards, done.shards == 1 ? "" : "s", o.synth.sparse ? " (sparse: all zeros)" : "")));
  return 0;
}

}  // namespace

void add_synth(CLI::App& app, CommandContext& context) {
  auto o = std::make_shared<Options>();
  CLI::App* sub =
      app.add_subcommand("synth", "write a random checkpoint in the published layout, for tests and benchmarks");
  sub->add_option("DIR", o->dir, "folder to write")->required();
  sub->add_option("--config", o->config, "config.json to follow")->required();
  sub->add_option("--layers", o->layers, "keep this many main layers, at least one of each kind where possible")
      ->check(CLI::Range(int64_t{1}, int64_t{1} << 40));
  sub->add_option("--experts", o->experts, "routed experts per layer")->check(CLI::Range(int64_t{1}, int64_t{1} << 40));
  sub->add_option("--engram-rows", o->engram_rows, "rows of each engram table, about")
      ->check(CLI::Range(int64_t{1}, int64_t{1} << 40));
  sub->add_option("--draft-layers", o->draft_layers, "keep this many draft layers")
      ->check(CLI::Range(int64_t{0}, int64_t{1} << 40));
  sub->add_flag("--no-vision", o->no_vision, "leave out vision_config and its tensors");
  sub->add_option("--seed", o->synth.seed, "the same seed gives the same bytes (0)");
  sub->add_flag("--sparse", o->synth.sparse, "headers only, data is a hole: any size in no space (for inspect)");
  sub->add_option("--shard-size", o->shard_size, "bytes per shard at most, e.g. 2GiB (5G)");
  sub->add_option("--threads", o->threads, "threads (physical cores)")->check(CLI::Range(int64_t{1}, int64_t{1} << 40));
  sub->add_flag("--force", o->synth.force, "replace the checkpoint in a folder that is not empty");
  sub->callback([&context, o] { context.run = [o] { return synth(*o); }; });
}

}  // namespace deepinfer::cli
