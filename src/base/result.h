// Expected failures as values.
//
// A function that can fail for a reason the user can act on returns Result<T>; the error's message is one line that
// names the culprit (file, tensor, field), what was expected and found, and the next step. Broken invariants use
// DI_CHECK (base/check.h) instead. No exception crosses a room.
#pragma once
#include <fmt/format.h>

#include <string>
#include <tl/expected.hpp>
#include <utility>

namespace deepinfer {

enum class ErrorCode {
  kInvalidArgument,  // the call was wrong: exit code 2
  kNotFound,         // a named file or folder is missing: exit code 2
  kBadModel,         // checkpoint, config or tokenizer is damaged or unsupported: exit code 1
  kIo,               // reading or writing failed: exit code 1
  kOutOfMemory,      // a budget was exceeded: exit code 1
  kCancelled,        // the user stopped the work
  kUnsupported,      // known, but this build or machine cannot do it: exit code 2
  kInternal,         // exit code 1
};

struct Error {
  ErrorCode code = ErrorCode::kInternal;
  std::string message;
};

template <typename T>
using Result = tl::expected<T, Error>;
using Status = tl::expected<void, Error>;

// return fail(ErrorCode::kBadModel, "{}: expected {}, found {}", path, a, b);
template <typename... Args>
tl::unexpected<Error> fail(ErrorCode code, fmt::format_string<Args...> format, Args&&... args) {
  return tl::unexpected<Error>(Error{code, fmt::format(format, std::forward<Args>(args)...)});
}

// Name of a code as it appears in JSON error lines, e.g. "invalid_argument".
const char* error_code_name(ErrorCode code);
// Process exit code for an error: 2 for a wrong call, 1 for failed work (spec: cli.md, exit codes).
int exit_code(ErrorCode code);

}  // namespace deepinfer

#define DI_CONCAT_(a, b) a##b
#define DI_CONCAT(a, b) DI_CONCAT_(a, b)
// DI_TRY(auto x, f()): x = value of f(), or return its error.
#define DI_TRY(decl, expr)                                                                      \
  auto DI_CONCAT(di_try_, __LINE__) = (expr);                                                   \
  if (!DI_CONCAT(di_try_, __LINE__))                                                            \
    return tl::unexpected<::deepinfer::Error>(std::move(DI_CONCAT(di_try_, __LINE__)).error()); \
  decl = std::move(*DI_CONCAT(di_try_, __LINE__))
#define DI_TRY_STATUS(expr)                                                                            \
  do {                                                                                                 \
    auto di_try_status_ = (expr);                                                                      \
    if (!di_try_status_) return tl::unexpected<::deepinfer::Error>(std::move(di_try_status_).error()); \
  } while (0)
