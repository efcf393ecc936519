#!/usr/bin/env bash
# Plays the demo as people do, and looks at what it leaves behind:
#   demo_test.sh CASE    (the functions below; each is a test of its own)
# `make test` gives CLUSTER_BIN, the programs of a local Kubernetes, and has them in PATH.
set -euo pipefail
: "${CLUSTER_BIN:?make test runs this test, with the programs of a local Kubernetes}"
export HOME=$TEST_TMPDIR XDG_CACHE_HOME=$TEST_TMPDIR/cache KUBECACHEDIR=$TEST_TMPDIR/kubectl-cache
export DEMO_PROGRAMS=$TEST_TMPDIR/programs
export KUBECONFIG=$TEST_TMPDIR/there-is-none      # the demo must not look at it
mkdir -p "$DEMO_PROGRAMS"
ln -sf "$PWD"/services/scheduler/koord-queue "$PWD"/services/controllers/koord-queue-controllers "$PWD"/services/visibility/koord-queue-visibility "$PWD"/cli/kqctl/kqctl "$DEMO_PROGRAMS"
story=$TEST_TMPDIR/story
demo=

fail() { echo "FAILED: $*"; cat "$story"; exit 1; }
processes() { grep -lzF -- "$XDG_CACHE_HOME" /proc/[0-9]*/cmdline 2>/dev/null || true; }
folders() { ls "$XDG_CACHE_HOME/koord-queue/demo"; }
check_nothing_is_left() {
  [ -z "$(processes)" ] || fail "processes are left: $(processes)"
  [ -z "$(folders)" ] || fail "folders are left: $(folders)"
}

# The last thing of the story, before the text of how to go on: the two lines of the observability guide as they are
# printed there, and what they answer.
check_it_ends_with_the_guide() {
  local api=/apis/visibility.koord-queue.x-k8s.io/v1alpha1 last queue quota
  queue="   \$ kubectl get --raw \"$api/queues/team-a/queueunits\" | jq ."
  quota="   \$ kubectl get --raw \"$api/elasticquotas/team-a/queueunits?phase=Enqueued\" | jq '.items | length'"
  last=$(sed -n '/^== 8\/8 /,/^== How to go on/p' "$story")
  grep -A1000 -xF -- "$queue" <<<"$last" | sed -n '2,/^$/p' >"$TEST_TMPDIR/answer"
  jq -e '.kind == "QueueUnitsSummary" and (.items | length) == 1 and (.items[0] |
      .metadata.name == "my-job-blocked" and .quotaName == "team-a" and .queueName == "team-a" and .phase == "Enqueued" and
      .request == {"cpu": "4", "memory": "8Gi"} and .podState == {"pending": 0, "running": 0})' "$TEST_TMPDIR/answer" >/dev/null ||
    fail "the last answers are not those of the guide: $(cat "$TEST_TMPDIR/answer")"
  # Then the number of those that wait, and nothing but the end of the story.
  grep -A1000 -xF -- "$quota" <<<"$last" | sed '1d; s/  ([0-9.]* s)$//; /^$/d' >"$TEST_TMPDIR/answer"
  [ "$(cat "$TEST_TMPDIR/answer")" = "     1
   + the story is told
== How to go on by hand" ] || fail "the story does not end with the guide's second line: $(cat "$TEST_TMPDIR/answer")"
}

begin_demo() { demo/run "$@" >"$story" 2>&1 & demo=$!; }
await_line() { # TEXT: until the demo has said it
  local end=$((SECONDS + 300))
  until grep -qF -- "$1" "$story"; do
    kill -0 "$demo" 2>/dev/null || fail "the demo ended before it said: $1"
    [ $SECONDS -lt $end ] || fail "the demo did not say: $1"
    sleep 0.2
  done
}
ends_with() { # EXIT_CODE
  local rc=0
  wait "$demo" || rc=$?
  demo=
  [ "$rc" = "$1" ] || fail "the demo ended with $rc, not $1"
}
end_all() {
  if [ -n "$demo" ]; then
    kill -TERM "$demo" && wait "$demo" || true
  fi
  cluster/down --delete "$TEST_TMPDIR/theirs" 2>/dev/null || true
}
trap end_all EXIT

