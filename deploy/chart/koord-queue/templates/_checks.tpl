{{/* Mistakes that can be seen without the programs, one a line, each beginning with the path of its value. All of them at
once fail the render. e2e/chart holds them against the programs: what is let pass here, these take. What an API server refuses
by itself with the field's path, and extraArgs, are not looked at. */}}
{{- define "koord-queue.mistakes" -}}
{{- $c := .Values.controller }}
{{- $e := .Values.extension }}
{{- $gates := .Values.featureGates }}
{{- if and $gates.MaximumExecutionTime (not (and $gates.QueueUnitActive $gates.QueueUnitConditions)) }}
featureGates.MaximumExecutionTime needs featureGates.QueueUnitActive and featureGates.QueueUnitConditions
{{- end }}
{{- if and $gates.QueueUnitRequeueState (not $gates.QueueUnitConditions) }}
featureGates.QueueUnitRequeueState needs featureGates.QueueUnitConditions
{{- end }}
{{- if or (le (float64 .Values.oversellrate) 0.0) (gt (float64 .Values.oversellrate) 1000.0) }}
oversellrate: {{ .Values.oversellrate }} is not more than 0 and at most 1000
{{- end }}
{{- range $name, $kind := dict "tf" "tfjob" "pytorch" "pytorchjob" "argo" "workflow" "spark" "sparkapp" "ray" "rayjob" "mpi" "mpijob" }}
{{- if dig $name "enable" false $e }}
extension.{{ $name }}.enable: {{ $kind }} is not supported by this version; there is: job
{{- end }}
{{- end }}
{{- if not $e.batchjob.enable }}
extension.batchjob.enable=false: there is no other kind of job in this version, and koord-queue-controllers would have nothing to do
{{- end }}
{{- if and (gt (int $c.replicas) 1) (not $c.leaderElection.enabled) }}
controller.replicas is more than 1 and controller.leaderElection.enabled is false: several would admit jobs at once
{{- end }}
{{- if and (gt (int $e.replicas) 1) (not $e.leaderElection.enabled) }}
extension.replicas is more than 1 and extension.leaderElection.enabled is false: several would write the same objects
{{- end }}
{{- include "koord-queue.leaseMistakes" (dict "path" "controller.leaderElection" "lease" $c.leaderElection) }}
{{- include "koord-queue.leaseMistakes" (dict "path" "extension.leaderElection" "lease" $e.leaderElection) }}
{{- include "koord-queue.pluginMistakes" . }}
{{- range $path, $resources := dict "controller" $c.resources "extension" $e.resources "visibility" .Values.visibility.resources "debugApi" .Values.debugApi.resources }}
{{- include "koord-queue.resourceMistakes" (dict "path" $path "resources" $resources) }}
{{- end }}
{{- $tls := .Values.visibility.tls }}
{{- if ne (empty $tls.secretName) (empty $tls.caBundle) }}
visibility.tls: secretName and caBundle go together
{{- else if and $tls.caBundle (not (contains "BEGIN CERTIFICATE" (b64dec $tls.caBundle))) }}
visibility.tls.caBundle: expected certificates in PEM form, all of it in base64
{{- end }}
{{- if .Chart.IsRoot }}{{/* In a chart of charts, global is everybody's. */}}
{{- range $name, $_ := omit .Values.global "imagePrefix" "imagePullPolicy" "imagePullSecrets" }}
global.{{ $name }}: there is no such value; there are: imagePrefix, imagePullPolicy, imagePullSecrets
{{- end }}
{{- end }}
{{- include "koord-queue.namespaceMistakes" . }}
{{- end }}

{{/* As the processes check the times of a lease: dict path, lease */}}
{{- define "koord-queue.leaseMistakes" -}}
{{- if .lease.enabled }}
{{- $duration := include "koord-queue.nanoseconds" .lease.leaseDuration | float64 }}
{{- $deadline := include "koord-queue.nanoseconds" .lease.renewDeadline | float64 }}
{{- $period := include "koord-queue.nanoseconds" .lease.retryPeriod | float64 }}
{{- if lt $duration 1e9 }}
{{ .path }}.leaseDuration: {{ .lease.leaseDuration }} is not at least 1s
{{- end }}
{{- if le $duration $deadline }}
{{ .path }}.leaseDuration: {{ .lease.leaseDuration }} must be longer than renewDeadline ({{ .lease.renewDeadline }})
{{- end }}
{{- if le $period 0.0 }}
{{ .path }}.retryPeriod: {{ .lease.retryPeriod }} is not more than 0
{{- end }}
{{- if le (mulf 5 $deadline) (mulf 6 $period) }}
{{ .path }}.renewDeadline: {{ .lease.renewDeadline }} must be longer than 1.2 times retryPeriod ({{ .lease.retryPeriod }})
{{- end }}
{{- end }}
{{- end }}

{{/* Of a duration; 0 if it is none, or longer than 292 years. */}}
{{- define "koord-queue.nanoseconds" -}}
{{ (dateModify . (toDate "2006-01-02Z07:00" "1970-01-01Z")).UnixNano }}
{{- end }}

