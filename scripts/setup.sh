#!/usr/bin/env bash
# Installs what building and testing need and this machine lacks: Debian packages only. Does nothing when all is there.
set -euo pipefail
build_packages=(g++ cmake ninja-build pkg-config libfmt-dev libspdlog-dev libsimdjson-dev libcli11-dev libexpected-dev libicu-dev libxxhash-dev
  libgtest-dev librapidcheck-dev libpcre2-dev)
test_packages=(clang-19 libclang-rt-19-dev clang-format python3 xz-utils)
want=("${build_packages[@]}")
[ "${1:-}" = test ] && want+=("${test_packages[@]}")
missing=()
for p in "${want[@]}"; do
  dpkg-query -W -f='${Status}' "$p" 2>/dev/null | grep -q 'ok installed' || missing+=("$p")
done
[ ${#missing[@]} -eq 0 ] && exit 0
echo "setup: installing ${missing[*]}" >&2
if [ "$(id -u)" -ne 0 ]; then
  echo "setup: needs root once: sudo apt-get install ${missing[*]}" >&2
  exit 1
fi
export DEBIAN_FRONTEND=noninteractive
install() { apt-get install -y -qq --no-install-recommends "${missing[@]}" >/tmp/deepinfer-setup.log 2>&1; }
install || { apt-get update -qq >/tmp/deepinfer-setup.log 2>&1 && install; } || { tail -20 /tmp/deepinfer-setup.log >&2; exit 1; }
