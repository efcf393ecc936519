#!/usr/bin/env bash
# tools/setup.sh with made-up dpkg-query, apt-get, sudo and id: what it installs, when it asks for help, when it is silent.
set -u
fake=$TEST_TMPDIR/bin
mkdir -p "$fake"
program() { printf '#!/bin/bash\n%s\n' "$2" >"$fake/$1"; chmod +x "$fake/$1"; }
# dpkg-query knows the packages of $INSTALLED and fails for others, as the real one does.
program dpkg-query 'rc=0; for p in "${@:4}"; do if [[ " $INSTALLED " == *" $p "* ]]; then echo "ii  $p"; else rc=1; fi; done; exit $rc'
program apt-get 'echo "apt-get $*" >>"$TEST_TMPDIR/calls"
  case "$*" in *" -s "*) echo "Inst libfoo"; [ -z "${REMOVES:-}" ] || echo "Remv $REMOVES [1.74]" ;; esac
  case "$*" in *" install -y "*) exit "${APT_RC:-0}" ;; esac'
program id 'echo "$FAKE_UID"'
program sudo '[ "$SUDO_OK" = 1 ] || exit 1; [ "$1" = -n ] && shift; [ "$1" = true ] || echo sudo >>"$TEST_TMPDIR/calls"; exec "$@"'
all=$(cat .ci/packages.txt | tr '\n' ' ')
bad=0
setup() { # NAME=VALUE...: runs it; output in $out, exit code in $rc, calls of apt-get in $calls
  : >"$TEST_TMPDIR/calls"
  out=$(env PATH="$fake:$PATH" INSTALLED="$all" FAKE_UID=0 SUDO_OK=0 "$@" tools/setup.sh ${CHECKS:+--checks} 2>&1)
  rc=$?
  calls=$(cat "$TEST_TMPDIR/calls")
}
expect() { # WHAT CONDITION...
  local what=$1; shift
  "$@" || { printf 'FAILED: %s\nexit code %s, output:\n%s\ncalls:\n%s\n' "$what" "$rc" "$out" "$calls"; bad=1; }
}
without_bazel=${all/bazel-bootstrap /}

setup A=1
expect "nothing is said or done when all is there" test "$rc:$out:$calls" = "0::"

setup INSTALLED="$without_bazel"
expect "root installs what is missing, and only that" grep -q 'install -y -q --no-install-recommends bazel-bootstrap$' <<<"$calls"
expect "and succeeds" test "$rc" = 0

setup INSTALLED="$without_bazel" FAKE_UID=1000 SUDO_OK=1
expect "a sudo that asks nothing is used" grep -q '^sudo$' <<<"$calls"
expect "and succeeds" test "$rc" = 0

setup INSTALLED="$without_bazel" FAKE_UID=1000
expect "without root or sudo nothing is done" test "$rc:$calls" = "2:"
expect "and the line to run is printed" grep -q 'apt-get install -y --no-install-recommends bazel-bootstrap$' <<<"$out"

setup INSTALLED="$without_bazel" REMOVES=libboost1.74-dev
expect "what would be removed is named" grep -q 'libboost1.74-dev' <<<"$out"
expect "and nothing is removed" test "$rc:$(grep -c ' install -y ' <<<"$calls")" = "2:0"

setup INSTALLED="$without_bazel" APT_RC=100
expect "an install that fails is told" test "$rc" = 2

CHECKS=1 setup A=1
expect "the checks need more" grep -q 'install -y .* clang-14 ' <<<"$calls"
exit $bad
