// Any bytes as a shard: the parser must refuse or return tensors that lie inside the file.
#include <cstdlib>

#include "checkpoint/safetensors.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace deepinfer;
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  const auto header = parse_safetensors_header(bytes, size, "shard");
  if (!header) {
    if (header.error().message.size() > 600) std::abort();
    return 0;
  }
  uint64_t end = 0;
  for (const TensorEntry& t : header->tensors) {
    if (t.begin > t.end || header->data_offset + t.end > size) std::abort();
    uint64_t elements = 1;
    for (int64_t d : t.shape) elements *= static_cast<uint64_t>(d);
    if (elements * dtype_size(t.dtype) != t.end - t.begin) std::abort();
    if (header->layout_fault.empty()) {
      if (t.begin != end) std::abort();
      end = t.end;
    }
  }
  return 0;
}
