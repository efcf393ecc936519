{{/* A Role and its binding: dict root, account, role (dict name, namespace, rules, perhaps lease: one that the release makes) */}}
{{- define "koord-queue.role" -}}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata:
  {{- include "koord-queue.metadata" (dict "root" .root "name" .role.name "namespace" .role.namespace) | nindent 2 }}
  {{- with .role.lease }}
  annotations: {koord-queue/lease: {{ . }}}
  {{- end }}
rules:
  {{- range .role.rules }}
  - {{ toJson . }}
  {{- end }}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata:
  {{- include "koord-queue.metadata" (dict "root" .root "name" .role.name "namespace" .role.namespace) | nindent 2 }}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: {{ .role.name }}}
subjects: [{kind: ServiceAccount, name: {{ .account }}, namespace: {{ include "koord-queue.namespace" .root }}}]
{{- end }}
