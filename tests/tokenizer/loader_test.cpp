// What a damaged or foreign tokenizer.json is answered with: one line that names file and field.
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "tokenizer/tokenizer.h"
#include "tokenizer_fixture.h"

namespace deepinfer {
namespace {

std::string good() { return testing::small_tokenizer_json({{"a", "b"}, {"ab", "c"}}); }

// The good file with one text replaced everywhere; the text must be there.
std::string with(const std::string& from, const std::string& to) {
  std::string out = good();
  size_t at = out.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  for (; at != std::string::npos; at = out.find(from, at + to.size())) out.replace(at, from.size(), to);
  return out;
}

void expect_refused(const std::string& json, const std::string& part, const std::string& more = "") {
  const Result<Tokenizer> t = Tokenizer::parse(json, "dir/tokenizer.json");
  ASSERT_FALSE(t) << "accepted; expected an error about " << part;
  const std::string& message = t.error().message;
  EXPECT_EQ(t.error().code, ErrorCode::kBadModel) << message;
  EXPECT_EQ(message.rfind("dir/tokenizer.json: ", 0), 0u) << message;
  EXPECT_NE(message.find(part), std::string::npos) << message << "\nexpected " << part;
  EXPECT_NE(message.find(more), std::string::npos) << message << "\nexpected " << more;
  EXPECT_EQ(message.find('\n'), std::string::npos) << message;
}

TEST(LoaderTest, accepts_the_file_that_the_other_tests_damage) { ASSERT_TRUE(Tokenizer::parse(good(), "x")); }

TEST(LoaderTest, refuses_a_file_cut_anywhere) {
  const std::string json = good();
  for (size_t size = 0; size < json.size(); size += 13) expect_refused(json.substr(0, size), "JSON");
}

TEST(LoaderTest, refuses_documents_of_another_shape) {
  expect_refused("[]", "must be an object");
  expect_refused("{}", "model is missing");
  expect_refused(R"({"model":7})", "model must be an object", "a number");
  expect_refused(R"({"model":{"type":"BPE"},"added_tokens":[]})", "model.vocab is missing");
  expect_refused(R"({"model":{"type":"Unigram"}})", "model.type", "Unigram");
  expect_refused(R"({"model":{"type":"BPE","vocab":[]}})", "model.vocab must be", "an array");
  expect_refused(R"({"model":{"type":"BPE","vocab":{}}})", "model.vocab has no entry");
  expect_refused("{\"model\":{\"type\":\"BPE\",\"vocab\":{\"\xff\":1}}}", "JSON");
}

TEST(LoaderTest, refuses_ids_that_are_wrong_twice_or_out_of_range) {
  expect_refused(with("\"abc\":260", "\"abc\":\"260\""), "model.vocab entry \"abc\"", "a string");
  expect_refused(with("\"abc\":260", "\"abc\":260.5"), "model.vocab entry \"abc\"");
  expect_refused(with("\"abc\":260", "\"abc\":259"), "model.vocab gives the id 259 to both \"ab\" and \"abc\"");
  expect_refused(with("\"abc\":260", "\"abc\":-1"), "model.vocab", "id -1");
  expect_refused(with("\"abc\":260", "\"abc\":4294967296"), "model.vocab", "4294967296");
  expect_refused(with("\"abc\":260", "\"abc\":99999999999999999999"), "JSON");
  expect_refused(with("\"abc\":260", "\"ab\":260"), "model.vocab has the entry \"ab\" twice");
}

TEST(LoaderTest, refuses_merges_of_unknown_entries_and_of_another_form) {
  expect_refused(with("\"ab c\"", "\"ab q\""), "model.merges[1] result \"abq\" is not in model.vocab");
  expect_refused(with("\"ab c\"", "\"abx c\""), "model.merges[1] left part \"abx\"");
  expect_refused(with("\"ab c\"", "\"ab cx\""), "model.merges[1] right part \"cx\"");
  expect_refused(with("\"ab c\"", "\"abc\""), "model.merges[1] is \"abc\"");
  expect_refused(with("\"ab c\"", "\"a b c\""), "model.merges[1] is \"a b c\"");
  expect_refused(with("\"ab c\"", "7"), "model.merges[1] must be");
  expect_refused(with("\"ab c\"", "[\"ab\"]"), "model.merges[1] must be");
  expect_refused(with("\"ab c\"", "[\"ab\",1]"), "model.merges[1] must be");
  expect_refused(with("\"merges\":", "\"mergers\":"), "model.merges is missing");
}

TEST(LoaderTest, takes_merges_as_pairs_too) {
  const Result<Tokenizer> t = Tokenizer::parse(with("\"ab c\"", "[\"ab\",\"c\"]"), "x");
  ASSERT_TRUE(t);
  EXPECT_EQ(t->encode("abc", false), std::vector<int32_t>({260}));
}

TEST(LoaderTest, refuses_added_tokens_that_contradict_the_vocabulary) {
  expect_refused(with("\"id\":261,", "\"id\":260,"),
                 "added_tokens[3] gives the id 260 to both \"abc\" and \"<think>\"");
  expect_refused(with("\"content\":\"<think>\"", "\"content\":\"abc\""), "added_tokens[3]", "already has the id 260");
  expect_refused(with("\"content\":\"<think>\"", "\"content\":7"), "added_tokens[3].content must be a string");
  expect_refused(with("\"content\":\"<think>\"", "\"content\":\"\""), "added_tokens[3].content is empty");
  expect_refused(with("\"id\":261,", ""), "added_tokens[3].id is missing");
  expect_refused(with("\"special\":false", "\"special\":1"), "added_tokens[3].special");
  expect_refused(with("\"lstrip\":false", "\"lstrip\":true"), "added_tokens[0].lstrip");
  expect_refused(with("\"added_tokens\":[", "\"added_tokens\":[3,"), "added_tokens[0] must be an object");
}

TEST(LoaderTest, refuses_a_pipeline_it_would_not_follow_exactly) {
  expect_refused(with("\\\\p{N}{1,3}", "\\\\p{N}{1,2}"), "pre_tokenizer.pretokenizers[0]", "regex");
  expect_refused(with("一-龥", "一-龦"), "pre_tokenizer.pretokenizers[1]", "regex");
  expect_refused(with("\\\\s+(?!\\\\S)|", ""), "pre_tokenizer.pretokenizers[2]", "regex");
  expect_refused(with("Isolated", "Removed"), "pre_tokenizer.pretokenizers[0]", "Isolated");
  expect_refused(with("\"invert\":false", "\"invert\":true"), "pre_tokenizer.pretokenizers[0].invert");
  expect_refused(with("\"type\":\"Split\"", "\"type\":\"Digits\""), "pre_tokenizer.pretokenizers[0]", "Digits");
  expect_refused(with("\"use_regex\":false", "\"use_regex\":true"), "pre_tokenizer.pretokenizers[3]", "use_regex");
  expect_refused(with("\"pre_tokenizer\":", "\"pre\":"), "pre_tokenizer is missing");
  expect_refused(with("\"decoder\":{\"type\":\"ByteLevel\"", "\"decoder\":{\"type\":\"WordPiece\""), "decoder.type",
                 "WordPiece");
  expect_refused(with("\"decoder\":", "\"d\":"), "decoder is missing");
  expect_refused(with("\"normalizers\":[]", "\"normalizers\":[{\"type\":\"NFC\"}]"), "normalizer is not empty");
  expect_refused(with("\"model\":{", "\"model\":{\"dropout\":0.5,"), "model.dropout is set");
  expect_refused(with("\"model\":{", "\"model\":{\"ignore_merges\":true,"), "model.ignore_merges");
  expect_refused(with("\"model\":{", "\"model\":{\"unk_token\":\"a\","), "model.unk_token");
  expect_refused(with("\"decoder\":", "\"truncation\":{\"max_length\":5},\"decoder\":"), "truncation is set");
  expect_refused(with("\"decoder\":", "\"post_processor\":{\"type\":\"TemplateProcessing\"},\"decoder\":"),
                 "post_processor");
}

TEST(LoaderTest, names_files_that_cannot_be_read) {
  const Result<Tokenizer> missing = Tokenizer::load("/nowhere/at/all.json");
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().code, ErrorCode::kNotFound);
  EXPECT_NE(missing.error().message.find("/nowhere/at/all.json"), std::string::npos);
  const std::string folder = ::testing::TempDir() + "deepinfer_loader_test_" + std::to_string(getpid());
  std::filesystem::create_directory(folder);
  const Result<Tokenizer> empty = Tokenizer::load(folder);
  ASSERT_FALSE(empty);
  EXPECT_EQ(empty.error().code, ErrorCode::kNotFound);
  EXPECT_NE(empty.error().message.find(folder + "/tokenizer.json"), std::string::npos);
  std::ofstream(folder + "/tokenizer.json") << good();
  EXPECT_TRUE(Tokenizer::load(folder));
  EXPECT_TRUE(Tokenizer::load(folder + "/tokenizer.json"));
  std::filesystem::remove_all(folder);
}

}  // namespace
}  // namespace deepinfer
