// What `deepinfer --version` prints: version, git commit, compiled backends, instruction sets of this processor.
#pragma once
#include <string>

namespace deepinfer::cli {

std::string version_number();  // "0.1.0"
std::string git_commit();      // "518b951", "518b951-dirty", or "unknown" when built without git
std::string version_text();    // four lines

}  // namespace deepinfer::cli
