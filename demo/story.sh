# For demo/run: the story itself. Each step waits for what is to happen, shows it, and fails if it does not happen.

image=${DEMO_IMAGE:-busybox}

field() { kubectl get "$1" "$2" -o "jsonpath={$3}"; }    # KIND NAME PATH
unit() { field queueunit.scheduling.x-k8s.io "$@"; }     # NAME PATH
job() { field job "$@"; }
phases() { kubectl get pods --selector="job-name=$1" -o 'jsonpath={.items[*].status.phase}'; } # of the Job's pods
both_started='@(Running|Succeeded) @(Running|Succeeded)'
complete='.status.conditions[?(@.type=="Complete")].status'

write_quota() {
  cat >"$state/team-a.yaml" <<YAML
apiVersion: scheduling.sigs.k8s.io/v1alpha1
kind: ElasticQuota
metadata: {name: team-a}
spec:
  min: {cpu: "4", memory: 8Gi}      # guaranteed
  max: {cpu: "4", memory: 8Gi}      # never more
YAML
}

write_job() { # NAME SECONDS
  cat >"$state/$1.yaml" <<YAML
apiVersion: batch/v1
kind: Job
metadata:
  name: $1
  labels: {quota.scheduling.koordinator.sh/name: team-a}      # whose quota it counts against
spec:
  suspend: true           # it waits until koord-queue lets it go
  parallelism: 2          # two pods of 2 cpu and 4Gi: 4 cpu and 8Gi, all that team-a has
  completions: 2
  template:
    metadata:
      annotations: {fake-kubelet/run-for: $2s}      # for the local cluster, whose kubelets start no programs
    spec:
      restartPolicy: Never
      containers:
        - name: work
          image: $image
          command: [sleep, "$2"]
          resources: {requests: {cpu: "2", memory: 4Gi}}
YAML
}

# Long enough to look at what waits meanwhile, also on a machine where each kubectl takes seconds.
choose_run_time() {
  local from=$EPOCHREALTIME
  kubectl get nodes >/dev/null
  local tenths=$(((${EPOCHREALTIME/[.,]/} - ${from/[.,]/}) / 100000))
  run_for=$((20 + tenths)) start_limit=90
  # Images are fetched, and not on all Nodes at once.
  [ "$place" = local ] || run_for=$((run_for + 20)) start_limit=300
}

tell_story() {
  # Somebody else's API server cannot reach the visibility API of this machine.
  if [ "$place" = local ]; then steps=8; else steps=7; fi
  choose_run_time
  step_quota
  step_jobs
  step_first_admitted
  step_first_runs
  step_second_waits
  step_second_admitted
  step_second_ends
  [ "$place" != local ] || step_guide
  happened "the story is told"
}

step_quota() {
  heading "1/$steps A quota for team-a, and its queue appears"
  write_quota
  quote <"$state/team-a.yaml"
  show kubectl create -f "$state/team-a.yaml"
  await 60 "a Queue for the quota in namespace koord-queue" team-a \
    kubectl get queues.scheduling.x-k8s.io --namespace=koord-queue team-a -o 'jsonpath={.metadata.name}'
  happened "koord-queue has made a Queue for the quota"
  show kubectl get queues --namespace=koord-queue
}

step_jobs() {
  heading "2/$steps Two suspended Jobs that want 4 cpu and 8Gi each"
  tell "Together they want twice what team-a has. Each becomes a QueueUnit, its place in the queue."
  write_job first "$run_for"
  write_job second 5
  quote <"$state/first.yaml"
  show kubectl create -f "$state/first.yaml"
  await 60 "a QueueUnit for the Job first" first unit first .metadata.name
  show kubectl create -f "$state/second.yaml"
  await 60 "a QueueUnit for the Job second" second unit second .metadata.name
  happened "both have a QueueUnit"
  show kubectl get queueunits
}

step_first_admitted() {
  heading "3/$steps The first fits: it is admitted, and its Job is un-suspended"
  await 60 "the unit first is admitted" True unit first '.status.conditions[?(@.type=="Admitted")].status'
  happened "the unit first is admitted; its phase is $(unit first .status.phase)"
  await 60 "the Job first is un-suspended" false job first .spec.suspend
  happened "the Job first is no longer suspended"
  show kubectl get jobs -o custom-columns=JOB:.metadata.name,SUSPENDED:.spec.suspend,PODS:.status.active
}

step_first_runs() {
  heading "4/$steps Its pods are scheduled and run"
  await "$start_limit" "both pods of the Job first have started" "$both_started" phases first
  happened "both pods run, for $run_for s"
  show kubectl get pods -o custom-columns=POD:.metadata.name,PHASE:.status.phase,NODE:.spec.nodeName
}

