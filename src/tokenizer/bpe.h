// Byte-pair merging: bytes of one pre-token to token ids. Always applies the merge of lowest rank, leftmost first, as
// the reference does, until none applies. Built once by the loader, then read only: any thread, each with its own
// BpeScratch.
//
// Long pre-tokens (Chinese sentences above all) are first cut between two characters that no entry holds side by side:
// a merge across the cut would make such an entry, so the pieces merge independently and are mostly short enough for
// the cache. In Chinese text and the official vocabulary 40 % of the places are such cuts.
//
// Speed comes from three more places: a cache of the pre-tokens seen (in the scratch, so no locks), a direct table for
// pairs of single bytes, and a hash of pairs with eight bytes a slot. Long pre-tokens use a heap, so time is n log n at
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
  // Pre-tokens, or pieces of them, of 2 to 15 bytes that became at most four tokens. 32,768 entries of 32 bytes, 1 MB:
  // against 16,384 it gains 14 % on Chinese and 10 % on English and code; 65,536 another 17 % on Chinese, but then a
  // thread's cache is larger than its second-level cache (EPYC Zen 5, 2026-12-01, bench tokenizer).
  struct Entry {
    uint64_t key[2];  // the bytes, zero-padded; the last byte is the length, so zero is "empty"
    int32_t ids[4];   // -1: no more
  };
  static constexpr int kCacheBits = 15;
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
  // Optional, after finish(): the bytes of every entry a merge can make, or of more. Announced by start_entries with
  // their number; without it nothing is cut.
  void start_entries(size_t count);
  void add_entry(std::string_view bytes);

  // Appends the ids of one pre-token. `readable` is how many bytes may be read from piece.data() on (>= piece.size()).
  // REQUIRES: 0 < piece.size() < 2^32
  void encode(std::string_view piece, size_t readable, BpeScratch& scratch, std::vector<int32_t>& out) const;

 private:
  static constexpr uint32_t kNoRank = (1u << 24) - 1;
  uint32_t rank_of(int32_t left, int32_t right) const;
  void encode_segment(std::string_view piece, size_t readable, BpeScratch& scratch, std::vector<int32_t>& out) const;
  bool may_join(uint32_t left, uint32_t right) const;
  void merge(std::string_view piece, BpeScratch& scratch, std::vector<int32_t>& out) const;
  void merge_short(std::string_view piece, std::vector<int32_t>& out) const;
  void merge_long(std::string_view piece, BpeScratch& scratch, std::vector<int32_t>& out) const;

  std::array<int32_t, 256> byte_token_{};
  std::vector<uint32_t> byte_pair_rank_;  // [256 * 256]
  std::vector<int32_t> merged_;           // [rank]
  std::vector<uint64_t> slots_;           // left << 44 | right << 24 | rank; all ones: empty
  int shift_ = 63;

  // Characters that stand side by side in some entry. Both only ever say "perhaps" too often.
  std::vector<uint64_t> joined_;  // bits by hash of the two characters; empty: nothing is cut
  int joined_shift_ = 63;
  std::array<uint64_t, 65536 / 64> torn_{};  // [last byte << 8 | first byte]: an entry has one of them in part only
};

}  // namespace deepinfer::tokenizer
