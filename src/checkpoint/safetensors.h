// One safetensors file: 8-byte header length, JSON header, data. The parser works on bytes and trusts nothing; it reads
// no weights.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/mapped_file.h"
#include "base/result.h"
#include "tensor/dtype.h"

namespace deepinfer {

struct TensorEntry {
  std::string name;
  DType dtype = DType::kF32;
  std::vector<int64_t> shape;
  uint64_t begin = 0, end = 0;  // bytes from the start of the data section
};

struct SafetensorsHeader {
  std::vector<TensorEntry> tensors;  // in file order of the data
  uint64_t data_offset = 0;          // from the start of the file
  // Overlaps, holes or bytes that belong to no tensor: empty, or the whole error message. Not an error of the parser,
  // because a caller that knows which tensors to expect may have a better one (a hole is most often a missing tensor).
  std::string layout_fault;
};

// `bytes` is the file's beginning (at least header and length word), `file_size` its full size. Errors start with
// `name`. Checked: header length, JSON, unknown dtypes, shapes (overflow, negative), offsets (order, size = shape x
// dtype, inside the file); overlaps and holes, which the format forbids, go to layout_fault. Names may repeat: the
// caller decides (it also knows the "model." prefix).
Result<SafetensorsHeader> parse_safetensors_header(std::string_view bytes, uint64_t file_size, const std::string& name);

std::string shape_string(const std::vector<int64_t>& shape);

}  // namespace deepinfer
