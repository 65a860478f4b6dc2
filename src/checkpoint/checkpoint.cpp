#include "checkpoint/checkpoint.h"

#include <simdjson.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include <algorithm>

#include "base/check.h"
#include "checkpoint/safetensors.h"

namespace deepinfer {
namespace {

constexpr const char* kIndexName = "model.safetensors.index.json";

bool exists(const std::string& path) {
  struct stat st = {};
  return stat(path.c_str(), &st) == 0;
}

std::string_view without_prefix(std::string_view name) { return name.substr(0, 6) == "model." ? name.substr(6) : name; }

std::string cut(std::string_view s) { return s.size() > 200 ? std::string(s.substr(0, 200)) + "..." : std::string(s); }

// Tensor (bare name) -> shard file, as the index says.
struct Index {
  std::vector<std::string> shards;                // in order of name
  std::unordered_map<std::string, int> shard_of;  // bare name -> shard
  bool from_file = false;
};

Status add_name(Index& index, std::string_view full, int shard, const std::string& where) {
  const std::string bare(without_prefix(full));
  if (!index.shard_of.emplace(bare, shard).second)
    return fail(ErrorCode::kBadModel, "{}: tensor {} occurs twice (with and without the prefix \"model.\")", where,
                cut(bare));
  return {};
}

Result<Index> read_index(const std::string& folder) {
  const std::string path = folder + "/" + kIndexName;
  Index index;
  if (!exists(path)) {
    if (exists(folder + "/model.safetensors")) {
      index.shards.push_back("model.safetensors");
      return index;
    }
    return fail(ErrorCode::kNotFound,
                "{}: no such file (nor a single model.safetensors); the folder is not a whole checkpoint", path);
  }
  DI_TRY(MappedFile file, MappedFile::open(path));
  simdjson::dom::parser parser;
  simdjson::dom::element root;
  if (const auto e = parser.parse(file.text().data(), file.size()).get(root))
    return fail(ErrorCode::kBadModel, "{}: not valid JSON: {}", path, simdjson::error_message(e));
  simdjson::dom::object map;
  if (root.is_object() == false || root["weight_map"].get_object().get(map))
    return fail(ErrorCode::kBadModel, "{}: weight_map is missing or not an object", path);
  index.from_file = true;
  std::unordered_map<std::string, int> shard_ids;
  for (auto [name, value] : map) {
    std::string_view shard;
    if (value.get_string().get(shard))
      return fail(ErrorCode::kBadModel, "{}: weight_map: shard of {} is not a string", path, cut(name));
    if (shard.empty() || shard.find('/') != std::string_view::npos || shard == ".." ||
        shard.find('\0') != std::string_view::npos)
      return fail(ErrorCode::kBadModel, "{}: shard {} of {} is not a plain file name in the folder", path, cut(shard),
                  cut(name));
    auto [at, fresh] = shard_ids.emplace(std::string(shard), static_cast<int>(index.shards.size()));
    if (fresh) index.shards.emplace_back(shard);
    DI_TRY_STATUS(add_name(index, name, at->second, path));
  }
  return index;
}

}  // namespace

Result<Checkpoint> Checkpoint::open(const std::string& folder, const ModelConfig& config) {
  DI_TRY(Index index, read_index(folder));
  Checkpoint c;
  c.folder_ = folder;

  struct Found {
    const TensorEntry* entry;
    int shard;
    uint64_t data_offset;
  };
  std::vector<SafetensorsHeader> headers(index.shards.size());
  std::unordered_map<std::string_view, Found> found;
  for (size_t i = 0; i < index.shards.size(); ++i) {
    const std::string path = folder + "/" + index.shards[i];
    auto opened = MappedFile::open(path);
    if (!opened && opened.error().code == ErrorCode::kNotFound && index.from_file)
      return fail(ErrorCode::kNotFound, "{}: no such file, but {} names it; download the missing shard", path,
                  kIndexName);
    DI_TRY(MappedFile file, std::move(opened));
    DI_TRY(headers[i], parse_safetensors_header(file.text(), file.size(), path));
    for (const TensorEntry& t : headers[i].tensors) {
      const std::string_view bare = without_prefix(t.name);
      if (!index.from_file) {
        DI_TRY_STATUS(add_name(index, t.name, static_cast<int>(i), path));
      } else {
        const auto at = index.shard_of.find(std::string(bare));
        if (at == index.shard_of.end())
          return fail(ErrorCode::kBadModel, "{}: tensor {} is not in {}", path, cut(bare), kIndexName);
        if (at->second != static_cast<int>(i))
          return fail(ErrorCode::kBadModel, "{}: tensor {} lies here, but {} says {}", path, cut(bare), kIndexName,
                      index.shards[at->second]);
      }
      if (!found.emplace(bare, Found{&t, static_cast<int>(i), headers[i].data_offset}).second)
        return fail(ErrorCode::kBadModel, "{}: tensor {} occurs twice", path, cut(bare));
    }
    c.shards_.push_back(std::move(file));
  }
  const std::string where =
      folder + (index.from_file ? std::string("/") + kIndexName : std::string("/model.safetensors"));
  auto shard_path = [&](int shard) { return folder + "/" + index.shards[static_cast<size_t>(shard)]; };

  std::vector<ExpectedTensor> expected = expected_tensors(config);
  c.tensors_.reserve(expected.size());
  for (ExpectedTensor& want : expected) {
    const auto at = found.find(want.name);
    if (at == found.end()) {
      const auto named = index.shard_of.find(want.name);
      if (named == index.shard_of.end())
        return fail(ErrorCode::kBadModel, "{}: tensor {} is missing (expected {} of shape {})", where, want.name,
                    dtype_name(want.dtype), shape_string(want.shape));
      return fail(ErrorCode::kBadModel, "{}: tensor {} is missing here, although {} says so", shard_path(named->second),
                  want.name, kIndexName);
    }
    const TensorEntry& t = *at->second.entry;
    if (t.dtype != want.dtype)
      return fail(ErrorCode::kBadModel, "{}: tensor {} has dtype {}, expected {}", shard_path(at->second.shard),
                  want.name, dtype_name(t.dtype), dtype_name(want.dtype));
    if (t.shape != want.shape)
      return fail(ErrorCode::kBadModel, "{}: tensor {} has shape {}, expected {} by config.json",
                  shard_path(at->second.shard), want.name, shape_string(t.shape), shape_string(want.shape));
    const MappedFile& file = c.shards_[static_cast<size_t>(at->second.shard)];
    TensorRef ref{t.dtype,   std::move(want.shape), file.data() + at->second.data_offset + t.begin, t.end - t.begin,
                  want.kind, at->second.shard};
    // Rows of a table are read one by one at hashed places: readahead would fetch a hundred times what is used.
    if (ref.kind == TensorKind::kEngramTable) file.advise_range(ref.data, ref.bytes, MADV_RANDOM);
    c.total_bytes_ += ref.bytes;
    c.tensors_.emplace(std::move(want.name), std::move(ref));
  }
  for (const SafetensorsHeader& header : headers)
    if (!header.layout_fault.empty()) return fail(ErrorCode::kBadModel, "{}", header.layout_fault);
  if (index.shard_of.size() != c.tensors_.size()) {
    for (const auto& [name, shard] : index.shard_of) {
      if (c.tensors_.count(name)) continue;
      if (name.find("hc_") != std::string::npos && name.find("_norm.weight") != std::string::npos)
        return fail(ErrorCode::kBadModel,
                    "{}: tensor {} must not exist (its weight is folded into the hc fn of published checkpoints)",
                    where, cut(name));
      return fail(ErrorCode::kBadModel, "{}: tensor {} in {} is unknown to this architecture and config.json", where,
                  cut(name), index.shards[static_cast<size_t>(shard)]);
    }
  }
  return c;
}

const TensorRef* Checkpoint::find(std::string_view name) const {
  const auto at = tensors_.find(name);
  return at == tensors_.end() ? nullptr : &at->second;
}

const TensorRef& Checkpoint::get(std::string_view name) const {
  const TensorRef* t = find(name);
  DI_CHECK(t != nullptr, "tensor {}", name);
  return *t;
}

}  // namespace deepinfer
