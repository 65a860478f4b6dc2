#include "cli/default_model.h"

#include <sys/stat.h>
#include <unistd.h>

#include <climits>
#include <cstdlib>

namespace deepinfer::cli {

std::string default_model() {
  if (const char* named = std::getenv("DEEPINFER_MODEL"); named && *named) return named;
  char self[PATH_MAX];
  const ssize_t n = readlink("/proc/self/exe", self, sizeof self);
  if (n > 0 && n < static_cast<ssize_t>(sizeof self)) {
    std::string folder(self, static_cast<size_t>(n));
    folder.resize(folder.rfind('/') + 1);
    folder += "../share/deepinfer/models/v41-small";
    struct stat st = {};
    if (stat(folder.c_str(), &st) == 0) return folder;
  }
  return DEEPINFER_SOURCE_TREE "/models/v41-small";
}

}  // namespace deepinfer::cli
