// Small JSON writer: appends to a string, inserts commas by itself. Strings are escaped and invalid UTF-8 becomes
// U+FFFD; numbers are the shortest text that reads back the same; NaN and infinities become null.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

namespace deepinfer {

// Appends `text` as a quoted JSON string.
void append_json_string(std::string& out, std::string_view text);
// Replaces every invalid UTF-8 sequence by U+FFFD (one per maximal invalid prefix, as Unicode recommends).
std::string sanitize_utf8(std::string_view text);
bool is_valid_utf8(std::string_view text);

class JsonWriter {
 public:
  JsonWriter& begin_object() { return open('{'); }
  JsonWriter& end_object() { return close('}'); }
  JsonWriter& begin_array() { return open('['); }
  JsonWriter& end_array() { return close(']'); }
  JsonWriter& key(std::string_view name);
  JsonWriter& value(std::string_view text);
  JsonWriter& value(const char* text) { return value(std::string_view(text)); }
  JsonWriter& value(bool b);
  JsonWriter& value(int v) { return value(static_cast<int64_t>(v)); }
  JsonWriter& value(int64_t v);
  JsonWriter& value(uint64_t v);
  JsonWriter& value(double v);
  JsonWriter& value(float v);
  JsonWriter& null();
  // Already encoded JSON.
  JsonWriter& raw(std::string_view json);
  template <typename T>
  JsonWriter& field(std::string_view name, const T& v) {
    key(name);
    return value(v);
  }
  template <typename Range>
  JsonWriter& array(const Range& range) {
    begin_array();
    for (const auto& v : range) value(v);
    return end_array();
  }

  const std::string& str() const { return out_; }
  // Hands the text over and starts anew.
  std::string take() {
    comma_ = false;
    return std::exchange(out_, std::string());
  }
  void clear() {
    out_.clear();
    comma_ = false;
  }

 private:
  JsonWriter& open(char c);
  JsonWriter& close(char c);
  void separate();
  std::string out_;
  bool comma_ = false;
};

}  // namespace deepinfer
