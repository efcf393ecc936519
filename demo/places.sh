# For demo/run: the programs, and the cluster that the story is played on: a local one made for it, or one that is
# somebody else's.

namespace=koord-queue-demo           # of the Jobs, the quota and the leases
definitions=(queues.scheduling.x-k8s.io queueunits.scheduling.x-k8s.io elasticquotas.scheduling.sigs.k8s.io)

# What kubectl learns about a cluster is kept there, not in ~/.kube.
kubectl() { KUBECACHEDIR=$state/kubectl-cache "$kubectl" --kubeconfig="$state/kubeconfig" --request-timeout=30s "$@"; }
kqctl() { "$programs/kqctl" "$@"; }

# ---- programs
build_cluster() { # sets kubectl
  heading "The programs of a local Kubernetes (the first time: about 5 minutes)"
  attend "$root/cluster/build" ${CLUSTER_BIN:+"$CLUSTER_BIN"} >"$state/cluster-bin"
  kubectl=$(cat "$state/cluster-bin")/kubectl
  happened "they are there"
}

find_kubectl() { # the machine's own if it is new enough
  kubectl=$(type -P kubectl || true)
  [ -n "$kubectl" ] && grep -q jsonpath < <("$kubectl" wait --help 2>&1) || build_cluster
}

build_programs() { # sets programs: a copy for this run, that stays what it is while other builds go on
  programs=$state/programs
  if [ -n "${DEMO_PROGRAMS:-}" ]; then
    cp -rL "$DEMO_PROGRAMS" "$programs"
    return
  fi
  heading "The programs of koord-queue (the first time: some minutes)"
  # Those of the last run are taken if nothing that they are made of has changed. Bazel knows that too, but needs ten
  # seconds to say so when it has to be started for it.
  local kept=${XDG_CACHE_HOME:-$HOME/.cache}/koord-queue/demo-programs stamp
  stamp=$(programs_stamp)
  if ! (flock 9 && [ "$(cat "$kept/stamp" 2>/dev/null)" = "$stamp" ] && cp -r "$kept" "$programs") 9>>"$kept.lock"; then
    bazel_build "$programs"
    if [ "$(programs_stamp)" = "$stamp" ]; then      # nobody has edited meanwhile
      echo "$stamp" >"$programs/stamp"
      (flock 9 && rm -rf "$kept" && cp -r "$programs" "$kept") 9>>"$kept.lock"
    fi
  fi
  happened "they are there"
}

programs_stamp() { # names what the programs are made of: sources, flags and the system's libraries
  cd "$root"
  {
    { find libs proto services cli bazel BUILD.bazel WORKSPACE .bazelrc user.bazelrc "$HOME/.bazelrc" -type f -print0 2>/dev/null || true; } |
      sort -z | xargs -0 sha256sum
    dpkg-query -W
    tools/workspace_status.sh # the commit that they show
  } | sha256sum
}

bazel_build() { # FOLDER; with the flags of the tests, so that nothing is built twice
  local flags=(--symlink_prefix=/ --output_filter='^no target$')      # without links, without compiler warnings
  [ -t 2 ] || flags+=(--config=ci)
  cd "$root"
  grep -qzF -- "--workspace_directory=$root" /proc/[0-9]*/cmdline 2>/dev/null || started_bazel=1
  attend bazel build "${flags[@]}" //services/scheduler:koord-queue //services/controllers:koord-queue-controllers \
    //services/visibility:koord-queue-visibility //cli/kqctl || differs "the programs can be built" "Bazel says no; see above"
  mkdir "$1"
  cp "$(bazel info bazel-bin 2>/dev/null)"/{services/scheduler/koord-queue,services/controllers/koord-queue-controllers,services/visibility/koord-queue-visibility,cli/kqctl/kqctl} "$1"
  leave_bazel
}

leave_bazel() { # a Bazel server that was started for us ends, unless somebody else uses it by now
  [ -z "$started_bazel" ] || (cd "$root" && bazel --noblock_for_lock shutdown >/dev/null 2>&1) || true
  started_bazel=
}

# ---- a local cluster
start_local_cluster() {
  heading "A local Kubernetes: etcd, API server, controllers and scheduler are real; Nodes and kubelets are played by KWOK"
  place=local
  attend env CLUSTER_BIN="$(dirname "$kubectl")" "$root/cluster/up" --nodes 2:cpu=8,memory=32Gi "$state/cluster" \
    >"$state/logs/cluster-up.log" 2>&1 || { cat "$state/logs/cluster-up.log" >&2; differs "a cluster" "cluster/up failed"; }
  cp "$state/cluster/admin.kubeconfig" "$state/kubeconfig"
  kubectl config set-context --current --namespace="$namespace" >/dev/null
  happened "it answers"
}

