// `deepinfer run`: completes one prompt, streaming to stdout.
#include <sys/resource.h>
#include <unistd.h>

#include <cstdio>
#include <fstream>
#include <iterator>

#include "base/interrupt.h"
#include "base/json_writer.h"
#include "cli/engine_options.h"

namespace deepinfer::cli {
namespace {

struct Options {
  EngineFlags engine;
  std::optional<std::string> prompt;
  std::string file;
  bool chat = false, stats = false, ignore_eos = false;
  SamplingParams sampling;
};

int64_t peak_rss_bytes() {
  rusage usage = {};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<int64_t>(usage.ru_maxrss) * 1024;
}

Result<std::string> read_prompt(const Options& o) {
  std::string text;
  if (o.prompt) {
    text = *o.prompt;
  } else if (!o.file.empty() && o.file != "-") {
    std::ifstream in(o.file, std::ios::binary);
    if (!in) return fail(ErrorCode::kNotFound, "{}: cannot open the prompt file", o.file);
    text.assign(std::istreambuf_iterator<char>(in), {});
  } else {
    if (isatty(STDIN_FILENO))
      return fail(ErrorCode::kInvalidArgument, "no prompt: give -p TEXT, -f FILE, or pipe text to standard input");
    char buffer[1 << 16];
    for (ssize_t n; (n = read(STDIN_FILENO, buffer, sizeof buffer)) > 0;) text.append(buffer, static_cast<size_t>(n));
  }
  if (!is_valid_utf8(text)) return fail(ErrorCode::kInvalidArgument, "the prompt is not valid UTF-8");
  return text;
}

Result<int> run(const Options& o) {
  if (o.chat) return fail(ErrorCode::kUnsupported, "--chat is not in this build yet; give the prompt as plain text");
  DI_TRY_STATUS(validate(o.sampling, int64_t{1} << 24));
  DI_TRY(EngineOptions options, engine_options(o.engine));
  options.needs_text = true;
  DI_TRY(const std::string prompt, read_prompt(o));
  install_interrupt_handler();
  DI_TRY(std::unique_ptr<Engine> engine, Engine::create(options));

  Request request;
  request.prompt = prompt;
  request.sampling = o.sampling;
  Status written;
  bool first = true;
  DI_TRY(const Output output, engine->generate(
                                  request,
                                  [&](int choice, std::string_view piece) {
                                    if (choice == 0 && written) written = write_stdout(piece);
                                    first = false;
                                  },
                                  [&] { return interrupted() != 0 || !written; }));
  if (written) written = write_stdout("\n");
  if (!output.warning.empty()) fmt::print(stderr, "note: {}\n", output.warning);
  if (o.stats) {
    const Timing& t = output.timing;
    const Usage& u = output.usage;
    fmt::print(stderr,
               "load {:.1f} ms; prompt {} tokens in {:.1f} ms ({:.1f} tokens/s); first token after {:.1f} ms\n"
               "generated {} tokens, {:.1f} tokens/s; finish: {}; drafts off; cached tokens {}; peak memory {}\n",
               engine->load_seconds() * 1e3, u.prompt_tokens, t.prefill_s * 1e3,
               static_cast<double>(u.prompt_tokens) / t.prefill_s, (engine->load_seconds() + t.first_token_s) * 1e3,
               u.completion_tokens, t.decode_steps > 0 ? static_cast<double>(t.decode_steps) / t.decode_s : 0.0,
               output.choices.front().finish_reason, u.cached_tokens,
               human_bytes(static_cast<double>(peak_rss_bytes())));
  }
  if (!written) return tl::unexpected<Error>(written.error());
  return interrupted() ? 128 + interrupted() : 0;
}

}  // namespace

void add_run(CLI::App& app, CommandContext& context) {
  auto o = std::make_shared<Options>();
  o->sampling.max_tokens = 128;
  CLI::App* sub = app.add_subcommand("run", "complete a prompt, streaming to stdout");
  sub->add_option("-p,--prompt", o->prompt, "prompt text (else -f FILE, else standard input)");
  sub->add_option("-f,--file", o->file, "file with the prompt");
  sub->add_option("-n,--max-tokens", o->sampling.max_tokens, "tokens to generate at most")->capture_default_str();
  sub->add_flag("--chat", o->chat, "answer the prompt as a user turn (comes with a later build)");
  sub->add_option("--temperature", o->sampling.temperature, "0: the best token always")->capture_default_str();
  sub->add_option("--top-p", o->sampling.top_p, "keep the best tokens up to this share of probability")
      ->capture_default_str();
  sub->add_option("--top-k", o->sampling.top_k, "keep the k best tokens; 0: off")->capture_default_str();
  sub->add_option("--min-p", o->sampling.min_p, "keep tokens at least this likely relative to the best")
      ->capture_default_str();
  sub->add_option("--repetition-penalty", o->sampling.repetition_penalty,
                  "above 1: tokens seen before become less likely")
      ->capture_default_str();
  sub->add_option("--presence-penalty", o->sampling.presence_penalty,
                  "taken from the logit of tokens already generated")
      ->capture_default_str();
  sub->add_option("--frequency-penalty", o->sampling.frequency_penalty, "the same, per time")->capture_default_str();
  sub->add_option("--stop", o->sampling.stop, "stop before this text (may be repeated)");
  sub->add_flag("--ignore-eos", o->sampling.ignore_eos, "go on behind the end-of-text token");
  sub->add_flag("--stats", o->stats, "speeds, cache hits and peak memory to stderr");
  add_engine_options(*sub, o->engine);
  sub->callback([&context, o] { context.run = [o] { return run(*o); }; });
}

}  // namespace deepinfer::cli
