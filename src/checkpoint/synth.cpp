#include "checkpoint/synth.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstring>

#include "base/interrupt.h"
#include "base/json_writer.h"
#include "base/progress.h"
#include "checkpoint/engram_map.h"
#include "tensor/float_formats.h"

namespace deepinfer {
namespace {

uint64_t mix(uint64_t x) {  // finaliser of SplitMix64
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ull;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebull;
  return x ^ (x >> 31);
}

constexpr uint64_t kGolden = 0x9e3779b97f4a7c15ull;

uint64_t hash_name(std::string_view name) {  // FNV-1a
  uint64_t h = 0xcbf29ce484222325ull;
  for (unsigned char c : name) h = (h ^ c) * 0x100000001b3ull;
  return h;
}

// Quantile of the standard normal distribution by bisection of its distribution function.
double normal_quantile(double p) {
  double low = -9, high = 9;
  for (int i = 0; i < 60; ++i) {
    const double mid = (low + high) / 2;
    (0.5 * std::erfc(-mid / std::sqrt(2.0)) < p ? low : high) = mid;
  }
  return (low + high) / 2;
}

const std::vector<double>& quantiles(int n) {
  static const auto make = [](int count) {
    std::vector<double> q;
    for (int i = 0; i < count; ++i) q.push_back(normal_quantile((i + 0.5) / count));
    return q;
  };
  static const std::vector<double> k16 = make(16), k256 = make(256), k4096 = make(4096);
  return n == 16 ? k16 : n == 256 ? k256 : k4096;
}

bool ends_with(std::string_view s, std::string_view tail) {
  return s.size() >= tail.size() && s.substr(s.size() - tail.size()) == tail;
}

struct Spread {
  double mean = 0, deviation = 1;
};

// Deviation of weights by the role that the name tells; `inputs` is the length of a row.
Spread spread_of(std::string_view name, double inputs) {
  const double unit = 1 / std::sqrt(inputs);
  if (ends_with(name, "_fn")) return {0, unit};
  if (ends_with(name, "_scale")) return {0.7, 0.1};
  if (ends_with(name, "_base")) return {0, 0.5};
  if (ends_with(name, "attn_sink")) return {0, 1};
  if (ends_with(name, "norm.weight") || ends_with(name, "norm1.weight") || ends_with(name, "norm2.weight") ||
      ends_with(name, "q_weight") || ends_with(name, "k_weight"))
    return {1, 0.1};
  if (ends_with(name, ".bias") || ends_with(name, ".bias_vl")) return {0, 0.1};
  if (ends_with(name, "confidence_head.proj.weight")) return {0, 2 * unit};
  if (name == "embed.weight" || ends_with(name, "markov_head.embed.weight") || name.substr(0, 6) == "image_")
    return {0, 1};
  if (ends_with(name, "engram.embed")) return {0, 0.5};
  if (name == "head.weight") return {0, 1.5 * unit};
  return {0, 1.2 * unit};
}

std::string_view without_suffix(std::string_view name, std::string_view suffix) {
  return ends_with(name, suffix) ? name.substr(0, name.size() - suffix.size()) : name;
}

}  // namespace

TensorValues::TensorValues(const ExpectedTensor& t, uint64_t seed) : key_(mix(seed * kGolden + hash_name(t.name))) {
  std::string_view base = without_suffix(without_suffix(t.name, ".weight"), ".scale");
  // FP4 and FP8 weights: deviation = code deviation * 2^exponent, the exponent goes to the scale tensor, which
  // therefore must find the same one.
  const bool fp4 = t.kind == TensorKind::kExpert || base.find(".ffn.experts.") != std::string_view::npos;
  double inputs = 0;
  if (t.dtype == DType::kI8)
    inputs = 2.0 * static_cast<double>(t.shape.back());
  else if (t.dtype == DType::kF8E8M0)
    inputs = 32.0 * static_cast<double>(t.shape.back());  // exact: rows are multiples of 32 in every legal config
  else
    inputs = static_cast<double>(t.shape.back());
  element_bytes_ = static_cast<int>(dtype_size(t.dtype));
  if (t.dtype == DType::kF8E8M0 || t.dtype == DType::kF8E4M3 || t.dtype == DType::kI8) {
    // Scales below multiply the variance by 6/8 + 1/8 * 1/4 + 1/8 * 4.
    const double deviation = spread_of(base, inputs).deviation / std::sqrt(1.28125);
    const double smallest =
        fp4 ? 1.5
            : 64;  // code deviation lies in [smallest, 2 smallest): uses most of the format's range, seldom its end
    const int exponent = static_cast<int>(std::floor(std::log2(deviation / smallest)));
    const double code_deviation = std::ldexp(deviation, -exponent);
    if (t.dtype == DType::kF8E8M0) {  // neighbouring blocks differ: 1/8 half, 1/8 double
      for (int i = 0; i < 256; ++i)
        table_[i] = static_cast<uint32_t>(std::clamp(127 + exponent + (i < 32 ? -1 : i < 64 ? 1 : 0), 1, 254));
    } else if (t.dtype == DType::kF8E4M3) {
      for (int i = 0; i < 256; ++i)
        table_[i] = float_to_e4m3(static_cast<float>(code_deviation * quantiles(256)[static_cast<size_t>(i)]));
    } else {
      uint8_t code[16];
      for (int i = 0; i < 16; ++i)
        code[i] = float_to_e2m1(static_cast<float>(code_deviation * quantiles(16)[static_cast<size_t>(i)]));
      for (int i = 0; i < 256; ++i) table_[i] = static_cast<uint32_t>(code[i & 15] | (code[i >> 4] << 4));
    }
    return;
  }
  const Spread s = spread_of(t.name, inputs);
  for (int i = 0; i < 4096; ++i) {
    const float v = static_cast<float>(s.mean + s.deviation * quantiles(4096)[static_cast<size_t>(i)]);
    table_[i] = t.dtype == DType::kBF16 ? float_to_bf16(v) : float_to_bits(v);
  }
}

void TensorValues::fill(uint64_t offset, uint8_t* out, uint64_t bytes) const {
  const uint64_t per_word =
      element_bytes_ == 1 ? 8 : static_cast<uint64_t>(4 * element_bytes_);  // bytes of output per random word
  uint64_t word = offset / per_word;
  uint8_t buffer[16];
  for (uint64_t at = 0; at < bytes; ++word) {
    const uint64_t r = mix(key_ + word * kGolden);
    uint8_t* to = bytes - at >= per_word ? out + at : buffer;
    if (element_bytes_ == 1) {
      for (int i = 0; i < 8; ++i) to[i] = static_cast<uint8_t>(table_[(r >> (8 * i)) & 255]);
    } else if (element_bytes_ == 2) {
      for (int i = 0; i < 4; ++i) {
        const uint16_t v = static_cast<uint16_t>(table_[(r >> (16 * i)) & 4095]);
        std::memcpy(to + 2 * i, &v, 2);
      }
    } else {
      for (int i = 0; i < 4; ++i) std::memcpy(to + 4 * i, &table_[(r >> (16 * i)) & 4095], 4);
    }
    if (to == buffer) std::memcpy(out + at, buffer, bytes - at);
    at += std::min(per_word, bytes - at);
  }
}

namespace {

constexpr uint64_t kChunk =
    uint64_t{8} << 20;  // per thread; large enough that dispatch is free, small enough to stay far below any model

struct Shard {
  std::string name;
  std::vector<const ExpectedTensor*> tensors;
  uint64_t bytes = 0;
};

uint64_t size_of(const ExpectedTensor& t) {
  uint64_t n = dtype_size(t.dtype);
  for (int64_t d : t.shape) n *= static_cast<uint64_t>(d);
  return n;
}

// Weight and scale of one name stay together, as in the release.
std::vector<Shard> split(const std::vector<ExpectedTensor>& tensors, uint64_t shard_bytes) {
  std::vector<Shard> shards;
  for (size_t i = 0; i < tensors.size();) {
    size_t end = i + 1;
    if (end < tensors.size() && ends_with(tensors[i].name, ".weight") && ends_with(tensors[end].name, ".scale")) ++end;
    uint64_t bytes = 0;
    for (size_t j = i; j < end; ++j) bytes += size_of(tensors[j]);
    if (shards.empty() || (shards.back().bytes > 0 && shards.back().bytes + bytes > shard_bytes)) shards.emplace_back();
    for (; i < end; ++i) shards.back().tensors.push_back(&tensors[i]);
    shards.back().bytes += bytes;
  }
  for (size_t i = 0; i < shards.size(); ++i) {
    shards[i].name = fmt::format("model-{:05}-of-{:05}.safetensors", i + 1, shards.size());
    // Wide types first, so that every tensor lies aligned for its type.
    std::stable_sort(
        shards[i].tensors.begin(), shards[i].tensors.end(),
        [](const ExpectedTensor* a, const ExpectedTensor* b) { return dtype_size(a->dtype) > dtype_size(b->dtype); });
  }
  return shards;
}

std::string header_of(const Shard& shard) {
  JsonWriter w;
  w.begin_object();
  w.key("__metadata__").begin_object().field("format", "pt").end_object();
  uint64_t at = 0;
  for (const ExpectedTensor* t : shard.tensors) {
    w.key(t->name).begin_object().field("dtype", dtype_name(t->dtype));
    w.key("shape").array(t->shape);
    w.key("data_offsets").begin_array().value(at).value(at + size_of(*t)).end_array().end_object();
    at += size_of(*t);
  }
  std::string json = w.end_object().take();
  json.resize((json.size() + 8 + 63) / 64 * 64 - 8, ' ');  // data starts at a multiple of 64
  const uint64_t length = json.size();
  return std::string(reinterpret_cast<const char*>(&length), 8) + json;
}

// Files of one run; removes them unless kept.
class Output {
 public:
  explicit Output(std::string folder) : folder_(std::move(folder)) {}
  ~Output() {
    if (fd_ >= 0) close(fd_);
    if (!kept_)
      for (const std::string& path : paths_) unlink(path.c_str());
    if (!kept_ && made_folder_) rmdir(folder_.c_str());
  }

