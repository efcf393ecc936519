#!/usr/bin/env bash
# tools/nightly.sh with made-up stages: which long forms the tests on a cluster get, and how it ends.
set -u
tree=$TEST_TMPDIR/tree
mkdir -p "$tree/tools"
cp tools/nightly.sh "$tree/tools/"
export CALLS=$TEST_TMPDIR/calls
printf '#!/bin/bash\n' >"$tree/tools/setup.sh"
printf '#!/bin/bash\nprintf "%%s\\n" "$@" >"$CALLS"\nexit ${RC:-0}\n' >"$tree/tools/test.sh"
chmod +x "$tree/tools/"*.sh
bad=0
expect() { # WHAT CONDITION...
  local what=$1; shift
  "$@" || { printf 'FAILED: %s\noutput:\n%s\ncall:\n%s\n' "$what" "$out" "$(cat "$CALLS")"; bad=1; }
}

out=$("$tree/tools/nightly.sh" e2e 2>&1)
expect "it ends well" test $? = 0
expect "the leader is killed twenty times" grep -qx -- --test_env=VISIBILITY_GAP_KILLS=20 "$CALLS"
expect "the books are looked at after ten kills among a thousand units" grep -qx -- --test_env=KILL_TEST_UNITS=1000 "$CALLS"
names=$(sed -n '/^| Test /,/^$/p' e2e/README.md | grep -oE '`[A-Z]+_[A-Z_]+`' | tr -d '`')
expect "the list of tests names what makes them longer" test "$(wc -w <<<"$names")" -ge 9
for name in $names; do
  expect "each long form of the list is used: $name" grep -q -- "^--test_env=$name=[0-9]" "$CALLS"
  expect "and said, to run it again: $name" grep -q "^$name=[0-9]" <<<"$out"
done

out=$(VISIBILITY_GAP_KILLS=3 "$tree/tools/nightly.sh" e2e 2>&1)
expect "what is in the environment wins" grep -qx -- --test_env=VISIBILITY_GAP_KILLS=3 "$CALLS"

out=$(RC=1 "$tree/tools/nightly.sh" e2e 2>&1)
expect "a stage that fails is named at the end" test "$?:$(tail -n 1 <<<"$out")" = "1:FAILED: e2e"
out=$("$tree/tools/nightly.sh" sleep 2>&1)
expect "an unknown stage is wrong use" test $? = 2
exit $bad
