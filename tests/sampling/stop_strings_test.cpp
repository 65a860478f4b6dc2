#include "sampling/stop_strings.h"

#include <gtest/gtest.h>

namespace deepinfer {
namespace {

// Feeds `text` in pieces of `size` and joins what comes out.
std::string fed(const std::string& text, size_t size, std::vector<std::string> stops, std::string* hit = nullptr) {
  StopStrings s(std::move(stops));
  std::string out;
  for (size_t at = 0; at < text.size() && !s.hit(); at += size) out += s.push(text.substr(at, size));
  if (hit && s.hit()) *hit = *s.hit();
  if (!s.hit()) out += s.finish();
  return out;
}

TEST(StopStrings, TextEndsBeforeTheStopStringForEverySplit) {
  const std::string text = "The quick brown fox jumps";
  for (size_t size = 1; size <= text.size(); ++size) {
    std::string hit;
    EXPECT_EQ(fed(text, size, {"own fox"}, &hit), "The quick br") << size;
    EXPECT_EQ(hit, "own fox");
  }
}

TEST(StopStrings, NeverSendsTheBeginningOfAStopString) {
  StopStrings s({"own fox"});
  EXPECT_EQ(s.push("The quick br"), "The quick br");
  EXPECT_EQ(s.push("own"), "");
  EXPECT_EQ(s.push(" f"), "");
  EXPECT_EQ(s.push("ish"), "own fish");  // it was none
}

TEST(StopStrings, HoldsBackOverlappingBeginnings) {
  for (size_t size = 1; size < 8; ++size) EXPECT_EQ(fed("xaaab!", size, {"aab"}), "xa") << size;
}

TEST(StopStrings, TheStopStringThatIsCompleteFirstWinsWhateverTheSplit) {
  for (size_t size = 1; size < 12; ++size) {
    std::string hit;
    EXPECT_EQ(fed("one two three", size, {"three", "two", "two three"}, &hit), "one ") << size;
    EXPECT_EQ(hit, "two") << size;
  }
}

TEST(StopStrings, WithoutAHitAllTextComesOut) {
  EXPECT_EQ(fed("ends with own fo", 3, {"own fox"}), "ends with own fo");
  EXPECT_EQ(fed("anything", 2, {}), "anything");
}

}  // namespace
}  // namespace deepinfer
