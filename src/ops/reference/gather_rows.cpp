#include <cstring>

#include "ops/reference/reference.h"
#include "ops/reference/util.h"

namespace deepinfer::reference {

void gather_rows(const ops::GatherRowsParams& p, ops::Context&) {
  const size_t size = dtype_size(p.x.dtype), bytes = static_cast<size_t>(p.x.cols) * size;
  for (int64_t r = 0; r < p.out.rows; ++r) {
    uint8_t* out = static_cast<uint8_t*>(p.out.data) + static_cast<size_t>(r * p.out.stride) * size;
    if (p.index[r] < 0 || p.index[r] >= p.x.rows)
      std::memset(out, 0, bytes);
    else
      std::memcpy(out, static_cast<const uint8_t*>(p.x.data) + static_cast<size_t>(p.index[r] * p.x.stride) * size,
                  bytes);
  }
}

}  // namespace deepinfer::reference
