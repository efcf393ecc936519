#!/usr/bin/env bash
# The local Kubernetes does what the other tests build upon: a Job's pod is scheduled, runs as long as its
# annotation says and ends, and the Job is complete.
set -euo pipefail
namespace=cluster-test-$$
kubectl create namespace "$namespace"
trap 'kubectl delete namespace "$namespace" --wait=false' EXIT
until kubectl get serviceaccount default --namespace="$namespace" >/dev/null 2>&1; do sleep 0.1; done
kubectl create --namespace="$namespace" -f - <<'YAML'
apiVersion: batch/v1
kind: Job
metadata: {name: short}
spec:
  template:
    metadata: {annotations: {fake-kubelet/run-for: 1s}}
    spec:
      restartPolicy: Never
      containers: [{name: main, image: none, resources: {requests: {cpu: "1"}}}]
YAML
kubectl wait --namespace="$namespace" --for=condition=Complete --timeout=60s job/short
pods=$(kubectl get pods --namespace="$namespace" -o 'jsonpath={.items[*].status.phase}')
[ "$pods" = Succeeded ] || { echo "FAILED: phases of the pods are '$pods'"; exit 1; }
