#include "tokenizer/bpe.h"

#include <gtest/gtest.h>

#include <chrono>
#include <map>
#include <random>
#include <string>

namespace deepinfer::tokenizer {
namespace {

// Merges by definition: the pair of lowest rank, leftmost, again and again.
struct PlainBpe {
  std::map<std::pair<int32_t, int32_t>, std::pair<int, int32_t>> merges;  // pair -> rank, id
  std::vector<int32_t> encode(const std::string& text) const {
    std::vector<int32_t> ids(text.begin(), text.end());
    for (int32_t& id : ids) id &= 0xFF;
    for (;;) {
      size_t at = ids.size();
      int best = 1 << 30;
      for (size_t i = 0; i + 1 < ids.size(); ++i) {
        const auto found = merges.find({ids[i], ids[i + 1]});
        if (found != merges.end() && found->second.first < best) {
          best = found->second.first;
          at = i;
        }
      }
      if (at == ids.size()) return ids;
      ids[at] = merges.at({ids[at], ids[at + 1]}).second;
      ids.erase(ids.begin() + static_cast<std::ptrdiff_t>(at) + 1);
    }
  }
};

struct Pair {
  Bpe fast;
  PlainBpe plain;
};

Pair random_bpe(unsigned seed, int count, int letters) {
  Pair out;
  std::mt19937 random(seed);
  for (int b = 0; b < 256; ++b) out.fast.set_byte_token(static_cast<uint8_t>(b), b);
  out.fast.reserve(static_cast<size_t>(count));
  std::vector<int32_t> known;
  for (int k = 0; k < letters; ++k) known.push_back('a' + k);
  for (int rank = 0; rank < count; ++rank) {
    const int32_t left = known[random() % known.size()], right = known[random() % known.size()];
    const int32_t id = 256 + rank;
    out.fast.add_merge(left, right, id);
    out.plain.merges[{left, right}] = {rank, id};  // named twice: the later rank
    known.push_back(id);
  }
  out.fast.finish();
  return out;
}

TEST(BpeTest, merges_pretokens_of_every_length_as_the_definition_does) {
  for (unsigned seed = 1; seed <= 12; ++seed) {
    const Pair bpe = random_bpe(seed, 40 + static_cast<int>(seed) * 30, 2 + static_cast<int>(seed) % 3);
    BpeScratch scratch;
    std::mt19937 random(seed);
    for (size_t length = 1; length <= 400; length += length < 140 ? 1 : 37) {
      for (int round = 0; round < 4; ++round) {
        std::string text;
        for (size_t k = 0; k < length; ++k) text += static_cast<char>('a' + random() % (2 + seed % 3));
        const std::vector<int32_t> want = bpe.plain.encode(text);
        for (int again = 0; again < 2; ++again) {  // the second time perhaps from the cache
          std::vector<int32_t> got = {-7};
          bpe.fast.encode(text, text.size(), scratch, got);
          ASSERT_EQ(std::vector<int32_t>(got.begin() + 1, got.end()), want) << "seed " << seed << " " << text;
          got = {};
          const std::string longer = text + "following text";
          bpe.fast.encode(std::string_view(longer).substr(0, length), longer.size(), scratch, got);
          ASSERT_EQ(got, want) << "seed " << seed << " " << text;
        }
      }
    }
  }
}

// Letters are characters of one to four bytes, merges start from their bytes, and some parts are torn characters; so
// cuts, torn entries and broken text all occur.
TEST(BpeTest, cuts_long_pretokens_only_where_no_merge_can_cross) {
  const std::vector<std::string> letters = {"a", "b", "\u00e9", "\u0434", "\u4f60", "\u597d", "\u4e16", "\U0001f600"};
  for (unsigned seed = 1; seed <= 40; ++seed) {
    std::mt19937 random(seed);
    Pair bpe;
    std::vector<std::string> bytes(256);
    std::vector<int32_t> known;
    for (int b = 0; b < 256; ++b) {
      bytes[static_cast<size_t>(b)] = static_cast<char>(b);
      bpe.fast.set_byte_token(static_cast<uint8_t>(b), b);
    }
    for (const std::string& letter : letters)
      for (const char c : letter) known.push_back(static_cast<uint8_t>(c));
    const int count = 20 + static_cast<int>(random() % 150);
    bpe.fast.reserve(static_cast<size_t>(count));
    for (int rank = 0; rank < count; ++rank) {
      int32_t left = known[random() % known.size()], right = known[random() % known.size()];
      if (random() % 2) {  // two parts that stand side by side in a text of two letters
        const std::string& a = letters[random() % letters.size()];
        const std::string text = a + letters[random() % letters.size()];
        const std::vector<int32_t> ids = bpe.plain.encode(text);
        if (ids.size() > 1) {
          const size_t at = random() % (ids.size() - 1);
          left = ids[at];
          right = ids[at + 1];
        }
      }
      const int32_t id = 256 + rank;
      bpe.fast.add_merge(left, right, id);
      bpe.plain.merges[{left, right}] = {rank, id};
      bytes.push_back(bytes[static_cast<size_t>(left)] + bytes[static_cast<size_t>(right)]);
      if (bytes.back().size() < 20) known.push_back(id);
    }
    bpe.fast.finish();
    bpe.fast.start_entries(bytes.size());
    for (const std::string& entry : bytes) bpe.fast.add_entry(entry);
    BpeScratch scratch;
    for (int round = 0; round < 300; ++round) {
      std::string text;
      const unsigned broken = random() % 3 == 0 ? 10 : 0;
      while (text.size() < 16 + random() % 200) {
        const std::string& letter = letters[random() % letters.size()];
        text += random() % 100 < broken ? letter.substr(random() % letter.size(), 1) : letter;
      }
      std::vector<int32_t> got;
      bpe.fast.encode(text, text.size(), scratch, got);
      ASSERT_EQ(got, bpe.plain.encode(text)) << "seed " << seed << " " << ::testing::PrintToString(text);
    }
  }
}

TEST(BpeTest, tells_cached_pretokens_with_zero_bytes_apart) {
  const Pair bpe = random_bpe(3, 10, 2);
  BpeScratch scratch;
  for (const std::string& text : {std::string("a\0", 2), std::string("a\0\0", 3), std::string("\0\0", 2),
                                  std::string("\0\0\0\0\0\0\0\0\0", 9), std::string("\0\0\0\0\0\0\0\0", 8)}) {
    std::vector<int32_t> got;
    bpe.fast.encode(text, text.size(), scratch, got);
    EXPECT_EQ(got, bpe.plain.encode(text)) << text.size();
  }
}

TEST(BpeTest, takes_a_megabyte_of_one_letter_in_well_under_quadratic_time) {
  Bpe bpe;
  for (int b = 0; b < 256; ++b) bpe.set_byte_token(static_cast<uint8_t>(b), b);
  bpe.reserve(6);
  int32_t last = 'a';
  for (int k = 0; k < 6; ++k) {
    bpe.add_merge(last, last, 256 + k);
    last = 256 + k;
  }
  bpe.finish();
  const std::string text(1 << 20, 'a');
  BpeScratch scratch;
  std::vector<int32_t> ids;
  const auto start = std::chrono::steady_clock::now();
  bpe.encode(text, text.size(), scratch, ids);
  EXPECT_LT(std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count(), 20.0);  // quadratic: hours
  EXPECT_EQ(ids, std::vector<int32_t>(text.size() / 64, last));
  scratch.trim();
  EXPECT_EQ(scratch.heap.capacity(), 0u);
}

}  // namespace
}  // namespace deepinfer::tokenizer
