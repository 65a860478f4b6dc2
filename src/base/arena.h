// Bump allocator for scratch memory of one thread: alloc() is a pointer increment, reset() forgets everything and keeps
// the memory. After a reset the blocks are merged into one, so a steady state never allocates. Content is undefined.
#pragma once
#include <cstdint>
#include <vector>

#include "base/aligned_buffer.h"

namespace deepinfer {

class Arena {
 public:
  template <typename T>
  T* alloc(int64_t n) {
    return reinterpret_cast<T*>(bytes(n * static_cast<int64_t>(sizeof(T))));
  }

  void reset() {
    if (blocks_.size() > 1) {
      size_t total = 0;
      for (const AlignedBuffer& b : blocks_) total += b.size();
      blocks_.clear();
      blocks_.emplace_back(total);
    }
    used_ = 0;
  }

 private:
  uint8_t* bytes(int64_t n) {
    const size_t need = (static_cast<size_t>(n) + 63) / 64 * 64;
    if (blocks_.empty() || used_ + need > blocks_.back().size()) {
      const size_t last = blocks_.empty() ? 1 << 16 : blocks_.back().size();
      blocks_.emplace_back(need > 2 * last ? need : 2 * last);
      used_ = 0;
    }
    uint8_t* p = blocks_.back().data() + used_;
    used_ += need;
    return p;
  }

  std::vector<AlignedBuffer> blocks_;
  size_t used_ = 0;  // of the last block
};

}  // namespace deepinfer
