// Written text is read back by simdjson, which is strict, and by strtod / strtof.
#include "base/json_writer.h"

#include <gtest/gtest.h>
#include <simdjson.h>

#include <cmath>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <random>
#include <string>
#include <vector>

namespace deepinfer {
namespace {

std::string parse_string(const std::string& json) {
  simdjson::dom::parser parser;
  std::string_view text;
  const auto error = parser.parse(json).get(text);
  EXPECT_EQ(error, simdjson::SUCCESS) << json;
  return std::string(text);
}

TEST(JsonWriter, NestedObjectsAndArraysGetTheirCommas) {
  JsonWriter w;
  w.begin_object().field("a", 1).key("b").begin_array().value(true).null().begin_object().end_object().begin_array();
  w.end_array().value("x").end_array().field("c", std::string("y")).key("d").array(std::vector<int>{1, 2, 3});
  w.key("e").raw("[0]").field("f", 2.5).end_object();
  EXPECT_EQ(w.str(), R"({"a":1,"b":[true,null,{},[],"x"],"c":"y","d":[1,2,3],"e":[0],"f":2.5})");
}

TEST(JsonWriter, TakeAndClearStartANewDocument) {
  JsonWriter w;
  w.begin_array().value(1).end_array();
  EXPECT_EQ(w.take(), "[1]");
  EXPECT_EQ(w.str(), "");
  w.value(2);
  EXPECT_EQ(w.str(), "2");
  w.clear();
  w.begin_object().end_object();
  EXPECT_EQ(w.str(), "{}");
}

TEST(JsonWriter, EveryByteBelow128SurvivesAsAValueAndAsAKey) {
  for (int c = 0; c < 128; ++c) {
    const std::string text = std::string("<") + static_cast<char>(c) + ">";
    JsonWriter value;
    value.value(text);
    EXPECT_EQ(parse_string(value.str()), text) << c;
    for (char written : value.str()) EXPECT_GE(static_cast<unsigned char>(written), 0x20) << "raw control character";
    JsonWriter w;
    w.begin_object().field(text, 1).end_object();
    simdjson::dom::parser parser;
    simdjson::dom::object object;
    ASSERT_EQ(parser.parse(w.str()).get(object), simdjson::SUCCESS) << w.str();
    EXPECT_EQ(std::string((*object.begin()).key), text);
  }
}

std::string utf8(uint32_t c) {
  std::string s;
  if (c < 0x80) {
    s += static_cast<char>(c);
  } else if (c < 0x800) {
    s += static_cast<char>(0xc0 | c >> 6);
    s += static_cast<char>(0x80 | (c & 63));
  } else if (c < 0x10000) {
    s += static_cast<char>(0xe0 | c >> 12);
    s += static_cast<char>(0x80 | (c >> 6 & 63));
    s += static_cast<char>(0x80 | (c & 63));
  } else {
    s += static_cast<char>(0xf0 | c >> 18);
    s += static_cast<char>(0x80 | (c >> 12 & 63));
    s += static_cast<char>(0x80 | (c >> 6 & 63));
    s += static_cast<char>(0x80 | (c & 63));
  }
  return s;
}

TEST(Utf8, EveryCodePointIsValidExceptSurrogatesAndStaysAsItIs) {
  for (uint32_t c = 0; c <= 0x10ffff; ++c) {
    const bool surrogate = c >= 0xd800 && c < 0xe000;
    const std::string s = utf8(c);
    ASSERT_EQ(is_valid_utf8(s), !surrogate) << std::hex << c;
    if (!surrogate) {
      ASSERT_EQ(sanitize_utf8(s), s) << std::hex << c;
    }
  }
  EXPECT_FALSE(is_valid_utf8(utf8(0x110000)));
}

TEST(Utf8, EveryMaximalInvalidPrefixBecomesOneReplacement) {
  const std::string r = "\xef\xbf\xbd";
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"\x80", r},
      {"a\xff\xfe"
       "b",
       "a" + r + r + "b"},
      {"\xc0\xaf", r + r},                  // overlong
      {"\xe0\x80\xaf", r + r + r},          // overlong
      {"\xed\xa0\x80", r + r + r},          // surrogate
      {"\xf4\x90\x80\x80", r + r + r + r},  // past U+10FFFF
      {"\xe2\x82", r},                      // cut at the end
      {"\xe2\x82z", r + "z"},               // cut in the middle
      {"\xf0\x9f\x98", r},
      {"\xf0\x9f\x98\xf0\x9f\x98\x80", r + "\xf0\x9f\x98\x80"},
      {"\xc3\xc3\xa9", r + "\xc3\xa9"},
      // The example of the Unicode standard, table 3-8 and 3-11.
      {"\xe1\x80\xe2\xf0\x91\x92\xf1\xbf"
       "A",
       r + r + r + r + "A"},
  };
  for (const auto& [in, out] : cases) {
    EXPECT_EQ(sanitize_utf8(in), out);
    EXPECT_FALSE(is_valid_utf8(in));
    std::string json;
    append_json_string(json, in);
    EXPECT_EQ(parse_string(json), out);
  }
}