# ---- somebody else's cluster
refuse() { # WHY...
  printf '\n%sNot on this cluster:%s %s\n' "$bold" "$plain" "$1"
  shift
  tell "$@" "Nothing has been changed."
  exit 3
} >&2

ask() { # KUBECTL_ARGS...: an answer that must be known before anything is changed
  kubectl "$@" 2>"$state/logs/kubectl.log" || refuse "the answer to \`kubectl $*\` is needed, and it failed:" "$(cat "$state/logs/kubectl.log")"
}

enter_foreign_cluster() { # KUBECONFIG_FILE
  local found kind
  [ -r "$1" ] || { echo "demo: cannot read $1" >&2; exit 2; }
  # One context, with the demo's namespace, so that the lines shown here are short. It is removed at the end.
  "$kubectl" --kubeconfig="$1" config view --minify --flatten --raw >"$state/kubeconfig" || exit 2
  heading "The cluster of $1"
  tell "context  $(kubectl config current-context)" \
    "server   $(kubectl config view --minify -o 'jsonpath={.clusters[0].cluster.server}')"
  kubectl config set-context --current --namespace="$namespace" >/dev/null

  for kind in "${definitions[@]}"; do
    found=$(ask get customresourcedefinition "$kind" --ignore-not-found -o name)
    [ -n "$found" ] || continue
    found=$(ask get "$kind" --all-namespaces -o 'jsonpath={range .items[*]}{.metadata.namespace}/{.metadata.name}{" "}{end}')
    [ -z "$found" ] || refuse "it has ${kind%%.*}, and the demo's scheduler would act on them:" "${found:0:300}"
  done
  found=$(held_leases)
  [ -z "$found" ] || refuse "koord-queue runs there; it holds:" "$found"
  found=$(ask get namespace "$namespace" --ignore-not-found -o name)
  [ -z "$found" ] || refuse "it has a namespace $namespace, perhaps of an earlier demo that was killed. To remove it:" \
    "kubectl delete namespace $namespace"
  happened "no queues, no units, no quotas, no koord-queue: the demo may be played there"
  if [ -t 1 ]; then
    tell "It begins in 5 seconds; Ctrl-C to leave all as it is."
    attend sleep 5
  fi
  place=foreign
}

held_leases() { # those of a koord-queue that were renewed in the last 10 minutes (clocks differ)
  local lease holder renewed
  ask get leases --all-namespaces -o \
    'jsonpath={range .items[*]}{.metadata.namespace}/{.metadata.name}{"\t"}{.spec.holderIdentity}{"\t"}{.spec.renewTime}{"\n"}{end}' |
    while IFS=$'\t' read -r lease holder renewed; do
      [[ $lease == default/example-lease || $lease == */koord-queue* ]] && [ -n "$holder" ] || continue
      [ $(($(date +%s) - $(date -d "${renewed:-@0}" +%s))) -gt 600 ] || echo "lease $lease, held by $holder"
    done
}

take_away() { # what this run made, known by its label
  local kind mine="koord-queue-demo=$(basename "$state")" rc=0
  kubectl delete "${definitions[0]}" --namespace=koord-queue team-a --ignore-not-found --wait=false >/dev/null 2>&1
  kubectl delete namespace --selector="$mine" --ignore-not-found --timeout=90s >/dev/null || rc=1
  for kind in $(kubectl get customresourcedefinition --selector="$mine" -o 'jsonpath={.items[*].metadata.name}'); do
    if [ -n "$(kubectl get "$kind" --all-namespaces -o name)" ]; then
      tell "The definition of $kind stays: somebody has made such objects meanwhile."
    else
      kubectl delete customresourcedefinition "$kind" >/dev/null || rc=1
    fi
  done
  rm -f "$state/kubeconfig"
  if [ "$rc" = 0 ]; then happened "what the demo made is gone from the cluster"; else tell "Not all of it could be removed; see above." >&2; fi
  return "$rc"
}

# ---- both
create_marked() { # FILE: creates what it holds, with the label by which take_away knows it
  kubectl label --local -f "$1" -o yaml "koord-queue-demo=$(basename "$state")" | kubectl create -f - >/dev/null
}

