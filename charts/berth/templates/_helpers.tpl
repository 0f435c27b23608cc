{{/* The chart works in one namespace only: policies and certificates name it. */}}
{{- define "berth.checkNamespace" -}}
{{- if ne .Release.Namespace "berth-system" }}
{{- fail (printf "the release is in the namespace %q; Berth's policies and certificates name berth-system: use --namespace berth-system --create-namespace" .Release.Namespace) }}
{{- end }}
{{- end }}

{{- define "berth.labels" -}}
app.kubernetes.io/name: berth
app.kubernetes.io/instance: {{ .Release.Name }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" }}
{{- end }}

{{/* The selector is that of the Services in config/. */}}
{{- define "berth.selector" -}}
app.kubernetes.io/name: berth
{{- end }}

{{- define "berth.image" -}}
{{- if .Values.image.digest -}}
{{ .Values.image.repository }}@{{ .Values.image.digest }}
{{- else -}}
{{ .Values.image.repository }}:{{ .Values.image.tag | default .Chart.AppVersion }}
{{- end }}
{{- end }}

{{/* The security context of pods and of containers, by the Pod Security Standard "restricted". */}}
{{- define "berth.podSecurity" -}}
runAsNonRoot: true
runAsUser: 65532
runAsGroup: 65532
seccompProfile:
  type: RuntimeDefault
{{- end }}
{{- define "berth.containerSecurity" -}}
allowPrivilegeEscalation: false
readOnlyRootFilesystem: true
capabilities:
  drop: [ALL]
{{- end }}

{{/* The controllers by the flag --controllers. */}}
{{- define "berth.controllers" -}}
*
{{- if .Values.registration.enabled }},acceptance,csr,addon{{ end }}
{{- if .Values.delivery.enabled }},replicaset{{ end }}
{{- if .Values.addons.enabled }},addoninstall{{ end }}
{{- if .Values.probe.enabled }},probe{{ end }}
{{- if .Values.scores.enabled }},score{{ end }}
{{- if .Values.profiles.enabled }},profile{{ end }}
{{- if .Values.inventory.enabled }},inventory{{ end }}
{{- if .Values.kueue.enabled }},kueue{{ end }}
{{- end }}

{{/* A pod of a hook, which runs one command of the image as its own account. Arguments: root, name, args. */}}
{{- define "berth.hookPod" -}}
metadata:
  labels:
    app.kubernetes.io/name: {{ .name }}
    app.kubernetes.io/instance: {{ .root.Release.Name }}
spec:
  serviceAccountName: {{ .name }}
  restartPolicy: Never
  {{- with .root.Values.imagePullSecrets }}
  imagePullSecrets: {{ toYaml . | nindent 4 }}
  {{- end }}
  securityContext: {{ include "berth.podSecurity" .root | nindent 4 }}
  {{- with .root.Values.nodeSelector }}
  nodeSelector: {{ toYaml . | nindent 4 }}
  {{- end }}
  {{- with .root.Values.tolerations }}
  tolerations: {{ toYaml . | nindent 4 }}
  {{- end }}
  containers:
    - name: {{ .name }}
      image: {{ include "berth.image" .root }}
      imagePullPolicy: {{ .root.Values.image.pullPolicy }}
      args: {{ toJson .args }}
      securityContext: {{ include "berth.containerSecurity" .root | nindent 8 }}
      resources:
        requests: {cpu: 50m, memory: 64Mi}
        limits: {memory: 256Mi}
{{- end }}
