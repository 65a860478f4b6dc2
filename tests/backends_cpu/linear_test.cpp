// The linear operator of the cpu backend on every instruction-set path: against double precision, and bit for bit
// against itself for other numbers of rows, threads and outputs.
#include <gtest/gtest.h>

#include <map>

#include "product_cases.h"

namespace deepinfer {
namespace {

constexpr DType kTypes[] = {DType::kF8E4M3, DType::kF4E2M1x2, DType::kBF16, DType::kF32};

struct Shape {
  DType type;
  int64_t n, k, rows;
  int groups = 1;
};

// y in double with the sum of magnitudes, which scales the error bound.
struct Truth {
  std::vector<double> y, magnitude;
};
Truth truth_of(const ops::Mat& x, const ops::Weight& w, int groups, bool quantize) {
  Truth t;
  const int64_t per_group = w.rows / groups, width = w.cols * groups;
  std::vector<float> row(static_cast<size_t>(width));
  for (int64_t r = 0; r < x.rows; ++r) {
    for (int64_t i = 0; i < width; ++i) row[i] = at(x, r, i);
    if (quantize) quant8_qdq(row.data(), width);
    for (int64_t o = 0; o < w.rows; ++o) {
      double sum = 0, magnitude = 0;
      for (int64_t i = 0; i < w.cols; ++i) {
        const double p = row[o / per_group * w.cols + i] * weight_at(w, o, i);
        sum += p;
        magnitude += std::fabs(p);
      }
      t.y.push_back(sum);
      t.magnitude.push_back(magnitude);
    }
  }
  return t;
}

ops::LinearParams one_part(const ops::Mat& x, const ops::Weight& w, const ops::Mat& out, int groups, bool quantize) {
  ops::LinearParams p;
  p.x = x;
  p.num_parts = 1;
  p.parts[0].weight = w;
  p.parts[0].out = out;
  p.parts[0].groups = groups;
  p.parts[0].quantize = quantize;
  return p;
}

std::vector<Shape> shapes() {
  std::vector<Shape> out;
  for (DType t : kTypes)
    for (int64_t k : {32, 64, 96, 128, 160, 192, 256, 416, 1536})
      for (auto [n, rows] : std::vector<std::pair<int64_t, int64_t>>{
               {1, 1}, {16, 2}, {17, 3}, {50, 4}, {96, 5}, {130, 7}, {33, 13}, {64, 40}})
        out.push_back({t, n, k, rows, 1});
  for (DType t : kTypes) {
    out.push_back({t, 96 * 2, 128, 9, 2});
    out.push_back({t, 24 * 3, 64, 6, 3});  // groups end inside blocks of 16
    out.push_back({t, 2056, 96, 1, 1});
    out.push_back({t, 2056, 96, 65, 1});
  }
  for (int64_t k : {1, 7, 33, 47, 100}) {  // no multiple of anything: unquantised weights only
    out.push_back({DType::kBF16, 19, k, 5, 1});
    out.push_back({DType::kF32, 19, k, 3, 1});
    out.push_back({DType::kBF16, 19, k, 1, 1});
  }
  return out;
}

std::string name_of(const Shape& s, cpu::Isa isa, DType act) {
  return std::string(cpu::isa_name(isa)) + " " + dtype_name(s.type) + " act " + dtype_name(act) + " n " +
         std::to_string(s.n) + " k " + std::to_string(s.k) + " rows " + std::to_string(s.rows) + " groups " +
         std::to_string(s.groups);
}

TEST(CpuLinear, AgreesWithDoublePrecisionOnEveryPathTypeAndOddShape) {
  for (cpu::Isa isa : runnable_isas()) {
    Engine engine(isa, 2);
    Random random(1);
    for (const Shape& s : shapes())
      for (DType act : {DType::kBF16, DType::kF32}) {
        const bool scaled = s.type == DType::kF8E4M3 || s.type == DType::kF4E2M1x2;
        const bool quantize = scaled && act == DType::kBF16;
        const OwnedWeight w = random_weight(random, s.type, s.n, s.k);
        const OwnedMat x = random_mat(random, act, s.rows, s.k * s.groups, s.k * s.groups + 3);
        OwnedMat out = empty_mat(DType::kF32, s.rows, s.n, s.n + 5);
        engine.linear(one_part(x.view, w.view, out.view, s.groups, quantize));
        const Truth t = truth_of(x.view, w.view, s.groups, quantize);
        for (int64_t r = 0; r < s.rows; ++r) {
          for (int64_t o = 0; o < s.n; ++o)
            ASSERT_NEAR(at(out.view, r, o), t.y[r * s.n + o], 1e-6 * t.magnitude[r * s.n + o] + 1e-30)
                << name_of(s, isa, act) << " row " << r << " output " << o;
          for (int64_t o = s.n; r + 1 < s.rows && o < s.n + 5; ++o)
            ASSERT_EQ(float_to_bits(out.view.row<float>(r)[o]), 0xa5a5a5a5u)
                << name_of(s, isa, act) << ": canary behind row " << r;
        }
      }
  }
}

TEST(CpuLinear, ARowHasTheSameBitsAloneInEveryBatchAndWithAnyNumberOfThreads) {
  for (cpu::Isa isa : runnable_isas()) {
    Engine one(isa, 1), two(isa, 2), four(isa, 4);
    Random random(2);
    for (DType type : kTypes)
      for (int64_t k : {96, 256, 1600})
        for (int64_t n : {40, 352}) {
          const bool scaled = type == DType::kF8E4M3 || type == DType::kF4E2M1x2;
          const int64_t rows = 70;
          const OwnedWeight w = random_weight(random, type, n, k);
          const OwnedMat x = random_mat(random, DType::kBF16, rows, k, k);
          OwnedMat all = empty_mat(DType::kF32, rows, n, n);
          one.linear(one_part(x.view, w.view, all.view, 1, scaled));
          for (Engine* engine : {&one, &two, &four})
            for (int64_t batch : {1, 2, 3, 4, 5, 6, 7, 8, 16, 33, 70}) {
              OwnedMat out = empty_mat(DType::kF32, rows, n, n);
              for (int64_t r = 0; r < rows; r += batch) {
                ops::Mat part = x.view, to = out.view;
                part.data = x.view.row<uint16_t>(r);
                to.data = out.view.row<float>(r);
                part.rows = to.rows = std::min(batch, rows - r);
                engine->linear(one_part(part, w.view, to, 1, scaled));
              }
              ASSERT_EQ(out.bytes, all.bytes)
                  << cpu::isa_name(isa) << " " << dtype_name(type) << " n " << n << " k " << k << " rows at a time "
                  << batch << " threads " << engine->pool.num_threads();
            }
        }
  }
}

TEST(CpuLinear, PartsThatShareAnInputGiveTheBitsOfSeparateCalls) {
  for (cpu::Isa isa : runnable_isas())
    for (int64_t rows : {1, 3, 37}) {
      Engine engine(isa, 2);
      Random random(3);
      const int64_t k = 256;
      const OwnedMat x = random_mat(random, DType::kBF16, rows, k, k + 1);  // odd stride: rows at odd addresses
      std::vector<OwnedWeight> weights;
      std::vector<OwnedMat> together, apart;
      ops::LinearParams p;
      p.x = x.view;
      const std::pair<DType, int64_t> parts[] = {{DType::kF8E4M3, 128},  {DType::kF8E4M3, 513}, {DType::kBF16, 512},
                                                 {DType::kF4E2M1x2, 48}, {DType::kF32, 7},      {DType::kF8E4M3, 1}};
      for (auto [type, n] : parts) {
        weights.push_back(random_weight(random, type, n, k));
        const DType out = p.num_parts % 2 ? DType::kF32 : DType::kBF16;
        together.push_back(empty_mat(out, rows, n, n));
        apart.push_back(empty_mat(out, rows, n, n));
        p.parts[p.num_parts].weight = weights.back().view;
        p.parts[p.num_parts].quantize = p.num_parts == 0 || p.num_parts == 3;  // the same type with and without
        ++p.num_parts;
      }
      for (int i = 0; i < p.num_parts; ++i) p.parts[i].out = together[i].view;
      engine.linear(p);
      for (int i = 0; i < p.num_parts; ++i) {
        engine.linear(one_part(x.view, weights[i].view, apart[i].view, 1, p.parts[i].quantize));
        EXPECT_EQ(together[i].bytes, apart[i].bytes) << cpu::isa_name(isa) << " rows " << rows << " part " << i;
      }
    }
}

TEST(CpuLinear, OutputInBf16IsTheRoundedFp32OutputAndAccumulateAddsToIt) {
  for (cpu::Isa isa : runnable_isas())
    for (int64_t rows : {1, 9}) {
      Engine engine(isa, 2);
      Random random(4);
      const OwnedWeight w = random_weight(random, DType::kF8E4M3, 77, 128);
      const OwnedMat x = random_mat(random, DType::kBF16, rows, 128, 128);
      OwnedMat f = empty_mat(DType::kF32, rows, 77, 77), b = empty_mat(DType::kBF16, rows, 77, 80),
               sum = random_mat(random, DType::kF32, rows, 77, 79);
      const OwnedMat before = sum;
      engine.linear(one_part(x.view, w.view, f.view, 1, true));
      engine.linear(one_part(x.view, w.view, b.view, 1, true));
      ops::LinearParams p = one_part(x.view, w.view, sum.view, 1, true);
      p.parts[0].accumulate = true;
      engine.linear(p);
      for (int64_t r = 0; r < rows; ++r)
        for (int64_t o = 0; o < 77; ++o) {
          ASSERT_EQ(b.view.row<uint16_t>(r)[o], float_to_bf16(at(f.view, r, o))) << cpu::isa_name(isa);
          ASSERT_EQ(at(sum.view, r, o), before.view.row<float>(r)[o] * 0 +
                                            reinterpret_cast<const float*>(before.bytes.data())[r * 79 + o] +
                                            at(f.view, r, o));
        }
    }
}

TEST(CpuLinear, EveryScaleByteIsExactAlsoTheSubnormalOne) {
  // One non-zero activation: the output is one product, which must be exact (or rounded once) whatever the scale. From
  // 246 on weights are infinite.
  for (cpu::Isa isa : runnable_isas()) {
    Engine engine(isa, 1);
    Random random(5);
    for (DType type : {DType::kF8E4M3, DType::kF4E2M1x2})
      for (int64_t rows : {1, 6})
        for (int scale = 0; scale < 246; ++scale) {
          const int64_t n = 32, k = 64;
          OwnedWeight w = random_weight(random, type, n, k, scale, scale);
          OwnedMat x = empty_mat(DType::kBF16, rows, k, k);
          std::fill(x.bytes.begin(), x.bytes.end(), 0);
          for (int64_t r = 0; r < rows; ++r) x.view.row<uint16_t>(r)[(7 * r + scale) % k] = float_to_bf16(1.25f);
          OwnedMat out = empty_mat(DType::kF32, rows, n, n);
          engine.linear(one_part(x.view, w.view, out.view, 1, true));
          for (int64_t r = 0; r < rows; ++r)
            for (int64_t o = 0; o < n; ++o) {
              const float want = 1.25f * static_cast<float>(weight_at(w.view, o, (7 * r + scale) % k));
              ASSERT_NEAR(at(out.view, r, o), want, std::fabs(want) * 1e-7 + 3e-45f)
                  << cpu::isa_name(isa) << " " << dtype_name(type) << " scale " << scale << " rows " << rows;
            }
        }
  }
}

TEST(CpuLinear, EveryWeightCodeDecodesToItsValueOnBothSidesOfTheRowLimit) {
  for (cpu::Isa isa : runnable_isas()) {
    Engine engine(isa, 1);
    for (int64_t rows : {1, 2, 4, 64}) {
      OwnedWeight w8, w4;
      const int64_t k = 64;
      w8.data.resize(static_cast<size_t>(256 * k));
      w8.scale.assign(256 / 32 * 2, 127);
      for (int64_t o = 0; o < 256; ++o)
        std::memset(&w8.data[static_cast<size_t>(o * k)], 0, static_cast<size_t>(k)),
            w8.data[static_cast<size_t>(o * k + o % k)] = static_cast<uint8_t>(o);
      w8.view = {w8.data.data(), w8.scale.data(), nullptr, DType::kF8E4M3, 256, k, true};
      OwnedMat x = empty_mat(DType::kBF16, rows, k, k);
      for (int64_t r = 0; r < rows; ++r)
        for (int64_t i = 0; i < k; ++i) x.view.row<uint16_t>(r)[i] = float_to_bf16(1.0f);
      OwnedMat out = empty_mat(DType::kF32, rows, 256, 256);
      engine.linear(one_part(x.view, w8.view, out.view, 1, true));
      for (int64_t r = 0; r < rows; ++r)
        for (int64_t o = 0; o < 256; ++o) {
          const float want = e4m3_to_float(static_cast<uint8_t>(o));
          if (want != want)
            ASSERT_TRUE(std::isnan(at(out.view, r, o))) << cpu::isa_name(isa) << " code " << o << " rows " << rows;
          else
            ASSERT_EQ(at(out.view, r, o), want) << cpu::isa_name(isa) << " code " << o << " rows " << rows;
        }
      w4.data.assign(static_cast<size_t>(16 * 64 / 2), 0);
      w4.scale.assign(16 * 2, 127);
      for (int64_t o = 0; o < 16; ++o)
        w4.data[static_cast<size_t>(o * 32 + o)] = static_cast<uint8_t>(o | ((15 - o) << 4));
      w4.view = {w4.data.data(), w4.scale.data(), nullptr, DType::kF4E2M1x2, 16, 64, true};
      OwnedMat out4 = empty_mat(DType::kF32, rows, 16, 16);
      engine.linear(one_part(x.view, w4.view, out4.view, 1, true));
      for (int64_t r = 0; r < rows; ++r)
        for (int64_t o = 0; o < 16; ++o)
          ASSERT_EQ(at(out4.view, r, o),
                    e2m1_to_float(static_cast<uint8_t>(o)) + e2m1_to_float(static_cast<uint8_t>(15 - o)))
              << cpu::isa_name(isa) << " code " << o;
    }
  }
}

TEST(CpuLinear, ANanInTheInputStaysInItsRow) {
  for (cpu::Isa isa : runnable_isas())
    for (DType type : kTypes)
      for (int64_t rows : {3, 12}) {
        Engine engine(isa, 2);
        Random random(6);
        const OwnedWeight w = random_weight(random, type, 40, 96);
        OwnedMat x = random_mat(random, DType::kBF16, rows, 96, 96);
        OwnedMat clean = empty_mat(DType::kF32, rows, 40, 40), out = clean;
        out.view.data = out.bytes.data();
        clean.view.data = clean.bytes.data();
        const bool scaled = type == DType::kF8E4M3 || type == DType::kF4E2M1x2;
        engine.linear(one_part(x.view, w.view, clean.view, 1, scaled));
        x.view.row<uint16_t>(1)[5] = 0x7fc0;
        engine.linear(one_part(x.view, w.view, out.view, 1, scaled));
        for (int64_t r = 0; r < rows; ++r)
          for (int64_t o = 0; o < 40; ++o)
            if (r == 1)
              ASSERT_TRUE(std::isnan(at(out.view, r, o)) || weight_at(w.view, o, 5) == 0)
                  << cpu::isa_name(isa) << " " << dtype_name(type) << " rows " << rows << " output " << o;
            else
              ASSERT_EQ(at(out.view, r, o), at(clean.view, r, o));
      }
}

TEST(CpuLinear, NoRowsAndNoPartsAreFine) {
  for (cpu::Isa isa : runnable_isas()) {
    Engine engine(isa, 2);
    Random random(7);
    const OwnedWeight w = random_weight(random, DType::kF8E4M3, 32, 64);
    const OwnedMat x = random_mat(random, DType::kBF16, 1, 64, 64);
    OwnedMat out = empty_mat(DType::kF32, 1, 32, 32);
    const std::vector<uint8_t> before = out.bytes;
    ops::Mat none = x.view, to = out.view;
    none.rows = to.rows = 0;
    engine.linear(one_part(none, w.view, to, 1, true));
    ops::LinearParams p;
    p.x = x.view;
    engine.linear(p);
    EXPECT_EQ(out.bytes, before);
  }
}

}  // namespace
}  // namespace deepinfer
