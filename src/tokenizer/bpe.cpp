#include "tokenizer/bpe.h"

#include <algorithm>
#include <cstring>
#include <functional>
#include <new>

namespace deepinfer::tokenizer {
namespace {

constexpr uint64_t kEmpty = ~uint64_t{0};
// Pre-tokens up to this many bytes are merged by scanning a small array for the lowest rank; beyond it the heap wins
// (EPYC Zen 5, 2026-12, Chinese runs: equal at about 150 bytes).
constexpr size_t kShort = 128;
constexpr size_t kKeptBytes = size_t{1} << 20;

uint64_t mix(uint64_t x) { return (x ^ x >> 29) * 0x9E3779B97F4A7C15ull; }

// A character as its bytes, the last one lowest; not valid UTF-8 (by lead and continuation bytes): kBroken, one byte.
constexpr uint32_t kBroken = ~uint32_t{0};
struct Char {
  uint32_t bytes;
  uint32_t size;
};

bool is_tail(char c) { return (static_cast<uint8_t>(c) & 0xC0) == 0x80; }
uint32_t size_by_lead(uint8_t b) { return b < 0x80 ? 1 : b < 0xC0 ? 0 : b < 0xE0 ? 2 : b < 0xF0 ? 3 : 4; }

Char char_at(std::string_view text, size_t at) {
  const auto lead = static_cast<uint8_t>(text[at]);
  const uint32_t size = size_by_lead(lead);
  if (size == 0 || size > text.size() - at) return {kBroken, 1};
  uint32_t bytes = lead;
  for (uint32_t k = 1; k < size; ++k) {
    if (!is_tail(text[at + k])) return {kBroken, 1};
    bytes = bytes << 8 | static_cast<uint8_t>(text[at + k]);
  }
  return {bytes, size};
}

uint64_t pair_hash(uint32_t left, uint32_t right) { return mix(static_cast<uint64_t>(left) << 32 | right); }

}  // namespace

BpeScratch::BpeScratch() : cache(static_cast<Entry*>(std::calloc(size_t{1} << kCacheBits, sizeof(Entry)))) {
  if (!cache) throw std::bad_alloc();
}

void BpeScratch::trim() {
  if (heap.capacity() * sizeof(uint64_t) <= kKeptBytes) return;
  std::vector<int32_t>().swap(ids);  // not "= {}", which would keep the memory
  for (std::vector<uint32_t>* v : {&ranks, &previous, &next}) std::vector<uint32_t>().swap(*v);
  std::vector<uint64_t>().swap(heap);
}

void Bpe::reserve(size_t num_merges) {
  int bits = 4;
  while ((size_t{1} << bits) < num_merges * 2) ++bits;
  shift_ = 64 - bits;
  slots_.assign(size_t{1} << bits, kEmpty);
  merged_.clear();
  merged_.reserve(num_merges);
}

void Bpe::add_merge(int32_t left, int32_t right, int32_t merged) {
  const uint64_t pair = static_cast<uint64_t>(left) << 20 | static_cast<uint64_t>(right);
  const uint64_t rank = merged_.size();
  merged_.push_back(merged);
  const size_t mask = slots_.size() - 1;
  size_t at = mix(pair) >> shift_;
  while (slots_[at] != kEmpty && slots_[at] >> 24 != pair) at = (at + 1) & mask;
  slots_[at] = pair << 24 | rank;
}

void Bpe::finish() {
  if (slots_.empty()) reserve(0);
  byte_pair_rank_.resize(256 * 256);
  for (size_t a = 0; a < 256; ++a)
    for (size_t b = 0; b < 256; ++b) byte_pair_rank_[a << 8 | b] = rank_of(byte_token_[a], byte_token_[b]);
}

inline uint32_t Bpe::rank_of(int32_t left, int32_t right) const {
  const uint64_t pair = static_cast<uint64_t>(left) << 20 | static_cast<uint64_t>(right);
  const size_t mask = slots_.size() - 1;
  for (size_t at = mix(pair) >> shift_;; at = (at + 1) & mask) {
    const uint64_t slot = slots_[at];
    if (slot >> 24 == pair) return static_cast<uint32_t>(slot & kNoRank);
    if (slot == kEmpty) return kNoRank;
  }
}

void Bpe::start_entries(size_t count) {
  int bits = 10;  // 32 bits an entry: three in a hundred pairs are taken for joined that are not
  while ((size_t{1} << bits) < count * 32 && bits < 26) ++bits;
  joined_shift_ = 64 - bits;
  joined_.assign(size_t{1} << (bits - 6), 0);
}

void Bpe::add_entry(std::string_view bytes) {
  const auto byte = [&](size_t i) { return static_cast<uint8_t>(bytes[i]); };
  for (size_t i = 1; i < bytes.size(); ++i) {
    if (is_tail(bytes[i]) || (byte(i - 1) | byte(i)) < 0x80) continue;  // between two ASCII characters nothing is cut
    size_t left = i - 1;
    while (left > 0 && i - left < 4 && is_tail(bytes[left])) --left;
    const Char a = char_at(bytes, left), b = char_at(bytes, i);
    if (a.bytes != kBroken && left + a.size == i && b.bytes != kBroken) {
      const uint64_t bit = pair_hash(a.bytes, b.bytes) >> joined_shift_;
      joined_[bit >> 6] |= uint64_t{1} << (bit & 63);
    } else {
      const size_t bit = static_cast<size_t>(byte(i - 1)) << 8 | byte(i);
      torn_[bit >> 6] |= uint64_t{1} << (bit & 63);
    }
  }
}

inline bool Bpe::may_join(uint32_t left, uint32_t right) const {
  if ((left | right) < 0x80 || left == kBroken || right == kBroken) return true;
  const uint64_t bit = pair_hash(left, right) >> joined_shift_;
  if (joined_[bit >> 6] >> (bit & 63) & 1) return true;
  const uint32_t lead = right > 0xFFFFFF ? right >> 24
                        : right > 0xFFFF ? right >> 16
                        : right > 0xFF   ? right >> 8
                                         : right;
  const size_t torn = (left & 0xFF) << 8 | lead;
  return torn_[torn >> 6] >> (torn & 63) & 1;
}

void Bpe::encode(std::string_view piece, size_t readable, BpeScratch& scratch, std::vector<int32_t>& out) const {
  // Up to two Chinese characters, and ASCII words the cache can hold, are not worth a look for cuts.
  const size_t whole = static_cast<uint8_t>(piece[0]) < 0x80 ? 15 : 6;
  if (piece.size() <= whole || joined_.empty()) return encode_segment(piece, readable, scratch, out);
  size_t begin = 0, at = 0;
  for (uint32_t previous = kBroken; at < piece.size();) {
    const Char c = char_at(piece, at);
    if (!may_join(previous, c.bytes)) {
      encode_segment(piece.substr(begin, at - begin), readable - begin, scratch, out);
      begin = at;
    }
    previous = c.bytes;
    at += c.size;
  }
  encode_segment(piece.substr(begin), readable - begin, scratch, out);
}

inline void Bpe::encode_segment(std::string_view piece, size_t readable, BpeScratch& scratch,
                                std::vector<int32_t>& out) const {
  const size_t size = piece.size();
  if (size == 1) {
    out.push_back(byte_token_[static_cast<uint8_t>(piece[0])]);
    return;
  }
  if (size > 15) return merge(piece, scratch, out);

  uint64_t key[2] = {0, 0};
  if (readable >= 16) {
    std::memcpy(key, piece.data(), 16);
    if (size <= 8) {
      key[0] &= ~uint64_t{0} >> (64 - 8 * size);
      key[1] = 0;
    } else {
      key[1] &= ~uint64_t{0} >> (128 - 8 * size);
    }
  } else {
    std::memcpy(key, piece.data(), size);
  }
  key[1] |= static_cast<uint64_t>(size) << 56;
  const uint64_t hash = mix(key[0] ^ mix(key[1])) >> (64 - BpeScratch::kCacheBits);
  BpeScratch::Entry& entry = scratch.cache[hash];
  if (entry.key[0] == key[0] && entry.key[1] == key[1]) {
    out.push_back(entry.ids[0]);
    for (int k = 1; k < 4 && entry.ids[k] >= 0; ++k) out.push_back(entry.ids[k]);
    return;
  }
  const size_t before = out.size();
  merge_short(piece, out);
  const size_t count = out.size() - before;
  if (count > 4) return;
  entry.key[0] = key[0];
  entry.key[1] = key[1];
  for (size_t k = 0; k < 4; ++k) entry.ids[k] = k < count ? out[before + k] : -1;
}

void Bpe::merge(std::string_view piece, BpeScratch& scratch, std::vector<int32_t>& out) const {
  if (piece.size() <= kShort)
    merge_short(piece, out);
  else
    merge_long(piece, scratch, out);
}

// Symbols and the ranks of the pairs they start, both dense: a merge closes the gap.
void Bpe::merge_short(std::string_view piece, std::vector<int32_t>& out) const {
  int32_t ids[kShort];
  uint32_t ranks[kShort];
  size_t count = piece.size();
  const auto* bytes = reinterpret_cast<const uint8_t*>(piece.data());
  for (size_t i = 0; i < count; ++i) ids[i] = byte_token_[bytes[i]];
  for (size_t i = 0; i + 1 < count; ++i) ranks[i] = byte_pair_rank_[static_cast<size_t>(bytes[i]) << 8 | bytes[i + 1]];
  while (count > 1) {
    const size_t pairs = count - 1;
    uint32_t best = ranks[0];
    for (size_t i = 1; i < pairs; ++i) best = std::min(best, ranks[i]);
    if (best == kNoRank) break;
    size_t at = 0;
    while (ranks[at] != best) ++at;
    ids[at] = merged_[best];
    std::memmove(ids + at + 1, ids + at + 2, (count - at - 2) * sizeof(ids[0]));
    if (at + 1 < pairs) std::memmove(ranks + at, ranks + at + 1, (pairs - at - 1) * sizeof(ranks[0]));
    --count;
    if (at + 1 < count) ranks[at] = rank_of(ids[at], ids[at + 1]);
    if (at > 0) ranks[at - 1] = rank_of(ids[at - 1], ids[at]);
  }
  out.insert(out.end(), ids, ids + count);
}

// Linked symbols and a heap of (rank, position). An entry is stale when the pair at its position has another rank now.
void Bpe::merge_long(std::string_view piece, BpeScratch& s, std::vector<int32_t>& out) const {
  const size_t size = piece.size();
  const auto* bytes = reinterpret_cast<const uint8_t*>(piece.data());
  s.ids.resize(size);
  s.ranks.resize(size);
  s.previous.resize(size);
  s.next.resize(size);
  s.heap.clear();
  s.heap.reserve(size);
  for (size_t i = 0; i < size; ++i) {
    s.ids[i] = byte_token_[bytes[i]];
    s.previous[i] = static_cast<uint32_t>(i) - 1;
    s.next[i] = static_cast<uint32_t>(i) + 1;
    s.ranks[i] = i + 1 < size ? byte_pair_rank_[static_cast<size_t>(bytes[i]) << 8 | bytes[i + 1]] : kNoRank;
    if (s.ranks[i] != kNoRank) s.heap.push_back(static_cast<uint64_t>(s.ranks[i]) << 32 | i);
  }
  std::make_heap(s.heap.begin(), s.heap.end(), std::greater<>());
  const auto update = [&](uint32_t at, uint32_t right) {
    s.ranks[at] = rank_of(s.ids[at], s.ids[right]);
    if (s.ranks[at] == kNoRank) return;
    s.heap.push_back(static_cast<uint64_t>(s.ranks[at]) << 32 | at);
    std::push_heap(s.heap.begin(), s.heap.end(), std::greater<>());
  };
  while (!s.heap.empty()) {
    const auto rank = static_cast<uint32_t>(s.heap.front() >> 32);
    const auto at = static_cast<uint32_t>(s.heap.front());
    std::pop_heap(s.heap.begin(), s.heap.end(), std::greater<>());
    s.heap.pop_back();
    if (s.ranks[at] != rank) continue;
    const uint32_t gone = s.next[at];
    const uint32_t right = s.next[gone];
    s.ids[at] = merged_[rank];
    s.next[at] = right;
    s.ranks[gone] = kNoRank;
    s.ranks[at] = kNoRank;
    if (right < size) {
      s.previous[right] = at;
      update(at, right);
    }
    if (at > 0) update(s.previous[at], at);
  }
  for (size_t i = 0; i < size; i = s.next[i]) out.push_back(s.ids[i]);
}

}  // namespace deepinfer::tokenizer
