#!/usr/bin/env bash
# For Bazel (--workspace_status_command): the commit that is stamped into the programs, which is the last one that
# changed what they are made of: others do not link them anew. Behind it "-dirty" if something of that is edited.
# KQ_GIT_COMMIT says it where there is no git, as in the build of an image; without either it is unknown, which is no error.
cd "$(dirname "${BASH_SOURCE[0]}")/.." || exit 0
sources=(libs proto services cli bazel BUILD.bazel WORKSPACE .bazelrc)
commit=${KQ_GIT_COMMIT:-}
# Not that of another project, in which this folder may lie.
if [ -z "$commit" ] && [ -e .git ]; then
  commit=$(git log -1 --abbrev=12 --format=%h -- "${sources[@]}" 2>/dev/null)
  # Reads only: git status would write the index, which somebody else may be using.
  [ -z "$commit" ] || [ -z "$(GIT_OPTIONAL_LOCKS=0 git status --porcelain -- "${sources[@]}" 2>/dev/null)" ] || commit+=-dirty
fi
commit=${commit//[^A-Za-z0-9._-]/}
echo "STABLE_KQ_COMMIT ${commit:-unknown}"
