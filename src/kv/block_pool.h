// Fixed-size blocks in one reserved address range. Memory is committed by the system on first touch, so a pool sized
// for the longest context costs only what is used. Owned by the engine; all calls from its thread.
#pragma once
#include <cstdint>
#include <vector>

#include "base/result.h"

namespace deepinfer::kv {

class BlockPool {
 public:
  static Result<BlockPool> create(int64_t block_bytes, int32_t num_blocks);
  BlockPool() = default;
  BlockPool(BlockPool&& other) noexcept;
  BlockPool& operator=(BlockPool&& other) noexcept;
  ~BlockPool();

  // A free block id, or -1 when all are in use.
  int32_t allocate();
  void release(int32_t block);

  uint8_t* base() const { return base_; }
  int64_t block_bytes() const { return block_bytes_; }
  int32_t num_blocks() const { return num_blocks_; }
  int32_t num_free() const { return static_cast<int32_t>(free_.size()) + (num_blocks_ - next_); }

 private:
  uint8_t* base_ = nullptr;
  int64_t block_bytes_ = 0;
  int32_t num_blocks_ = 0;
  int32_t next_ = 0;           // blocks >= next_ were never used
  std::vector<int32_t> free_;  // returned ones
};

}  // namespace deepinfer::kv
