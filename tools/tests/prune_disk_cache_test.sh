#!/usr/bin/env bash
# The disk cache is cut to its size: the oldest go, the newest and the just written stay.
set -eu
cache=$TEST_TMPDIR/cache
mkdir -p "$cache/cas/ab"
for i in 1 2 3 4; do
  head -c 524288 /dev/zero >"$cache/cas/ab/$i file"
  touch -a -d "2024-01-0$i" "$cache/cas/ab/$i file"
done
left() { ls "$cache/cas/ab" | tr '\n' ',' ; }
expect() { # WHAT WANT
  [ "$(left)" = "$2" ] || { echo "FAILED: $1: want '$2', got '$(left)'"; exit 1; }
}
tools/prune_disk_cache.sh "$cache" 1
expect "what was just written stays" "1 file,2 file,3 file,4 file,"
PRUNE_GRACE_SECONDS=-60 tools/prune_disk_cache.sh "$cache" 2
expect "a cache within its size stays" "1 file,2 file,3 file,4 file,"
PRUNE_GRACE_SECONDS=-60 tools/prune_disk_cache.sh "$cache" 1
expect "those not read for longest go" "3 file,4 file,"
tools/prune_disk_cache.sh "$TEST_TMPDIR/no such folder" 1
