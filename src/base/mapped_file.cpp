#include "base/mapped_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

namespace deepinfer {

Result<MappedFile> MappedFile::open(const std::string& path) {
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (fd < 0)
    return fail(errno == ENOENT ? ErrorCode::kNotFound : ErrorCode::kIo, "{}: cannot open: {}", path,
                std::strerror(errno));
  struct stat st = {};
  if (fstat(fd, &st) != 0) {
    const int e = errno;
    close(fd);
    return fail(ErrorCode::kIo, "{}: cannot stat: {}", path, std::strerror(e));
  }
  if (!S_ISREG(st.st_mode)) {
    close(fd);
    return fail(ErrorCode::kIo, "{}: expected a file, found {}; give the path of a regular file", path,
                S_ISDIR(st.st_mode) ? "a folder" : "a device, pipe or socket");
  }
  MappedFile file;
  file.path_ = path;
  file.size_ = static_cast<size_t>(st.st_size);
  if (file.size_ > 0) {
    void* p = mmap(nullptr, file.size_, PROT_READ, MAP_SHARED, fd, 0);
    const int e = errno;
    close(fd);
    if (p == MAP_FAILED) return fail(ErrorCode::kIo, "{}: cannot map {} bytes: {}", path, file.size_, std::strerror(e));
    file.data_ = static_cast<const uint8_t*>(p);
  } else {
    close(fd);
  }
  return file;
}

MappedFile& MappedFile::operator=(MappedFile&& other) noexcept {
  std::swap(data_, other.data_);
  std::swap(size_, other.size_);
  path_.swap(other.path_);
  return *this;
}

MappedFile::~MappedFile() {
  if (data_) munmap(const_cast<uint8_t*>(data_), size_);
}

void MappedFile::advise(int advice) const {
  if (data_) madvise(const_cast<uint8_t*>(data_), size_, advice);
}

void MappedFile::advise_range(const uint8_t* data, uint64_t bytes, int advice) const {
  const uintptr_t page = static_cast<uintptr_t>(sysconf(_SC_PAGESIZE));
  const uintptr_t begin = (reinterpret_cast<uintptr_t>(data) + page - 1) / page * page;
  const uintptr_t end = (reinterpret_cast<uintptr_t>(data) + bytes) / page * page;
  if (begin < end) madvise(reinterpret_cast<void*>(begin), end - begin, advice);
}

}  // namespace deepinfer
