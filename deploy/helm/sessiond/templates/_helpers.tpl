{{- define "sessiond.name" -}}
{{- default .Chart.Name .Values.nameOverride | trunc 63 | trimSuffix "-" }}
{{- end }}

{{/* 52 bytes: room for suffixes, and for what a StatefulSet appends within the 63 of a label. */}}
{{- define "sessiond.fullname" -}}
{{- if .Values.fullnameOverride }}
{{- .Values.fullnameOverride | trunc 52 | trimSuffix "-" }}
{{- else }}
{{- $name := include "sessiond.name" . }}
{{- if contains $name .Release.Name }}
{{- .Release.Name | trunc 52 | trimSuffix "-" }}
{{- else }}
{{- printf "%s-%s" .Release.Name $name | trunc 52 | trimSuffix "-" }}
{{- end }}
{{- end }}
{{- end }}

{{- define "sessiond.selector" -}}
app.kubernetes.io/name: {{ include "sessiond.name" . }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{- define "sessiond.labels" -}}
{{ include "sessiond.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" }}
{{- end }}

{{/* With the component, so that the pod of the migration is behind no Service and in no budget. */}}
{{- define "sessiond.serverSelector" -}}
{{ include "sessiond.selector" . }}
app.kubernetes.io/component: server
{{- end }}

{{- define "sessiond.isPostgres" -}}
{{- if eq .Values.mode "postgresql" }}true{{ end }}
{{- end }}

{{- define "sessiond.hasMigrationJob" -}}
{{- if and (include "sessiond.isPostgres" .) (eq .Values.postgresql.migration.mode "job") }}true{{ end }}
{{- end }}

{{- define "sessiond.image" -}}
{{- with .Values.image }}
{{- if .digest }}
{{- printf "%s@%s" .repository .digest }}
{{- else }}
{{- printf "%s:%s" .repository (default $.Chart.AppVersion .tag) }}
{{- end }}
{{- end }}
{{- end }}

{{- define "sessiond.secretName" -}}
{{- default (include "sessiond.fullname" .) .Values.secret.existingSecret }}
{{- end }}

{{- define "sessiond.migrationSecretName" -}}
{{- default (printf "%s-migrate" (include "sessiond.fullname" .)) .Values.secret.existingSecret }}
{{- end }}

{{- define "sessiond.serviceAccountName" -}}
{{- if .Values.serviceAccount.create }}
{{- default (include "sessiond.fullname" .) .Values.serviceAccount.name }}
{{- else }}
{{- default "default" .Values.serviceAccount.name }}
{{- end }}
{{- end }}

{{- define "sessiond.claimName" -}}
{{- default (include "sessiond.fullname" .) .Values.sqlite.existingClaim }}
{{- end }}

{{/* A CronJob's name has 52 bytes at most. */}}
{{- define "sessiond.backupName" -}}
{{- printf "%s-backup" (include "sessiond.fullname" . | trunc 45 | trimSuffix "-") }}
{{- end }}

{{- define "sessiond.backupClaimName" -}}
{{- default (include "sessiond.backupName" .) .Values.sqlite.backup.existingClaim }}
{{- end }}

{{- define "sessiond.hasBackup" -}}
{{- if and (not (include "sessiond.isPostgres" .)) .Values.sqlite.backup.enabled }}true{{ end }}
{{- end }}

{{/* Every name under which a client in the cluster, or one at the Ingress, can ask. */}}
{{- define "sessiond.allowedHosts" -}}
{{- $hosts := list }}
{{- $names := list (include "sessiond.fullname" .) }}
{{- if .Values.metrics.enabled }}
{{- $names = append $names (printf "%s-metrics" (include "sessiond.fullname" .)) }}
{{- end }}
{{- range $names }}
{{- $namespaced := printf "%s.%s" . $.Release.Namespace }}
{{- $hosts = concat $hosts (list . $namespaced (printf "%s.svc" $namespaced) (printf "%s.svc.%s" $namespaced $.Values.clusterDomain)) }}
{{- end }}
{{- if .Values.ingress.enabled }}
{{- range .Values.ingress.hosts }}
{{- if not (hasPrefix "*" .) }}
{{- $hosts = append $hosts . }}
{{- else if and $.Values.auth.insecureNoAuth (not (has "*" $.Values.allowedHosts)) }}
{{- fail (printf "ingress.hosts: where nobody is asked for a credential, sessiond serves no `%s`: list each name" .) }}
{{- end }}
{{- end }}
{{- end }}
{{- concat $hosts .Values.allowedHosts | uniq | join "," }}
{{- end }}

{{/* Helm reads numbers as floats, and would print 268435456 as 2.68435456e+08. Null takes back what another file of values set. */}}
{{- define "sessiond.settings" -}}
{{- range $name, $value := .Values.settings }}
{{- if not (kindIs "invalid" $value) }}
- name: {{ $name }}
  value: {{ if kindIs "float64" $value }}{{ $value | int64 | toString | quote }}{{ else }}{{ $value | toString | quote }}{{ end }}
{{- end }}
{{- end }}
{{- with .Values.extraEnv }}
{{ toYaml . }}
{{- end }}
{{- end }}

{{- define "sessiond.containerSecurityContext" -}}
allowPrivilegeEscalation: false
readOnlyRootFilesystem: true
capabilities:
  drop: [ALL]
{{- end }}

{{/* What all pods have in common. */}}
{{- define "sessiond.podCommon" -}}
automountServiceAccountToken: false
# A Service named `sessiond` would otherwise set variables that begin like sessiond's own.
enableServiceLinks: false
securityContext:
  {{- toYaml .Values.podSecurityContext | nindent 2 }}
{{- with .Values.imagePullSecrets }}
imagePullSecrets:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .Values.priorityClassName }}
priorityClassName: {{ . }}
{{- end }}
{{- with .Values.nodeSelector }}
nodeSelector:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .Values.tolerations }}
tolerations:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end }}

{{/* The image declares /data as a volume, and a container runtime would make a writable one. Read-only: were the URL ever
     empty, sessiond would fail instead of keeping sessions in a file that goes with the pod. */}}
{{- define "sessiond.noDataMount" -}}
- name: data
  mountPath: /data
  readOnly: true
{{- end }}

{{- define "sessiond.noDataVolume" -}}
- name: data
  emptyDir: {}
{{- end }}
