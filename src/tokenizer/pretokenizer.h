// Cuts text into pre-tokens exactly as the reference's regex sequence does (spec/chat.md section 8): numbers of up to
// three digits, runs of Han and kana, then the word pattern inside what is left. One pass, no regex engine, time linear
// in the text. Stateless: any thread.
//
// How one pass can replace three nested splits: pattern 1 takes numbers away, pattern 2 runs of Han and kana, and
// pattern 3 then works inside each run of what is left and inside each Han run (a katakana middle dot splits one). So
// for pattern 3 a number, and the border between Han and other characters, is the end of its text.
#pragma once
#include <cstddef>
#include <string_view>

namespace deepinfer::tokenizer {

// The regex sources this matcher implements; the loader refuses any other.
inline constexpr std::string_view kNumberPattern = R"(\p{N}{1,3})";
inline constexpr std::string_view kHanPattern = "[\u4e00-\u9fa5\u3040-\u309f\u30a0-\u30ff]+";
inline constexpr std::string_view kWordPattern =
    "[!\"#$%&'()*+,\\-./:;<=>?@\\[\\\\\\]^_`{|}~][A-Za-z]+|[^\r\n\\p{L}\\p{P}\\p{S}]?[\\p{L}\\p{M}]+|"
    " ?[\\p{P}\\p{S}]+[\r\n]*|\\s*[\r\n]+|\\s+(?!\\S)|\\s+";

// End of the pre-token that starts at `begin`, given that a pre-token starts there. Bytes that are not valid UTF-8
// count as one character of no class each.
// REQUIRES: begin < text.size()
size_t pretoken_end(std::string_view text, size_t begin);

}  // namespace deepinfer::tokenizer
