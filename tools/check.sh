#!/usr/bin/env bash
# The checks that need no test run: format, budgets, dependency rules, and what must not stand in a file.
#   tools/check.sh                 all of them; ends with 1 if one fails, after running the others
#   tools/check.sh --text FOLDER   only the searches in files, in another folder (for the tests of this script)
set -uo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
text_only=
if [ "${1:-}" = --text ]; then text_only=1; cd "$2" || exit 2; else cd "$here/.." || exit 2; fi
bad=0

check() { # NAME COMMAND...: runs it and says how it went
  local name=$1 out; shift
  if out=$("$@" 2>&1); then
    printf 'ok      %s\n' "$name"
  else
    printf 'FAILED  %s\n%s\n' "$name" "$(sed 's/^/        /' <<<"$out")"
    bad=1
  fi
}

files() { # GLOBS...: tracked and new files
  if git rev-parse --is-inside-work-tree >/dev/null 2>&1 && [ -z "$text_only" ]; then
    git ls-files -z --cached --others --exclude-standard -- "$@" |
      while IFS= read -r -d '' f; do [ ! -f "$f" ] || printf '%s\0' "$f"; done
  else
    local args=() g
    for g in "$@"; do args+=(-o -name "$g"); done
    find . -type f \( "${args[@]:1}" \) -printf '%P\0'
  fi
}
absent() { # PATTERN EXCEPT GLOBS...: no line of these files matches; EXCEPT is a pattern of paths
  local pattern=$1 except=$2 hits; shift 2
  hits=$(files "$@" | grep -zvE -- "$except" | xargs -0 -r grep -nHIE -- "$pattern")
  [ -z "$hits" ] || { head -n 20 <<<"$hits"; return 1; }
}

# The patterns spell some letters as [x], so that this file does not match itself.
check "only libs/common/clock asks for the time" \
  absent 'absl::[N]ow\(|GetCurrentTime[N]anos|(system|high_resolution)_clock::now' '^libs/common/clock' '*.h' '*.cc'
check "nothing is left for later" \
  absent '\b(TO[D]O|FIX[M]E|XX[X]|[n]ot implemented)\b' '^$' '*.h' '*.cc' '*.bzl' '*.sh' '*.py' '*.proto' '*.bazel'
check "no path of somebody's machine, no host of a package registry" \
  absent '(^|[^A-Za-z0-9_.])/(w[o]rk|f[a]rm|r[o]ot|h[o]me)/|/tmp/(b[a]sh_jobs|t[e]am|i[n]fra)|(p[y]pi\.org|registry\.n[p]mjs|proxy\.g[o]lang|deb\.d[e]bian\.org|cr[a]tes\.io)' \
  '^cluster/go\.sum$' '*'
check "the project speaks of itself alone" \
  absent '\b(Cla[u]de|Anthr[o]pic|Open[A]I|Chat[G]PT|Co[p]ilot|[L]LM|[A]I agent|language [m]odel)\b' '^$' '*'
check "type names say what they are" \
  absent '\b(class|struct) +([A-Z_]+(\([^)]*\))? +)?[A-Za-z0-9]*(Manager|Handler|Helper|Util|Impl|Info|Data|Base)\b *(final)? *[:{]' '^$' '*.h' '*.cc'
private_packages() {
  local open
  open=$(files '*BUILD.bazel' | grep -zE '^(libs|services|cli)/' | grep -zv '/testing/' | xargs -0 -r grep -L '^package(default_visibility = \["//visibility:private"\])')
  [ -z "$open" ] || { echo "$open"; return 1; }
}
check "targets are private unless they say otherwise" private_packages
check "no access for one test alone" absent 'FRIEND_TEST|#define private' '^$' '*.h' '*.cc'

if [ -z "$text_only" ]; then
  check "format (make fmt mends it)" tools/fmt.sh --check
  check "budgets" tools/budgets.py
  check "dependency rules" tools/deps.py
fi
exit $bad
