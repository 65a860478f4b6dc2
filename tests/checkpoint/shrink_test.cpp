#include "checkpoint/shrink.h"

#include <gtest/gtest.h>

#include "test_folder.h"

namespace deepinfer {
namespace {

// shrink() then write and read back: what synth does.
Result<ModelConfig> shrunk(const std::string& name, const ShrinkOptions& options) {
  const std::string text = read_file(kTestData + "/" + name);
  DI_TRY(const ModelConfig whole, ModelConfig::parse(text, name));
  DI_TRY(const ModelConfig small, shrink(whole, options));
  DI_TRY(const std::string rewritten, rewrite_config(text, name, small));
  return ModelConfig::parse(rewritten, "rewritten");
}

TEST(Shrink, every_number_of_layers_gives_a_valid_config) {
  for (const auto& [name, layers] : {std::pair{"config-official.json", 40}, {"config-tiny.json", 10}})
    for (int64_t n = 1; n <= layers; ++n) {
      const auto c = shrunk(name, {.layers = n, .experts = 4, .engram_rows = 5000});
      ASSERT_TRUE(c) << n << ": " << c.error().message;
      EXPECT_EQ(c->num_hidden_layers, n);
      EXPECT_EQ(c->n_routed_experts, 4);
      EXPECT_LE(c->num_experts_per_tok, 4);
      EXPECT_GE(c->first_decoder_layer(), 0);
      int64_t rows = 0;
      for (int64_t r : c->engram_num_embeddings) rows += r;
      if (rows) {
        EXPECT_NEAR(static_cast<double>(rows) / static_cast<double>(c->engram_num_embeddings.size()), 5000, 250);
      }
    }
}

TEST(Shrink, two_layers_of_the_official_config_are_a_source_of_each_ratio) {
  const auto c = shrunk("config-official.json", {.layers = 2});
  ASSERT_TRUE(c) << c.error().message;
  EXPECT_EQ(c->compress_ratios, (std::vector<int64_t>{2, 1, 0, 0, 0}));
  EXPECT_EQ(c->kv_source_layer_ids, (std::vector<int64_t>{0, 1}));
  EXPECT_EQ(c->index_source_layer_ids, (std::vector<int64_t>{0, 1}));
  EXPECT_EQ(c->candidate_source_layer_id, 1);
  EXPECT_EQ(c->engram_layer_ids, (std::vector<int64_t>{0}));
  EXPECT_EQ(c->dspark_target_layer_ids, (std::vector<int64_t>{0, 1}));
  EXPECT_EQ(c->n_routed_experts, 384);
}

TEST(Shrink, six_layers_hold_one_of_each_kind) {
  const auto r = shrunk("config-official.json", {.layers = 6});
  ASSERT_TRUE(r);
  const ModelConfig& c = *r;
  bool window = false, encoder_reuse = false, decoder_reuse = false, reindex = false;
  for (int64_t i = 0; i < 6; ++i) {
    window |= c.ratio(i) == 0;
    encoder_reuse |= c.ratio(i) == 2 && !c.is_index_source(i);
    decoder_reuse |= c.ratio(i) == 1 && !c.is_index_source(i);
    reindex |= c.is_index_source(i) && !c.is_kv_source(i);
  }
  EXPECT_TRUE(window && encoder_reuse && decoder_reuse && reindex);
  EXPECT_EQ(c.engram_layer_ids.size(), 2u);
}

TEST(Shrink, all_layers_and_no_options_change_nothing) {
  const std::string text = read_file(kTestData + "/config-official.json");
  const auto whole = ModelConfig::parse(text, "c");
  for (const ShrinkOptions& o : {ShrinkOptions{}, ShrinkOptions{.layers = 40, .experts = 384}}) {
    const auto c = shrink(*whole, o);
    ASSERT_TRUE(c);
    EXPECT_EQ(*rewrite_config(text, "c", *c), *rewrite_config(text, "c", *whole));
    EXPECT_EQ(c->engram_num_embeddings, whole->engram_num_embeddings);
    EXPECT_EQ(c->compress_ratios, whole->compress_ratios);
  }
}

TEST(Shrink, drafts_and_vision_can_be_left_out) {
  const auto c = shrunk("config-official.json", {.draft_layers = 0, .vision = false});
  ASSERT_TRUE(c) << c.error().message;
  EXPECT_EQ(c->num_nextn_predict_layers, 0);
  EXPECT_FALSE(c->vision);
  EXPECT_EQ(c->compress_ratios.size(), 40u);
}

TEST(Shrink, keys_that_it_does_not_know_survive) {
  const auto c = rewrite_config(read_file(kTestData + "/config-official.json"), "c",
                                *shrink(*ModelConfig::load(kTestData + "/config-official.json"), {.layers = 3}));
  ASSERT_TRUE(c);
  EXPECT_NE(c->find("\"transformers_version\":\"5.6.0\""), std::string::npos);
  EXPECT_NE(c->find("\"initializer_range\":0.02"), std::string::npos);
  EXPECT_NE(c->find("\"min_pixels\":295936"), std::string::npos);
}

TEST(Shrink, impossible_wishes_name_the_option) {
  for (const auto& [o, word] : {std::pair{ShrinkOptions{.layers = 41}, "--layers"},
                                {ShrinkOptions{.layers = 0}, "--layers"},
                                {ShrinkOptions{.experts = 385}, "--experts"},
                                {ShrinkOptions{.engram_rows = 3}, "--engram-rows"},
                                {ShrinkOptions{.draft_layers = 4}, "--draft-layers"}}) {
    const auto r = shrunk("config-official.json", o);
    ASSERT_FALSE(r);
    EXPECT_EQ(r.error().code, ErrorCode::kInvalidArgument);
    EXPECT_NE(r.error().message.find(word), std::string::npos) << r.error().message;
  }
}

}  // namespace
}  // namespace deepinfer
