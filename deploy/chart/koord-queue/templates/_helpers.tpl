{{/* Where all objects are. */}}
{{- define "koord-queue.namespace" -}}
{{ .Values.installation.namespace }}
{{- end }}

{{/* Where Queues are: the processes know no other. */}}
{{- define "koord-queue.queueNamespace" -}}
koord-queue
{{- end }}

{{/* Labels of every object. */}}
{{- define "koord-queue.labels" -}}
app.kubernetes.io/part-of: koord-queue
app.kubernetes.io/name: koord-queue
app.kubernetes.io/instance: {{ .Release.Name }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version }}
{{- end }}

{{/* metadata of an object: dict root, name, and namespace unless it is in ours (empty: it is in none). */}}
{{- define "koord-queue.metadata" -}}
name: {{ .name }}
{{- with dig "namespace" (include "koord-queue.namespace" .root) . }}
namespace: {{ . }}
{{- end }}
labels:
  {{- include "koord-queue.labels" .root | nindent 2 }}
{{- end }}

{{/* dict root, repository, tag */}}
{{- define "koord-queue.image" -}}
{{- with .root.Values.global.imagePrefix }}{{ trimSuffix "/" . }}/{{ end }}{{ .repository }}:{{ .tag | default .root.Chart.AppVersion }}
{{- end }}

{{/* What the pods of all Deployments have in common. */}}
{{- define "koord-queue.podSpec" -}}
terminationGracePeriodSeconds: 10
securityContext:
  runAsNonRoot: true
  runAsUser: 65532
  runAsGroup: 65532
  fsGroup: 65532
  seccompProfile: {type: RuntimeDefault}
{{- with .Values.global.imagePullSecrets }}
imagePullSecrets: {{ toYaml . | nindent 2 }}
{{- end }}
{{- with .Values.tolerations }}
tolerations: {{ toYaml . | nindent 2 }}
{{- end }}
{{- with .Values.nodeSelector }}
nodeSelector: {{ toYaml . | nindent 2 }}
{{- end }}
{{- with .Values.affinity }}
affinity: {{ toYaml . | nindent 2 }}
{{- end }}
{{- end }}

{{/* What all containers have in common. */}}
{{- define "koord-queue.containerSecurity" -}}
securityContext:
  allowPrivilegeEscalation: false
  readOnlyRootFilesystem: true
  capabilities: {drop: [ALL]}
{{- end }}

{{- define "koord-queue.podEnv" -}}
env:
  - {name: POD_NAME, valueFrom: {fieldRef: {fieldPath: metadata.name}}}
  - {name: POD_NAMESPACE, valueFrom: {fieldRef: {fieldPath: metadata.namespace}}}
{{- end }}

{{/* The flags of an election. */}}
{{- define "koord-queue.leaseTimes" -}}
- --lease-duration={{ .leaseDuration }}
- --renew-deadline={{ .renewDeadline }}
- --retry-period={{ .retryPeriod }}
{{- end }}

{{- define "koord-queue.featureGates" -}}
{{- $gates := list }}
{{- range $name, $on := .Values.featureGates }}{{ $gates = append $gates (printf "%s=%t" $name $on) }}{{ end }}
{{- join "," $gates }}
{{- end }}

{{/* ---- gRPC */}}
{{- define "koord-queue.grpcSecret" -}}
{{ .Values.grpc.existingSecret | default "koord-queue-grpc" }}
{{- end }}

{{- define "koord-queue.grpcClientFlags" -}}
- --server=koord-queue.{{ include "koord-queue.namespace" . }}.svc:10260
- --ca-file=/etc/koord-queue/grpc/ca.crt
- --cert-file=/etc/koord-queue/grpc/client.crt
- --key-file=/etc/koord-queue/grpc/client.key
{{- end }}

{{- define "koord-queue.grpcClientVolume" -}}
- name: grpc-client
  secret:
    secretName: {{ include "koord-queue.grpcSecret" . }}
    defaultMode: 0440
    items: [{key: ca.crt, path: ca.crt}, {key: client.crt, path: client.crt}, {key: client.key, path: client.key}]
{{- end }}

{{- define "koord-queue.grpcClientMount" -}}
- {name: grpc-client, mountPath: /etc/koord-queue/grpc, readOnly: true}
{{- end }}

{{/* The container of the debug API. */}}
{{- define "koord-queue.debugApiContainer" -}}
name: debug-api
image: {{ include "koord-queue.image" (dict "root" . "repository" .Values.debugApi.image.repository "tag" .Values.debugApi.image.tag) }}
imagePullPolicy: {{ .Values.global.imagePullPolicy }}
args:
  {{- include "koord-queue.grpcClientFlags" . | nindent 2 }}
  - --bind-address=127.0.0.1:19876
  - --health-bind-address=:19877
  - --v={{ .Values.debugApi.logLevel }}
  - --logging-format={{ .Values.debugApi.loggingFormat }}
  {{- with .Values.debugApi.extraArgs }}{{ toYaml . | nindent 2 }}{{ end }}
{{ include "koord-queue.podEnv" . }}
ports: [{name: debug-metrics, containerPort: 19877}]
livenessProbe: {httpGet: {path: /livez, port: debug-metrics}, initialDelaySeconds: 15, periodSeconds: 20}
{{ include "koord-queue.containerSecurity" . }}
resources: {{ toYaml .Values.debugApi.resources | nindent 2 }}
volumeMounts:
  {{- include "koord-queue.grpcClientMount" . | nindent 2 }}
{{- end }}

{{/* "true" if an object that was looked up is not there, or is of this release: dict root, found */}}
{{- define "koord-queue.isOurs" -}}
{{- $annotations := dig "metadata" "annotations" dict (.found | default dict) }}
{{- if not .found }}true
{{- else if and (eq (get $annotations "meta.helm.sh/release-name" | toString) .root.Release.Name) (eq (get $annotations "meta.helm.sh/release-namespace" | toString) .root.Release.Namespace) }}true
{{- end }}
{{- end }}

{{/*
"true" if a Lease is the release's: it made it, or it was there first and somebody deleted it since, and the process made it
again. The Role beside it remembers, in an annotation: dict root, name, namespace, role
*/}}
{{- define "koord-queue.leaseIsOurs" -}}
{{- $role := lookup "rbac.authorization.k8s.io/v1" "Role" .namespace .role | default dict }}
{{- $remembered := get (dig "metadata" "annotations" dict $role) "koord-queue/lease" | toString }}
{{- if eq $remembered .name }}true
{{- else }}{{ include "koord-queue.isOurs" (dict "root" .root "found" (lookup "coordination.k8s.io/v1" "Lease" .namespace .name)) }}
{{- end }}
{{- end }}
