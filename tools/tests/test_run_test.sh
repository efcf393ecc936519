#!/usr/bin/env bash
# tools/test.sh with a made-up Bazel and cluster: what it passes on, what it adds up, and that it leaves no cluster behind.
set -u
tree=$TEST_TMPDIR/tree
mkdir -p "$tree"/{tools,.ci,cluster,bin}
cp tools/test.sh "$tree/tools/"
cp .ci/count.py "$tree/.ci/"
program() { printf '#!/bin/bash\n%s\n' "$2" >"$tree/$1"; chmod +x "$tree/$1"; }
program tools/setup.sh 'echo setup >>"$CALLS"'
program tools/prune_disk_cache.sh ''
program cluster/build 'echo "cluster build" >>"$CALLS"; echo /made-up/bin'
program cluster/up 'echo "cluster up" >>"$CALLS"; mkdir -p "$1"; touch "$1/lock"; echo "export CLUSTER_URL=https://made-up" >"$1/env"; echo "$1" >"$STATE"'
program cluster/down 'echo "cluster down $1" >>"$CALLS"; rm -rf "$2"'
# Writes an event file of a run that came to an end with $RC; waits in the cluster run if it is told to.
program bin/bazel 'echo "bazel KUBECONFIG=${KUBECONFIG:-} $*" >>"$CALLS"
  for a in "$@"; do case $a in --build_event_json_file=*) events=${a#*=} ;; esac; done
  if [ -n "${HANG:-}" ] && [[ "$*" == *tag_filters=cluster* ]]; then echo $$ >"$HANG"; exec sleep 60; fi
  printf "{\"id\":{\"buildFinished\":{}},\"finished\":{\"exitCode\":{\"code\":%d}}}\n" "${RC:-4}" >"$events"
  exit "${RC:-0}"'
export CALLS=$TEST_TMPDIR/calls STATE=$TEST_TMPDIR/state PATH=$tree/bin:$PATH TMPDIR=$TEST_TMPDIR
bad=0
run() { # NAME=VALUE... [-- ARGS...]
  local vars=()
  while [ $# -gt 0 ] && [ "$1" != -- ]; do vars+=("$1"); shift; done
  : >"$CALLS"
  out=$(env "${vars[@]}" "$tree/tools/test.sh" "${@:2}" 2>"$TEST_TMPDIR/err")
  rc=$?
}
expect() { # WHAT CONDITION...
  local what=$1; shift
  "$@" || { printf 'FAILED: %s\nexit code %s, output:\n%s\ncalls:\n%s\n' "$what" "$rc" "$out" "$(cat "$CALLS")"; bad=1; }
}
line_of() { grep -n -m 1 -- "$1" "$CALLS" | cut -d: -f1; }

run KUBECONFIG=/somebody/else -- --cluster "//e2e/a:all //e2e/b:b" --test_env=X=1
expect "some tests on a cluster alone end with their sum" test "$rc:$out" = "0:0 passed, 0 failed"
expect "they are the only run" test "$(grep -c '^bazel' "$CALLS")" = 1
expect "they have a cluster and the flags" grep -q -- "--test_env=X=1 .*KUBECONFIG=$(cat "$STATE")/kubeconfig.* //e2e/a:all //e2e/b:b\$" "$CALLS"
expect "its cluster is removed" test ! -e "$(cat "$STATE")"

run KUBECONFIG=/somebody/else
expect "it ends with the sum" test "$rc:$out" = "0:0 passed, 0 failed"
expect "the cluster is built before the C++ code" test "$(line_of 'cluster build')" -lt "$(line_of bazel)"
expect "the quick tests go first, without a cluster" test "$(line_of 'test_tag_filters=-cluster')" -lt "$(line_of 'cluster up')"
expect "the tests on a cluster are told of it" grep -q "KUBECONFIG=$(cat "$STATE")/kubeconfig.*CLUSTER_STATE=$(cat "$STATE").*CLUSTER_BIN=/made-up/bin.*CLUSTER_URL=https://made-up.*PATH=/made-up/bin:" "$CALLS"
expect "the caller's cluster is not touched" test "$(grep -c somebody "$CALLS")" = 0
expect "the cluster is taken down" grep -q 'cluster down --delete' "$CALLS"
expect "and no folder stays" test ! -e "$(cat "$STATE")"

run A=1 -- --unit --nocache_test_results
expect "the fast tier starts no cluster" test "$rc:$(grep -c cluster/ "$CALLS")$(grep -c 'cluster up' "$CALLS")" = "0:00"
expect "flags go to Bazel" grep -q -- '--nocache_test_results' "$CALLS"

run RC=1
expect "an error in both runs counts twice, and fails" test "$rc:$(tail -n 1 <<<"$out")" = "1:0 passed, 2 failed"
expect "also then the cluster is taken down" grep -q 'cluster down --delete' "$CALLS"

: >"$CALLS"
HANG=$TEST_TMPDIR/hanging "$tree/tools/test.sh" >"$TEST_TMPDIR/out" 2>&1 &
pid=$!
until [ -s "$TEST_TMPDIR/hanging" ]; do sleep 0.02; done
kill -TERM $pid
# bash runs the trap once the program in front ends; on a terminal both get the signal.
kill "$(cat "$TEST_TMPDIR/hanging")"
wait $pid
rc=$? out=$(cat "$TEST_TMPDIR/out")
expect "a signal ends it with its own exit code" test "$rc" = 143
expect "and the cluster is taken down" grep -q 'cluster down --delete' "$CALLS"
exit $bad
