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

{{/* Images that name no registry, one a line. */}}
{{- define "koord-queue.imagesWithoutRegistry" -}}
{{- $e := mergeOverwrite (deepCopy (index .Values.extension "koord-queue-controllers")) .Values.extension.jobextensions }}
{{- $images := list .Values.controller.image $e }}
{{- if .Values.controller.enableVisibilityServer }}{{ $images = append $images .Values.visibility.image }}{{ end }}
{{- if or .Values.debugApi.enabled .Values.controller.enableApiHandler }}{{ $images = append $images .Values.debugApi.image }}{{ end }}
{{- range $images }}
{{- $image := include "koord-queue.image" (dict "root" $ "repository" .repository "tag" .tag) }}
{{- if not (regexMatch "^(localhost|[^/]*[.:][^/]*)/" $image) }}
docker.io/{{ $image }}
{{- end }}
{{- end }}
{{- end }}
