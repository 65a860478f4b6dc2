#include "cli/command.h"

#include <gtest/gtest.h>
#include <stdlib.h>

#include "cli/default_model.h"
#include "cli/version.h"

namespace deepinfer::cli {
namespace {

TEST(Command, sizes_are_read_with_units) {
  for (const auto& [text, want] : {std::pair{"0", int64_t{0}},
                                   {"1000000", 1000000},
                                   {"16M", 16000000},
                                   {"16MB", 16000000},
                                   {"2GiB", int64_t{2} << 30},
                                   {"1.5 GB", 1500000000},
                                   {"512k", 512000},
                                   {"3KiB", 3072},
                                   {"1T", 1000000000000}}) {
    const auto r = parse_bytes(text);
    ASSERT_TRUE(r) << text;
    EXPECT_EQ(*r, want) << text;
  }
  for (const char* text : {"", "x", "-1", "1X", "1 2", "G", "1e400", "99999999T", "nan", "inf", "1GiBB"}) {
    const auto r = parse_bytes(text);
    ASSERT_FALSE(r) << text;
    EXPECT_EQ(r.error().code, ErrorCode::kInvalidArgument);
  }
}

TEST(Command, numbers_for_people) {
  EXPECT_EQ(grouped(0), "0");
  EXPECT_EQ(grouped(999), "999");
  EXPECT_EQ(grouped(1000), "1,000");
  EXPECT_EQ(grouped(510286023000), "510,286,023,000");
  EXPECT_EQ(grouped(-1234), "-1,234");
  EXPECT_EQ(grouped(-123), "-123");
  EXPECT_EQ(human_bytes(17), "17 B");
  EXPECT_EQ(human_bytes(1500), "1.5 kB");
  EXPECT_EQ(human_bytes(999999), "1.0 MB");
  EXPECT_EQ(human_bytes(510286023000), "510 GB");
}

TEST(Command, the_default_model_is_the_named_one_or_that_of_the_source_tree) {
  setenv("DEEPINFER_MODEL", "/some/where", 1);
  EXPECT_EQ(default_model(), "/some/where");
  setenv("DEEPINFER_MODEL", "", 1);
  EXPECT_EQ(default_model(), DEEPINFER_SOURCE_DIR "/models/v41-small");
  unsetenv("DEEPINFER_MODEL");
  EXPECT_EQ(default_model(), DEEPINFER_SOURCE_DIR "/models/v41-small");
}

TEST(Command, the_version_names_commit_backends_and_processor) {
  const std::string text = version_text();
  EXPECT_EQ(text.rfind("deepinfer " + version_number() + "\n", 0), 0u);
  for (const char* word : {"commit: ", "backends: ", "reference", "cpu: "})
    EXPECT_NE(text.find(word), std::string::npos) << word;
  EXPECT_FALSE(git_commit().empty());
}

}  // namespace
}  // namespace deepinfer::cli
