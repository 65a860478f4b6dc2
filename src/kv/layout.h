// Where the growing cache of a sequence lies, in bytes: one block holds 128 tokens of every cache stream (a stream =
// one kind of record of one source layer). The model enumerates its streams from the config; this room knows bytes and
// block ids, not layers. Sizes and grouping: model.md 5.1, design.md "Memory".
#pragma once
#include <cstdint>
#include <string>
#include <vector>

namespace deepinfer::kv {

inline constexpr int kBlockTokens = 128;

// One record stream: `tokens_per_entry` tokens share a record of `record_bytes`.
struct Stream {
  std::string name;          // "layers.2.compressed", for messages and inspect
  int tokens_per_entry = 1;  // 1 or 2; kBlockTokens is a multiple
  int64_t record_bytes = 0;
  int64_t offset = 0;  // within a block, filled by BlockLayout
  int entries_per_block() const { return kBlockTokens / tokens_per_entry; }
};

struct BlockLayout {
  std::vector<Stream> streams;
  int64_t block_bytes = 0;  // sum of the streams, each aligned to 64 bytes

  static BlockLayout make(std::vector<Stream> streams);
  // Bytes per token that grow with the context, without alignment (890 for the release).
  double bytes_per_token() const;
};

}  // namespace deepinfer::kv
