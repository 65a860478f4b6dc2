// A temporary folder for one test, and file helpers.
#pragma once
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>

namespace deepinfer {

class TestFolder {
 public:
  TestFolder() {
    char name[] = "/tmp/deepinfer-test-XXXXXX";
    path_ = mkdtemp(name);
  }
  ~TestFolder() { std::filesystem::remove_all(path_); }
  const std::string& path() const { return path_; }
  std::string file(const std::string& name) const { return path_ + "/" + name; }

 private:
  std::string path_;
};

inline std::string read_file(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  EXPECT_TRUE(in.good()) << path;
  std::ostringstream text;
  text << in.rdbuf();
  return text.str();
}
inline void write_file(const std::string& path, const std::string& text) {
  std::ofstream(path, std::ios::binary) << text;
}
inline bool path_exists(const std::string& path) { return std::filesystem::exists(path); }

inline const std::string kTestData = DEEPINFER_SOURCE_DIR "/tests/data";
inline const std::string kShared = DEEPINFER_SOURCE_DIR "/../shared";

}  // namespace deepinfer
