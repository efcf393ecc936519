#!/usr/bin/env bash
# tools/fmt.sh names a file that is out of format, and mends it.
set -eu
if ! command -v clang-format-14 >/dev/null; then
  echo "skipped: no clang-format-14 here (tools/setup.sh --checks installs it)"
  exit 0
fi
printf 'int  f( ){return 1 ;}\n' >"$TEST_TMPDIR/bad.cc"
printf 'int f() { return 1; }\n' >"$TEST_TMPDIR/good.cc"
if out=$(tools/fmt.sh --check "$TEST_TMPDIR/bad.cc" "$TEST_TMPDIR/good.cc"); then
  echo "FAILED: a file out of format passes"; exit 1
fi
[ "$out" = "$TEST_TMPDIR/bad.cc: not as clang-format writes it" ] || { echo "FAILED: it says: $out"; exit 1; }
tools/fmt.sh "$TEST_TMPDIR/bad.cc"
cmp "$TEST_TMPDIR/bad.cc" "$TEST_TMPDIR/good.cc"
tools/fmt.sh --check "$TEST_TMPDIR/bad.cc"
