// Element types, named as in safetensors files.
#pragma once
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace deepinfer {

enum class DType : uint8_t { kF32, kBF16, kF16, kF8E4M3, kF8E8M0, kI8, kU8, kI32, kI64, kF4E2M1x2 };

// Bytes per stored element; kF4E2M1x2 counts one byte that holds two values (even column in the low nibble).
constexpr size_t dtype_size(DType t) {
  switch (t) {
    case DType::kI64:
      return 8;
    case DType::kF32:
    case DType::kI32:
      return 4;
    case DType::kBF16:
    case DType::kF16:
      return 2;
    default:
      return 1;
  }
}

// "F32", "BF16", "F8_E4M3", ...; FP4 weights are stored under the name "I8".
const char* dtype_name(DType t);
std::optional<DType> parse_dtype(std::string_view name);

}  // namespace deepinfer
