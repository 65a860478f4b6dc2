// The matcher against PCRE2-JIT running the three patterns one inside the other, as the reference does.
#include "tokenizer/pretokenizer.h"

#define PCRE2_CODE_UNIT_WIDTH 8
#include <gtest/gtest.h>
#include <pcre2.h>

#include <chrono>
#include <random>
#include <string>
#include <vector>

#include "tokenizer/unicode_table.h"

namespace deepinfer::tokenizer {
namespace {

void append_utf8(std::string& out, uint32_t c) {
  if (c < 0x80) {
    out += static_cast<char>(c);
  } else if (c < 0x800) {
    out += static_cast<char>(0xC0 | c >> 6);
    out += static_cast<char>(0x80 | (c & 63));
  } else if (c < 0x10000) {
    out += static_cast<char>(0xE0 | c >> 12);
    out += static_cast<char>(0x80 | (c >> 6 & 63));
    out += static_cast<char>(0x80 | (c & 63));
  } else {
    out += static_cast<char>(0xF0 | c >> 18);
    out += static_cast<char>(0x80 | (c >> 12 & 63));
    out += static_cast<char>(0x80 | (c >> 6 & 63));
    out += static_cast<char>(0x80 | (c & 63));
  }
}

class Regex {
 public:
  explicit Regex(std::string_view pattern) {
    int error = 0;
    PCRE2_SIZE offset = 0;
    code_ = pcre2_compile(reinterpret_cast<PCRE2_SPTR>(pattern.data()), pattern.size(), PCRE2_UTF | PCRE2_UCP, &error,
                          &offset, nullptr);
    EXPECT_NE(code_, nullptr) << error << " at " << offset;
    pcre2_jit_compile(code_, PCRE2_JIT_COMPLETE);
    match_ = pcre2_match_data_create_from_pattern(code_, nullptr);
  }
  Regex(const Regex&) = delete;
  ~Regex() {
    pcre2_match_data_free(match_);
    pcre2_code_free(code_);
  }
  // Isolated split of one piece: matches, and what lies between them. The piece is the whole subject.
  void split(std::string_view piece, std::vector<std::string_view>& out) const {
    size_t at = 0, done = 0;
    while (at < piece.size() &&
           pcre2_match(code_, reinterpret_cast<PCRE2_SPTR>(piece.data()), piece.size(), at, 0, match_, nullptr) > 0) {
      const PCRE2_SIZE* v = pcre2_get_ovector_pointer(match_);
      if (v[0] > done) out.push_back(piece.substr(done, v[0] - done));
      out.push_back(piece.substr(v[0], v[1] - v[0]));
      at = done = v[1];
    }
    if (done < piece.size()) out.push_back(piece.substr(done));
  }
  bool matches(std::string_view text) const {
    return pcre2_match(code_, reinterpret_cast<PCRE2_SPTR>(text.data()), text.size(), 0, 0, match_, nullptr) > 0;
  }

