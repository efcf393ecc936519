#!/usr/bin/env bash
# clang-tidy 14 with .clang-tidy over the sources given, by default all; what passed before and has not changed
# since is left out. Builds first: generated headers must be there.
#   tools/tidy.sh [FILES...]
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
bazel/compile_commands.py
tools/tidy.py "$@"
