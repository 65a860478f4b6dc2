#include "checkpoint/engram_map.h"

#include <simdjson.h>
#include <sys/stat.h>

#include <algorithm>

#include "base/json_writer.h"
#include "base/mapped_file.h"

namespace deepinfer {
namespace {

using simdjson::dom::array;
using simdjson::dom::element;

bool exists(const std::string& path) {
  struct stat st = {};
  return stat(path.c_str(), &st) == 0;
}

// An optional integer key that must say what the config says.
Status same(const element& root, const char* key, int64_t want, const std::string& path) {
  element e;
  if (root[key].get(e)) return {};
  int64_t v;
  if (e.get_int64().get(v) || v != want)
    return fail(ErrorCode::kBadModel, "{}: {} is {}, expected {} by config.json", path, key,
                std::string(simdjson::minify(e)).substr(0, 60), want);
  return {};
}

Status check_multipliers(const element& root, const ModelConfig& config, const std::string& path) {
  element e;
  if (root["multipliers"].get(e)) return {};
  const auto want = config.engram_multipliers(config.engram_compressed_vocab_size);
  const auto bad = [&] {
    return fail(
        ErrorCode::kBadModel,
        "{}: multipliers differ from those that config.json gives (engram_layer_ids, engram_compressed_vocab_size)",
        path);
  };
  array rows;
  if (e.get_array().get(rows) || rows.size() != want.size()) return bad();
  size_t i = 0;
  for (element row : rows) {
    array items;
    if (row.get_array().get(items) || items.size() != want[i].size()) return bad();
    size_t j = 0;
    for (element item : items) {
      std::string_view text;  // strings, because they exceed 2^53
      int64_t v;
      const std::string number = std::to_string(want[i][j++]);
      const bool equal =
          !item.get_string().get(text) ? text == number : !item.get_int64().get(v) && std::to_string(v) == number;
      if (!equal) return bad();
    }
    ++i;
  }
  return {};
}

Result<std::vector<int32_t>> read_meta(const std::string& path, const ModelConfig& config) {
  DI_TRY(MappedFile file, MappedFile::open(path));
  simdjson::dom::parser parser;
  element root;
  if (const auto e = parser.parse(file.text().data(), file.size()).get(root))
    return fail(ErrorCode::kBadModel, "{}: not valid JSON: {}", path, simdjson::error_message(e));
  array items;
  if (!root.is_object() || root["token_map"].get_array().get(items))
    return fail(ErrorCode::kBadModel, "{}: token_map is missing or not a list", path);
  DI_TRY_STATUS(same(root, "compressed_vocab_size", config.engram_compressed_vocab_size, path));
  DI_TRY_STATUS(same(root, "pad_token_id", config.engram_pad_token_id, path));
  std::vector<int32_t> map;
  int64_t top = -1;
  for (element item : items) {
    int64_t v;
    if (item.get_int64().get(v) || v < 0 || v >= config.engram_compressed_vocab_size)
      return fail(ErrorCode::kBadModel, "{}: token_map[{}] is not an id below engram_compressed_vocab_size = {}", path,
                  map.size(), config.engram_compressed_vocab_size);
    top = std::max(top, v);
    map.push_back(static_cast<int32_t>(v));
  }
  if (static_cast<int64_t>(map.size()) != config.vocab_size)
    return fail(ErrorCode::kBadModel, "{}: token_map has {} entries, expected vocab_size = {}", path, map.size(),
                config.vocab_size);
  if (top + 1 != config.engram_compressed_vocab_size)
    return fail(ErrorCode::kBadModel,
                "{}: token_map has {} classes, config.json says engram_compressed_vocab_size = {}", path, top + 1,
                config.engram_compressed_vocab_size);
  DI_TRY_STATUS(check_multipliers(root, config, path));
  return map;
}

}  // namespace

Result<std::vector<int32_t>> load_token_map(const std::string& folder, const ModelConfig& config) {
  if (config.engram_layer_ids.empty()) return std::vector<int32_t>{};
  const std::string meta = folder + "/engram_meta.json", tokenizer = folder + "/tokenizer.json";
  if (exists(meta)) return read_meta(meta, config);
  if (!exists(tokenizer))
    return fail(ErrorCode::kNotFound,
                "{}: no such file, and no engram_meta.json; the engram layers need one of them to map tokens",
                tokenizer);
  DI_TRY(MappedFile file, MappedFile::open(tokenizer));
  DI_TRY(std::vector<int32_t> map, build_token_map(file.text(), tokenizer, config.vocab_size));
  const int64_t classes = *std::max_element(map.begin(), map.end()) + 1;
  if (classes != config.engram_compressed_vocab_size)
    return fail(ErrorCode::kBadModel,
                "{}: its tokens fall into {} classes, config.json says engram_compressed_vocab_size = {}; tokenizer "
                "and checkpoint do not belong together",
                tokenizer, classes, config.engram_compressed_vocab_size);
  return map;
}

std::string engram_meta_json(const ModelConfig& config, const std::vector<int32_t>& token_map) {
  JsonWriter w;
  w.begin_object();
  w.key("token_map").array(token_map);
  w.field("compressed_vocab_size", config.engram_compressed_vocab_size)
      .field("pad_token_id", config.engram_pad_token_id);
  w.key("engram_layer_ids").array(config.engram_layer_ids);
  w.key("multipliers").begin_array();
  for (const auto& row : config.engram_multipliers(config.engram_compressed_vocab_size)) {
    w.begin_array();
    for (int64_t v : row) w.value(std::to_string(v));
    w.end_array();
  }
  return w.end_array().end_object().take();
}

}  // namespace deepinfer
