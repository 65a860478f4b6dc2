#include "tokenizer_fixture.h"

#include <filesystem>
#include <fstream>
#include <random>
#include <set>
#include <sstream>

#include "base/json_writer.h"

namespace deepinfer::testing {

std::string spell(std::string_view bytes) {
  std::string out;
  for (const char c : bytes) {
    const auto b = static_cast<unsigned char>(c);
    unsigned shift = 0;
    for (unsigned k = 0; k < b; ++k) shift += !((k >= 33 && k <= 126) || (k >= 161 && k <= 172) || k >= 174);
    const bool printable = (b >= 33 && b <= 126) || (b >= 161 && b <= 172) || b >= 174;
    const unsigned point = printable ? b : 256 + shift;
    if (point < 128) {
      out += static_cast<char>(point);
    } else {
      out += static_cast<char>(0xC0 | point >> 6);
      out += static_cast<char>(0x80 | (point & 63));
    }
  }
  return out;
}

std::string small_tokenizer_json(const std::vector<std::pair<std::string, std::string>>& merges) {
  JsonWriter w;
  int id = 0;
  w.begin_object().key("added_tokens").begin_array();
  const auto added = [&](int number, const char* content, bool special, bool normalized) {
    w.begin_object().field("id", number).field("content", content).field("single_word", false).field("lstrip", false);
    w.field("rstrip", false).field("normalized", normalized).field("special", special).end_object();
  };
  const char* first[] = {"<｜begin▁of▁sentence｜>", "<｜end▁of▁sentence｜>", "<｜▁pad▁｜>"};
  for (int k = 0; k < 3; ++k) added(k, first[k], true, false);
  const int end = 3 + 256 + static_cast<int>(merges.size());
  added(end, "<think>", false, false);
  added(end + 1, "<|x|>", true, true);
  added(end + 2, "<|x|>y", true, true);
  w.end_array().key("normalizer").raw(R"({"type":"Sequence","normalizers":[]})");
  w.key("pre_tokenizer")
      .raw(
          R"re({"type":"Sequence","pretokenizers":[{"type":"Split","pattern":{"Regex":"\\p{N}{1,3}"},"behavior":"Isolated","invert":false},{"type":"Split","pattern":{"Regex":"[一-龥\u3040-ゟ゠-ヿ]+"},"behavior":"Isolated","invert":false},{"type":"Split","pattern":{"Regex":"[!\"#$%&'()*+,\\-./:;<=>?@\\[\\\\\\]^_`{|}~][A-Za-z]+|[^\r\n\\p{L}\\p{P}\\p{S}]?[\\p{L}\\p{M}]+| ?[\\p{P}\\p{S}]+[\r\n]*|\\s*[\r\n]+|\\s+(?!\\S)|\\s+"},"behavior":"Isolated","invert":false},{"type":"ByteLevel","add_prefix_space":false,"trim_offsets":true,"use_regex":false}]})re");
  w.key("decoder").raw(R"({"type":"ByteLevel","add_prefix_space":true,"trim_offsets":true,"use_regex":true})");
  w.key("model").begin_object().field("type", "BPE").key("vocab").begin_object();
  for (const char* text : first) w.field(text, id++);
  for (int b = 0; b < 256; ++b) w.field(spell(std::string(1, static_cast<char>(b))), id++);
  for (const auto& [left, right] : merges) w.field(spell(left + right), id++);
  w.end_object().key("merges").begin_array();
  for (const auto& [left, right] : merges) w.value(spell(left) + " " + spell(right));
  w.end_array().end_object().end_object();
  return w.take();
}

std::vector<std::pair<std::string, std::string>> random_merges(int count, unsigned seed) {
  std::mt19937 random(seed);
  std::vector<std::string> known = {"a", "b", "c", " ", "\xe4", "\xbd", "\xa0", "\xe5", "\xa5"};
  std::set<std::string> made(known.begin(), known.end());
  std::vector<std::pair<std::string, std::string>> out;
  while (static_cast<int>(out.size()) < count) {
    const std::string& left = known[random() % known.size()];
    const std::string& right = known[random() % known.size()];
    if (left.size() + right.size() > 24 || !made.insert(left + right).second) continue;
    out.emplace_back(left, right);
    known.push_back(left + right);
  }
  return out;
}

std::string find_data(const std::string& relative) {
  for (const char* root : {"/tests/data/", "/../shared/", "/../../shared/"}) {
    const std::string path = std::string(DEEPINFER_SOURCE_DIR) + root + relative;
    if (std::filesystem::exists(path)) return path;
  }
  return "";
}

std::string find_tokenizer(const std::string& which) {
  if (which == "official") return find_data("vectors/tokenizer/deepseek-v4.1/tokenizer.json");
  const std::string bundled = std::string(DEEPINFER_SOURCE_DIR) + "/models/v41-small/tokenizer.json";
  return std::filesystem::exists(bundled) ? bundled : find_data("model/v41-small/tokenizer.json");
}

std::string read_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

}  // namespace deepinfer::testing
