// Entry of the `deepinfer` binary: parses the command line, runs one command, maps its result to the exit code (spec:
// cli.md). A new command is one file cmd_<name>.cpp and one line in DEEPINFER_COMMANDS below.
#include <cerrno>
#include <charconv>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <exception>
#include <iostream>
#include <new>

#include "base/interrupt.h"
#include "cli/command.h"
#include "cli/version.h"

// In the order of `deepinfer --help`; one line a command.
// clang-format off
#define DEEPINFER_COMMANDS(X) \
  X(run) \
  X(batch) \
  X(score) \
  X(inspect) \
  X(synth) \
  X(tokenize) \
  X(detokenize) \
  X(bench) \
  X(check) \
  X(doctor)
// clang-format on

namespace deepinfer::cli {

#define DEEPINFER_DECLARE(name) void add_##name(CLI::App&, CommandContext&);
DEEPINFER_COMMANDS(DEEPINFER_DECLARE)
#undef DEEPINFER_DECLARE

namespace {

// The last line of stderr is the error: one line, whatever the message holds.
int report(const std::string& message, int code) {
  std::string line = "deepinfer: " + message;
  for (char& c : line)
    if (static_cast<unsigned char>(c) < 0x20) c = ' ';
  std::fflush(stdout);
  std::fprintf(stderr, "%s\n", line.c_str());
  return code;
}

// The option library reads "99999999999999999999" as the largest integer; every integer option refuses it instead.
void refuse_overflow(CLI::App& app) {
  for (CLI::Option* option : app.get_options()) {
    const std::string type = option->get_type_name();
    if (type.rfind("INT", 0) != 0 && type.rfind("UINT", 0) != 0) continue;
    option->check(
        [](const std::string& text) -> std::string {
          const char *begin = text.data() + (text.starts_with('+') ? 1 : 0), *end = text.data() + text.size();
          int64_t narrow = 0;
          uint64_t wide = 0;
          const bool fits = std::from_chars(begin, end, narrow).ec != std::errc::result_out_of_range ||
                            std::from_chars(begin, end, wide).ec != std::errc::result_out_of_range;
          return fits ? std::string() : text + " is too large";
        },
        "");
  }
  for (CLI::App* sub : app.get_subcommands([](const CLI::App*) { return true; })) refuse_overflow(*sub);
}

// What a command left in the buffer must have reached its reader, whichever way it was printed.
int finish(int code) {
  errno = 0;
  const bool written = std::fflush(stdout) == 0 && !std::ferror(stdout);
  std::cout.flush();
  if (written && std::cout) return code;
  return report(fmt::format("stdout: cannot write: {}", errno ? std::strerror(errno) : "an earlier write failed"), 1);
}

int run(int argc, char** argv) {
  CLI::App app{"deepinfer: runs DeepSeek-V4.1 checkpoints", "deepinfer"};
  CommandContext context;
  app.set_version_flag("--version", version_text());
  app.require_subcommand(1);
#define DEEPINFER_ADD(name) add_##name(app, context);
  DEEPINFER_COMMANDS(DEEPINFER_ADD)
#undef DEEPINFER_ADD
  refuse_overflow(app);

  try {
    app.parse(argc, argv);
  } catch (const CLI::Success& e) {  // --help, --version
    return finish(app.exit(e));
  } catch (const CLI::ParseError& e) {
    std::string command;
    for (const CLI::App* sub : app.get_subcommands()) command += sub->get_name() + " ";
    return report(fmt::format("{} (see deepinfer {}--help)", e.what(), command), 2);
  }
  if (!context.run) return report("no command given (see deepinfer --help)", 2);
  const Result<int> result = context.run();
  if (result) return finish(*result);
  const int stopped = result.error().code == ErrorCode::kCancelled ? interrupted() : 0;
  return report(result.error().message, stopped ? 128 + stopped : exit_code(result.error().code));
}

}  // namespace
}  // namespace deepinfer::cli

int main(int argc, char** argv) {
  std::signal(SIGPIPE, SIG_IGN);  // a closed pipe is an error of the write, not a death by signal
  // Rooms return errors as values; what still throws is the standard library out of memory.
  try {
    return deepinfer::cli::run(argc, argv);
  } catch (const std::bad_alloc&) {
    return deepinfer::cli::report("out of memory", 1);
  } catch (const std::exception& e) {
    return deepinfer::cli::report(std::string("internal error: ") + e.what(), 1);
  }
}
