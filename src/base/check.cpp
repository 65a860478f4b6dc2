#include "base/check.h"

#include <cstdio>
#include <cstdlib>

namespace deepinfer {
void check_failed(const char* file, int line, const char* condition, const std::string& context) {
  std::fprintf(stderr, "%s:%d: broken invariant: %s %s\n", file, line, condition, context.c_str());
  std::abort();
}
}  // namespace deepinfer
