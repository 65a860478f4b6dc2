// The AMX kernels with emulated tiles: packing, loops and sums are the real ones, only the tile instructions are loops.
// Runs wherever the decoding can (AVX-512 BF16, VBMI).
#include <gtest/gtest.h>

#include "backends/cpu/gemm.h"
#include "product_cases.h"

namespace deepinfer::cpu {
extern const GemmKernels kGemmAmxEmulated;

namespace {

using Rows = std::vector<float>;

// Rows `order` of x (or all in order) through a kernel set.
Rows run(const GemmKernels& kernels, const ops::Weight& w, const ops::Mat& x, const std::vector<int32_t>& order,
         int64_t begin, int64_t end) {
  const int64_t bytes = kernels.row_bytes(w.dtype, w.cols);
  AlignedBuffer packed(static_cast<size_t>(bytes * x.rows)),
      tile(static_cast<size_t>(kernels.tile_bytes(w.dtype, w.cols)));
  for (int64_t r = 0; r < x.rows; ++r)
    kernels.prepare(w.dtype, x.dtype, x.row<uint16_t>(r), w.cols, w.scale != nullptr, packed.data() + r * bytes);
  const int64_t rows = order.empty() ? x.rows : static_cast<int64_t>(order.size());
  Rows out(static_cast<size_t>(rows * w.rows), -1.0f);
  GemmTask t;
  t.weight = &w;
  t.out_begin = begin;
  t.out_end = end;
  t.x = packed.data();
  t.x_stride = bytes;
  t.x_rows = order.empty() ? nullptr : order.data();
  t.rows = rows;
  t.out = out.data();
  t.out_stride = w.rows;
  t.tile = tile.data();
  kernels.gemm(t);
  return out;
}

class EmulatedAmx : public testing::Test {
 protected:
  void SetUp() override {
    if (!isa_supported(Isa::kAvx512Bf16))
      GTEST_SKIP() << "decoding needs AVX-512 BF16 and VBMI, which this processor lacks";
  }
};

TEST_F(EmulatedAmx, AgreesWithTheVectorKernelsForEveryTypeAndOddShape) {
  Random random(21);
  for (DType type : {DType::kF8E4M3, DType::kF4E2M1x2, DType::kBF16})
    for (int64_t k : {32, 96, 128, 192, 320})
      for (int64_t n : {1, 15, 33, 80})
        for (int64_t rows : {1, 3, 16, 17, 32, 50}) {
          const OwnedWeight w = random_weight(random, type, n, k);
          const OwnedMat x = random_mat(random, DType::kBF16, rows, k, k);
          const Rows amx = run(kGemmAmxEmulated, w.view, x.view, {}, 0, n),
                     vector = run(kGemmAvx512Bf16, w.view, x.view, {}, 0, n);
          float scale = 0;
          for (float v : vector) scale = std::max(scale, std::fabs(v));
          for (size_t i = 0; i < amx.size(); ++i)
            ASSERT_NEAR(amx[i], vector[i], 4e-6f * scale + 1e-6f * static_cast<float>(k))
                << dtype_name(type) << " n " << n << " k " << k << " rows " << rows << " at " << i;
        }
}

TEST_F(EmulatedAmx, ARowHasTheSameBitsAloneGatheredAndInABatch) {
  Random random(22);
  for (DType type : {DType::kF8E4M3, DType::kF4E2M1x2, DType::kBF16}) {
    const int64_t n = 72, k = 224, rows = 45;
    const OwnedWeight w = random_weight(random, type, n, k);
    const OwnedMat x = random_mat(random, DType::kBF16, rows, k, k);
    const Rows all = run(kGemmAmxEmulated, w.view, x.view, {}, 0, n);
    std::vector<int32_t> order;
    for (int32_t r = 0; r < rows; ++r) order.push_back(static_cast<int32_t>((r * 7) % rows));
    const Rows gathered = run(kGemmAmxEmulated, w.view, x.view, order, 0, n);
    for (int64_t r = 0; r < rows; ++r) {
      const Rows alone = run(kGemmAmxEmulated, w.view, x.view, {static_cast<int32_t>(r)}, 0, n);
      EXPECT_EQ(0, std::memcmp(alone.data(), all.data() + r * n, static_cast<size_t>(4 * n)))
          << dtype_name(type) << " row " << r;
      EXPECT_EQ(0, std::memcmp(gathered.data() + r * n, all.data() + order[r] * n, static_cast<size_t>(4 * n)))
          << dtype_name(type) << " gathered row " << r;
    }
    Rows pieces(all.size(), -1.0f);
    for (int64_t begin : {0, 24, 40}) {
      const Rows part = run(kGemmAmxEmulated, w.view, x.view, {}, begin, begin == 0 ? 24 : begin == 24 ? 40 : n);
      for (size_t i = 0; i < part.size(); ++i)
        if (part[i] != -1.0f) pieces[i] = part[i];
    }
    EXPECT_EQ(pieces, all) << dtype_name(type) << ": outputs cut in three";
  }
}

TEST_F(EmulatedAmx, ANanCodeMakesItsOutputNanInEveryRow) {
  Random random(23);
  OwnedWeight w = random_weight(random, DType::kF8E4M3, 40, 96);
  w.data[1 + 37 * 96 + 50] = 0xff;
  const OwnedMat x = random_mat(random, DType::kBF16, 34, 96, 96);
  const Rows y = run(kGemmAmxEmulated, w.view, x.view, {}, 0, 40);
  for (size_t i = 0; i < y.size(); ++i) EXPECT_EQ(std::isnan(y[i]), i % 40 == 37) << i;
}

}  // namespace
}  // namespace deepinfer::cpu
