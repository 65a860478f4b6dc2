#include "kv/block_pool.h"

#include <sys/mman.h>

#include <utility>

#include "base/check.h"

namespace deepinfer::kv {

Result<BlockPool> BlockPool::create(int64_t block_bytes, int32_t num_blocks) {
  BlockPool pool;
  const size_t bytes = static_cast<size_t>(block_bytes) * static_cast<size_t>(num_blocks);
  if (bytes > 0) {
    void* p = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (p == MAP_FAILED)
      return fail(ErrorCode::kOutOfMemory,
                  "cannot reserve {} bytes for {} cache blocks; lower --kv-blocks or --kv-memory", bytes, num_blocks);
    pool.base_ = static_cast<uint8_t*>(p);
  }
  pool.block_bytes_ = block_bytes;
  pool.num_blocks_ = num_blocks;
  return pool;
}

BlockPool::BlockPool(BlockPool&& other) noexcept { *this = std::move(other); }

BlockPool& BlockPool::operator=(BlockPool&& other) noexcept {
  std::swap(base_, other.base_);
  std::swap(block_bytes_, other.block_bytes_);
  std::swap(num_blocks_, other.num_blocks_);
  std::swap(next_, other.next_);
  free_.swap(other.free_);
  return *this;
}

BlockPool::~BlockPool() {
  if (base_) munmap(base_, static_cast<size_t>(block_bytes_) * static_cast<size_t>(num_blocks_));
}

int32_t BlockPool::allocate() {
  if (!free_.empty()) {
    const int32_t block = free_.back();
    free_.pop_back();
    return block;
  }
  return next_ < num_blocks_ ? next_++ : -1;
}

void BlockPool::release(int32_t block) {
  DI_CHECK(block >= 0 && block < next_, "block {}", block);
  free_.push_back(block);
}

}  // namespace deepinfer::kv
