#!/usr/bin/env bash
# Keeps Bazel's disk cache, which Bazel 4 lets grow for ever, under a size: what was not read for longest goes first.
#   tools/prune_disk_cache.sh [FOLDER [MAX_MIB]]      default: the --disk_cache of .bazelrc, 6144
# An entry that vanishes while Bazel looks for it is a cache miss, so a build may run beside it.
set -euo pipefail
folder=${1:-$HOME/.cache/koord-queue/bazel-disk}
max_mib=${2:-6144}
[ -d "$folder" ] || exit 0
# An hour of grace: what a build writes just now is neither half nor old.
find "$folder" -type f -printf '%A@ %s %C@ %p\n' |
  sort -rn |
  awk -v max="$((max_mib * 1024 * 1024))" -v young="$(($(date +%s) - ${PRUNE_GRACE_SECONDS:-3600}))" \
    '{ total += $2; if (total > max && $3 < young) { print substr($0, index($0, $4)) } }' |
  tr '\n' '\0' | xargs -0 -r rm -f --
