#!/usr/bin/env bash
# All tests: scripts/test.sh [--quick | --tsan]
#   (no option)  includes and format, release build + unit tests + acceptance checks, asan/ubsan build + unit tests, fuzz targets 10 s each
#   --quick      without sanitizers and fuzzing
#   --tsan       only the thread sanitizer build and its unit tests
# Closes with one line 'N passed, N failed, N skipped' over all parts; exit 1 if anything failed.
set -uo pipefail
cd "$(dirname "$0")/.."
root=$PWD
mode=${1:-full}
passed=0 failed=0 skipped=0
failures=()

# part NAME COMMAND...: one pass or fail.
part() {
  local name=$1 start=$SECONDS
  shift
  if "$@" >"$log" 2>&1; then
    passed=$((passed + 1))
    echo "ok    $name ($((SECONDS - start)) s)"
  else
    failed=$((failed + 1))
    failures+=("$name")
    echo "FAIL  $name ($((SECONDS - start)) s)"
    tail -40 "$log" | sed 's/^/      /'
  fi
}
# units PRESET: ctest of a build; every test counts.
units() {
  local preset=$1 start=$SECONDS
  (cd "build/$preset" && ctest -j2 --timeout 2400 --output-on-failure) >"$log" 2>&1
  local rc=$? line
  line=$(grep -E 'tests passed, [0-9]+ tests failed out of [0-9]+' "$log" | tail -1)
  local bad total
  bad=$(sed -E 's/.*passed, ([0-9]+) tests failed.*/\1/' <<<"$line")
  total=$(sed -E 's/.*out of ([0-9]+).*/\1/' <<<"$line")
  if [ -z "$line" ] || [ "$total" -eq 0 ]; then bad=1 total=1 rc=1; fi
  passed=$((passed + total - bad)) failed=$((failed + bad))
  grep -hE '\[ *SKIPPED *\]|^skipped:|Skipped' "$log" | sort -u | head -20 | sed 's/^/      /'
  if [ $rc -ne 0 ]; then
    failures+=("unit tests ($preset)")
    echo "FAIL  unit tests, $preset: $line ($((SECONDS - start)) s)"
    grep -nE 'FAILED|ERROR|runtime error|Sanitizer|\*\*\*Failed|\*\*\*Timeout|Failure' "$log" | head -40 | sed 's/^/      /'
  else
    echo "ok    unit tests, $preset: $total ($((SECONDS - start)) s)"
  fi
}
# counted NAME COMMAND...: a script that closes with 'N passed, N failed'.
counted() {
  local start=$SECONDS name=$1
  shift
  "$@" >"$log" 2>&1
  local rc=$? line
  line=$(grep -E '^[0-9]+ passed, [0-9]+ failed' "$log" | tail -1)
  if [ -z "$line" ]; then line="0 passed, 1 failed"; fi
  passed=$((passed + $(cut -d' ' -f1 <<<"$line"))) failed=$((failed + $(cut -d' ' -f3 <<<"$line")))
  if [ $rc -ne 0 ]; then
    failures+=("$name")
    [ "$(cut -d' ' -f3 <<<"$line" | tr -d ,)" != 0 ] || failed=$((failed + 1))
    echo "FAIL  $name: $line ($((SECONDS - start)) s)"
    head -60 "$log" | sed 's/^/      /'
  else
    echo "ok    $name: $line ($((SECONDS - start)) s)"
    grep -E '^note:' "$log" | sed 's/^/      /'
  fi
}
# check LINE: one line of tests/checks.txt.
check() {
  local line=$1
  # shellcheck disable=SC2086
  set -- $1
  local name=$1
  shift
  counted "$line" python3 "$shared/checks/$name" --bin "$bin" "$@"
}
close() {
  [ ${#failures[@]} -gt 0 ] && printf 'failed: %s\n' "${failures[@]}"
  echo "total time: $SECONDS s"
  if [ $skipped -gt 0 ]; then echo "$passed passed, $failed failed, $skipped skipped"; else echo "$passed passed, $failed failed"; fi
  [ $failed -eq 0 ] && [ $passed -gt 0 ]
  exit
}

mkdir -p build
log=$root/build/test-part.log
scripts/setup.sh test || { echo "setup failed"; echo "0 passed, 1 failed"; exit 1; }

if [ "$mode" = --tsan ]; then
  part "build, tsan" scripts/build.sh tsan
  export TSAN_OPTIONS="halt_on_error=1 second_deadlock_stack=1"
  # Whole models on the slow paths would take most of an hour under this sanitizer; threads share work the same way on every path.
  best=$(build/tsan/deepinfer doctor | awk '/^cpu path/ {print $3}')
  export GTEST_FILTER=-
  for path in generic avx2 avx512 avx512_bf16 amx; do
    [ "$path" = "$best" ] || GTEST_FILTER+="Cpu/OnEveryIsa.*/$path:"
  done
  echo "note: of the model tests only those of this machine's best path, ${best:?doctor named no cpu path}, run"
  units tsan
  close
fi

# The reference material: ../shared where it exists, else the subset that travels with the repository.
if [ -d ../shared/checks ] && [ -z "${DEEPINFER_TEST_DATA_ONLY:-}" ]; then
  shared=$(cd ../shared && pwd)
  echo "data: $shared"
else
  shared=$root/build/test-data
  mkdir -p "$shared"
  tar -xJf tests/data/shared.tar.xz -C "$shared" || { echo "tests/data/shared.tar.xz is damaged"; echo "0 passed, 1 failed"; exit 1; }
  mkdir -p "$shared/model"
  ln -sfn "$root/models/v41-small" "$shared/model/v41-small"
  echo "data: tests/data (../shared is absent): goldens of v41-small are reduced to goldens.json"
fi
export DEEPINFER_SHARED=$shared

part "include arrows and file lengths" python3 tools/check_includes.py
if command -v clang-format >/dev/null; then
  part "clang-format" bash -c 'git ls-files "*.h" "*.cpp" | xargs clang-format --dry-run -Werror'
else
  skipped=$((skipped + 1))
  echo "skip  clang-format: not installed"
fi

part "build, release" scripts/build.sh release
bin=$root/build/release/deepinfer
units release
while read -r line; do
  case $line in '' | '#'*) continue ;; esac
  if [ ! -f "$shared/goldens/v41-small/goldens.safetensors" ]; then
    line=${line/goldens.py/goldens.py --data $shared/goldens/random-awkward}
  fi
  check "$line"
done <tests/checks.txt
counted "goldens.json of v41-small" python3 tests/checks/goldens_json.py --bin "$bin" --model models/v41-small --goldens "$shared/goldens/v41-small/goldens.json"
counted "commands (tests/cli/black_box.py)" python3 tests/cli/black_box.py --bin "$bin"
part "demo" bash -c 'build/release/deepinfer run -p "Once upon a time there was a little girl who" -n 40 --temperature 0 | grep -q "[a-z]"'

if [ "$mode" != --quick ]; then
  part "build, asan + ubsan" scripts/build.sh asan
  export ASAN_OPTIONS="detect_leaks=1 abort_on_error=0" UBSAN_OPTIONS="print_stacktrace=1"
  units asan
  if command -v clang++-19 >/dev/null; then
    part "build, fuzz" scripts/build.sh fuzz
    for target in build/fuzz/tests/fuzz/fuzz_*; do
      [ -x "$target" ] && [ -f "$target" ] || continue
      name=$(basename "$target")
      corpus=tests/fuzz/corpus/${name#fuzz_}
      mkdir -p "build/fuzz/work/$name"
      part "$name, 10 s" "$target" -max_total_time=10 -rss_limit_mb=2048 -timeout=10 "build/fuzz/work/$name" "$corpus"
    done
  else
    skipped=$((skipped + 1))
    echo "skip  fuzzing: clang++-19 is not installed"
  fi
fi
close
