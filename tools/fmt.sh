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
each() { printf '%s\0' "${files[@]}" | xargs -0 -P 2 "$@"; }
if [ -z "$check" ]; then
  each -n 20 clang-format-14 --style=file -i
  exit
fi
differing=$(each -n 1 bash -c 'clang-format-14 --style=file --dry-run --Werror -- "$0" 2>/dev/null || echo "$0"' | sort)
[ -z "$differing" ] || { sed 's/$/: not as clang-format writes it/' <<<"$differing"; exit 1; }
