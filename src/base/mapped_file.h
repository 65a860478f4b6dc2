// Read-only memory mapping of a whole file. Move only; the mapping lives as long as the object.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"

namespace deepinfer {

class MappedFile {
 public:
  // Errors name the path and the system's reason. An empty file maps to size 0.
  static Result<MappedFile> open(const std::string& path);
  MappedFile() = default;
  MappedFile(MappedFile&& other) noexcept { *this = std::move(other); }
  MappedFile& operator=(MappedFile&& other) noexcept;
  ~MappedFile();

  const uint8_t* data() const { return data_; }
  size_t size() const { return size_; }
  // Never null, so that parsers may be handed an empty file.
  std::string_view text() const {
    return size_ ? std::string_view(reinterpret_cast<const char*>(data_), size_) : std::string_view("");
  }
  const std::string& path() const { return path_; }
  // madvise over the whole mapping (MADV_RANDOM, MADV_WILLNEED, ...); a hint, errors are ignored.
  void advise(int advice) const;
  // The same for the pages that lie wholly inside [data, data + bytes).
  void advise_range(const uint8_t* data, uint64_t bytes, int advice) const;

 private:
  const uint8_t* data_ = nullptr;
  size_t size_ = 0;
  std::string path_;
};

}  // namespace deepinfer