install_definitions() { # kinds and namespaces that are not there yet
  local kind name file
  heading "What koord-queue needs in a cluster: three kinds and a namespace"
  for kind in "${definitions[@]}"; do
    [ -z "$(kubectl get customresourcedefinition "$kind" --ignore-not-found -o name)" ] || continue
    for file in "$root"/deploy/crds/{,optional/}"${kind#*.}_${kind%%.*}.yaml"; do
      [ ! -e "$file" ] || create_marked "$file"
    done
  done
  kubectl wait --for=condition=Established --timeout=60s customresourcedefinition "${definitions[@]}" >/dev/null
  for name in koord-queue "$namespace"; do
    [ -z "$(kubectl get namespace "$name" --ignore-not-found -o name)" ] || continue
    printf '{apiVersion: v1, kind: Namespace, metadata: {name: %s}}\n' "$name" >"$state/namespace.yaml"
    create_marked "$state/namespace.yaml"
  done
  await 60 "a service account for pods in $namespace" serviceaccount/default kubectl get serviceaccount default -o name
  show kubectl get customresourcedefinition "${definitions[@]}" -o custom-columns=NAME:.metadata.name,KIND:.spec.names.kind,VERSIONS:.spec.versions[*].name
}

free_port() { # PREFERRED: it, or a random one
  local port=$1
  for _ in {1..50}; do
    if ! (exec 3<>"/dev/tcp/127.0.0.1/$port") 2>/dev/null; then
      echo "$port"
      return
    fi
    port=$((12000 + RANDOM % 8000))
  done
  differs "a free port" "none"
}

start_services() {
  local only=() grpc metrics health
  # On a cluster of others, Jobs of other namespaces are none of our business.
  [ "$place" = local ] || only=(--namespaces="$namespace")
  grpc=$(free_port 10260) metrics=$(free_port 10259) health=$(free_port 8081)
  server=()
  [ "$grpc" = 10260 ] || server=(--server="127.0.0.1:$grpc")
  heading "The processes of koord-queue"
  start koord-queue "$programs/koord-queue" --kubeconfig="$state/kubeconfig" --v=2 \
    --lease-namespace="$namespace" --lease-name=koord-queue \
    --grpc-bind-address="127.0.0.1:$grpc" --metrics-bind-address="127.0.0.1:$metrics"
  start koord-queue-controllers "$programs/koord-queue-controllers" --kubeconfig="$state/kubeconfig" --v=2 \
    --leader-elect --lease-namespace="$namespace" --metrics-bind-address=0 --health-probe-bind-address="127.0.0.1:$health" "${only[@]}"
  await 60 "koord-queue is ready" 200 curl -s -o /dev/null -m 5 -w '%{http_code}' "http://127.0.0.1:$metrics/readyz"
  happened "koord-queue decides who may run: pid ${services[koord-queue]}, http://127.0.0.1:$metrics/metrics, log $state/logs/koord-queue.log"
  await 60 "koord-queue-controllers are ready" 200 curl -s -o /dev/null -m 5 -w '%{http_code}' "http://127.0.0.1:$health/readyz"
  happened "koord-queue-controllers make QueueUnits of Jobs and release Jobs: pid ${services[koord-queue-controllers]}, log $state/logs/koord-queue-controllers.log"
  start_visibility "$grpc"
}

# The API server calls the visibility server as a part of its own API. Only that of the local cluster can reach it.
start_visibility() { # GRPC_PORT
  [ "$place" = local ] || return 0
  local port metrics
  port=$(free_port 8082) metrics=$(free_port 8083)
  # The chart's own Service and APIService, for a process of this machine instead of pods. helm lies beside kubectl.
  cp -rL "$root/deploy/chart/koord-queue" "$state/chart" # helm remarks upon each link, as a test's files are
  HELM_CACHE_HOME=$state/helm HELM_CONFIG_HOME=$state/helm HELM_DATA_HOME=$state/helm "$(dirname "$kubectl")/helm" \
    template koord-queue "$state/chart" --namespace koord-queue --show-only templates/visibility.yaml \
    --set "controller.enableVisibilityServer=true,visibility.service.externalName=localhost,visibility.service.port=$port" |
    awk 'BEGIN { RS = "---\n"; ORS = "" } /\nkind: (Service|APIService)\n/ { print RS $0 }' >"$state/visibility.yaml"
  kubectl create -f "$state/visibility.yaml" >/dev/null
  start koord-queue-visibility "$programs/koord-queue-visibility" --kubeconfig="$state/kubeconfig" --v=4 \
    --server="127.0.0.1:$1" --bind-address="127.0.0.1:$port" --metrics-bind-address="127.0.0.1:$metrics"
  await 60 "the API server has the visibility API" True kubectl get apiservice v1alpha1.visibility.koord-queue.x-k8s.io \
    -o 'jsonpath={.status.conditions[?(@.type=="Available")].status}'
  happened "koord-queue-visibility shows who waits, as a part of the API server: pid ${services[koord-queue-visibility]}, log $state/logs/koord-queue-visibility.log"
}
