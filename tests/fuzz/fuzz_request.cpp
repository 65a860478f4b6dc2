// parse_request on arbitrary JSON objects: any answer, no crash.
#include <cstdint>
#include <string>

#include "sampling/request.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  simdjson::dom::parser parser;
  const simdjson::padded_string text(reinterpret_cast<const char*>(data), size);
  simdjson::dom::object object;
  if (parser.parse(text).get_object().get(object)) return 0;
  const auto request = deepinfer::parse_request(object, 1000);
  if (request && !deepinfer::validate(request->sampling, 1000)) __builtin_trap();  // what parses is valid
  return 0;
}
