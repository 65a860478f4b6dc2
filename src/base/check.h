// Broken invariants: print file, line, condition and context, then abort. Never for user input.
#pragma once
#include <fmt/format.h>

namespace deepinfer {
[[noreturn]] void check_failed(const char* file, int line, const char* condition, const std::string& context);
}

#define DI_CHECK(cond, ...)                                                              \
  do {                                                                                   \
    if (__builtin_expect(!(cond), 0))                                                    \
      ::deepinfer::check_failed(__FILE__, __LINE__, #cond, fmt::format("" __VA_ARGS__)); \
  } while (0)
