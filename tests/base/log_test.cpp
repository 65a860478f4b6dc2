#include "base/log.h"

#include <gtest/gtest.h>

#include <string>

namespace deepinfer {
namespace {

struct Log : testing::Test {
  ~Log() override { set_log_level(LogLevel::kWarn); }
};

TEST_F(Log, LevelsAreNamedAsInTheEnvironmentAndUnknownWordsMeanWarn) {
  EXPECT_EQ(parse_log_level("trace"), LogLevel::kTrace);
  EXPECT_EQ(parse_log_level("debug"), LogLevel::kDebug);
  EXPECT_EQ(parse_log_level("info"), LogLevel::kInfo);
  EXPECT_EQ(parse_log_level("warn"), LogLevel::kWarn);
  EXPECT_EQ(parse_log_level("error"), LogLevel::kError);
  EXPECT_EQ(parse_log_level("off"), LogLevel::kOff);
  for (const char* name : {"", "DEBUG", "verbose", "1"}) EXPECT_EQ(parse_log_level(name), LogLevel::kWarn) << name;
}

TEST_F(Log, ALineHoldsLevelAndTextAndGoesToStderrOnly) {
  set_log_level(LogLevel::kInfo);
  testing::internal::CaptureStderr();
  testing::internal::CaptureStdout();
  log_info("{} of {}: {{}} %s", 3, "four");
  EXPECT_EQ(testing::internal::GetCapturedStdout(), "");
  const std::string line = testing::internal::GetCapturedStderr();
  EXPECT_NE(line.find(" info: 3 of four: {} %s\n"), std::string::npos) << line;
}

struct Counted {
  int* formatted;
};

}  // namespace
}  // namespace deepinfer

template <>
struct fmt::formatter<deepinfer::Counted> {
  constexpr auto parse(format_parse_context& c) { return c.begin(); }
  template <typename C>
  auto format(const deepinfer::Counted& v, C& c) const {
    ++*v.formatted;
    return c.out();
  }
};

namespace deepinfer {
namespace {

TEST_F(Log, BelowTheLevelNothingIsFormattedOrWritten) {
  int formatted = 0;
  testing::internal::CaptureStderr();
  set_log_level(LogLevel::kWarn);
  log_debug("{}", Counted{&formatted});
  log_info("{}", Counted{&formatted});
  EXPECT_EQ(formatted, 0);
  log_warn("{}", Counted{&formatted});
  log_error("{}", Counted{&formatted});
  EXPECT_EQ(formatted, 2);
  set_log_level(LogLevel::kOff);
  log_error("silent {}", Counted{&formatted});
  EXPECT_FALSE(log_enabled(LogLevel::kOff));
  EXPECT_EQ(formatted, 2);
  EXPECT_EQ(testing::internal::GetCapturedStderr().find("silent"), std::string::npos);
}

}  // namespace
}  // namespace deepinfer
