#include "checkpoint/engram_map.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "base/mapped_file.h"
#include "test_folder.h"

namespace deepinfer {
namespace {

// A tokenizer of these vocabulary strings (byte-level alphabet).
std::vector<int32_t> map_of(const std::vector<std::string>& tokens) {
  std::string json = R"({"model":{"vocab":{)";
  for (size_t i = 0; i < tokens.size(); ++i) json += (i ? ",\"" : "\"") + tokens[i] + "\":" + std::to_string(i);
  const auto r =
      build_token_map(json + "}},\"added_tokens\":[]}", "tokenizer.json", static_cast<int64_t>(tokens.size()));
  EXPECT_TRUE(r) << r.error().message;
  return r ? *r : std::vector<int32_t>{};
}

TEST(EngramMap, tokens_that_differ_in_case_accent_width_or_outer_space_share_a_class) {
  // "Ġ" is a space, "Ã©" the bytes of é, "ï¼¡" those of fullwidth A.
  EXPECT_EQ(map_of({"a", "A", "Ġa", "Ã¡", "ï¼¡", "b"}), (std::vector<int32_t>{0, 0, 0, 0, 0, 1}));
  EXPECT_EQ(map_of({"aĠb", "AĠĠB", "aĊb", "ab"}), (std::vector<int32_t>{0, 0, 0, 1}));
}

TEST(EngramMap, runs_of_blanks_are_one_space_and_unprintables_keep_their_own_text) {
  EXPECT_EQ(map_of({"Ġ", "ĠĠ", "Ċ", "a"}), (std::vector<int32_t>{0, 0, 0, 1}));
  // NBSP folds to a space by NFKC. A combining accent alone folds to nothing: its text is the key.
  EXPECT_EQ(map_of({"Ġ", "Âł", "Ìģ", "ÌĢ"}), (std::vector<int32_t>{0, 0, 1, 2}));
}

TEST(EngramMap, halves_of_characters_are_told_apart_by_their_bytes) {
  EXPECT_EQ(map_of({"Ã", "Â", "Ã©"}), (std::vector<int32_t>{0, 1, 2}));
}

TEST(EngramMap, ids_without_a_token_share_the_empty_class) {
  const auto r =
      build_token_map(R"({"model":{"vocab":{"a":1}},"added_tokens":[{"id":3,"content":"<｜x｜>"}]})", "t", 5);
  ASSERT_TRUE(r);
  EXPECT_EQ(*r, (std::vector<int32_t>{0, 1, 0, 2, 0}));
}

TEST(EngramMap, broken_tokenizers_are_refused) {
  EXPECT_FALSE(build_token_map("{", "t", 5));
  EXPECT_FALSE(build_token_map("[]", "t", 5));
  EXPECT_FALSE(build_token_map(R"({"model":{}})", "t", 5));
  EXPECT_FALSE(build_token_map(R"({"model":{"vocab":{"a":-1}}})", "t", 5));
  EXPECT_FALSE(build_token_map(R"({"model":{"vocab":{"a":1}},"added_tokens":[{"id":3}]})", "t", 5));
}

TEST(EngramMap, the_small_models_map_is_rebuilt_from_its_tokenizer) {
  const std::string folder = kShared + "/model/v41-small";
  if (!path_exists(folder)) GTEST_SKIP() << "no ../shared in this checkout";
  const auto config = ModelConfig::load(folder);
  ASSERT_TRUE(config);
  const auto shipped = load_token_map(folder, *config);
  ASSERT_TRUE(shipped) << shipped.error().message;
  const auto file = MappedFile::open(folder + "/tokenizer.json");
  const auto built = build_token_map(file->text(), "tokenizer.json", config->vocab_size);
  ASSERT_TRUE(built) << built.error().message;
  EXPECT_EQ(*built, *shipped);
}

TEST(EngramMap, the_official_tokenizer_falls_into_99092_classes) {
  const std::string path = kShared + "/vectors/tokenizer/deepseek-v4.1/tokenizer.json";
  if (!path_exists(path)) GTEST_SKIP() << "no ../shared in this checkout";
  const auto file = MappedFile::open(path);
  const auto built = build_token_map(file->text(), path, 129280);
  ASSERT_TRUE(built) << built.error().message;
  EXPECT_EQ(*std::max_element(built->begin(), built->end()) + 1, 99092);
}

TEST(EngramMap, a_meta_file_must_agree_with_the_config) {
  const auto config = *ModelConfig::load(kTestData + "/config-tiny.json");
  std::vector<int32_t> map;
  for (int i = 0; i < 1024; ++i) map.push_back(i % 900);
  const std::string good = engram_meta_json(config, map);
  TestFolder folder;
  const auto load = [&](const std::string& text) {
    write_file(folder.file("engram_meta.json"), text);
    return load_token_map(folder.path(), config);
  };
  ASSERT_TRUE(load(good)) << load(good).error().message;
  EXPECT_EQ(*load(good), map);
  const auto refused = [&](const std::string& from, const std::string& to, const std::string& word) {
    std::string text = good;
    ASSERT_NE(text.find(from), std::string::npos) << from;
    text.replace(text.find(from), from.size(), to);
    const auto r = load(text);
    ASSERT_FALSE(r) << to;
    EXPECT_NE(r.error().message.find(word), std::string::npos) << r.error().message;
    EXPECT_NE(r.error().message.find("engram_meta.json"), std::string::npos);
  };
  refused("[0,1,2", "[1,2", "1023 entries");
  refused("[0,1,2", "[0,1,900", "token_map[2]");
  refused("[0,1,2", "[0,1,-2", "token_map[2]");
  refused("\"compressed_vocab_size\":900", "\"compressed_vocab_size\":901", "compressed_vocab_size");
  refused("\"pad_token_id\":2", "\"pad_token_id\":3", "pad_token_id");
  refused("8437364068238481", "8437364068238483", "multipliers");
  refused("{", "", "JSON");
  std::vector<int32_t> gap = map;
  std::replace(gap.begin(), gap.end(), 899, 0);
  EXPECT_FALSE(load(engram_meta_json(config, gap)));
  std::filesystem::remove(folder.file("engram_meta.json"));
  const auto none = load_token_map(folder.path(), config);
  ASSERT_FALSE(none);
  EXPECT_NE(none.error().message.find("tokenizer.json"), std::string::npos);
}

}  // namespace
}  // namespace deepinfer
