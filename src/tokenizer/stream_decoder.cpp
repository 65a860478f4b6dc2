#include "tokenizer/stream_decoder.h"

#include "base/json_writer.h"

namespace deepinfer {
namespace {

// Length of the valid but incomplete character at the end of `bytes`: 0 to 3.
size_t incomplete_tail(std::string_view bytes) {
  for (size_t back = 1; back <= 3 && back <= bytes.size(); ++back) {
    const auto lead = static_cast<uint8_t>(bytes[bytes.size() - back]);
    if ((lead & 0xC0) == 0x80) continue;  // a tail byte: its lead is further left
    const size_t need = lead >= 0xF0 && lead < 0xF5   ? 4
                        : lead >= 0xE0 && lead < 0xF0 ? 3
                        : lead >= 0xC2 && lead < 0xE0 ? 2
                                                      : 1;
    if (need <= back) return 0;
    if (back >= 2) {  // the second byte may already rule the character out (overlong, surrogate, above U+10FFFF)
      const auto second = static_cast<uint8_t>(bytes[bytes.size() - back + 1]);
      if ((lead == 0xE0 && second < 0xA0) || (lead == 0xED && second > 0x9F) || (lead == 0xF0 && second < 0x90) ||
          (lead == 0xF4 && second > 0x8F))
        return 0;
    }
    return back;
  }
  return 0;
}

}  // namespace

void StreamDecoder::push(int32_t id, std::string& out) {
  if (skip_special_ && tokenizer_->is_special(id)) return;
  held_ += tokenizer_->token_bytes(id);
  const size_t tail = incomplete_tail(held_);
  const std::string_view whole = std::string_view(held_).substr(0, held_.size() - tail);
  if (is_valid_utf8(whole))
    out += whole;
  else
    out += sanitize_utf8(whole);
  held_.erase(0, whole.size());
}

std::string StreamDecoder::push(int32_t id) {
  std::string out;
  push(id, out);
  return out;
}

std::string StreamDecoder::finish() {
  std::string out = sanitize_utf8(held_);
  held_.clear();
  return out;
}

}  // namespace deepinfer
