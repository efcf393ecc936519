#!/usr/bin/env bash
# Installs the Debian packages that are missing. Prints nothing when all are there.
#   tools/setup.sh             what building, testing and the demo need (.ci/packages.txt)
#   tools/setup.sh --checks    and what the checks need (.ci/packages-checks.txt)
# Works as root or by `sudo -n`, and asks nothing. Where neither is possible, or where apt would remove
# something that is installed, it changes nothing, prints the line to run and exits 2.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

lists=(.ci/packages.txt)
case ${1:-} in
  --checks) lists+=(.ci/packages-checks.txt) ;;
  "") ;;
  *) echo "usage: tools/setup.sh [--checks]" >&2; exit 2 ;;
esac
mapfile -t wanted < <(cat "${lists[@]}")
if ! command -v dpkg-query >/dev/null; then
  echo "tools/setup.sh: this is not a Debian; install the like of: ${wanted[*]}" >&2
  exit 2
fi

installed=$(dpkg-query -W -f '${db:Status-Abbrev} ${Package}\n' "${wanted[@]}" 2>/dev/null | sed -n 's/^.i *//p' || true)
missing=()
for package in "${wanted[@]}"; do
  grep -qxF -- "$package" <<<"$installed" || missing+=("$package")
done
[ ${#missing[@]} -gt 0 ] || exit 0

line="apt-get install -y --no-install-recommends ${missing[*]}"
by_hand() { # WHY
  printf 'tools/setup.sh: %s. Run as root:\n\n  apt-get update && %s\n\n' "$1" "$line" >&2
  exit 2
}
if [ "$(id -u)" = 0 ]; then
  as_root=()
elif sudo -n true 2>/dev/null; then
  as_root=(sudo -n)
else
  by_hand "packages are missing, and neither root nor a sudo without a password is at hand"
fi

log=$(mktemp)
trap 'rm -f "$log"' EXIT
apt() { # ARGS...: quiet unless it fails
  "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get -o DPkg::Lock::Timeout=300 "$@" </dev/null >"$log" 2>&1 ||
    { cat "$log" >&2; return 1; }
}
echo "Installing ${#missing[@]} Debian packages: ${missing[*]}"
echo "  reading the package lists"
# A repository of somebody else's that is out of order need not stop us: the install will tell.
apt update -q || echo "  (not all lists could be read; going on)" >&2
apt install -s --no-install-recommends "${missing[@]}" || by_hand "apt cannot install what is missing"
removed=$(sed -n 's/^Remv \([^ ]*\).*/\1/p' "$log" | tr '\n' ' ')
[ -z "$removed" ] || by_hand "apt would remove what is installed here: ${removed% }"
echo "  fetching and installing $(grep -c '^Inst ' "$log") packages with all they depend on; this takes a minute or two"
SECONDS=0
apt install -y -q --no-install-recommends "${missing[@]}" || by_hand "apt-get failed"
echo "  done after $SECONDS s"