  Status prepare(bool force) {
    if (mkdir(folder_.c_str(), 0777) == 0) {
      made_folder_ = true;
      return {};
    }
    if (errno != EEXIST) return fail(ErrorCode::kIo, "{}: cannot make the folder: {}", folder_, std::strerror(errno));
    DIR* dir = opendir(folder_.c_str());
    if (!dir) return fail(ErrorCode::kIo, "{}: cannot open the folder: {}", folder_, std::strerror(errno));
    bool empty = true;
    std::vector<std::string> old;
    while (const dirent* entry = readdir(dir)) {
      const std::string name = entry->d_name;
      if (name == "." || name == "..") continue;
      empty = false;
      const bool shard = name.rfind("model", 0) == 0 && ends_with(name, ".safetensors");
      if (shard || name == "model.safetensors.index.json" || name == "config.json" || name == "engram_meta.json")
        old.push_back(folder_ + "/" + name);
    }
    closedir(dir);
    if (!empty && !force)
      return fail(ErrorCode::kInvalidArgument,
                  "{}: folder is not empty; give another one, or --force to replace the checkpoint in it", folder_);
    for (const std::string& path : old)
      if (unlink(path.c_str()) != 0) return fail(ErrorCode::kIo, "{}: cannot remove: {}", path, std::strerror(errno));
    return {};
  }

