{{/* The chart's name. */}}
{{- define "recall.name" -}}
{{- default .Chart.Name .Values.nameOverride | trunc 63 | trimSuffix "-" -}}
{{- end -}}

{{/* The base name of objects: the release's, with the chart's where the release does not say it. */}}
{{- define "recall.fullname" -}}
{{- if .Values.fullnameOverride -}}
{{- .Values.fullnameOverride | trunc 63 | trimSuffix "-" -}}
{{- else if contains (include "recall.name" .) .Release.Name -}}
{{- .Release.Name | trunc 63 | trimSuffix "-" -}}
{{- else -}}
{{- printf "%s-%s" .Release.Name (include "recall.name" .) | trunc 63 | trimSuffix "-" -}}
{{- end -}}
{{- end -}}

{{/* The name of a part: the base name is cut so that base and part fit into 63 characters.
     Takes a list of the context and the part. */}}
{{- define "recall.componentName" -}}
{{- $root := index . 0 -}}
{{- $part := index . 1 -}}
{{- $room := int (sub 62 (len $part)) -}}
{{- printf "%s-%s" (include "recall.fullname" $root | trunc $room | trimSuffix "-") $part -}}
{{- end -}}

{{/* The name of an object that belongs to no namespace: two releases may share the base name. */}}
{{- define "recall.clusterName" -}}
{{- printf "%s-%s" .Release.Namespace (include "recall.fullname" .) -}}
{{- end -}}

{{/* Labels by which the pods are selected. They never change: a Deployment's selector cannot. */}}
{{- define "recall.selectorLabels" -}}
app.kubernetes.io/name: {{ include "recall.name" . }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end -}}

{{/* Labels of every object. */}}
{{- define "recall.labels" -}}
{{ include "recall.commonLabels" . }}
app.kubernetes.io/name: {{ include "recall.name" . }}
{{- end -}}

{{/* Labels of what is no server pod, and of nothing that selects. */}}
{{- define "recall.commonLabels" -}}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" | trunc 63 | trimSuffix "-" }}
app.kubernetes.io/instance: {{ .Release.Name }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
app.kubernetes.io/part-of: recall
{{- with .Values.commonLabels }}
{{ toYaml . }}
{{- end }}
{{- end -}}

{{- define "recall.image" -}}
{{- if .Values.image.digest -}}
{{- printf "%s@%s" .Values.image.repository .Values.image.digest -}}
{{- else -}}
{{- printf "%s:%s" .Values.image.repository (default .Chart.AppVersion .Values.image.tag) -}}
{{- end -}}
{{- end -}}

{{- define "recall.serviceAccountName" -}}
{{- if .Values.serviceAccount.create -}}
{{- default (include "recall.fullname" .) .Values.serviceAccount.name -}}
{{- else -}}
{{- default "default" .Values.serviceAccount.name -}}
{{- end -}}
{{- end -}}

{{/* Where clients reach the API. */}}
{{- define "recall.url" -}}
{{- printf "%s://%s.%s.svc:%d" (ternary "https" "http" (ne .Values.tls.existingSecret "")) (include "recall.fullname" .) .Release.Namespace (int .Values.service.port) -}}
{{- end -}}

{{- define "recall.claimName" -}}
{{- default (include "recall.componentName" (list . "data")) .Values.persistence.existingClaim -}}
{{- end -}}

{{/* "true" if there can be more than one replica. */}}
{{- define "recall.several" -}}
{{- if or .Values.autoscaling.enabled (gt (int .Values.replicaCount) 1) -}}true{{- end -}}
{{- end -}}

{{/* The port of a URL, or the second item of the list. */}}
{{- define "recall.portOf" -}}
{{- $host := get (urlParse (index . 0)) "host" -}}
{{- if regexMatch ":[0-9]+$" $host -}}
{{- regexFind "[0-9]+$" $host -}}
{{- else -}}
{{- index . 1 -}}
{{- end -}}
{{- end -}}

{{/* What the server may read, wherever it serves. */}}
{{- define "recall.readRules" -}}
- apiGroups: [""]
  resources: [pods]
  verbs: [get{{ if .Values.kubernetes.watch }}, list, watch{{ end }}]
{{- if or .Values.kubernetes.agentLabel .Values.kubernetes.sandboxClaims }}
- apiGroups: [agents.x-k8s.io]
  resources: [sandboxes]
  verbs: [get]
- apiGroups: [extensions.agents.x-k8s.io]
  resources: [sandboxclaims]
  verbs: [get]
{{- end }}
{{- if and .Values.kubernetes.tenantLabel (not (hasPrefix "namespace:" .Values.kubernetes.tenantLabel)) }}
- apiGroups: [""]
  resources: [serviceaccounts]
  verbs: [get]
{{- end }}
{{- end -}}
