#include "checkpoint/safetensors.h"

#include <simdjson.h>

#include <algorithm>
#include <cstring>

namespace deepinfer {
namespace {

constexpr uint64_t kMaxHeader = uint64_t{256} << 20;  // the release's largest has about 1 MB

std::string cut(std::string_view s) { return s.size() > 200 ? std::string(s.substr(0, 200)) + "..." : std::string(s); }

}  // namespace

std::string shape_string(const std::vector<int64_t>& shape) {
  std::string out = "[";
  for (size_t i = 0; i < shape.size(); ++i) out += (i ? ", " : "") + std::to_string(shape[i]);
  return out + "]";
}

Result<SafetensorsHeader> parse_safetensors_header(std::string_view bytes, uint64_t file_size,
                                                   const std::string& name) {
  if (file_size < 8 || bytes.size() < 8)
    return fail(ErrorCode::kBadModel, "{}: {} bytes are too few for a safetensors file; copy the shard again", name,
                file_size);
  uint64_t length;
  std::memcpy(&length, bytes.data(), 8);
  if (length > kMaxHeader || length > file_size - 8)
    return fail(ErrorCode::kBadModel,
                "{}: header length {} does not fit the file of {} bytes; the shard is cut or damaged, copy it again",
                name, length, file_size);
  if (bytes.size() < 8 + length) return fail(ErrorCode::kBadModel, "{}: header is cut", name);

  simdjson::dom::parser parser;
  simdjson::dom::element root;
  if (const auto e = parser.parse(bytes.data() + 8, length).get(root))
    return fail(ErrorCode::kBadModel, "{}: header is not valid JSON: {}", name, simdjson::error_message(e));
  simdjson::dom::object object;
  if (root.get_object().get(object)) return fail(ErrorCode::kBadModel, "{}: header is not a JSON object", name);

  SafetensorsHeader out;
  out.data_offset = 8 + length;
  const uint64_t data_size = file_size - out.data_offset;
  for (auto [key, value] : object) {
    if (key == "__metadata__") continue;
    const auto bad = [&](const std::string& what) {
      return fail(ErrorCode::kBadModel, "{}: tensor {}: {}", name, cut(key), what);
    };
    simdjson::dom::object entry;
    if (value.get_object().get(entry)) return bad("header entry is not an object");
    TensorEntry t;
    t.name = std::string(key);
    std::string_view dtype;
    if (entry["dtype"].get_string().get(dtype)) return bad("dtype is missing");
    const auto parsed = parse_dtype(dtype);
    if (!parsed) return bad(fmt::format("unknown dtype {}", cut(dtype)));
    t.dtype = *parsed;
    simdjson::dom::array shape, offsets;
    if (entry["shape"].get_array().get(shape)) return bad("shape is missing");
    uint64_t elements = 1;
    for (auto item : shape) {
      int64_t dim;
      if (item.get_int64().get(dim) || dim < 0)
        return bad(fmt::format("shape {} is not a list of sizes", cut(simdjson::minify(shape))));
      if (t.shape.size() == 8) return bad("shape has more than 8 dimensions");
      t.shape.push_back(dim);
      if (__builtin_mul_overflow(elements, static_cast<uint64_t>(dim), &elements))
        return bad(fmt::format("shape {} overflows", shape_string(t.shape)));
    }
    uint64_t size;
    if (__builtin_mul_overflow(elements, dtype_size(t.dtype), &size))
      return bad(fmt::format("shape {} overflows", shape_string(t.shape)));
    uint64_t pair[2];
    int count = 0;
    if (entry["data_offsets"].get_array().get(offsets)) return bad("data_offsets are missing");
    for (auto item : offsets) {
      uint64_t v;
      if (count == 2 || item.get_uint64().get(v)) return bad("data_offsets are not two positions");
      pair[count++] = v;
    }
    if (count != 2) return bad("data_offsets are not two positions");
    t.begin = pair[0];
    t.end = pair[1];
    if (t.begin > t.end || t.end > data_size)
      return bad(fmt::format(
          "data_offsets [{}, {}] lie outside the file's {} data bytes; the shard is cut or damaged, copy it again",
          t.begin, t.end, data_size));
    if (t.end - t.begin != size)
      return bad(fmt::format("{} bytes of data do not fit dtype {} and shape {} ({} bytes)", t.end - t.begin,
                             dtype_name(t.dtype), shape_string(t.shape), size));
    out.tensors.push_back(std::move(t));
  }
  std::sort(out.tensors.begin(), out.tensors.end(), [](const TensorEntry& a, const TensorEntry& b) {
    return a.begin != b.begin ? a.begin < b.begin : a.end < b.end;
  });
  uint64_t at = 0;
  for (const TensorEntry& t : out.tensors) {
    if (t.begin != at) {
      out.layout_fault = fmt::format("{}: tensor {}: data starts at {}, expected {} (tensors {})", name, cut(t.name),
                                     t.begin, at, t.begin < at ? "overlap" : "leave a hole");
      return out;
    }
    at = t.end;
  }
  if (at != data_size)
    out.layout_fault =
        fmt::format("{}: {} data bytes behind the last tensor belong to none; the shard is damaged, copy it again",
                    name, data_size - at);
  return out;
}

}  // namespace deepinfer
