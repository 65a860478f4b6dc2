// Character classes of the pre-tokenizer's patterns, for every code point (Unicode 16.0, as the reference regex engine
// sees it: vectors/tokenizer/unicode_classes.json). Constant data, any thread.
#pragma once
#include <cstddef>
#include <cstdint>

namespace deepinfer::tokenizer {

enum class CharClass : uint8_t {
  kOther = 0,    // controls, format characters, unassigned, private use, invalid bytes
  kLetter = 1,   // \p{L}
  kMark = 2,     // \p{M}
  kSymbol = 3,   // \p{P} and \p{S}: the patterns never tell them apart
  kSpace = 4,    // \s except CR and LF
  kNewline = 5,  // CR, LF
  kNumber = 6,   // \p{N}
  // The same inside the ranges of pattern 2 (U+4E00-U+9FA5, U+3040-U+30FF).
  kHanOther = 8,
  kHanLetter = 9,
  kHanMark = 10,
  kHanSymbol = 11,
};

// Two stages: block of 128 code points, then 4 bits a code point. Written by tools/make_unicode_table.py.
extern const uint8_t kClassBlock[];
extern const uint64_t kClassNibbles[];

// REQUIRES: code_point <= 0x10FFFF
inline CharClass char_class(uint32_t code_point) {
  const uint32_t nibble = static_cast<uint32_t>(kClassBlock[code_point >> 7]) * 128 + (code_point & 127);
  return static_cast<CharClass>(kClassNibbles[nibble >> 4] >> ((nibble & 15) * 4) & 15);
}

}  // namespace deepinfer::tokenizer
