#!/usr/bin/env bash
# scripts/build.sh [PRESET] [TARGET...]: configures and builds one preset (dev, release, asan, tsan, fuzz; default release).
set -euo pipefail
cd "$(dirname "$0")/.."
preset=${1:-release}
shift || true
launcher=()
command -v ccache >/dev/null && launcher=(-DCMAKE_CXX_COMPILER_LAUNCHER=ccache)
cmake --preset "$preset" "${launcher[@]}" >"/tmp/deepinfer-cmake-$preset.log" || { cat "/tmp/deepinfer-cmake-$preset.log" >&2; exit 1; }
exec ninja -C "build/$preset" "$@"
