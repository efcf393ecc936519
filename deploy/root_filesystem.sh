#!/usr/bin/env bash
# The root file system of an image for one program: the program, the libraries it is linked with, and what the C library
# wants to know about names and users. No shell, no package manager. The Dockerfile calls this in its build stage.
#   deploy/root_filesystem.sh PROGRAM FOLDER      FOLDER must not exist
# Works on the Debian that PROGRAM was built on. Needs no root.
set -euo pipefail
program=${1:?program} root=${2:?folder}
[ ! -e "$root" ] || { echo "root_filesystem.sh: $root exists" >&2; exit 2; }
umask 022
mkdir -p "$root"/{etc/ssl/certs,usr/bin,tmp,run}
chmod 1777 "$root/tmp"

install -m 0555 "$program" "$root/usr/bin/$(basename "$program")"
# "name => /path (address)", and the loader, which has no arrow.
missing=$(ldd "$program" | grep 'not found' || true)
[ -z "$missing" ] || { echo "root_filesystem.sh: $missing" >&2; exit 1; }
ldd "$program" | sed -n 's/^.*[[:space:]]\(\/[^ ]*\) (0x.*$/\1/p' | while read -r library; do
  mkdir -p "$root$(dirname "$library")"
  install -m 0555 "$(readlink -f "$library")" "$root$library"
done

echo 'koord-queue:x:65532:65532::/:/sbin/nologin' >"$root/etc/passwd"
echo 'koord-queue:x:65532:' >"$root/etc/group"
echo 'hosts: files dns' >"$root/etc/nsswitch.conf"
authorities=/etc/ssl/certs/ca-certificates.crt
[ ! -e "$authorities" ] || install -m 0444 "$authorities" "$root$authorities"
