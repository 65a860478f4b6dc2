// Any bytes as tokenizer.json: the token map is refused, or has one class per id, numbered by first appearance.
#include <cstdlib>

#include "checkpoint/engram_map.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace deepinfer;
  const auto map = build_token_map(std::string_view(reinterpret_cast<const char*>(data), size), "tokenizer.json", 300);
  if (!map) {
    if (map.error().message.size() > 600) std::abort();
    return 0;
  }
  if (map->size() != 300) std::abort();
  int32_t next = 0;
  for (int32_t c : *map) {
    if (c < 0 || c > next) std::abort();
    if (c == next) ++next;
  }
  return 0;
}
