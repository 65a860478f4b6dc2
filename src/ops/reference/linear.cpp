#include "ops/reference/reference.h"
#include "ops/reference/util.h"

namespace deepinfer::reference {

void linear(const ops::LinearParams& p, ops::Context& ctx) {
  const int64_t rows = p.x.rows;
  for (int i = 0; i < p.num_parts; ++i) {
    const ops::LinearParams::Part& part = p.parts[i];
    const int64_t k = part.weight.cols, per_group = part.weight.rows / part.groups, width = k * part.groups;
    std::vector<float> x(static_cast<size_t>(rows * width));
    ctx.pool->parallel_for(rows, 1, [&](int64_t begin, int64_t end, int) {
      for (int64_t r = begin; r < end; ++r) {
        load_row(p.x, r, 0, width, &x[r * width]);
        if (part.quantize) quant8_qdq(&x[r * width], width);
      }
    });
    ctx.pool->parallel_for(part.weight.rows, 1, [&](int64_t begin, int64_t end, int) {
      std::vector<float> w(static_cast<size_t>(k));
      for (int64_t o = begin; o < end; ++o) {
        weight_row(part.weight, o, w.data());
        for (int64_t r = 0; r < rows; ++r) {
          const float* in = &x[r * width + o / per_group * k];
          double sum = 0;
          for (int64_t j = 0; j < k; ++j) sum += static_cast<double>(in[j]) * w[j];
          const float y = static_cast<float>(sum);
          put(part.out, r, o, part.accumulate ? get(part.out, r, o) + y : y);
        }
      }
    });
  }
}

}  // namespace deepinfer::reference
