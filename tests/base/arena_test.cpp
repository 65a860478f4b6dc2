#include "base/arena.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <utility>
#include <vector>

namespace deepinfer {
namespace {

bool aligned(const void* p) { return reinterpret_cast<uintptr_t>(p) % 64 == 0; }

TEST(AlignedBuffer, IsAlignedAndZeroedAtEverySizeAroundTheSwitchToTheSystem) {
  for (size_t bytes : {1u, 63u, 64u, 65u, 4096u, (4u << 20) - 1, 4u << 20, (4u << 20) + 1}) {
    const AlignedBuffer buffer(bytes);
    ASSERT_EQ(buffer.size(), bytes);
    EXPECT_TRUE(aligned(buffer.data())) << bytes;
    EXPECT_TRUE(std::all_of(buffer.data(), buffer.data() + bytes, [](uint8_t b) { return b == 0; })) << bytes;
    std::memset(buffer.data(), 0xff, bytes);
  }
}

TEST(AlignedBuffer, AnEmptyOneHoldsNothing) {
  EXPECT_EQ(AlignedBuffer().data(), nullptr);
  EXPECT_EQ(AlignedBuffer(0).data(), nullptr);
  EXPECT_EQ(AlignedBuffer(0).size(), 0u);
}

TEST(AlignedBuffer, MovingHandsTheMemoryOver) {
  AlignedBuffer a(100);
  a.as<uint32_t>()[24] = 7;
  const uint8_t* memory = a.data();
  AlignedBuffer b(std::move(a));
  EXPECT_EQ(a.data(), nullptr);
  EXPECT_EQ(a.size(), 0u);
  EXPECT_EQ(b.data(), memory);
  AlignedBuffer c(5 << 20);
  c = std::move(b);
  EXPECT_EQ(c.data(), memory);
  EXPECT_EQ(c.size(), 100u);
  EXPECT_EQ(c.as<uint32_t>()[24], 7u);
  AlignedBuffer& self = c;
  c = std::move(self);
  EXPECT_EQ(c.data(), memory);
}

TEST(Arena, AllocationsAreAlignedAndDoNotOverlapAcrossBlocks) {
  Arena arena;
  for (int step = 0; step < 3; ++step) {
    std::vector<std::pair<uint8_t*, int64_t>> got;
    for (int64_t n : {1, 64, 65, 100000, 0, 7, 300000, 3, 5000000, 11}) {
      uint8_t* p = arena.alloc<uint8_t>(n);
      ASSERT_NE(p, nullptr);
      EXPECT_TRUE(aligned(p));
      std::memset(p, static_cast<int>(got.size()), static_cast<size_t>(n));
      got.emplace_back(p, n);
    }
    for (size_t i = 0; i < got.size(); ++i)
      for (int64_t k = 0; k < got[i].second; ++k) ASSERT_EQ(got[i].first[k], i) << "step " << step << " byte " << k;
    arena.reset();
  }
}

TEST(Arena, TheSameStepAfterAResetUsesTheSameMemory) {
  Arena arena;
  auto step = [&] {
    std::vector<void*> out;
    for (int i = 0; i < 20; ++i) out.push_back(arena.alloc<float>(10000 + i));
    return out;
  };
  step();
  arena.reset();  // the blocks of the first step become one
  const std::vector<void*> second = step();
  arena.reset();
  EXPECT_EQ(step(), second);
}

}  // namespace
}  // namespace deepinfer
