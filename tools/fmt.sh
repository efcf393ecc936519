#!/usr/bin/env bash
# Formats the project's C++ with clang-format 14, in place:
#   tools/fmt.sh [--check] [FILES...]      default: all tracked and new files
#   --check    changes nothing, names the files that differ, ends with 1 if there are any
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
check=
if [ "${1:-}" = --check ]; then check=1; shift; fi
if [ $# -gt 0 ]; then
  files=("$@")
else
  mapfile -d '' -t files < <(git ls-files -z --cached --others --exclude-standard '*.h' '*.cc' |
    while IFS= read -r -d '' f; do [ ! -e "$f" ] || printf '%s\0' "$f"; done)
fi
[ ${#files[@]} -gt 0 ] || exit 0
format() { printf '%s\0' "${files[@]}" | xargs -0 -n 20 -P 2 clang-format-14 --style=file "$@"; }
if [ -z "$check" ]; then format -i; exit; fi
# One line a file, not one a place.
if out=$(format --dry-run --Werror --ferror-limit=1 2>&1); then exit 0; fi
sed -n 's/^\([^ ]*:[0-9]*\):[0-9]*: error: .*/\1: not as clang-format writes it/p' <<<"$out" | sort -u
exit 1
