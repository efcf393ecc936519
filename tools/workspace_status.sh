#!/usr/bin/env bash
# For Bazel (--workspace_status_command): the commit that is stamped into the programs. KQ_GIT_COMMIT says it where
# there is no git, as in the build of an image; without either it is unknown, which is no error.
cd "$(dirname "${BASH_SOURCE[0]}")/.." || exit 0
commit=${KQ_GIT_COMMIT:-}
# Not that of another project, in which this folder may lie.
if [ -z "$commit" ] && [ -e .git ] && commit=$(git rev-parse --short=12 HEAD 2>/dev/null); then
  # Reads only: git status would write the index, which somebody else may be using.
  [ -z "$(GIT_OPTIONAL_LOCKS=0 git status --porcelain 2>/dev/null)" ] || commit+=-dirty
fi
commit=${commit//[^A-Za-z0-9._-]/}
echo "BUILD_SCM_REVISION ${commit:-unknown}"