{{/* As koord-queue reads its plugin.yaml. */}}
{{- define "koord-queue.pluginMistakes" -}}
{{- $known := list "Priority" "ElasticQuotaV2" }}
{{- $configurable := concat $known (list "ElasticQuota" "ResourceQuota" "defaultgroup") }}
{{- $config := .Values.pluginConfigs | default dict }}
{{- if kindIs "string" $config }}{{ $config = fromYaml $config }}{{ end }}
{{- if hasKey $config "Error" }}
pluginConfigs: expected a mapping, or its text: {{ $config.Error | toString | replace "\n" " " }}
{{- else if $config }}
{{- if ne (toString $config.apiVersion) "scheduling.k8s.io/v1" }}
pluginConfigs.apiVersion: expected scheduling.k8s.io/v1
{{- end }}
{{- if ne (toString $config.kind) "KoordQueueConfiguration" }}
pluginConfigs.kind: expected KoordQueueConfiguration
{{- end }}
{{- range $name, $_ := omit $config "apiVersion" "kind" "plugins" "pluginConfigs" "defaultReclaimProtectTime" }}
pluginConfigs.{{ $name }}: unknown field
{{- end }}
{{- if kindIs "slice" $config.plugins }}
{{- $names := list }}
{{- range $i, $plugin := $config.plugins }}
{{- $name := kindIs "map" $plugin | ternary $plugin dict | dig "name" "" | toString }}
{{- $names = append $names $name }}
{{- if not (has $name $known) }}
pluginConfigs.plugins[{{ $i }}].name: unknown plugin {{ quote $name }} (known plugins: {{ join ", " $known }})
{{- end }}
{{- end }}
{{- if not (has "Priority" $names) }}
pluginConfigs.plugins: no plugin gives an order: add "Priority"
{{- end }}
{{- else if not (kindIs "invalid" $config.plugins) }}
pluginConfigs.plugins: expected a list
{{- end }}
{{- if kindIs "map" $config.pluginConfigs }}
{{- range $name, $_ := $config.pluginConfigs }}
{{- if not (has $name $configurable) }}
pluginConfigs.pluginConfigs.{{ $name }}: no such plugin
{{- end }}
{{- end }}
{{- else if not (kindIs "invalid" $config.pluginConfigs) }}
pluginConfigs.pluginConfigs: expected a mapping
{{- end }}
{{- $time := $config.defaultReclaimProtectTime }}
{{- $form := kindIs "string" $time | ternary "^(0|([0-9]+(\\.[0-9]+)?(ns|us|ms|s|m|h))+)$" "^[0-9]+$" }}{{/* else nanoseconds */}}
{{- if not (or (kindIs "invalid" $time) (regexMatch $form (toJson $time | trimAll "\""))) }}
pluginConfigs.defaultReclaimProtectTime: expected a duration, such as 300ms, 15s or 1m30s
{{- end }}
{{- end }}
{{- end }}

{{/* What is asked for is not more than the limit, where both are easy to read: dict path, resources */}}
{{- define "koord-queue.resourceMistakes" -}}
{{- $limits := dig "limits" dict (.resources | default dict) }}
{{- range $name, $request := dig "requests" dict (.resources | default dict) }}
{{- with get $limits $name }}
{{- $asked := include "koord-queue.amount" $request }}
{{- $limit := include "koord-queue.amount" . }}
{{- if and $asked $limit (gt (float64 $asked) (float64 $limit)) }}
{{ $.path }}.resources.requests.{{ $name }}: {{ $request }} is more than limits.{{ $name }} ({{ . }})
{{- end }}
{{- end }}
{{- end }}
{{- end }}

{{/* A quantity as a number; empty for forms that are rare (1e3, 5n). */}}
{{- define "koord-queue.amount" -}}
{{- $units := dict "" 1 "m" 0.001 "k" 1e3 "M" 1e6 "G" 1e9 "T" 1e12 "Ki" 1024 "Mi" 1048576 "Gi" 1073741824 "Ti" 1099511627776 }}
{{- $number := regexFind "^[0-9]+([.][0-9]+)?" (toString .) }}
{{- with get $units (trimPrefix $number (toString .)) }}{{ mulf $number . }}{{ end }}
{{- end }}

{{/* Namespaces in which there are objects of ours, and which are not there. helm makes that of the release, if it is told to. */}}
{{- define "koord-queue.namespaceMistakes" -}}
{{- if lookup "v1" "Namespace" "" "default" }}{{/* else no cluster is asked */}}
{{- $wanted := dict (include "koord-queue.queueNamespace" .) "Queues live in this namespace" (include "koord-queue.namespace" .) "installation.namespace" }}
{{- with .Values.controller.leaderElection }}
{{- if .enabled }}{{ $wanted = merge $wanted (dict .leaseNamespace "controller.leaderElection.leaseNamespace") }}{{ end }}
{{- end }}
{{- range $i, $name := .Values.extension.namespaces }}{{ $wanted = merge $wanted (dict $name (printf "extension.namespaces[%d]" $i)) }}{{ end }}
{{- range $name, $path := omit $wanted .Release.Namespace }}
{{- if not (lookup "v1" "Namespace" "" $name) }}
{{ $path }}: there is no namespace {{ $name }}; make it first (kubectl create namespace {{ $name }})
{{- end }}
{{- end }}
{{- end }}
{{- end }}
