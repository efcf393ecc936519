#!/usr/bin/env bash
# The commit that is stamped into programs: the last one of what they are made of, with a mark when that was edited; what
# the environment says; and "unknown", which is no error, where nobody knows.
set -eu
tree=$TEST_TMPDIR/tree
mkdir -p "$tree/tools"
cp tools/workspace_status.sh "$tree/tools/"
export HOME=$TEST_TMPDIR GIT_CONFIG_NOSYSTEM=1 GIT_CEILING_DIRECTORIES=$TEST_TMPDIR
unset KQ_GIT_COMMIT
status() { (cd / && "$tree/tools/workspace_status.sh"); }
expect() { # WHAT WANT
  local got
  got=$(status) || { echo "FAILED: $1: exit code $?"; exit 1; }
  [ "$got" = "STABLE_KQ_COMMIT $2" ] || { echo "FAILED: $1: want '$2', got '$got'"; exit 1; }
}
repository() { git -C "$1" -c init.defaultBranch=main init -q; }
commit() { git -C "$1" add --all && git -C "$1" -c user.name=n -c user.email=e commit -q --allow-empty -m "$2"; }

expect "no git" unknown
KQ_GIT_COMMIT=0123456789ab expect "no git, but somebody knows" 0123456789ab
KQ_GIT_COMMIT='a"b\; c' expect "what could not be in a program's text" abc

repository "$TEST_TMPDIR"
commit "$TEST_TMPDIR" "of a project around this one"
expect "another project's commit is not ours" unknown

repository "$tree"
expect "no commit yet" unknown
mkdir "$tree/libs" "$tree/docs"
touch "$tree/libs/a.cc"
commit "$tree" "of a program"
sha=$(git -C "$tree" rev-parse --short=12 HEAD)
expect "a clean checkout" "$sha"
touch "$tree/docs/a.md"
expect "what no program is made of is edited" "$sha"
commit "$tree" "of the documents"
expect "the last commit of a program" "$sha"
touch "$tree/libs/b.cc"
expect "a program is edited" "$sha-dirty"
KQ_GIT_COMMIT=release expect "the environment wins" release
