// Byte-pair merging: bytes of one pre-token to token ids. Always applies the merge of lowest rank, leftmost first, as
// the reference does, until none applies. Built once by the loader, then read only: any thread, each with its own
// BpeScratch.
//
// Speed comes from three places: a cache of the pre-tokens seen (in the scratch, so no locks), a direct table for pairs
// of single bytes, and a hash of pairs with eight bytes a slot. Long pre-tokens use a heap, so time is n log n at
// worst.
#pragma once
#include <array>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <string_view>
#include <vector>

namespace deepinfer::tokenizer {

inline constexpr int32_t kMaxTokenId = (1 << 20) - 1;        // a pair of ids fits 40 bits of a slot
inline constexpr size_t kMaxMerges = (size_t{1} << 24) - 2;  // a rank fits the other 24

// Working memory of one encode call. Reused between calls, the cache stays warm.
struct BpeScratch {
  // Pre-tokens of 2 to 15 bytes that became at most four tokens. 16,384 entries of 32 bytes: on 20 MB of English prose
  // and of C++ more entries gained nothing, and half a megabyte stays in the second-level cache.
  struct Entry {
    uint64_t key[2];  // the bytes, zero-padded; the last byte is the length, so zero is "empty"
    int32_t ids[4];   // -1: no more
  };
  static constexpr int kCacheBits = 14;
  struct Free {
    void operator()(void* p) const { std::free(p); }
  };
  std::unique_ptr<Entry[], Free> cache;  // zeroed pages appear as they are used
  std::vector<int32_t> ids;
  std::vector<uint32_t> ranks, previous, next;
  std::vector<uint64_t> heap;

  BpeScratch();
  // Gives back what an unusually long pre-token needed.
  void trim();
};

class Bpe {
 public:
  // Loader's side. Ids and number of merges within the limits above.
  void set_byte_token(uint8_t byte, int32_t id) { byte_token_[byte] = id; }
  void reserve(size_t num_merges);
  // Merges in order of rank; a pair named twice has the later rank, as in the reference.
  void add_merge(int32_t left, int32_t right, int32_t merged);
  // After the last merge.
  void finish();

  // Appends the ids of one pre-token. `readable` is how many bytes may be read from piece.data() on (>= piece.size()).
  // REQUIRES: 0 < piece.size() < 2^32
  void encode(std::string_view piece, size_t readable, BpeScratch& scratch, std::vector<int32_t>& out) const;

 private:
  static constexpr uint32_t kNoRank = (1u << 24) - 1;
  uint32_t rank_of(int32_t left, int32_t right) const;
  void merge(std::string_view piece, BpeScratch& scratch, std::vector<int32_t>& out) const;
  void merge_short(std::string_view piece, std::vector<int32_t>& out) const;
  void merge_long(std::string_view piece, BpeScratch& scratch, std::vector<int32_t>& out) const;

  std::array<int32_t, 256> byte_token_{};
  std::vector<uint32_t> byte_pair_rank_;  // [256 * 256]
  std::vector<int32_t> merged_;           // [rank]
  std::vector<uint64_t> slots_;           // left << 44 | right << 24 | rank; all ones: empty
  int shift_ = 63;
};

}  // namespace deepinfer::tokenizer
