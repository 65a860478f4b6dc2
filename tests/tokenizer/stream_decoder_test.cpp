#include "tokenizer/stream_decoder.h"

#include <gtest/gtest.h>
#include <simdjson.h>

#include <cstdlib>
#include <random>

#include "base/json_writer.h"
#include "tokenizer_fixture.h"

namespace deepinfer {
namespace {

using Ids = std::vector<int32_t>;

Tokenizer made() {
  return std::move(*Tokenizer::parse(testing::small_tokenizer_json(testing::random_merges(200, 2)), "x"));
}
int32_t byte(int b) { return 3 + b; }

TEST(StreamDecoderTest, holds_a_character_back_until_its_last_byte) {
  const Tokenizer t = made();
  StreamDecoder d(t);
  EXPECT_EQ(d.push(byte(0xE4)), "");
  EXPECT_EQ(d.push(byte(0xBD)), "");
  EXPECT_EQ(d.held_bytes(), 2u);
  EXPECT_EQ(d.push(byte(0xA0)), "\xe4\xbd\xa0");
  EXPECT_EQ(d.push(byte('x')), "x");
  EXPECT_EQ(d.push(byte(0xF0)), "");
  EXPECT_EQ(d.finish(), "\xef\xbf\xbd");
  EXPECT_EQ(d.finish(), "");
}

TEST(StreamDecoderTest, replaces_bytes_as_soon_as_they_cannot_become_valid) {
  const Tokenizer t = made();
  StreamDecoder d(t);
  EXPECT_EQ(d.push(byte(0xC3)), "");
  EXPECT_EQ(d.push(byte(' ')), "\xef\xbf\xbd ");
  EXPECT_EQ(d.push(byte(0xFF)), "\xef\xbf\xbd");
  EXPECT_EQ(d.push(byte(0x80)), "\xef\xbf\xbd");
  EXPECT_EQ(d.push(byte(0xED)), "");
  EXPECT_EQ(d.push(byte(0xA0)), "\xef\xbf\xbd\xef\xbf\xbd");  // a surrogate: two parts
  EXPECT_EQ(d.push(byte(0xF4)), "");
  EXPECT_EQ(d.push(byte(0x90)), "\xef\xbf\xbd\xef\xbf\xbd");
}

TEST(StreamDecoderTest, leaves_out_special_and_unknown_ids) {
  const Tokenizer t = made();
  StreamDecoder d(t, true);
  EXPECT_EQ(d.push(0), "");
  EXPECT_EQ(d.push(byte(0xC3)), "");
  EXPECT_EQ(d.push(1), "");
  EXPECT_EQ(d.push(byte(0xA9)), "\xc3\xa9");
  EXPECT_EQ(d.push(-1), "");
  EXPECT_EQ(d.push(1 << 30), "");
  EXPECT_EQ(d.push(*t.find_special("<think>")), "<think>");
}

TEST(StreamDecoderTest, pieces_of_random_ids_are_whole_and_join_to_the_decode) {
  const Tokenizer t = made();
  std::mt19937 random(1);
  for (int round = 0; round < 20000; ++round) {
    Ids ids;
    const bool near_valid = random() % 2;
    for (unsigned k = random() % 30; k-- > 0;) {
      if (near_valid) {
        const int lead[] = {'a', 0xC3, 0xA9, 0xE4, 0xBD, 0xA0, 0xF0, 0x9F, 0x98, 0x80, 0xED, 0xE0, 0xF4};
        ids.push_back(byte(lead[random() % std::size(lead)]));
      } else {
        ids.push_back(static_cast<int32_t>(random() % static_cast<unsigned>(t.vocab_size())));
      }
    }
    const bool skip = random() % 2;
    StreamDecoder d(t, skip);
    std::string all, bytes;
    for (size_t k = 0; k < ids.size(); ++k) {
      const std::string piece = d.push(ids[k]);
      ASSERT_TRUE(is_valid_utf8(piece));
      all += piece;
      // As early as possible: only a prefix that can still become a character is held.
      bytes.clear();
      t.append_bytes(std::span(ids).first(k + 1), skip, bytes);
      ASSERT_LE(d.held_bytes(), 3u);
      ASSERT_EQ(all + sanitize_utf8(bytes.substr(bytes.size() - d.held_bytes())), sanitize_utf8(bytes));
    }
    ASSERT_EQ(all + d.finish(), t.decode(ids, skip));
  }
}

TEST(StreamDecoderTest, follows_every_published_stream) {
  const std::string tokenizer = testing::find_tokenizer("official"),
                    file = testing::find_data("vectors/tokenizer/streaming.json");
  if (tokenizer.empty() || file.empty()) GTEST_SKIP() << "no vectors/tokenizer under tests/data or ../shared";
  const Tokenizer t = std::move(*Tokenizer::load(tokenizer));
  simdjson::dom::parser parser;
  simdjson::dom::element doc;
  ASSERT_FALSE(parser.load(file).get(doc));
  for (const auto c : doc["cases"].get_array()) {
    const std::string_view id = c["id"], full = c["full_decode"], emitted = c["emitted"];
    StreamDecoder d(t, bool(c["skip_special_tokens"]));
    std::string all;
    for (const auto token : c["ids"].get_array()) d.push(static_cast<int32_t>(int64_t(token)), all);
    EXPECT_GE(all.size(), emitted.size()) << id;
    EXPECT_EQ(all.substr(0, emitted.size()), emitted) << id;
    EXPECT_EQ(all + d.finish(), full) << id;
  }
}

}  // namespace
}  // namespace deepinfer