step_second_waits() {
  heading "5/$steps The second does not fit: it waits, and says why"
  await 30 "the unit second waits for quota of team-a" 'limited quotaName:team-a*' unit second .status.message
  show kubectl get queueunits -o wide
  [ "$(unit second .status.phase)" = Enqueued ] || differs "the unit second is Enqueued" "$(unit second .status.phase)"
  [ "$(job second .spec.suspend)" = true ] || differs "the Job second is suspended" "it is not"
  [ -z "$(phases second)" ] || differs "the Job second has no pods" "$(phases second)"
  show_position
  [ "$(job first "$complete")" != True ] || differs "the Job first still runs while we look" "its $run_for s are over"
}

show_position() {
  printf '\n'
  tell "kqctl asks the scheduler itself: the position, and what is short by how much."
  show kqctl explain "$namespace/second" "${server[@]}"
  show kqctl quotas "${server[@]}"
  local explained
  explained=$(kqctl explain "$namespace/second" -o json "${server[@]}" | sed -n 's/.*"position": *"\{0,1\}\([0-9]*\).*/\1/p')
  [ "$explained" = 1 ] || differs "the second is at position 1" "position '$explained'"
}

step_second_admitted() {
  heading "6/$steps The first ends, and it is the second's turn"
  tell "The first runs for $run_for s in all. The second is not tried again and again: it is woken by what it waits for."
  await $((run_for + 60)) "the Job first is complete" True job first "$complete"
  happened "the Job first is complete; its quota is free again"
  await 60 "the Job second is un-suspended" false job second .spec.suspend
  happened "the Job second is no longer suspended"
  await "$start_limit" "both pods of the Job second have started" "$both_started" phases second
  happened "its pods run, for 5 s"
  show kubectl get queueunits
}

step_second_ends() {
  heading "7/$steps The second ends"
  await 120 "the Job second is complete" True job second "$complete"
  await 60 "both units are finished" 'Succeed Succeed' \
    kubectl get queueunits.scheduling.x-k8s.io -o 'jsonpath={.items[*].status.phase}'
  show kubectl get jobs,queueunits
  show kqctl quotas "${server[@]}"
}

# The Jobs and the lines of the observability guide, as they are printed there.
visibility=/apis/visibility.koord-queue.x-k8s.io/v1alpha1
raw_queue="kubectl get --raw \"$visibility/queues/team-a/queueunits\" | jq ."
raw_quota="kubectl get --raw \"$visibility/elasticquotas/team-a/queueunits?phase=Enqueued\" | jq '.items | length'"

step_guide() {
  heading "8/$steps Who waits, through the API server, for everybody who has the right: the lines of the observability guide"
  tell "With its two Jobs: my-job takes all that team-a has, and my-job-blocked waits."
  write_job my-job "$run_for"
  write_job my-job-blocked 1
  show kubectl create -f "$state/my-job.yaml"
  await 60 "the unit my-job is admitted" True unit my-job '.status.conditions[?(@.type=="Admitted")].status'
  show kubectl create -f "$state/my-job-blocked.yaml"
  await 60 "the visibility API lists one unit of team-a that waits" 1 eval "$raw_quota"
  show_line "$raw_queue" '*"QueueUnitsSummary"*"my-job-blocked"*'
  show_line "$raw_quota" 1
}

tell_how_to_go_on() {
  printf 'export KUBECONFIG=%q\nexport KUBECACHEDIR=%q\nexport PATH=%q:%q:$PATH\n' "$state/kubeconfig" "$state/kubectl-cache" "$(dirname "$kubectl")" "$programs" >"$state/env"
  # Another demo has the usual port.
  [ -z "${server[*]}" ] || printf 'kqctl() { command kqctl %q "$@"; }\n' "${server[0]}" >>"$state/env"
  heading "How to go on by hand"
  tell "It all keeps running. In another terminal (kubeconfig: $state/kubeconfig, namespace $namespace):" "" \
    "  . $state/env" "" \
    "  kubectl replace --force -f $state/first.yaml -f $state/second.yaml      # both again" \
    "  kubectl get queueunits -A -o wide" \
    "  kubectl get events --field-selector involvedObject.kind=QueueUnit" "" \
    "  kqctl queues${server:+ ${server[*]}}" \
    "  kqctl quotas${server:+ ${server[*]}}" \
    "  kqctl explain $namespace/second${server:+ ${server[*]}}" ""
  [ "$place" != local ] || tell "  $raw_queue" "  $raw_quota" ""
  tell "  kqctl units -w${server:+ ${server[*]}}      # goes on, with what changes, until Ctrl-C there" ""
  tell "Ctrl-C here ends it all and leaves nothing behind."
}
