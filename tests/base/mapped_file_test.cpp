#include "base/mapped_file.h"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <string>
#include <utility>

namespace deepinfer {
namespace {

struct MappedFileTest : testing::Test {
  std::string folder =
      (std::filesystem::temp_directory_path() / ("deepinfer_mapped_" + std::to_string(getpid()))).string();
  MappedFileTest() { std::filesystem::create_directories(folder); }
  ~MappedFileTest() override { std::filesystem::remove_all(folder); }

  std::string file(const std::string& name, const std::string& content) {
    std::ofstream(folder + "/" + name, std::ios::binary) << content;
    return folder + "/" + name;
  }
};

TEST_F(MappedFileTest, ShowsTheBytesOfTheFileWithoutAFinalZero) {
  const std::string content("ab\0c\n", 5);
  const auto mapped = MappedFile::open(file("a", content));
  ASSERT_TRUE(mapped) << mapped.error().message;
  EXPECT_EQ(mapped->size(), 5u);
  EXPECT_EQ(mapped->text(), content);
  EXPECT_EQ(mapped->path(), folder + "/a");
}

TEST_F(MappedFileTest, AnEmptyFileHasSizeZeroAndText) {
  const auto mapped = MappedFile::open(file("empty", ""));
  ASSERT_TRUE(mapped) << mapped.error().message;
  EXPECT_EQ(mapped->size(), 0u);
  EXPECT_EQ(mapped->text(), "");
  EXPECT_NE(mapped->text().data(), nullptr);
  mapped->advise(MADV_WILLNEED);
}

TEST_F(MappedFileTest, AMissingFileNamesPathAndReason) {
  const auto mapped = MappedFile::open(folder + "/none");
  ASSERT_FALSE(mapped);
  EXPECT_EQ(mapped.error().code, ErrorCode::kNotFound);
  EXPECT_EQ(mapped.error().message, folder + "/none: cannot open: No such file or directory");
}

TEST_F(MappedFileTest, AFolderAndAPipeAreRefusedAtOnce) {
  const auto is_folder = MappedFile::open(folder);
  ASSERT_FALSE(is_folder);
  EXPECT_NE(is_folder.error().message.find(folder + ": expected a file, found a folder"), std::string::npos);
  const std::string pipe = folder + "/pipe";
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  const auto is_pipe = MappedFile::open(pipe);  // opening a pipe without a writer would block for ever
  ASSERT_FALSE(is_pipe);
  EXPECT_NE(is_pipe.error().message.find("found a device, pipe or socket"), std::string::npos);
}

TEST_F(MappedFileTest, AFileWithoutPermissionNamesTheReason) {
  const std::string path = file("secret", "x");
  chmod(path.c_str(), 0);
  if (access(path.c_str(), R_OK) == 0) GTEST_SKIP() << "running as root: every file is readable";
  const auto mapped = MappedFile::open(path);
  ASSERT_FALSE(mapped);
  EXPECT_EQ(mapped.error().message, path + ": cannot open: Permission denied");
}

TEST_F(MappedFileTest, TheMappingOutlivesTheNameAndMovesWithTheObject) {
  const std::string path = file("gone", "content");
  auto mapped = MappedFile::open(path);
  ASSERT_TRUE(mapped);
  std::filesystem::remove(path);
  const uint8_t* data = mapped->data();
  MappedFile moved(std::move(*mapped));
  EXPECT_EQ(moved.data(), data);
  EXPECT_EQ(mapped->data(), nullptr);
  EXPECT_EQ(mapped->size(), 0u);
  MappedFile assigned;
  assigned = std::move(moved);
  EXPECT_EQ(assigned.text(), "content");
}

TEST_F(MappedFileTest, NoFileDescriptorStaysOpen) {
  const std::string path = file("many", "x");
  auto open_descriptors = [] {
    return std::distance(std::filesystem::directory_iterator("/proc/self/fd"), std::filesystem::directory_iterator());
  };
  const auto before = open_descriptors();
  for (int i = 0; i < 20; ++i) {
    EXPECT_TRUE(MappedFile::open(path));
    EXPECT_FALSE(MappedFile::open(folder));
  }
  EXPECT_EQ(open_descriptors(), before);
}

TEST_F(MappedFileTest, AdviceOnAnyRangeLeavesTheContentAlone) {
  std::string content(5 * 4096 + 123, 'x');
  for (size_t i = 0; i < content.size(); ++i) content[i] = static_cast<char>(i * 31);
  const auto mapped = MappedFile::open(file("big", content));
  ASSERT_TRUE(mapped);
  for (uint64_t offset : {0, 1, 4095, 4096, 9000})
    for (uint64_t bytes : {0, 1, 4096, 11000}) mapped->advise_range(mapped->data() + offset, bytes, MADV_DONTNEED);
  EXPECT_EQ(mapped->text(), content);
}

}  // namespace
}  // namespace deepinfer
