#include "base/json_writer.h"

#include <fmt/format.h>

#include <cmath>
#include <iterator>

namespace deepinfer {
namespace {

// Length of the valid UTF-8 sequence at p, or 0; `bad` = bytes of the invalid prefix to replace.
size_t sequence_length(std::string_view s, size_t p, size_t& bad) {
  const auto byte = [&](size_t i) { return static_cast<uint8_t>(s[i]); };
  const uint8_t c = byte(p);
  bad = 1;
  if (c < 0x80) return 1;
  size_t n;
  uint8_t low = 0x80, high = 0xbf;
  if (c >= 0xc2 && c <= 0xdf)
    n = 2;
  else if (c >= 0xe0 && c <= 0xef) {
    n = 3;
    if (c == 0xe0) low = 0xa0;
    if (c == 0xed) high = 0x9f;
  } else if (c >= 0xf0 && c <= 0xf4) {
    n = 4;
    if (c == 0xf0) low = 0x90;
    if (c == 0xf4) high = 0x8f;
  } else {
    return 0;
  }
  for (size_t i = 1; i < n; ++i) {
    if (p + i >= s.size() || byte(p + i) < low || byte(p + i) > high) {
      bad = i;
      return 0;
    }
    low = 0x80;
    high = 0xbf;
  }
  return n;
}

}  // namespace

void append_json_string(std::string& out, std::string_view text) {
  out += '"';
  for (size_t i = 0; i < text.size();) {
    const uint8_t c = static_cast<uint8_t>(text[i]);
    if (c < 0x80) {
      switch (c) {
        case '"':
          out += "\\\"";
          break;
        case '\\':
          out += "\\\\";
          break;
        case '\n':
          out += "\\n";
          break;
        case '\r':
          out += "\\r";
          break;
        case '\t':
          out += "\\t";
          break;
        default:
          if (c < 0x20 || c == 0x7f)
            fmt::format_to(std::back_inserter(out), "\\u{:04x}", c);
          else
            out += static_cast<char>(c);
      }
      ++i;
      continue;
    }
    size_t bad;
    if (const size_t n = sequence_length(text, i, bad)) {
      out.append(text.substr(i, n));
      i += n;
    } else {
      out += "\xef\xbf\xbd";
      i += bad;
    }
  }
  out += '"';
}

std::string sanitize_utf8(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (size_t i = 0; i < text.size();) {
    size_t bad;
    if (const size_t n = sequence_length(text, i, bad)) {
      out.append(text.substr(i, n));
      i += n;
    } else {
      out += "\xef\xbf\xbd";
      i += bad;
    }
  }
  return out;
}

bool is_valid_utf8(std::string_view text) {
  for (size_t i = 0; i < text.size();) {
    size_t bad;
    const size_t n = sequence_length(text, i, bad);
    if (n == 0) return false;
    i += n;
  }
  return true;
}

void JsonWriter::separate() {
  if (comma_) out_ += ',';
  comma_ = true;
}

JsonWriter& JsonWriter::open(char c) {
  separate();
  out_ += c;
  comma_ = false;
  return *this;
}

JsonWriter& JsonWriter::close(char c) {
  out_ += c;
  comma_ = true;
  return *this;
}

JsonWriter& JsonWriter::key(std::string_view name) {
  separate();
  append_json_string(out_, name);
  out_ += ':';
  comma_ = false;
  return *this;
}

JsonWriter& JsonWriter::value(std::string_view text) {
  separate();
  append_json_string(out_, text);
  return *this;
}

JsonWriter& JsonWriter::value(bool b) { return raw(b ? "true" : "false"); }
JsonWriter& JsonWriter::value(int64_t v) { return raw(fmt::format_int(v).c_str()); }
JsonWriter& JsonWriter::value(uint64_t v) { return raw(fmt::format_int(v).c_str()); }
JsonWriter& JsonWriter::value(double v) { return std::isfinite(v) ? raw(fmt::format("{}", v)) : null(); }
JsonWriter& JsonWriter::value(float v) { return std::isfinite(v) ? raw(fmt::format("{}", v)) : null(); }
JsonWriter& JsonWriter::null() { return raw("null"); }

JsonWriter& JsonWriter::raw(std::string_view json) {
  separate();
  out_ += json;
  return *this;
}

}  // namespace deepinfer
