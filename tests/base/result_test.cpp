#include "base/result.h"

#include <gtest/gtest.h>

#include <memory>
#include <set>
#include <string>

#include "base/check.h"

namespace deepinfer {
namespace {

Result<std::unique_ptr<int>> half(int n) {
  if (n % 2 != 0) return fail(ErrorCode::kInvalidArgument, "{}: expected an even number", n);
  return std::make_unique<int>(n / 2);
}
Result<int> quarter(int n) {
  DI_TRY(const auto once, half(n));  // a move-only value
  DI_TRY(const auto twice, half(*once));
  return *twice;
}
Status is_even(int n) {
  DI_TRY_STATUS(half(n));
  return {};
}

TEST(Result, TryHandsOnTheValueOrTheFirstError) {
  EXPECT_EQ(quarter(12).value(), 3);
  EXPECT_EQ(quarter(6).error().message, "3: expected an even number");
  EXPECT_EQ(quarter(7).error().message, "7: expected an even number");
  EXPECT_EQ(quarter(7).error().code, ErrorCode::kInvalidArgument);
  EXPECT_TRUE(is_even(2));
  EXPECT_EQ(is_even(5).error().message, "5: expected an even number");
}

TEST(Result, EveryCodeHasItsOwnNameAndTheExitCodeOfTheManual) {
  std::set<std::string> names;
  for (auto [code, exit] : {std::pair{ErrorCode::kInvalidArgument, 2},
                            {ErrorCode::kNotFound, 2},
                            {ErrorCode::kUnsupported, 2},
                            {ErrorCode::kBadModel, 1},
                            {ErrorCode::kIo, 1},
                            {ErrorCode::kOutOfMemory, 1},
                            {ErrorCode::kCancelled, 1},
                            {ErrorCode::kInternal, 1}}) {
    EXPECT_EQ(exit_code(code), exit) << error_code_name(code);
    EXPECT_TRUE(names.insert(error_code_name(code)).second) << error_code_name(code);
  }
}

TEST(CheckDeathTest, ABrokenInvariantNamesFileConditionAndContextAndAborts) {
  const int rows = 3;
  DI_CHECK(rows == 3, "never formatted {}", rows);
  EXPECT_DEATH(DI_CHECK(rows == 4, "rows {}", rows), "result_test.cpp:.*broken invariant: rows == 4 rows 3");
}

}  // namespace
}  // namespace deepinfer
