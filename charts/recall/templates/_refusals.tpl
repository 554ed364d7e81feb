{{/* Settings that are allowed one by one and wrong together. Each refusal says what to change. */}}
{{- define "recall.refusals" -}}
{{- include "recall.refusals.store" . -}}
{{- include "recall.refusals.identity" . -}}
{{- include "recall.refusals.rest" . -}}
{{- end -}}

{{- define "recall.refusals.store" -}}
{{- $embedded := eq .Values.backend.kind "embedded" -}}
{{- if and $embedded (gt (int .Values.replicaCount) 1) -}}
{{- fail "replicaCount is above 1 and backend.kind is embedded: the embedded store belongs to one process. Set replicaCount: 1, or choose backend.kind: polign or qdrant." -}}
{{- end -}}
{{- if and $embedded .Values.autoscaling.enabled -}}
{{- fail "autoscaling.enabled needs a store that replicas share, and backend.kind is embedded. Turn autoscaling off, or choose backend.kind: polign or qdrant." -}}
{{- end -}}
{{- if and $embedded .Values.backend.url -}}
{{- fail "backend.url is set and backend.kind is embedded, which has no address. Leave backend.url empty, or choose backend.kind: polign or qdrant." -}}
{{- end -}}
{{- if and $embedded .Values.backend.existingSecret -}}
{{- fail "backend.existingSecret is set and backend.kind is embedded, which takes no credential. Leave it empty, or choose backend.kind: polign or qdrant." -}}
{{- end -}}
{{- if and (not $embedded) (not .Values.backend.url) -}}
{{- fail (printf "backend.kind is %s and backend.url is empty: name the address of the store, such as http://polign:23000 or http://qdrant:6334." .Values.backend.kind) -}}
{{- end -}}
{{- if and .Values.backend.qdrantLeases (ne .Values.backend.kind "qdrant") -}}
{{- fail (printf "backend.qdrantLeases is set and backend.kind is %s: turn it off, or choose backend.kind: qdrant." .Values.backend.kind) -}}
{{- end -}}
{{- if and (not .Values.persistence.enabled) .Values.persistence.existingClaim -}}
{{- fail "persistence.existingClaim is set and persistence.enabled is false: turn persistence on, or leave the claim out." -}}
{{- end -}}
{{- end -}}

{{- define "recall.refusals.identity" -}}
{{- with .Values.kubernetes -}}
{{- if and .enabled (not .audience) -}}
{{- fail "kubernetes.audience is empty: without one, tokens meant for other services would be accepted. Set it, such as recall." -}}
{{- end -}}
{{- $key := `^([a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*/)?[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?$` -}}
{{- if and .agentLabel (not (regexMatch $key .agentLabel)) -}}
{{- fail (printf "kubernetes.agentLabel is %q, which is no label key: use a name with an optional domain before it, such as sandbox.users.io/agent." .agentLabel) -}}
{{- end -}}
{{- $tenant := regexReplaceAll "^(namespace|serviceaccount):" .tenantLabel "" -}}
{{- if and .tenantLabel (not (regexMatch $key $tenant)) -}}
{{- fail (printf "kubernetes.tenantLabel is %q: use KEY or serviceaccount:KEY, or namespace:KEY, with a label key such as example.com/tenant." .tenantLabel) -}}
{{- end -}}
{{- $seconds := float64 0 -}}
{{- range regexFindAll `[0-9.]+(ns|us|ms|s|m|h)` .keyTTL -1 -}}
{{- $unit := regexFind `[a-z]+$` . -}}
{{- $length := get (dict "ns" 1e-9 "us" 1e-6 "ms" 1e-3 "s" 1.0 "m" 60.0 "h" 3600.0) $unit -}}
{{- $seconds = addf $seconds (mulf (float64 (trimSuffix $unit .)) $length) -}}
{{- end -}}
{{- if or (lt $seconds 10.0) (gt $seconds 86400.0) -}}
{{- fail (printf "kubernetes.keyTTL is %s: the server takes 10s to 24h." .keyTTL) -}}
{{- end -}}
{{- if and .agentLabelOptional (not .agentLabel) -}}
{{- fail "kubernetes.agentLabelOptional is true and kubernetes.agentLabel is empty: there is no label that could be missing. Name the label, or leave agentLabelOptional out." -}}
{{- end -}}
{{- if and .sandboxClaims .agentLabel -}}
{{- fail "kubernetes.sandboxClaims and kubernetes.agentLabel both name the agent: keep one of them." -}}
{{- end -}}
{{- if and .podSelector (not .watch) -}}
{{- fail "kubernetes.podSelector narrows the watch of pods, and kubernetes.watch is false: turn the watch on, or leave the selector out." -}}
{{- end -}}
{{- end -}}
{{- end -}}

{{- define "recall.refusals.rest" -}}
{{- $taken := keys (fromYaml (include "recall.labels" .)) -}}
{{- range $key, $value := .Values.podLabels -}}
{{- if has $key $taken -}}
{{- fail (printf "podLabels names %s, which the chart sets itself: with another value the Service and the Deployment would lose their pods. Leave it out." $key) -}}
{{- end -}}
{{- end -}}
{{- if and .Values.image.tag .Values.image.digest -}}
{{- fail "image.tag and image.digest are both set and could name two images: keep one of them." -}}
{{- end -}}
{{- if and .Values.tls.clientCAKey (not .Values.tls.existingSecret) -}}
{{- fail "tls.clientCAKey is set and tls.existingSecret is empty: without TLS no client shows a certificate. Name the Secret, or leave the key out." -}}
{{- end -}}
{{- with .Values.networkPolicy -}}
{{- if and .enabled $.Values.kubernetes.enabled (not .apiServer.cidrs) (not .apiServer.selectors) -}}
{{- fail "networkPolicy.apiServer names neither cidrs nor selectors: the server could not reach the Kubernetes API server, and every exchange would fail. Name one, or set networkPolicy.enabled: false." -}}
{{- end -}}
{{- end -}}
{{- with .Values.podDisruptionBudget -}}
{{- $min := toString .minAvailable -}}
{{- if and .enabled (ne $min "") (not (include "recall.several" $)) -}}
{{- fail "podDisruptionBudget.minAvailable is set and there is one replica: no node could be drained any more. Leave it empty, or run more replicas." -}}
{{- end -}}
{{- $fewest := ternary $.Values.autoscaling.minReplicas $.Values.replicaCount $.Values.autoscaling.enabled -}}
{{- $all := or (eq $min "100%") (and (regexMatch "^[0-9]+$" $min) (ge (int $min) (int $fewest))) -}}
{{- if and .enabled (ne $min "") $all -}}
{{- fail (printf "podDisruptionBudget.minAvailable is %s and there may be no more than %v replicas: no node could be drained any more. Lower it, or run more replicas." $min $fewest) -}}
{{- end -}}
{{- end -}}
{{- if and .Values.autoscaling.enabled (gt (int .Values.autoscaling.minReplicas) (int .Values.autoscaling.maxReplicas)) -}}
{{- fail "autoscaling.minReplicas is above autoscaling.maxReplicas: raise the one or lower the other." -}}
{{- end -}}
{{- if le (int .Values.terminationGracePeriodSeconds) (int (add 10 .Values.preStopSeconds)) -}}
{{- fail "terminationGracePeriodSeconds must be above preStopSeconds plus 10, the time the server takes to finish calls: raise it." -}}
{{- end -}}
{{- end -}}
