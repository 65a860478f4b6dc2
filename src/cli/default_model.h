// Which model folder a command uses when none is given (cli.md): $DEEPINFER_MODEL, else
// ../share/deepinfer/models/v41-small beside the binary, else models/v41-small of the source tree this binary was built
// from.
#pragma once
#include <string>

namespace deepinfer::cli {

// The first of the above that exists; if none does, the last one, so that the error of opening it names a folder.
std::string default_model();

}  // namespace deepinfer::cli
