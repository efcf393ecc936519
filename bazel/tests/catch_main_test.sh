#!/usr/bin/env bash
# What the project's Catch2 main tells Bazel: one JUnit entry per TEST_CASE, filters and shards.
set -u
probe=$PWD/bazel/tests/catch_probe
out=$TEST_TMPDIR/out.xml
bad=0
expect() { # WHAT WANT GOT
  [ "$2" = "$3" ] || { echo "FAILED: $1: want '$2', got '$3'"; bad=1; }
}
run() { # [NAME=VALUE]...: the probe's exit code in $rc, its JUnit file in $out
  rm -f "$out"
  env -u TEST_TOTAL_SHARDS -u TEST_SHARD_INDEX -u TESTBRIDGE_TEST_ONLY XML_OUTPUT_FILE="$out" "$@" "$probe" >"$TEST_TMPDIR/log" 2>&1
  rc=$?
}
cases() { grep -c '<testcase ' "$out"; }

run A=1
expect "exit code of passing cases" 0 "$rc"
expect "one entry per case, sections not counted" 3 "$(cases)"
expect "a name is escaped" 1 "$(grep -c 'name="one &amp; the same"' "$out")"

run TESTBRIDGE_TEST_ONLY=three
expect "a filter takes one case" 1 "$(cases)"

run TESTBRIDGE_TEST_ONLY='[.wrong]'
expect "exit code of a failing case" 1 "$rc"
expect "failures are counted" 1 "$(grep -c 'tests="1" failures="1"' "$out")"

run TESTBRIDGE_TEST_ONLY='no such case'
expect "a filter that takes nothing fails" 1 "$((rc != 0))"

total=0
for i in 0 1; do
  run TEST_TOTAL_SHARDS=2 TEST_SHARD_INDEX=$i
  expect "exit code of shard $i" 0 "$rc"
  total=$((total + $(cases)))
done
expect "shards take each case once" 3 "$total"
exit $bad
