#include "tensor/dtype.h"

#include <gtest/gtest.h>

#include <string>
#include <tuple>

namespace deepinfer {
namespace {

TEST(DType, EveryNameOfASafetensorsFileParsesToItsTypeAndBack) {
  for (const auto& [type, name, size] :
       {std::tuple{DType::kF32, "F32", 4u}, std::tuple{DType::kBF16, "BF16", 2u}, std::tuple{DType::kF16, "F16", 2u},
        std::tuple{DType::kF8E4M3, "F8_E4M3", 1u}, std::tuple{DType::kF8E8M0, "F8_E8M0", 1u},
        std::tuple{DType::kI8, "I8", 1u}, std::tuple{DType::kU8, "U8", 1u}, std::tuple{DType::kI32, "I32", 4u},
        std::tuple{DType::kI64, "I64", 8u}}) {
    EXPECT_STREQ(dtype_name(type), name);
    EXPECT_EQ(parse_dtype(name), type) << name;
    EXPECT_EQ(dtype_size(type), size) << name;
  }
}

TEST(DType, PackedFp4IsStoredAsI8AndAFileNeverNamesItOtherwise) {
  EXPECT_STREQ(dtype_name(DType::kF4E2M1x2), "I8");
  EXPECT_EQ(dtype_size(DType::kF4E2M1x2), 1u);
  EXPECT_EQ(parse_dtype("I8"), DType::kI8);
}

TEST(DType, UnknownNamesAreRefused) {
  for (const char* name : {"", "f32", "F32 ", "F64", "BOOL", "F8_E5M2", "F4", "?", "I8\n"})
    EXPECT_EQ(parse_dtype(name), std::nullopt) << name;
  EXPECT_EQ(parse_dtype(std::string_view("F32\0", 4)), std::nullopt);
}

}  // namespace
}  // namespace deepinfer
