#include "tokenizer/tokenizer.h"

#include <gtest/gtest.h>
#include <simdjson.h>

#include <chrono>
#include <cstdlib>
#include <random>
#include <thread>

#include "base/json_writer.h"
#include "tokenizer_fixture.h"

namespace deepinfer {
namespace {

using Ids = std::vector<int32_t>;

Tokenizer small(const std::vector<std::pair<std::string, std::string>>& merges = {
                    {"a", "b"}, {"ab", "c"}, {" ", "a"}}) {
  Result<Tokenizer> t = Tokenizer::parse(testing::small_tokenizer_json(merges), "made");
  if (!t) {
    ADD_FAILURE() << t.error().message;
    std::abort();
  }
  return std::move(*t);
}

std::string joined(const Tokenizer& t, const Ids& ids) {
  std::string out;
  for (const int32_t id : ids) out += t.token_bytes(id);
  return out;
}

Ids ids_of(simdjson::dom::element e) {
  Ids out;
  for (const auto id : e.get_array()) out.push_back(static_cast<int32_t>(int64_t(id)));
  return out;
}

TEST(TokenizerTest, merges_inside_pretokens_only) {
  const Tokenizer t = small();
  EXPECT_EQ(t.encode("abc", false), Ids({260}));
  EXPECT_EQ(t.encode("abcabc", false), Ids({260, 260}));
  EXPECT_EQ(t.encode("x ab", false), Ids({3 + 'x', 3 + ' ', 259}));  // a b comes before the space
  EXPECT_EQ(t.encode("a1b", false), Ids({3 + 'a', 3 + '1', 3 + 'b'}));
  EXPECT_TRUE(t.encode("", true).empty());
}

TEST(TokenizerTest, finds_added_tokens_leftmost_longest_and_only_when_asked) {
  const Tokenizer t = small();
  const int32_t think = *t.find_special("<think>"), x = *t.find_special("<|x|>"), xy = *t.find_special("<|x|>y");
  EXPECT_EQ(t.encode("<think>abc<|x|>z<|x|>y", true), Ids({think, 260, x, 3 + 'z', xy}));
  EXPECT_EQ(t.encode("<thin<think>", true).back(), think);
  EXPECT_EQ(t.encode("<｜begin▁of▁sentence｜>", true), Ids({t.bos_id()}));
  for (const char* text : {"<think>", "<｜begin▁of▁sentence｜>", "<|x|>y"}) {
    const Ids ids = t.encode(text, false);
    EXPECT_EQ(joined(t, ids), text);
    for (const int32_t id : ids) EXPECT_FALSE(t.is_added(id)) << text;
  }
}

TEST(TokenizerTest, names_its_entries) {
  const Tokenizer t = small();
  EXPECT_EQ(t.vocab_size(), 3 + 256 + 3 + 3);
  EXPECT_EQ(t.bos_id(), 0);
  EXPECT_EQ(t.eos_id(), 1);
  EXPECT_EQ(t.pad_id(), 2);
  EXPECT_EQ(t.raw_token(261), "Ġa");
  EXPECT_EQ(t.token_bytes(261), " a");
  EXPECT_EQ(t.find_raw("Ġa"), 261);
  EXPECT_EQ(t.find_raw("nothing"), std::nullopt);
  EXPECT_EQ(t.find_special("abc"), std::nullopt);  // an entry, but not an added token
  EXPECT_TRUE(t.is_special(0));
  EXPECT_FALSE(t.is_special(*t.find_special("<think>")));
  EXPECT_TRUE(t.is_added(*t.find_special("<think>")));
  for (const int32_t id : {-1, t.vocab_size(), INT32_MAX, INT32_MIN}) {
    EXPECT_EQ(t.token_bytes(id), "");
    EXPECT_EQ(t.raw_token(id), "");
    EXPECT_FALSE(t.is_special(id) || t.is_added(id));
  }
}

TEST(TokenizerTest, decodes_lossily_and_leaves_out_what_it_must) {
  const Tokenizer t = small();
  const auto byte = [](int b) { return 3 + b; };
  EXPECT_EQ(t.decode(Ids({byte(0xE4), byte(0xBD), byte(0xA0)}), false), "\xe4\xbd\xa0");
  EXPECT_EQ(t.decode(Ids({byte(0xE4), byte(0xBD), byte('a')}), false),
            "\xef\xbf\xbd"
            "a");
  EXPECT_EQ(t.decode(Ids({byte(0xFF), byte(0xFF)}), false), "\xef\xbf\xbd\xef\xbf\xbd");
  const int32_t think = *t.find_special("<think>");
  EXPECT_EQ(t.decode(Ids({0, think, 260, 99999, -4}), false), "<｜begin▁of▁sentence｜><think>abc");
  EXPECT_EQ(t.decode(Ids({0, think, 260, 99999, -4}), true), "<think>abc");
}

TEST(TokenizerTest, keeps_every_byte_of_random_byte_strings) {
  const Tokenizer t = small(testing::random_merges(300, 5));
  std::mt19937 random(11);
  const std::string letters = "abc  \xe4\xbd\xa0\xe5\xa5\xbd<think>1\n";
  for (int round = 0; round < 20000; ++round) {
    std::string text;
    for (unsigned k = random() % 60; k-- > 0;)
      text += random() % 3 ? letters[random() % letters.size()] : static_cast<char>(random());
    for (const bool special : {false, true}) ASSERT_EQ(joined(t, t.encode(text, special)), text);
  }
}

TEST(TokenizerTest, appends_to_the_ids_that_are_there) {
  const Tokenizer t = small();
  Ids ids = {42};
  t.encode("abc", false, ids);
  t.encode("", false, ids);
  t.encode("abc", true, ids);
  EXPECT_EQ(ids, Ids({42, 260, 260}));
}

TEST(TokenizerTest, gives_the_same_ids_from_many_threads_at_once) {
  const Tokenizer t = small(testing::random_merges(300, 9));
  std::vector<std::string> texts;
  std::vector<Ids> want;
  std::mt19937 random(3);
  for (int k = 0; k < 400; ++k) {
    std::string text;
    for (int i = 0; i < 200; ++i) text += "abc abc\n"[random() % 8];
    want.push_back(t.encode(text, true));
    texts.push_back(std::move(text));
  }
  std::vector<std::thread> threads;
  std::vector<int> wrong(4, 0);
  for (int k = 0; k < 4; ++k)
    threads.emplace_back([&, k] {
      for (int round = 0; round < 5; ++round)
        for (size_t i = 0; i < texts.size(); ++i) wrong[static_cast<size_t>(k)] += t.encode(texts[i], true) != want[i];
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, std::vector<int>(4, 0));
}

TEST(TokenizerTest, takes_long_awkward_texts_in_time) {
  for (const char* which : {"small", "official"}) {
    const std::string path = testing::find_tokenizer(which);
    if (path.empty()) continue;
    const Tokenizer t = std::move(*Tokenizer::load(path));
    for (const char* unit : {"a", " ", "\n", "ab", "<", "<｜", "\xe4\xbd\xa0", "7", "=", "\xcc\x81", "\xff", "aA"}) {
      std::string text;
      while (text.size() < 1u << 20) text += unit;
      const auto start = std::chrono::steady_clock::now();
      const Ids ids = t.encode(text, true);
      const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
      EXPECT_LT(seconds, 10.0) << which << " " << ::testing::PrintToString(std::string(unit));
      EXPECT_EQ(joined(t, ids), text) << which;
    }
  }
}

TEST(TokenizerTest, encodes_and_decodes_every_published_case) {
  const std::string tokenizer = testing::find_tokenizer("official"),
                    cases = testing::find_data("vectors/tokenizer/cases.json");
  if (tokenizer.empty() || cases.empty()) GTEST_SKIP() << "no vectors/tokenizer under tests/data or ../shared";
  const Tokenizer t = std::move(*Tokenizer::load(tokenizer));
  EXPECT_EQ(t.vocab_size(), 129280);
  simdjson::dom::parser parser;
  simdjson::dom::element doc;
  ASSERT_FALSE(parser.load(cases).get(doc));
  int count = 0;
  for (const auto c : doc["cases"].get_array()) {
    ++count;
    const std::string_view text = c["text"], id = c["id"];
    const Ids ids = ids_of(c["ids"]);
    simdjson::dom::element plain;
    EXPECT_EQ(t.encode(text, true), ids) << id;
    EXPECT_EQ(t.encode(text, false), c["ids_plain"].get(plain) ? ids : ids_of(plain)) << id;
    EXPECT_EQ(t.decode(ids, false), text) << id;
    std::string_view skipped;
    EXPECT_EQ(t.decode(ids, true), c["decoded_skip_special"].get(skipped) ? text : skipped) << id;
  }
  EXPECT_EQ(count, 981);
  ASSERT_FALSE(parser.load(testing::find_data("vectors/tokenizer/decode.json")).get(doc));
  for (const auto c : doc["cases"].get_array()) {
    const std::string_view id = c["id"], text = c["text"], skipped = c["text_skip_special"];
    EXPECT_EQ(t.decode(ids_of(c["ids"]), false), text) << id;
    EXPECT_EQ(t.decode(ids_of(c["ids"]), true), skipped) << id;
  }
}

// Every entry of the vocabulary encodes to itself when it is one pre-token that merges can reach.
TEST(TokenizerTest, reaches_nearly_every_entry_of_the_small_vocabulary) {
  const std::string path = testing::find_tokenizer("small");
  if (path.empty()) GTEST_SKIP() << "no v41-small under models or ../shared/model";
  const Tokenizer t = std::move(*Tokenizer::load(path));
  EXPECT_EQ(t.vocab_size(), 8192);
  int itself = 0, entries = 0;
  for (int32_t id = 0; id < t.vocab_size(); ++id) {
    if (t.is_added(id)) {
      EXPECT_EQ(t.encode(t.token_bytes(id), true), Ids({id}));
      continue;
    }
    const Ids ids = t.encode(t.token_bytes(id), false);
    EXPECT_EQ(joined(t, ids), t.token_bytes(id));
    ++entries;
    itself += ids == Ids({id});
  }
  EXPECT_GT(itself, entries * 99 / 100);
}

}  // namespace
}  // namespace deepinfer
