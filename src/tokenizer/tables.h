// What a loaded tokenizer consists of. Internal to this folder: loader.cpp fills it, tokenizer.cpp reads it.
#pragma once
#define XXH_INLINE_ALL
#include <xxhash.h>

#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "tokenizer/added_tokens.h"
#include "tokenizer/bpe.h"
#include "tokenizer/tokenizer.h"

namespace deepinfer {

namespace tokenizer {

// Strings by id, one behind the other.
struct StringTable {
  std::string bytes;
  std::vector<uint32_t> begin{0};  // [count + 1]
  void push(std::string_view text) {
    bytes += text;
    begin.push_back(static_cast<uint32_t>(bytes.size()));
  }
  size_t count() const { return begin.size() - 1; }
  std::string_view operator[](size_t id) const {
    return std::string_view(bytes).substr(begin[id], begin[id + 1] - begin[id]);
  }
};

// Id by string, for the strings of a StringTable or any other ids whose text the caller can show.
class IdIndex {
 public:
  void reserve(size_t count);
  // The id already there under this text, or -1 after inserting. text_of(id) gives the text of an id inside.
  template <typename TextOf>
  int32_t insert(std::string_view text, int32_t id, const TextOf& text_of);
  template <typename TextOf>
  int32_t find(std::string_view text, const TextOf& text_of) const;

 private:
  struct Slot {
    uint32_t tag = 0;  // upper half of the hash
    int32_t id = -1;
  };
  std::vector<Slot> slots_;
  size_t mask_ = 0;
};

inline void IdIndex::reserve(size_t count) {
  size_t size = 16;
  while (size < count * 2) size *= 2;
  slots_.assign(size, {});
  mask_ = size - 1;
}

template <typename TextOf>
int32_t IdIndex::insert(std::string_view text, int32_t id, const TextOf& text_of) {
  const uint64_t hash = XXH3_64bits(text.data(), text.size());
  const auto tag = static_cast<uint32_t>(hash >> 32);
  size_t at = hash & mask_;
  for (; slots_[at].id >= 0; at = (at + 1) & mask_)
    if (slots_[at].tag == tag && text_of(slots_[at].id) == text) return slots_[at].id;
  slots_[at] = {tag, id};
  return -1;
}

template <typename TextOf>
int32_t IdIndex::find(std::string_view text, const TextOf& text_of) const {
  const uint64_t hash = XXH3_64bits(text.data(), text.size());
  const auto tag = static_cast<uint32_t>(hash >> 32);
  for (size_t at = hash & mask_; slots_[at].id >= 0; at = (at + 1) & mask_)
    if (slots_[at].tag == tag && text_of(slots_[at].id) == text) return slots_[at].id;
  return -1;
}

enum TokenFlags : uint8_t { kKnown = 1, kSpecial = 2, kAdded = 4 };

}  // namespace tokenizer

struct Tokenizer::Tables {
  tokenizer::Bpe bpe;
  tokenizer::LiteralSet first_pass, second_pass;  // added tokens with normalized: false, then true
  tokenizer::StringTable raw, bytes;              // by id
  std::vector<uint8_t> flags;                     // [vocab_size] TokenFlags
  tokenizer::IdIndex by_raw;                      // vocabulary and added tokens
  int32_t bos = -1, eos = -1, pad = -1;

  // Scratches not in use; encode takes one and puts it back, so that concurrent calls never share.
  std::mutex mutex;
  std::vector<std::unique_ptr<tokenizer::BpeScratch>> free_scratches;

  std::string_view raw_of(int32_t id) const { return raw[static_cast<size_t>(id)]; }
  bool has(int32_t id) const {
    return id >= 0 && static_cast<size_t>(id) < flags.size() && (flags[static_cast<size_t>(id)] & tokenizer::kKnown);
  }
  void encode_plain(std::string_view text, tokenizer::BpeScratch& scratch, std::vector<int32_t>& out) const;

  // loader.cpp
  Status fill(std::string_view json, std::string_view name);
};

}  // namespace deepinfer
