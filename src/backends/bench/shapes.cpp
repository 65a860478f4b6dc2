#include "backends/bench/shapes.h"

#include <algorithm>
#include <cstring>

#include "base/check.h"

namespace deepinfer::bench {
namespace {

// v41-flash: operators.md section 0. small: models/v41-small/config.json.
constexpr Shape kShapes[] = {
    {.name = "v41-flash",
     .hidden = 5120,
     .vocab = 129280,
     .streams = 4,
     .heads = 64,
     .head_dim = 512,
     .rope_dim = 64,
     .q_lora = 1280,
     .o_groups = 8,
     .o_lora = 1024,
     .experts = 384,
     .top_k = 6,
     .expert_hidden = 2304,
     .experts_here = 32,
     .window = 128,
     .index_heads = 32,
     .index_dim = 128,
     .index_topk = 512,
     .candidate_blocks = 2048,
     .candidate_size = 8,
     .engram_heads = 8,
     .engram_ngram = 4,
     .engram_dim = 256,
     .context = 8192,
     .working_set = int64_t{1} << 30,
     .sinkhorn_iters = 20},
    {.name = "small",
     .hidden = 256,
     .vocab = 8192,
     .streams = 4,
     .heads = 4,
     .head_dim = 512,
     .rope_dim = 64,
     .q_lora = 128,
     .o_groups = 2,
     .o_lora = 96,
     .experts = 16,
     .top_k = 4,
     .expert_hidden = 128,
     .experts_here = 16,
     .window = 128,
     .index_heads = 4,
     .index_dim = 128,
     .index_topk = 64,
     .candidate_blocks = 16,
     .candidate_size = 8,
     .engram_heads = 2,
     .engram_ngram = 4,
     .engram_dim = 128,
     .context = 2048,
     .working_set = int64_t{32} << 20,
     .sinkhorn_iters = 20},
};

}  // namespace

uint64_t next_random(uint64_t& state) {
  state ^= state << 13;
  state ^= state >> 7;
  state ^= state << 17;
  return state;
}

const Shape* find_shape(std::string_view name) {
  for (const Shape& s : kShapes)
    if (name == s.name) return &s;
  return nullptr;
}

WeightSource::WeightSource(int64_t bytes, DType type)
    : data_(static_cast<size_t>(bytes)), scale_(static_cast<size_t>(bytes / 16 + (1 << 20))), type_(type) {
  // A random tile, repeated: the arithmetic does not look at how often a value comes, and filling stays short.
  constexpr size_t kTile = 1 << 20;
  uint64_t state = 0x9e3779b97f4a7c15ull;
  uint8_t* p = data_.data();
  const size_t tile = std::min(kTile, data_.size());
  for (size_t i = 0; i + 8 <= tile; i += 8) {
    uint64_t v = next_random(state);
    if (type == DType::kF8E4M3) v &= 0xbfbfbfbfbfbfbfbfull;  // |value| <= 1.875, no NaN
    if (type == DType::kBF16) v = (v & 0x807f807f807f807full) | 0x3d003d003d003d00ull;
    if (type == DType::kF32) v = (v & 0x807fffff807fffffull) | 0x3d0000003d000000ull;
    std::memcpy(p + i, &v, 8);
  }
  for (size_t i = tile; i < data_.size(); i += tile) std::memcpy(p + i, p, std::min(tile, data_.size() - i));
  uint8_t* s = scale_.data();
  for (size_t i = 0; i < scale_.size(); ++i) s[i] = static_cast<uint8_t>(118 + (i * 7) % 8);
}

ops::Weight WeightSource::next(int64_t rows, int64_t cols) {
  ops::Weight w{.dtype = type_, .rows = rows, .cols = cols};
  const int64_t need = (rows * w.row_bytes() + 63) / 64 * 64, scales = w.scale_bytes();
  DI_CHECK(need <= bytes(), "a weight of {} bytes does not fit the buffer of {}", need, bytes());
  if (at_ + need > bytes()) at_ = 0;
  w.data = data_.data() + at_;
  const int64_t scale_room = static_cast<int64_t>(scale_.size()) - scales;
  if (scales > 0) w.scale = scale_.data() + std::min(at_ / 16 / 64 * 64, scale_room);
  at_ += need;
  return w;
}

}  // namespace deepinfer::bench
