#!/usr/bin/env bash
# Makes tests/data/shared.tar.xz again from ../shared: the subset with which a plain clone passes its tests (all vectors, goldens random-awkward,
# goldens.json of v41-small, the checks). Reproducible: same input, same bytes.
set -euo pipefail
cd "$(dirname "$0")/.."
shared=${1:-../shared}
tar --sort=name --mtime=@0 --owner=0 --group=0 --numeric-owner --mode=u=rwX,go=rX -C "$shared" -cf - \
  checks vectors goldens/README.md goldens/random-awkward goldens/v41-small/goldens.json README.md spec/tiny-config.json |
  xz -9e -T1 > tests/data/shared.tar.xz
ls -l tests/data/shared.tar.xz
