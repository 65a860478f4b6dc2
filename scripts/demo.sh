#!/usr/bin/env bash
# From a fresh machine to text: installs what is missing, builds, and lets the bundled model write.
set -euo pipefail
cd "$(dirname "$0")/.."
scripts/setup.sh
scripts/build.sh release deepinfer
echo
prompt="Once upon a time there was a little girl who"
printf '%s' "$prompt"
build/release/deepinfer run -p "$prompt" -n 120 --temperature 0.7 --top-p 0.95 --seed 1 --stats
