{{/* The server's settings, in its own format. The keys are the names of its flags. */}}
{{- define "recall.config" -}}
listen = "0.0.0.0:8080"
admin-listen = "0.0.0.0:9090"
backend = {{ .Values.backend.kind | quote }}
{{- if eq .Values.backend.kind "embedded" }}
{{- /* A folder of its own: the volume itself belongs to a group, which may be more than the server. */}}
data-dir = "/var/lib/recall/data"
{{- else }}
backend-url = {{ .Values.backend.url | quote }}
{{- end }}
{{- if .Values.backend.qdrantLeases }}
qdrant-leases = true
{{- end }}
{{- if .Values.backend.existingSecret }}
backend-key-file = "/etc/recall/backend/key"
{{- end }}
{{- if .Values.bootstrapKey.existingSecret }}
bootstrap-key-file = "/etc/recall/bootstrap/key"
{{- end }}
{{- if .Values.keysFile.existingSecret }}
keys-file = "/etc/recall/keys/keys"
{{- end }}
{{- if .Values.tls.existingSecret }}
tls-cert-file = "/etc/recall/tls/tls.crt"
tls-key-file = "/etc/recall/tls/tls.key"
{{- with .Values.tls.clientCAKey }}
tls-client-ca-file = {{ printf "/etc/recall/tls/%s" . | quote }}
{{- end }}
{{- end }}
{{- with .Values.otlp.endpoint }}
otlp-endpoint = {{ . | quote }}
{{- end }}
{{- include "recall.kubernetesConfig" . }}
{{- range $name, $value := .Values.config }}
{{ $name }} = {{ include "recall.setting" $value }}
{{- end }}
{{- end -}}

{{/* A value as the server reads it. Helm takes every number of a file for one with a fraction and would
write a million as 1e+06. */}}
{{- define "recall.setting" -}}
{{- if kindIs "bool" . -}}
{{ . }}
{{- else if and (kindIs "float64" .) (eq . (floor .)) -}}
{{ printf "%.0f" . | quote }}
{{- else -}}
{{ toString . | quote }}
{{- end -}}
{{- end -}}

{{- define "recall.kubernetesConfig" -}}
{{- with .Values.kubernetes }}
{{- if .enabled }}
kubernetes = true
kubernetes-audience = {{ .audience | quote }}
kubernetes-key-ttl = {{ .keyTTL | quote }}
kubernetes-max-key-lifetime = {{ .maxKeyLifetime | quote }}
{{- with .agentLabel }}
kubernetes-agent-label = {{ . | quote }}
{{- end }}
{{- if .agentLabelOptional }}
kubernetes-agent-label-optional = true
{{- end }}
{{- with .tenantLabel }}
kubernetes-tenant-label = {{ . | quote }}
{{- end }}
{{- if .sandboxClaims }}
kubernetes-sandbox-claims = true
{{- end }}
{{- with .namespaces }}
kubernetes-namespaces = {{ join "," . | quote }}
{{- end }}
{{- with .serviceAccounts }}
kubernetes-service-account = {{ join "," . | quote }}
{{- end }}
kubernetes-watch = {{ .watch }}
{{- with .podSelector }}
kubernetes-pod-selector = {{ . | quote }}
{{- end }}
{{- with .cluster }}
kubernetes-cluster = {{ . | quote }}
{{- end }}
{{- end }}
{{- end }}
{{- end -}}
