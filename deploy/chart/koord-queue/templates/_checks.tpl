{{/* Mistakes that can be seen without the programs fail the render, all of them at once. What only they know (times of a
lease, names of plug-ins, extraArgs) they refuse at their start. */}}
{{- define "koord-queue.check" -}}
{{- $bad := list }}
{{- $gates := .Values.featureGates }}
{{- if and $gates.MaximumExecutionTime (not (and $gates.QueueUnitActive $gates.QueueUnitConditions)) }}
{{- $bad = append $bad "featureGates.MaximumExecutionTime needs featureGates.QueueUnitActive and featureGates.QueueUnitConditions" }}
{{- end }}
{{- if and $gates.QueueUnitRequeueState (not $gates.QueueUnitConditions) }}
{{- $bad = append $bad "featureGates.QueueUnitRequeueState needs featureGates.QueueUnitConditions" }}
{{- end }}
{{- range $name, $kind := dict "tf" "tfjob" "pytorch" "pytorchjob" "argo" "workflow" "spark" "sparkapp" "ray" "rayjob" "mpi" "mpijob" }}
{{- if dig $name "enable" false $.Values.extension }}
{{- $bad = append $bad (printf "extension.%s.enable: %s is not supported by this version; there is: job" $name $kind) }}
{{- end }}
{{- end }}
{{- if not .Values.extension.batchjob.enable }}
{{- $bad = append $bad "extension.batchjob.enable=false: there is no other kind of job in this version, and koord-queue-controllers would have nothing to do" }}
{{- end }}
{{- if and (gt (int .Values.controller.replicas) 1) (not .Values.controller.leaderElection.enabled) }}
{{- $bad = append $bad "controller.replicas is more than 1 and controller.leaderElection.enabled is false: several would admit jobs at once" }}
{{- end }}
{{- if and (gt (int .Values.extension.replicas) 1) (not .Values.extension.leaderElection.enabled) }}
{{- $bad = append $bad "extension.replicas is more than 1 and extension.leaderElection.enabled is false: several would write the same objects" }}
{{- end }}
{{- if ne (empty .Values.visibility.tls.secretName) (empty .Values.visibility.tls.caBundle) }}
{{- $bad = append $bad "visibility.tls: secretName and caBundle go together" }}
{{- end }}
{{- if and (kindIs "map" .Values.pluginConfigs) (ne (toString .Values.pluginConfigs.kind) "KoordQueueConfiguration") }}
{{- $bad = append $bad "pluginConfigs: expected a KoordQueueConfiguration of scheduling.k8s.io/v1" }}
{{- end }}
{{- if $bad }}{{ fail (printf "\n\n  - %s\n" (join "\n  - " $bad)) }}{{ end }}
{{- end }}

{{/* Values that were set and have nothing to act on, one a line. */}}
{{- define "koord-queue.withoutEffect" -}}
{{- if ne (toJson .Values.installation.roleListGroups) "[\"*\"]" }}
installation.roleListGroups: every account may do what its process does, and nothing else
{{- end }}
{{- if .Values.isNeedNotebookExtension }}
isNeedNotebookExtension: there is no such extension
{{- end }}
{{- range $name := list "jobRunningTimeout" "jobBackoffTime" }}
{{- if not (has (toString (get $.Values $name)) (list "" "0" "0s")) }}
{{ $name }}: timeouts of jobs are not supported by this version
{{- end }}
{{- end }}
{{- if .Values.admissionCheckController.enabled }}
admissionCheckController.enabled: admission checks are not supported by this version
{{- end }}
{{- if ne (lower .Values.controller.queueGroupPlugin) "elasticquotav2" }}
controller.queueGroupPlugin: plugins are named in pluginConfigs
{{- end }}
{{- if .Values.controller.enableBlockingMode }}
controller.enableBlockingMode: label the ElasticQuota koord-queue/queue-policy=Block instead
{{- end }}
{{- if .Values.controller.enableStrictPriority }}
controller.enableStrictPriority: the order in a queue is strict by priority anyway
{{- end }}
{{- if .Values.controller.enableResourceCheckWithScheduler }}
controller.enableResourceCheckWithScheduler: that mode is not supported by this version
{{- end }}
{{- if not .Values.controller.defaultPreemptible }}
controller.defaultPreemptible: nothing is preempted by this version
{{- end }}
{{- if index .Values.extension "koord-queue-controllers" "enablePodReclaim" }}
extension.koord-queue-controllers.enablePodReclaim: pods are not reclaimed by this version
{{- end }}
{{- range $gate := list "QueueUnitActive" "QueueUnitRequeueState" "MaximumExecutionTime" }}
{{- if get $.Values.featureGates $gate }}
featureGates.{{ $gate }}: has no effect in this version
{{- end }}
{{- end }}
{{- end }}
