// Incremental decoding: token ids in, text out as soon as it is whole. A character whose bytes are spread over tokens
// comes out with its last byte; half a character is never sent. The pieces joined, with finish(), are exactly
// Tokenizer::decode of all ids. One object per output stream, one thread at a time; the Tokenizer must outlive it.
#pragma once
#include <cstdint>
#include <string>

#include "tokenizer/tokenizer.h"

namespace deepinfer {

class StreamDecoder {
 public:
  explicit StreamDecoder(const Tokenizer& tokenizer, bool skip_special = false)
      : tokenizer_(&tokenizer), skip_special_(skip_special) {}

  // Text that became final with this token; may be empty. Invalid bytes become U+FFFD once they cannot be completed.
  std::string push(int32_t id);
  // The same, appended.
  void push(int32_t id, std::string& out);
  // The rest: U+FFFD if an incomplete character is held back, else nothing. The decoder is then as new.
  std::string finish();
  // Bytes held back (0 to 3).
  size_t held_bytes() const { return held_.size(); }

 private:
  const Tokenizer* tokenizer_;
  bool skip_special_;
  std::string held_;  // a valid but incomplete prefix of one character
};

}  // namespace deepinfer
