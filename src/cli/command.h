// What a command of the binary is: one file cmd_<name>.cpp with a function add_<name>(CLI::App&, CommandContext&) that
// declares a subcommand, its options, and a callback that stores the work in context.run. main() parses, then runs the
// work once and turns its result into the process exit code: the value on success, exit_code(error) with the error's
// message as the last line of stderr on failure. Commands never throw and never call exit(); stdout carries results
// only. One thread.
//
//   void add_hello(CLI::App& app, CommandContext& context) {
//     auto options = std::make_shared<Options>();                      // outlives add_hello
//     CLI::App* sub = app.add_subcommand("hello", "says hello");
//     sub->add_option("--name", options->name, "who");
//     sub->callback([&context, options] { context.run = [options] { return hello(*options); }; });   // Result<int>
//     hello(const Options&)
//   }
#pragma once
#include <CLI/CLI.hpp>
#include <functional>
#include <memory>
#include <string>

#include "base/result.h"

namespace deepinfer::cli {

struct CommandContext {
  std::function<Result<int>()> run;  // set by the callback of the subcommand that was called
};

// Writes all of `text` to stdout. An error (closed pipe, full disk) is an I/O failure that names stdout.
Status write_stdout(std::string_view text);

// "16.3 MB", "510.29 GB": decimal units, for people.
std::string human_bytes(double bytes);
// 510286023000 -> "510,286,023,000".
std::string grouped(int64_t value);
// "1000000", "16M", "2GiB", "1.5 GB" (K, M, G, T: powers of 1000; with i: of 1024) -> bytes. Errors name the text.
Result<int64_t> parse_bytes(const std::string& text);
// Whether two paths are one existing file (a link to it included), so that writing one would destroy the other.
bool same_file(const std::string& a, const std::string& b);
// "1,8,64" -> numbers of at least `low`. Errors name the option.
Result<std::vector<int64_t>> parse_integers(const char* option, const std::string& text, int64_t low);

}  // namespace deepinfer::cli
