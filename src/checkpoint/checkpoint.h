// A checkpoint folder in the published layout: config.json, *.safetensors shards, index. Opening maps the shards and
// checks every name, dtype, shape and place (model.md 2.4 rule 11, 3); it reads no weights, so it is quick for any
// size, and a checkpoint larger than memory runs through the page cache. Immutable after open; TensorRefs live as long
// as the object.
#pragma once
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/mapped_file.h"
#include "checkpoint/engram_map.h"
#include "checkpoint/names.h"
#include "config/config.h"

namespace deepinfer {

struct TensorRef {
  DType dtype = DType::kF32;
  std::vector<int64_t> shape;
  const uint8_t* data = nullptr;
  uint64_t bytes = 0;
  TensorKind kind = TensorKind::kNorm;
  int shard = 0;
};

class Checkpoint {
 public:
  static Result<Checkpoint> open(const std::string& folder, const ModelConfig& config);

  // Names without the optional "model." prefix. get() aborts on an unknown name: open() has checked that all expected
  // ones are there.
  const TensorRef* find(std::string_view name) const;
  const TensorRef& get(std::string_view name) const;
  size_t num_tensors() const { return tensors_.size(); }
  uint64_t total_bytes() const { return total_bytes_; }
  const std::vector<MappedFile>& shards() const { return shards_; }
  const std::string& folder() const { return folder_; }
  struct Hash {
    using is_transparent = void;
    size_t operator()(std::string_view s) const { return std::hash<std::string_view>{}(s); }
  };
  using Map = std::unordered_map<std::string, TensorRef, Hash, std::equal_to<>>;
  const Map& tensors() const { return tensors_; }

 private:
  std::string folder_;
  std::vector<MappedFile> shards_;
  Map tensors_;
  uint64_t total_bytes_ = 0;
};

}  // namespace deepinfer
