#include "tokenizer/pretokenizer.h"

#include <array>
#include <cstdint>

#include "tokenizer/unicode_table.h"

namespace deepinfer::tokenizer {
namespace {

using enum CharClass;

struct Char {
  CharClass kind;
  uint32_t bytes;
};

constexpr bool is_ascii_letter(uint8_t b) { return static_cast<uint8_t>((b | 0x20) - 'a') < 26; }

constexpr std::array<CharClass, 128> make_ascii_classes() {
  std::array<CharClass, 128> out{};
  for (unsigned b = 0; b < 128; ++b) {
    out[b] = is_ascii_letter(static_cast<uint8_t>(b)) ? kLetter
             : b >= '0' && b <= '9'                   ? kNumber
             : b == '\r' || b == '\n'                 ? kNewline
             : b == ' ' || (b >= 9 && b <= 13)        ? kSpace
             : b > ' ' && b < 127                     ? kSymbol
                                                      : kOther;
  }
  return out;
}
constexpr std::array<CharClass, 128> kAscii = make_ascii_classes();

// A character of two to four bytes, or an invalid byte. REQUIRES: text[at] >= 0x80
Char wide_char_at(const uint8_t* text, size_t size, size_t at) {
  const uint8_t* p = text + at;
  const size_t left = size - at;
  const auto tail = [&](size_t k) { return (p[k] & 0xC0) == 0x80; };
  if (p[0] < 0xE0) {
    if (p[0] >= 0xC2 && left >= 2 && tail(1)) return {char_class((p[0] & 0x1Fu) << 6 | (p[1] & 0x3Fu)), 2};
  } else if (p[0] < 0xF0) {
    if (left >= 3 && tail(1) && tail(2)) {
      const uint32_t c = (p[0] & 0x0Fu) << 12 | (p[1] & 0x3Fu) << 6 | (p[2] & 0x3Fu);
      if (c >= 0x800 && (c & 0xF800) != 0xD800) return {char_class(c), 3};
    }
  } else if (p[0] < 0xF5 && left >= 4 && tail(1) && tail(2) && tail(3)) {
    const uint32_t c = (p[0] & 0x07u) << 18 | (p[1] & 0x3Fu) << 12 | (p[2] & 0x3Fu) << 6 | (p[3] & 0x3Fu);
    if (c >= 0x10000 && c <= 0x10FFFF) return {char_class(c), 4};
  }
  return {kOther, 1};
}

// Reads classes from one text; at the end the class is kNumber with no bytes, since for pattern 3 a number ends the
// text.
class Reader {
 public:
  explicit Reader(std::string_view text) : text_(reinterpret_cast<const uint8_t*>(text.data())), size_(text.size()) {}

  Char at(size_t i) const {
    if (i >= size_) return {kNumber, 0};
    return text_[i] < 0x80 ? Char{kAscii[text_[i]], 1} : wide_char_at(text_, size_, i);
  }
  uint8_t byte(size_t i) const { return i < size_ ? text_[i] : 0; }

  // First position from i on that is not an ASCII letter.
  size_t skip_ascii_letters(size_t i) const {
    while (i < size_ && is_ascii_letter(text_[i])) ++i;
    return i;
  }
  // [\p{L}\p{M}]*
  size_t skip_letters(size_t i) const {
    for (;;) {
      i = skip_ascii_letters(i);
      if (i >= size_ || text_[i] < 0x80) return i;
      const Char c = wide_char_at(text_, size_, i);
      if (c.kind != kLetter && c.kind != kMark) return i;
      i += c.bytes;
    }
  }
  // [\p{P}\p{S}]+[\r\n]*, the symbols from i on
  size_t skip_symbols_and_newlines(size_t i) const {
    for (Char c = at(i); c.kind == kSymbol; c = at(i)) i += c.bytes;
    while (byte(i) == '\n' || byte(i) == '\r') ++i;
    return i;
  }

 private:
  const uint8_t* text_;
  size_t size_;
};

constexpr bool is_word(CharClass c) { return c == kLetter || c == kMark; }

constexpr bool is_han(CharClass c) { return c >= kHanOther; }
constexpr bool is_han_word(CharClass c) { return c == kHanLetter || c == kHanMark; }

// Pattern 3 inside a run of pattern 2, where there is neither white space nor ASCII.
size_t han_end(const Reader& text, size_t begin) {
  const Char first = text.at(begin);
  size_t at = begin, end = begin + first.bytes;
  Char c = text.at(end);
  if (first.kind == kHanSymbol) {
    for (; c.kind == kHanSymbol; c = text.at(end)) end += c.bytes;
    return end;
  }
  if (first.kind == kHanOther) {  // see the end of pretoken_end
    for (; c.kind == kHanOther; c = text.at(end)) {
      at = end;
      end += c.bytes;
    }
    if (!is_han_word(c.kind)) return end;
    if (at != begin) return at;
  }
  for (; is_han_word(c.kind); c = text.at(end)) end += c.bytes;
  return end;
}

// The last three alternatives, on a run of white space that neither a word nor a symbol can take.
size_t space_end(const Reader& text, size_t begin) {
  size_t end = begin, last = begin, after_newline = begin;
  Char c = text.at(begin);
  for (; c.kind == kSpace || c.kind == kNewline; c = text.at(end)) {
    last = end;
    end += c.bytes;
    if (c.kind == kNewline) after_newline = end;
  }
  if (after_newline != begin) return after_newline;  // \s*[\r\n]+
  const bool ends_text = c.kind == kNumber || is_han(c.kind);
  return ends_text || last == begin ? end : last;  // \s+(?!\S) gives one back if something follows; else \s+
}

}  // namespace

size_t pretoken_end(std::string_view view, size_t begin) {
  const Reader text(view);
  const Char first = text.at(begin);
  const size_t next = begin + first.bytes;
  switch (first.kind) {
    case kLetter:
    case kMark:
      return text.skip_letters(next);
    case kNumber: {
      size_t end = next;
      for (int k = 1; k < 3; ++k) {
        const Char c = text.at(end);
        if (c.kind != kNumber) break;
        end += c.bytes;
      }
      return end;
    }
    case kHanLetter:
    case kHanMark:
    case kHanSymbol:
    case kHanOther:
      return han_end(text, begin);
    case kSymbol:
      if (first.bytes == 1 && is_ascii_letter(text.byte(next))) return text.skip_ascii_letters(next + 1);
      return text.skip_symbols_and_newlines(next);
    case kSpace: {
      const Char second = text.at(next);
      if (is_word(second.kind)) return text.skip_letters(next + second.bytes);
      if (second.kind == kSymbol && text.byte(begin) == ' ') return text.skip_symbols_and_newlines(next + second.bytes);
      return space_end(text, begin);
    }
    case kNewline:
      return space_end(text, begin);
    case kOther:
      break;
  }
  // No alternative takes a character of no class alone: a run of them is one piece, but the last one goes with a word.
  size_t at = begin, end = next;
  for (Char c = text.at(end);; c = text.at(end)) {
    if (is_word(c.kind)) return at == begin ? text.skip_letters(end + c.bytes) : at;
    if (c.kind != kOther) return end;
    at = end;
    end += c.bytes;
  }
}

}  // namespace deepinfer::tokenizer
