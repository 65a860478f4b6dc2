#include "kv/layout.h"

#include "base/check.h"

namespace deepinfer::kv {

BlockLayout BlockLayout::make(std::vector<Stream> streams) {
  BlockLayout layout;
  for (Stream& s : streams) {
    DI_CHECK(s.tokens_per_entry > 0 && kBlockTokens % s.tokens_per_entry == 0, "{}", s.name);
    s.offset = layout.block_bytes;
    layout.block_bytes += (s.entries_per_block() * s.record_bytes + 63) / 64 * 64;
  }
  layout.streams = std::move(streams);
  return layout;
}

double BlockLayout::bytes_per_token() const {
  double total = 0;
  for (const Stream& s : streams) total += static_cast<double>(s.record_bytes) / s.tokens_per_entry;
  return total;
}

}  // namespace deepinfer::kv