TEST(Utf8, RandomBytesAlwaysBecomeValidTextAndJson) {
  std::mt19937 random(3);
  const std::string alphabet = "a\"\\\n\x7f\x80\x9f\xa0\xbf\xc2\xe0\xe2\xed\xef\xf0\xf4\xf5\xff";
  for (int i = 0; i < 20000; ++i) {
    std::string s(random() % 12, ' ');
    for (char& c : s) c = alphabet[random() % alphabet.size()];
    const std::string clean = sanitize_utf8(s);
    ASSERT_TRUE(is_valid_utf8(clean));
    ASSERT_EQ(is_valid_utf8(s), clean == s);
    std::string json;
    append_json_string(json, s);
    ASSERT_EQ(parse_string(json), clean);
  }
}

TEST(JsonWriter, NumbersReadBackAsTheSameBits) {
  std::mt19937_64 random(5);
  auto check = [](auto v, auto parse) {
    JsonWriter w;
    w.value(v);
    simdjson::dom::parser parser;
    simdjson::dom::element element;
    ASSERT_EQ(parser.parse(w.str()).get(element), simdjson::SUCCESS) << w.str();
    const auto back = parse(w.str().c_str());
    ASSERT_EQ(std::memcmp(&back, &v, sizeof v), 0) << w.str();
  };
  const auto to_double = [](const char* s) { return std::strtod(s, nullptr); };
  const auto to_float = [](const char* s) { return std::strtof(s, nullptr); };
  for (double v : {0.0, -0.0, 1.0, 0.1, 1e21, 1e-7, 5e-324, 1.7976931348623157e308, -123456789.25}) check(v, to_double);
  for (float v : {0.0f, -0.0f, 0.1f, 1e-45f, 3.4028235e38f, 16777216.0f, -1e-7f}) check(v, to_float);
  for (int i = 0; i < 20000; ++i) {
    const uint64_t bits = random();
    double d;
    float f;
    std::memcpy(&d, &bits, 8);
    std::memcpy(&f, &bits, 4);
    if (std::isfinite(d)) check(d, to_double);
    if (std::isfinite(f)) check(f, to_float);
    if (HasFatalFailure()) return;
  }
}

TEST(JsonWriter, NumbersAreTheShortestTextOfTheirType) {
  JsonWriter w;
  w.begin_array().value(0.1f).value(0.1).value(1.0f).value(-2.5).value(1 / 3.0f).end_array();
  EXPECT_EQ(w.str(), "[0.1,0.1,1,-2.5,0.33333334]");
}

TEST(JsonWriter, IntegersKeepAll64Bits) {
  JsonWriter w;
  w.begin_array().value(std::numeric_limits<int64_t>::min()).value(std::numeric_limits<uint64_t>::max()).value(-1);
  w.end_array();
  EXPECT_EQ(w.str(), "[-9223372036854775808,18446744073709551615,-1]");
}

TEST(JsonWriter, NaNAndInfinitiesBecomeNull) {
  JsonWriter w;
  w.begin_array().value(std::nan("")).value(-std::numeric_limits<double>::infinity());
  w.value(std::numeric_limits<float>::quiet_NaN()).value(std::numeric_limits<float>::infinity()).end_array();
  EXPECT_EQ(w.str(), "[null,null,null,null]");
}

}  // namespace
}  // namespace deepinfer