  Status room_for(uint64_t bytes) const {
    struct statvfs fs = {};
    if (statvfs(folder_.c_str(), &fs) != 0) return {};
    const uint64_t free = static_cast<uint64_t>(fs.f_bavail) * fs.f_frsize;
    if (free >= bytes) return {};
    return fail(
        ErrorCode::kIo,
        "{}: no space: the checkpoint needs {} bytes, {} are free; shrink it with --layers, --experts, --engram-rows",
        folder_, bytes, free);
  }

  Status begin(const std::string& name) {
    path_ = folder_ + "/" + name;
    written_ = 0;
    fd_ = open(path_.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    if (fd_ < 0) return fail(ErrorCode::kIo, "{}: cannot create: {}", path_, std::strerror(errno));
    paths_.push_back(path_);
    return {};
  }
  Status write(const void* data, uint64_t bytes) {
    const char* p = static_cast<const char*>(data);
    while (bytes > 0) {
      const ssize_t n = ::write(fd_, p, bytes);
      if (n < 0 && errno == EINTR) continue;
      if (n <= 0)
        return fail(ErrorCode::kIo, "{}: cannot write beyond {} bytes: {}; files written so far are removed", path_,
                    written_, std::strerror(errno));
      p += n;
      written_ += static_cast<uint64_t>(n);
      bytes -= static_cast<uint64_t>(n);
    }
    return {};
  }
  Status extend(uint64_t bytes) {
    written_ += bytes;
    if (ftruncate(fd_, static_cast<off_t>(written_)) != 0)
      return fail(ErrorCode::kIo, "{}: cannot extend to {} bytes: {}", path_, written_, std::strerror(errno));
    return {};
  }
  Status end() {
    const int fd = fd_;
    fd_ = -1;
    if (close(fd) != 0) return fail(ErrorCode::kIo, "{}: cannot finish: {}", path_, std::strerror(errno));
    return {};
  }
  Status whole(const std::string& name, std::string_view text) {
    DI_TRY_STATUS(begin(name));
    DI_TRY_STATUS(write(text.data(), text.size()));
    return end();
  }
  void keep() { kept_ = true; }

 private:
  std::string folder_, path_;
  std::vector<std::string> paths_;
  uint64_t written_ = 0;
  int fd_ = -1;
  bool kept_ = false, made_folder_ = false;
};

Status write_data(Output& out, const ExpectedTensor& t, uint64_t seed, ThreadPool& pool, std::vector<uint8_t>& buffer,
                  ProgressBar& bar) {
  const TensorValues values(t, seed);
  const uint64_t size = size_of(t);
  for (uint64_t at = 0; at < size;) {
    if (interrupted()) return fail(ErrorCode::kCancelled, "stopped; files written so far are removed");
    const uint64_t part = std::min<uint64_t>(size - at, buffer.size());
    // 64 KiB pieces: a multiple of every word, and enough of them for an even split.
    constexpr uint64_t kPiece = 64 << 10;
    pool.parallel_for(static_cast<int64_t>((part + kPiece - 1) / kPiece), 1, [&](int64_t begin, int64_t end, int) {
      const uint64_t from = static_cast<uint64_t>(begin) * kPiece,
                     to = std::min(part, static_cast<uint64_t>(end) * kPiece);
      values.fill(at + from, buffer.data() + from, to - from);
    });
    DI_TRY_STATUS(out.write(buffer.data(), part));
    at += part;
    bar.advance(static_cast<int64_t>(part));
  }
  return {};
}

}  // namespace

Result<SynthSummary> write_synthetic(const std::string& folder, const ModelConfig& config, std::string_view config_json,
                                     const SynthOptions& options, ThreadPool& pool) {
  const std::vector<ExpectedTensor> tensors = expected_tensors(config);
  const std::vector<Shard> shards = split(tensors, static_cast<uint64_t>(options.shard_bytes));
  SynthSummary summary;
  summary.tensors = static_cast<int64_t>(tensors.size());
  summary.shards = static_cast<int64_t>(shards.size());
  for (const Shard& s : shards) summary.bytes += static_cast<int64_t>(s.bytes);

  Output out(folder);
  DI_TRY_STATUS(out.prepare(options.force));
  if (!options.sparse) DI_TRY_STATUS(out.room_for(static_cast<uint64_t>(summary.bytes)));
  ProgressBar bar("synth", summary.bytes, "B", options.progress && !options.sparse);
  std::vector<uint8_t> buffer(options.sparse ? 0 : kChunk * static_cast<uint64_t>(pool.num_threads()));
  JsonWriter index;
  index.begin_object();
  index.key("metadata").begin_object().field("total_size", summary.bytes).end_object();
  index.key("weight_map").begin_object();
  for (const Shard& shard : shards) {
    DI_TRY_STATUS(out.begin(shard.name));
    const std::string header = header_of(shard);
    DI_TRY_STATUS(out.write(header.data(), header.size()));
    if (options.sparse) DI_TRY_STATUS(out.extend(shard.bytes));
    for (const ExpectedTensor* t : shard.tensors) {
      if (!options.sparse) DI_TRY_STATUS(write_data(out, *t, options.seed, pool, buffer, bar));
      index.field(t->name, shard.name);
    }
    DI_TRY_STATUS(out.end());
  }
  index.end_object().end_object();
  DI_TRY_STATUS(out.whole("model.safetensors.index.json", index.take()));
  if (!config.engram_layer_ids.empty()) {
    std::vector<int32_t> map;
    for (int64_t i = 0; i < config.vocab_size; ++i)
      map.push_back(static_cast<int32_t>(i % config.engram_compressed_vocab_size));
    DI_TRY_STATUS(out.whole("engram_meta.json", engram_meta_json(config, map)));
  }
  DI_TRY_STATUS(out.whole("config.json", config_json));  // last: a folder without it is no checkpoint
  bar.finish();
  out.keep();
  return summary;
}

}  // namespace deepinfer
