#include "base/cpu_features.h"

#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <set>
#include <sstream>
#include <string>

namespace deepinfer {
namespace {

// The kernel's own list, or nothing where /proc shows none.
std::set<std::string> kernel_flags() {
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);)
    if (line.rfind("flags", 0) == 0) {
      std::istringstream words(line.substr(line.find(':') + 1));
      return {std::istream_iterator<std::string>(words), {}};
    }
  return {};
}

TEST(CpuFeatures, AgreeWithTheKernel) {
  const std::set<std::string> flags = kernel_flags();
  if (flags.empty()) GTEST_SKIP() << "/proc/cpuinfo lists no flags";
  const CpuFeatures& f = cpu_features();
  for (const auto& [found, name] : {std::pair{f.avx2, "avx2"},
                                    {f.fma, "fma"},
                                    {f.f16c, "f16c"},
                                    {f.avx512f, "avx512f"},
                                    {f.avx512bw, "avx512bw"},
                                    {f.avx512vl, "avx512vl"},
                                    {f.avx512dq, "avx512dq"},
                                    {f.avx512_vnni, "avx512_vnni"},
                                    {f.avx512_bf16, "avx512_bf16"},
                                    {f.avx512_vbmi, "avx512vbmi"}})
    EXPECT_EQ(found, flags.count(name) == 1) << name;
  // AMX may be there and refused.
  EXPECT_LE(f.amx_tile, flags.count("amx_tile") == 1);
  EXPECT_LE(f.amx_bf16, f.amx_tile);
  EXPECT_LE(f.amx_int8, f.amx_tile);
}

TEST(CpuFeatures, TheTextNamesExactlyWhatIsPresent) {
  const std::string text = " " + cpu_features_string() + " ";
  EXPECT_EQ(text.find(" avx2 ") != std::string::npos, cpu_features().avx2);
  EXPECT_EQ(text.find(" avx512_bf16 ") != std::string::npos, cpu_features().avx512_bf16);
  EXPECT_EQ(text.find(" amx_tile ") != std::string::npos, cpu_features().amx_tile);
}

TEST(CpuFeatures, TheModelNameIsOneLine) {
  EXPECT_FALSE(cpu_model_name().empty());
  EXPECT_EQ(cpu_model_name().find('\n'), std::string::npos);
}

}  // namespace
}  // namespace deepinfer
