#include "config/config.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <chrono>
#include <functional>

#include "base/mapped_file.h"

namespace deepinfer {
namespace {

const std::string kOfficial = DEEPINFER_SOURCE_DIR "/tests/data/config-official.json";
const std::string kTiny = DEEPINFER_SOURCE_DIR "/tests/data/config-tiny.json";

std::string read(const std::string& path) { return std::string(MappedFile::open(path)->text()); }

// The official config with one piece of text replaced.
std::string official_with(const std::string& from, const std::string& to) {
  std::string text = read(kOfficial);
  const size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return text.replace(at, from.size(), to);
}

void expect_refused(const std::string& from, const std::string& to, const std::string& word) {
  const auto r = ModelConfig::parse(official_with(from, to), "the/config.json");
  ASSERT_FALSE(r) << to;
  EXPECT_EQ(r.error().code, ErrorCode::kBadModel);
  EXPECT_NE(r.error().message.find(word), std::string::npos) << r.error().message;
  EXPECT_EQ(r.error().message.rfind("the/config.json: ", 0), 0u) << r.error().message;
  EXPECT_LT(r.error().message.size(), 500u);
}

TEST(Config, official_values_and_what_follows_from_them) {
  const auto r = ModelConfig::load(kOfficial);
  ASSERT_TRUE(r) << r.error().message;
  const ModelConfig& c = *r;
  EXPECT_EQ(c.total_layers(), 43);
  EXPECT_EQ(c.first_decoder_layer(), 20);
  EXPECT_EQ(c.hc_mix(), 24);
  EXPECT_EQ(c.engram_columns(), 24);
  EXPECT_EQ(c.kv_source_of(2), 2);
  EXPECT_EQ(c.kv_source_of(7), 2);
  EXPECT_EQ(c.kv_source_of(39), 20);
  EXPECT_EQ(c.index_source_of(23), 20);
  EXPECT_EQ(c.index_source_of(27), 24);
  EXPECT_EQ(c.engram_slot(14), 1);
  EXPECT_EQ(c.engram_slot(13), -1);
  EXPECT_EQ(c.index_k_source_layer_ids, c.kv_source_layer_ids);
  EXPECT_TRUE(c.use_fp4_sparse_kv);
  EXPECT_EQ(c.rope_factor, 16);
  EXPECT_EQ(c.rms_norm_eps, 1e-20);
  EXPECT_EQ(c.image_token_id, 129264);
  ASSERT_TRUE(c.vision);
  EXPECT_FALSE(c.vision->max_wh_ratio);
}

TEST(Config, engram_primes_and_multipliers_of_the_official_config) {  // model.md 4.9b
  const auto c = *ModelConfig::load(kOfficial);
  const auto primes = c.engram_primes();
  ASSERT_EQ(primes.size(), 2u);
  ASSERT_EQ(primes[0].size(), 24u);
  EXPECT_EQ(primes[0].front(), 16000057);
  EXPECT_EQ(primes[0][7], 16000183);
  EXPECT_EQ(primes[0].back(), 16000463);
  EXPECT_EQ(primes[1].front(), 16000477);
  EXPECT_EQ(primes[1].back(), 16000889);
  const std::vector<std::vector<int64_t>> want = {{76632096046245, 4839876093313, 35959672319349, 73987337458391},
                                                  {67716810739261, 51510806800915, 30921347202721, 82619226485591}};
  EXPECT_EQ(c.engram_multipliers(99092), want);
}

TEST(Config, engram_hash_rows_of_the_spec_vector) {  // model.md 4.9c: ids 13 11 7 5
  const auto c = *ModelConfig::load(kOfficial);
  const auto primes = c.engram_primes();
  const auto mult = c.engram_multipliers(99092);
  const int64_t t[4] = {13, 11, 7, 5};
  const std::vector<int64_t> want[2] = {
      {4449004,   17571959,  46401655,  53039289,  78999797,  82320982,  107981968, 124752916,
       128589888, 149698784, 168612388, 191210133, 192700258, 217447344, 238569718, 240777402,
       268272278, 283332992, 296780604, 319505055, 334654785, 341379115, 357302990, 369904649},
      {15143247,  22529278,  37793046,  53302599,  69057693,  89259704,  103058958, 125960436,
       134948014, 147996107, 160568522, 186665204, 198000652, 219433471, 239157167, 240398986,
       267543071, 280694543, 301590959, 305974983, 327383740, 337689011, 365818642, 378459855}};
  for (int layer = 0; layer < 2; ++layer) {
    std::vector<int64_t> rows;
    int64_t offset = 0;
    for (int column = 0; column < 24; ++column) {
      int64_t hash = 0;
      for (int i = 0; i < column / 8 + 2; ++i) hash ^= t[i] * mult[layer][i];
      rows.push_back(hash % primes[layer][column] + offset);
      offset += primes[layer][column];
    }
    EXPECT_EQ(rows, want[layer]);
    EXPECT_EQ(offset, c.engram_num_embeddings[layer]);
  }
}

TEST(Config, engram_constants_of_the_tiny_config) {  // model.md appendix C
  const auto r = ModelConfig::load(kTiny);
  ASSERT_TRUE(r) << r.error().message;
  EXPECT_EQ(r->engram_primes(),
            (std::vector<std::vector<int64_t>>{{521, 523, 541, 547, 557, 563}, {569, 571, 577, 587, 593, 599}}));
  EXPECT_EQ(r->engram_multipliers(900), (std::vector<std::vector<int64_t>>{
                                            {8437364068238481, 532881113154025, 3959239832743293, 8146170270474473},
                                            {9057032872621867, 554672096833167, 8109409005033421, 2086972533578519}}));
}

TEST(Config, primes_are_found_exactly) {
  std::vector<bool> composite(100000);
  for (size_t i = 2; i < composite.size(); ++i) {
    EXPECT_EQ(is_prime(static_cast<int64_t>(i)), !composite[i]) << i;
    if (!composite[i])
      for (size_t j = 2 * i; j < composite.size(); j += i) composite[j] = true;
  }
  EXPECT_TRUE(is_prime((int64_t{1} << 61) - 1));
  EXPECT_FALSE(is_prime(((int64_t{1} << 31) - 1) * ((int64_t{1} << 31) - 1)));
  for (int64_t strong : {2047ll, 1373653ll, 25326001ll, 3215031751ll, 3825123056546413051ll})
    EXPECT_FALSE(is_prime(strong)) << strong;
  for (int64_t v : {-7, 0, 1}) EXPECT_FALSE(is_prime(v));
}

TEST(Config, absent_optional_keys_take_their_defaults) {
  std::string text = official_with("\"num_nextn_predict_layers\": 3,", "");
  const std::string drafts = "   0,\n   0,\n   0\n";
  const size_t at = text.find("1,\n" + drafts);
  ASSERT_NE(at, std::string::npos);
  text.replace(at, 3 + drafts.size(), "1\n");
  const auto r = ModelConfig::parse(text, "c");
  ASSERT_TRUE(r) << r.error().message;
  EXPECT_EQ(r->num_nextn_predict_layers, 0);
  const auto plain = ModelConfig::parse(
      official_with("\"rope_type\": \"yarn\",\n   \"factor\": 16,\n   \"beta_fast\": 32,\n   \"beta_slow\": 1,\n   "
                    "\"original_max_position_embeddings\": 65536",
                    ""),
      "c");
  ASSERT_TRUE(plain) << plain.error().message;
  EXPECT_FALSE(plain->has_yarn);
  const auto no_candidates = ModelConfig::parse(
      official_with("\"candidate_source_layer_id\": 20", "\"candidate_source_layer_id\": null"), "c");
  ASSERT_TRUE(no_candidates) << no_candidates.error().message;
  EXPECT_EQ(no_candidates->candidate_source_layer_id, -1);
  const auto fp8 =
      ModelConfig::parse(official_with("\"hc_mult\": 4", "\"use_fp4_sparse_kv\": false, \"hc_mult\": 4"), "c");
  ASSERT_TRUE(fp8) << fp8.error().message;
  EXPECT_FALSE(fp8->use_fp4_sparse_kv);
}

TEST(Config, broken_rules_are_refused_by_name) {
  expect_refused("\"DeepseekV41ForCausalLM\"", "\"LlamaForCausalLM\"", "architectures");
  expect_refused("\"hidden_size\": 5120,", "", "hidden_size");
  expect_refused("\"hidden_size\": 5120", "\"hidden_size\": 5121", "hidden_size");
  expect_refused("\"hidden_size\": 5120", "\"hidden_size\": 5120.0", "hidden_size");
  expect_refused("\"hidden_size\": 5120", "\"hidden_size\": 99999999999999999999999", "JSON");
  expect_refused("\"num_hidden_layers\": 40", "\"num_hidden_layers\": 1099511627776", "num_hidden_layers");
  expect_refused("\"num_hidden_layers\": 40", "\"num_hidden_layers\": 41", "compress_ratios");
  expect_refused("\"n_routed_experts\": 384", "\"n_routed_experts\": 65536", "n_routed_experts");
  expect_refused("\"num_experts_per_tok\": 6", "\"num_experts_per_tok\": 385", "num_experts_per_tok");
  expect_refused("\"candidate_topk_blocks\": 2048", "\"candidate_topk_blocks\": 12", "candidate_topk_blocks");
  expect_refused("\"candidate_topk_blocks\": 2048", "\"candidate_topk_blocks\": 64", "index_topk");
  expect_refused("\"candidate_block_size\": 8", "\"candidate_block_size\": 32", "candidate_block_size");
  expect_refused("\"candidate_source_layer_id\": 20", "\"candidate_source_layer_id\": 21", "candidate_source_layer_id");
  expect_refused("\"candidate_source_layer_id\": 20", "\"candidate_source_layer_id\": 14", "candidate_source_layer_id");
  expect_refused("\"engram_vocab_size\": 16000000", "\"engram_vocab_size\": 16000058", "engram_num_embeddings");
  expect_refused("\"engram_vocab_size\": 16000000", "\"engram_vocab_size\": 15000000", "engram_num_embeddings");
  expect_refused("\"engram_n_heads\": 8", "\"engram_n_heads\": 9", "engram_num_embeddings");
  expect_refused("\"o_groups\": 8", "\"o_groups\": 7", "o_groups");
  expect_refused("\"pad_token_id\": 2", "\"pad_token_id\": 129280", "pad_token_id");
  expect_refused("\"image_token_id\": 129264", "\"image_token_id\": 129280", "image_token_id");
  expect_refused("\"image_token_id\": 129264,", "", "image_token_id");
  expect_refused("\"hc_mult\": 4", "\"hc_mult\": 4, \"hc_shifted\": false", "hc_shifted");
  expect_refused("\"hc_mult\": 4", "\"hc_mult\": 4, \"dspark_target_attn_input\": false", "dspark_target_attn_input");
  expect_refused("\"hc_mult\": 4", "\"hc_mult\": 4, \"index_k_source_layer_ids\": [2, 8]", "index_k_source_layer_ids");
  expect_refused("\"expert_dtype\": \"fp4\"", "\"expert_dtype\": \"int4\"", "quantization_config.expert_dtype");
  expect_refused("\"max_wh_ratio\": null", "\"max_wh_ratio\": 0.5", "max_wh_ratio");
  expect_refused("\"rms_norm_eps\": 1e-20", "\"rms_norm_eps\": -1", "rms_norm_eps");
  expect_refused("\"dspark_noise_token_id\": 128799", "\"dspark_noise_token_id\": 129280", "dspark_noise_token_id");
}

TEST(Config, text_that_is_no_config_is_an_error_and_never_a_crash) {
  for (const std::string& text :
       {std::string(), std::string("[]"), std::string("{"), std::string("null"), std::string("\"x\""),
        std::string(100000, '['), std::string(100000, '{'), std::string(1000, '\xff'), std::string(64, '\0')}) {
    const auto r = ModelConfig::parse(text, "c");
    ASSERT_FALSE(r);
    EXPECT_LT(r.error().message.size(), 500u);
  }
  const std::string whole = read(kOfficial);
  for (size_t cut = 0; cut < whole.size() - 2; cut += 7)
    EXPECT_FALSE(ModelConfig::parse(std::string_view(whole).substr(0, cut), "c"));
}

TEST(Config, the_costliest_legal_constants_are_found_in_a_moment) {
  std::string text = official_with("\"engram_vocab_size\": 16000000", "\"engram_vocab_size\": 68719476736");
  const auto start = std::chrono::steady_clock::now();
  text.replace(text.find("\"engram_n_heads\": 8"), 19, "\"engram_n_heads\": 256");
  EXPECT_FALSE(ModelConfig::parse(text, "c"));
  text.replace(text.find("\"engram_max_ngram_size\": 4"), 26, "\"engram_max_ngram_size\": 16");
  EXPECT_FALSE(ModelConfig::parse(text, "c"));
  EXPECT_LT(std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count(), 3.0);
}

TEST(Config, a_folder_and_its_file_load_alike_and_absence_is_told) {
  EXPECT_TRUE(ModelConfig::load(kOfficial));
  const auto r = ModelConfig::load("/nowhere/at/all");
  ASSERT_FALSE(r);
  EXPECT_EQ(r.error().code, ErrorCode::kNotFound);
  EXPECT_NE(r.error().message.find("/nowhere/at/all"), std::string::npos);
}

TEST(Config, every_config_of_the_shared_folder_loads) {
  const std::string shared = DEEPINFER_SOURCE_DIR "/../shared";
  struct stat st = {};
  if (stat(shared.c_str(), &st) != 0) GTEST_SKIP() << "no ../shared in this checkout";
  for (const char* path : {"/model/v41-small", "/goldens/random-awkward/checkpoint", "/goldens/random-calm/checkpoint",
                           "/goldens/random-lively/checkpoint", "/spec/tiny-config.json"}) {
    const auto r = ModelConfig::load(shared + path);
    EXPECT_TRUE(r) << r.error().message;
  }
}

}  // namespace
}  // namespace deepinfer
