// Any bytes as tokenizer.json: refused in one short line that starts with the file's name, or a tokenizer that keeps
// every byte of any text and decodes to valid UTF-8, streamed or not.
#include <cstdlib>
#include <string>
#include <vector>

#include "base/json_writer.h"
#include "tokenizer/stream_decoder.h"
#include "tokenizer/tokenizer.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace deepinfer;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto tokenizer = Tokenizer::parse(text, "tokenizer.json");
  if (!tokenizer) {
    const std::string& message = tokenizer.error().message;
    if (message.size() > 1200 || message.rfind("tokenizer.json: ", 0) != 0) std::abort();
    return 0;
  }
  // The file itself is as good a text as any: it holds the literals and entries.
  for (const bool special : {false, true}) {
    const std::vector<int32_t> ids = tokenizer->encode(text, special);
    std::string bytes;
    tokenizer->append_bytes(ids, false, bytes);
    if (bytes != text) std::abort();
    StreamDecoder decoder(*tokenizer);
    std::string streamed;
    for (const int32_t id : ids) {
      if (id < 0 || id >= tokenizer->vocab_size()) std::abort();
      decoder.push(id, streamed);
    }
    if (streamed + decoder.finish() != tokenizer->decode(ids, false)) std::abort();
  }
  for (int32_t id = 0; id < tokenizer->vocab_size() && id < 4096; ++id) {
    const std::string_view raw = tokenizer->raw_token(id);
    if (!raw.empty() && tokenizer->find_raw(raw) != id) std::abort();
  }
  return 0;
}