 private:
  pcre2_code* code_;
  pcre2_match_data* match_;
};

std::vector<std::string_view> ours(std::string_view text) {
  std::vector<std::string_view> out;
  for (size_t begin = 0; begin < text.size();) {
    const size_t end = pretoken_end(text, begin);
    if (end <= begin || end > text.size()) {
      ADD_FAILURE() << "no progress at byte " << begin;
      break;
    }
    out.push_back(text.substr(begin, end - begin));
    begin = end;
  }
  return out;
}

class PretokenizerTest : public ::testing::Test {
 protected:
  std::vector<std::string_view> oracle(std::string_view text) const {
    std::vector<std::string_view> pieces = {text}, next;
    for (const Regex* pattern : {&number_, &han_, &word_}) {
      next.clear();
      for (const std::string_view piece : pieces) pattern->split(piece, next);
      pieces.swap(next);
    }
    return pieces;
  }
  Regex number_{kNumberPattern}, han_{kHanPattern}, word_{kWordPattern};
};

// The class PCRE2's own Unicode version gives a code point.
CharClass pcre_class(uint32_t c, const Regex& letter, const Regex& mark, const Regex& symbol, const Regex& space,
                     const Regex& number) {
  std::string s;
  append_utf8(s, c);
  if (number.matches(s)) return CharClass::kNumber;
  const bool han = (c >= 0x4E00 && c <= 0x9FA5) || (c >= 0x3040 && c <= 0x30FF);
  if (letter.matches(s)) return han ? CharClass::kHanLetter : CharClass::kLetter;
  if (mark.matches(s)) return han ? CharClass::kHanMark : CharClass::kMark;
  if (symbol.matches(s)) return han ? CharClass::kHanSymbol : CharClass::kSymbol;
  if (han) return CharClass::kHanOther;
  if (c == '\r' || c == '\n') return CharClass::kNewline;
  return space.matches(s) ? CharClass::kSpace : CharClass::kOther;
}

std::vector<uint32_t> code_points_both_know(size_t& differing) {
  const Regex letter("^\\p{L}"), mark("^\\p{M}"), symbol("^[\\p{P}\\p{S}]"), space("^\\s"), number("^\\p{N}");
  std::vector<uint32_t> out;
  differing = 0;
  for (uint32_t c = 0; c <= 0x10FFFF; ++c) {
    if (c >= 0xD800 && c < 0xE000) continue;
    if (pcre_class(c, letter, mark, symbol, space, number) == char_class(c))
      out.push_back(c);
    else
      ++differing;
  }
  return out;
}

TEST_F(PretokenizerTest, cuts_random_unicode_text_as_pcre2_does) {
  size_t differing;
  const std::vector<uint32_t> known = code_points_both_know(differing);
  char version[32] = {};
  pcre2_config(PCRE2_CONFIG_UNICODE_VERSION, version);
  std::printf("left out %zu of 1112064 code points: PCRE2 has Unicode %s, the tables 16.0, so their classes differ\n",
              differing, version);
  ASSERT_LT(differing, 15000u);  // 14.0 to 16.0: about eleven thousand new ones; a wrong table would differ in far more
  std::vector<uint32_t> by_class[12];
  for (const uint32_t c : known) by_class[static_cast<size_t>(char_class(c))].push_back(c);
  for (size_t k = 0; k < 12; ++k) ASSERT_EQ(by_class[k].empty(), k == 7) << k;
  const std::string ascii = " \t\r\n\v\f abcXYZ'!.,-_<>0123456789\x01\x7f";
  std::mt19937 random(20261201);
  for (int round = 0; round < 60000; ++round) {
    std::string text;
    const int length = 1 + static_cast<int>(random() % 24);
    const unsigned ascii_share = random() % 11;
    for (int k = 0; k < length; ++k) {
      if (random() % 10 < ascii_share) {
        text += ascii[random() % ascii.size()];
      } else {
        const auto& list = by_class[(random() % 11 + 8) % 12];  // 8 to 11 and 0 to 6
        append_utf8(text, list[random() % list.size()]);
      }
    }
    const auto got = ours(text), want = oracle(text);
    for (size_t k = 0; k < std::min(got.size(), want.size()); ++k)
      ASSERT_EQ(got[k], want[k]) << ::testing::PrintToString(text);
    ASSERT_EQ(got.size(), want.size());
  }
}

TEST_F(PretokenizerTest, cuts_every_string_of_four_class_representatives_as_pcre2_does) {
  // One or two of each class, and all ASCII that the patterns treat on its own.
  const std::vector<std::string> letters = {"a",      "\u00e9", "\u0301", "\u3042", "7",  "\u00b2", "!",
                                            "\u3002", " ",      "\t",     "\u3000", "\n", "\r",     "\u200d"};
  const size_t n = letters.size();
  for (size_t code = 0; code < n * n * n * n; ++code) {
    std::string text;
    for (size_t rest = code, k = 0; k < 4; ++k, rest /= n) text += letters[rest % n];
    ASSERT_EQ(ours(text), oracle(text)) << ::testing::PrintToString(text);
  }
}

TEST(CharClassTest, matches_pcre2_for_all_but_code_points_of_newer_unicode) {
  const Regex assigned("^\\P{Cn}"), letter("^\\p{L}"), mark("^\\p{M}"), symbol("^[\\p{P}\\p{S}]"), space("^\\s"),
      number("^\\p{N}");
  size_t changed = 0;
  for (uint32_t c = 0; c <= 0x10FFFF; ++c) {
    if (c >= 0xD800 && c < 0xE000) continue;
    std::string s;
    append_utf8(s, c);
    if (assigned.matches(s) && pcre_class(c, letter, mark, symbol, space, number) != char_class(c)) {
      ++changed;
      std::printf("class changed since PCRE2's Unicode version: U+%04X\n", c);
    }
  }
  EXPECT_LE(changed, 8u);  // U+180E, and a few whose category Unicode 15 or 16 changed
}

TEST(PretokenizerBytesTest, treats_every_invalid_byte_as_a_character_of_no_class) {
  const auto pieces = [](std::string_view text) {
    const auto list = ours(text);
    return std::vector<std::string>(list.begin(), list.end());
  };
  using Pieces = std::vector<std::string>;
  EXPECT_EQ(pieces("\xff\xfe"), Pieces({"\xff\xfe"}));
  EXPECT_EQ(pieces("a\xff"
                   "b"),
            Pieces({"a",
                    "\xff"
                    "b"}));
  EXPECT_EQ(pieces("\xe4\xbd"), Pieces({"\xe4\xbd"}));                // cut
  EXPECT_EQ(pieces("\xed\xa0\x80!"), Pieces({"\xed\xa0\x80", "!"}));  // surrogate
  EXPECT_EQ(pieces("\xc0\xaf"), Pieces({"\xc0\xaf"}));                // overlong
  EXPECT_EQ(pieces("\xf5\x80\x80\x80"), Pieces({"\xf5\x80\x80\x80"}));
}

TEST(PretokenizerBytesTest, covers_random_bytes_without_gap_or_overlap) {
  std::mt19937 random(7);
  for (int round = 0; round < 20000; ++round) {
    std::string text;
    for (unsigned k = random() % 40; k-- > 0;) text += static_cast<char>(random());
    std::string joined;
    for (const std::string_view piece : ours(text)) joined += piece;
    ASSERT_EQ(joined, text);
  }
}

TEST(PretokenizerTimeTest, takes_linear_time_on_runs_of_any_class) {
  for (const char* unit : {" ", "\n", " \n", "a", "!", "7", "\u4f60", "\u200d", "\u0301", "\r\n ", " !",
                           "\x01"
                           "a"}) {
    std::string text;
    while (text.size() < 4u << 20) text += unit;
    const auto start = std::chrono::steady_clock::now();
    size_t count = 0;
    for (size_t at = 0; at < text.size(); ++count) at = pretoken_end(text, at);
    const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    EXPECT_LT(seconds, 2.0) << ::testing::PrintToString(std::string(unit)) << ": " << count << " pieces";
  }
}

}  // namespace
}  // namespace deepinfer::tokenizer
