// Builds the token map from tokenizer.json (model.md 4.9a). ICU gives normal forms, categories and lower case.
#include <simdjson.h>
#include <unicode/uchar.h>
#include <unicode/unorm2.h>
#include <unicode/ustring.h>

#include <array>
#include <string>
#include <unordered_map>

#include "base/json_writer.h"
#include "checkpoint/engram_map.h"

namespace deepinfer {
namespace {

// The byte-level alphabet of GPT-2: printable Latin-1 stands for itself, the other 68 bytes for U+0100 upwards in
// order.
std::array<int, 0x144> byte_of_char() {
  std::array<int, 0x144> out;
  out.fill(-1);
  int next = 0x100;
  for (int b = 0; b < 256; ++b) {
    const bool printable = (b >= 0x21 && b <= 0x7e) || (b >= 0xa1 && b <= 0xac) || b >= 0xae;
    out[static_cast<size_t>(printable ? b : next++)] = b;
  }
  return out;
}

// A vocabulary string back to bytes; one with a character outside the alphabet (an added token) is its own text.
std::string bytes_of(std::string_view token) {
  static const std::array<int, 0x144> kByte = byte_of_char();
  std::string out;
  for (size_t i = 0; i < token.size();) {
    const unsigned char c = static_cast<unsigned char>(token[i]);
    size_t code = c, length = 1;
    if (c >= 0x80) {
      if ((c & 0xe0) != 0xc0 || i + 1 >= token.size()) return std::string(token);
      code = static_cast<size_t>(((c & 0x1f) << 6) | (static_cast<unsigned char>(token[i + 1]) & 0x3f));
      length = 2;
    }
    if (code >= kByte.size() || kByte[code] < 0) return std::string(token);
    out += static_cast<char>(kByte[code]);
    i += length;
  }
  return out;
}

using Text = std::u16string;

Text normalize(const UNormalizer2* form, const Text& in) {
  UErrorCode status = U_ZERO_ERROR;
  Text out(in.size() * 4 + 32, u'\0');
  int32_t n = unorm2_normalize(form, in.data(), static_cast<int32_t>(in.size()), out.data(),
                               static_cast<int32_t>(out.size()), &status);
  if (status == U_BUFFER_OVERFLOW_ERROR) {
    status = U_ZERO_ERROR;
    out.resize(static_cast<size_t>(n));
    n = unorm2_normalize(form, in.data(), static_cast<int32_t>(in.size()), out.data(), n, &status);
  }
  if (U_FAILURE(status)) return in;
  out.resize(static_cast<size_t>(n));
  return out;
}

constexpr char16_t kSentinel = 0xe000;

// Rule 3. `text` is valid UTF-8.
std::string fold(const std::string& text, const UNormalizer2* nfkc, const UNormalizer2* nfd) {
  Text u(text.size() + 1, u'\0');
  int32_t length = 0;
  UErrorCode status = U_ZERO_ERROR;
  u_strFromUTF8(u.data(), static_cast<int32_t>(u.size()), &length, text.data(), static_cast<int32_t>(text.size()),
                &status);
  u.resize(static_cast<size_t>(length));
  u = normalize(nfd, normalize(nfkc, u));

  Text lower;
  for (int32_t i = 0; i < static_cast<int32_t>(u.size());) {
    const int32_t begin = i;
    UChar32 c;
    U16_NEXT(u.data(), i, static_cast<int32_t>(u.size()), c);
    if (U_GET_GC_MASK(c) & U_GC_M_MASK) continue;
    // One character at a time: full mapping, but no context.
    char16_t one[8];
    UErrorCode e = U_ZERO_ERROR;
    const int32_t n = u_strToLower(one, 8, u.data() + begin, i - begin, "", &e);
    if (U_SUCCESS(e)) lower.append(one, static_cast<size_t>(n));
  }
  Text collapsed;
  for (char16_t c : lower) {
    const bool blank = c == u' ' || c == u'\t' || c == u'\r' || c == u'\n';
    if (!blank)
      collapsed += c;
    else if (collapsed.empty() || collapsed.back() != u' ')
      collapsed += u' ';
  }
  if (collapsed == u" ") collapsed = kSentinel;
  size_t begin = 0, end = collapsed.size();
  while (begin < end && u_isUWhiteSpace(collapsed[begin])) ++begin;
  while (end > begin && u_isUWhiteSpace(collapsed[end - 1])) --end;
  collapsed = collapsed.substr(begin, end - begin);
  for (char16_t& c : collapsed)
    if (c == kSentinel) c = u' ';
  std::string out(collapsed.size() * 3 + 1, '\0');
  u_strToUTF8(out.data(), static_cast<int32_t>(out.size()), &length, collapsed.data(),
              static_cast<int32_t>(collapsed.size()), &status);
  out.resize(static_cast<size_t>(length));
  return out;
}

}  // namespace

Result<std::vector<int32_t>> build_token_map(std::string_view json, const std::string& name, int64_t vocab_size) {
  simdjson::dom::parser parser;
  simdjson::dom::element root;
  if (const auto e = parser.parse(json.data(), json.size()).get(root))
    return fail(ErrorCode::kBadModel, "{}: not valid JSON: {}", name, simdjson::error_message(e));
  simdjson::dom::object vocab;
  if (!root.is_object() || root["model"]["vocab"].get_object().get(vocab))
    return fail(ErrorCode::kBadModel, "{}: model.vocab is missing or not an object", name);
  std::vector<std::string_view> token(static_cast<size_t>(vocab_size));
  for (auto [text, value] : vocab) {
    int64_t id;
    if (value.get_int64().get(id) || id < 0)
      return fail(ErrorCode::kBadModel, "{}: model.vocab: the id of {} is not a number", name,
                  std::string(text.substr(0, 60)));
    if (id < vocab_size) token[static_cast<size_t>(id)] = text;
  }
  simdjson::dom::array added;
  if (!root["added_tokens"].get_array().get(added))
    for (simdjson::dom::element entry : added) {
      int64_t id;
      std::string_view content;
      if (entry["id"].get_int64().get(id) || entry["content"].get_string().get(content) || id < 0)
        return fail(ErrorCode::kBadModel, "{}: added_tokens: an entry lacks id or content", name);
      if (id < vocab_size) token[static_cast<size_t>(id)] = content;
    }

  UErrorCode status = U_ZERO_ERROR;
  const UNormalizer2* nfkc = unorm2_getNFKCInstance(&status);
  const UNormalizer2* nfd = unorm2_getNFDInstance(&status);
  if (U_FAILURE(status)) return fail(ErrorCode::kInternal, "ICU has no normalisation data: {}", u_errorName(status));
  std::vector<int32_t> map;
  std::unordered_map<std::string, int32_t> classes;
  map.reserve(token.size());
  for (std::string_view t : token) {
    const std::string text = bytes_of(t);
    std::string key;
    if (!is_valid_utf8(text) || text.find("\xef\xbf\xbd") != std::string::npos) {
      key = std::string(t);
    } else {
      key = fold(text, nfkc, nfd);
      if (key.empty()) key = text;
    }
    map.push_back(classes.emplace(std::move(key), static_cast<int32_t>(classes.size())).first->second);
  }
  return map;
}

}  // namespace deepinfer