# The lines of README that go on by hand, in their order, as for a terminal whose home is this test's.
readme_lines() {
  sed -n '/^## Going on by hand/,/^In a cluster it comes by helm/{/^    \(kubectl\|kqctl\) /s/^ *//p}' README.md
}
works_as_printed() { # LINE, within some seconds: a unit comes a moment after its Job
  local line=${1//\~\/.cache/$XDG_CACHE_HOME} rc end=$((SECONDS + 20))
  line=${line//demo\/...\//demo/$(folders)/}
  while :; do
    rc=0
    timeout 10 bash -c ". $XDG_CACHE_HOME/koord-queue/demo/$(folders)/env; $line" >"$TEST_TMPDIR/said" 2>&1 || rc=$?
    # One that goes on by itself has to be ended.
    if [ "$rc" = 0 ] || { [ "$rc" = 124 ] && [[ $line == *" -w"* ]]; }; then break; fi
    [ $SECONDS -lt $end ] || fail "README: $line: exit code $rc: $(cat "$TEST_TMPDIR/said")"
    sleep 0.5
  done
  [ -s "$TEST_TMPDIR/said" ] || fail "README: $line: says nothing"
}

the_story_is_told_the_lines_of_the_readme_work_and_nothing_is_left() {
  local lines
  begin_demo
  await_line 'Ctrl-C here ends it all'
  check_it_ends_with_the_guide
  mapfile -t lines < <(readme_lines)
  [ ${#lines[@]} -ge 13 ] || fail "too few lines in README: ${lines[*]}"
  for line in "${lines[@]}"; do
    works_as_printed "$line"
    echo "$line"
    cat "$TEST_TMPDIR/said"
  done
  for line in 'kqctl queues' 'kqctl quotas' 'kqctl units -w'; do grep -qF "  $line" "$story" || fail "the demo does not name: $line"; done
  kill -TERM "$demo"
  ends_with 143
  check_nothing_is_left
}

a_demo_that_is_killed_is_cleaned_up_by_the_next_which_is_told_to_stop() {
  begin_demo
  await_line '1/8'
  kill -KILL "$demo"
  ends_with 137
  begin_demo
  await_line '3/8'
  ! grep -F 'No such file' "$story" || fail "it complains about what is left of the one before"
  kill -TERM "$demo"
  ends_with 143
  check_nothing_is_left
}

a_part_that_dies_ends_the_demo() {
  begin_demo
  await_line '2/8'
  kill -KILL "$(sed -n 's/.*koord-queue decides.*: pid \([0-9]*\),.*/\1/p' "$story")"
  ends_with 1
  grep -q 'expected: koord-queue runs' "$story" || fail "it does not say which part has ended"
  grep -q 'found:    it was ended by the signal KILL' "$story" || fail "it does not say how it has ended"
  ! sed -n '/the last lines of/,$p' "$story" | grep -E '^     .{210}' || fail "lines of logs are too long"
  [ -z "$(processes)" ] || fail "processes are left: $(processes)"
  [ -s "$XDG_CACHE_HOME/koord-queue/demo/$(folders)/logs/koord-queue.log" ] || fail "the log is gone"
}

theirs() { kubectl --kubeconfig="$TEST_TMPDIR/theirs/kubeconfig" "$@"; }
listing() { # what the cluster holds, with versions, but for what Kubernetes itself renews
  local kinds
  kinds=namespaces,jobs,pods,leases,serviceaccounts$(theirs get customresourcedefinitions -o 'jsonpath={range .items[*]},{.metadata.name}{end}')
  theirs get "customresourcedefinitions,$kinds" --all-namespaces -o \
    'jsonpath={range .items[*]}{.kind} {.metadata.namespace}/{.metadata.name} {.metadata.resourceVersion}{"\n"}{end}' |
    grep -vE '^Lease kube-(node-lease|system)/'
}
is_refused_on_theirs() { # TEXT
  local before
  before=$(listing)
  begin_demo --once
  ends_with 3
  grep -qF -- "$1" "$story" || fail "it does not say: $1"
  [ "$(listing)" = "$before" ] || fail "the cluster has changed: $(diff <(echo "$before") <(listing))"
  check_nothing_is_left
}

a_cluster_of_others_is_left_as_it_was() {
  cluster/up "$TEST_TMPDIR/theirs"
  export DEMO_KUBECONFIG=$TEST_TMPDIR/theirs/kubeconfig
  theirs create -f deploy/crds/optional/scheduling.sigs.k8s.io_elasticquotas.yaml
  theirs wait --for=condition=Established --timeout=60s customresourcedefinition --all
  local before
  before=$(listing)
  begin_demo --once
  ends_with 0
  grep -q 'the story is told' "$story" || fail "no end of the story"
  [ "$(listing)" = "$before" ] || fail "the cluster has changed: $(diff <(echo "$before") <(listing))"
  check_nothing_is_left
}

the_demo_is_not_played_where_koord_queue_is_in_use() {
  cluster/up "$TEST_TMPDIR/theirs"
  export DEMO_KUBECONFIG=$TEST_TMPDIR/theirs/kubeconfig
  theirs create -f - <<YAML
apiVersion: coordination.k8s.io/v1
kind: Lease
metadata: {name: example-lease, namespace: default}
spec: {holderIdentity: koord-queue-0_c7f0, leaseDurationSeconds: 15, renewTime: "$(date -u +%Y-%m-%dT%H:%M:%S.000000Z)"}
YAML
  is_refused_on_theirs 'default/example-lease, held by koord-queue-0_c7f0'
  theirs delete lease example-lease

  theirs create -f deploy/crds/scheduling.x-k8s.io_queueunits.yaml
  theirs wait --for=condition=Established --timeout=60s customresourcedefinition --all
  theirs create -f - <<YAML
apiVersion: scheduling.x-k8s.io/v1alpha1
kind: QueueUnit
metadata: {name: of-a-stranger, namespace: default}
spec: {queue: theirs, resource: {cpu: "1"}}
YAML
  is_refused_on_theirs 'default/of-a-stranger'
}

"$1"
