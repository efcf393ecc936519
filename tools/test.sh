#!/usr/bin/env bash
# Builds everything and runs the tests; ends with the line "N passed, N failed", which counts test cases.
#   tools/test.sh [--unit | --cluster TESTS] [BAZEL_FLAGS...]
#   --unit            without the tests that need a Kubernetes (tag "cluster")
#   --cluster TESTS   these alone, of those that need one ("//e2e/faults:all //e2e/idle:all")
# The others run on one local control plane, which is started for them and removed at the end. They find it by
# KUBECONFIG (cluster admin), CLUSTER_STATE (its folder: pki/, env), CLUSTER_BIN (kubectl, kube-apiserver, ...,
# first in PATH) and CLUSTER_URL; a KUBECONFIG of the caller is never used.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
root=$PWD
unset KUBECONFIG

unit=
on_cluster=
case ${1:-} in
  --unit) unit=1; shift ;;
  --cluster) on_cluster=${2:?tools/test.sh: --cluster wants the names of tests}; shift 2 ;;
esac
flags=(--keep_going "$@")
# Bazel draws its progress on a terminal. Elsewhere it prints a line now and then.
[ -t 2 ] || flags+=(--config=ci)

scratch=$(mktemp -d "${TMPDIR:-/tmp}/koord-queue-test.XXXXXX")
state=$scratch/cluster
cleanup() {
  if [ -e "$state/lock" ]; then "$root/cluster/down" --delete "$state"; fi
  rm -rf "$scratch"
}
trap cleanup EXIT
trap 'exit 130' INT
trap 'exit 143' TERM
say() { printf '%s\n' "== $*" >&2; }
run_tests() { # NAME FLAGS...: failures are in the event file, and counted at the end
  local name=$1; shift
  bazel test "${flags[@]}" --build_event_json_file="$scratch/$name.json" "$@" || true
}

tools/setup.sh
if [ -n "$unit" ]; then
  say "1/1 building, and running the tests that need no Kubernetes"
  run_tests unit --build_tests_only --test_tag_filters=-cluster //...
else
  # Not beside the C++ build: both want all cores and much memory.
  say "1/4 the programs of a local Kubernetes (the first time: about 5 minutes)"
  bin=$(cluster/build)
  if [ -z "$on_cluster" ]; then
    say "2/4 building everything, and running the tests that need no Kubernetes"
    run_tests unit --test_tag_filters=-cluster //...
  fi
  say "3/4 starting a local Kubernetes"
  CLUSTER_BIN=$bin cluster/up "$state" >&2
  say "4/4 running the tests that use it, one at a time"
  run_tests cluster --build_tests_only --test_tag_filters=cluster --local_test_jobs=1 \
    --test_env=KUBECONFIG="$state/kubeconfig" --test_env=KUBECACHEDIR="$state/kubectl-cache" \
    --test_env=CLUSTER_STATE="$state" --test_env=CLUSTER_BIN="$bin" \
    --test_env=CLUSTER_URL="$(. "$state/env"; echo "$CLUSTER_URL")" \
    --test_env=PATH="$bin:/usr/local/bin:/usr/bin:/bin" ${on_cluster:-//...}
fi
tools/prune_disk_cache.sh
# The files are named, so that one which is not there is noticed.
events=("$scratch/unit.json" "$scratch/cluster.json")
[ -z "$unit" ] || events=("$scratch/unit.json")
[ -z "$on_cluster" ] || events=("$scratch/cluster.json")
.ci/count.py "${events[@]}"
