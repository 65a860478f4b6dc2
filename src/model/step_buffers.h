// Working memory of one Stepper: one buffer per intermediate, grown to the largest step seen, reused by all layers.
#pragma once
#include "base/aligned_buffer.h"
#include "model/model.h"

namespace deepinfer {

// A buffer that only grows. at<T>(n) gives room for n values, content undefined.
class GrowBuffer {
 public:
  template <typename T>
  T* at(int64_t n) {
    const size_t bytes = static_cast<size_t>(n) * sizeof(T);
    if (bytes > buffer_.size()) buffer_ = AlignedBuffer(bytes + bytes / 4);
    return reinterpret_cast<T*>(buffer_.data());
  }
  ops::Mat mat(DType dtype, int64_t rows, int64_t cols) {
    return {at<uint8_t>(rows * cols * static_cast<int64_t>(dtype_size(dtype))), dtype, rows, cols, cols};
  }

 private:
  AlignedBuffer buffer_;
};

struct StepBuffers {
  // streams and hyper-connections
  GrowBuffer streams, pre[2], post, comb, x, y;
  // attention
  GrowBuffer q_low, q, kv, fresh, score, latent, entry, index_key, index_query, index_records, index_weights, offsets;
  GrowBuffer scores, selected, num_selected, candidates, num_candidates, columns, attention, low_rank;
  // feed-forward
  GrowBuffer router_logits, expert_ids, expert_weights;
  // engram
  GrowBuffer engram_rows, engram_values, engram_kv;
  // output
  GrowBuffer last_streams, last_pre, hidden, logits;
};

}  // namespace deepinfer
