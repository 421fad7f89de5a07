{{/* The pod of a server, the same for the Deployment and the StatefulSet but for the database. */}}
{{- define "sessiond.server" -}}
{{- $postgres := include "sessiond.isPostgres" . -}}
metadata:
  labels:
    {{- with .Values.podLabels }}
    {{- toYaml . | nindent 4 }}
    {{- end }}
    {{- include "sessiond.labels" . | nindent 4 }}
    app.kubernetes.io/component: server
  annotations:
    kubectl.kubernetes.io/default-container: sessiond
    {{- if and $postgres (not .Values.secret.existingSecret) }}
    # Another URL makes other pods.
    checksum/secret: {{ include (print .Template.BasePath "/secret.yaml") . | sha256sum }}
    {{- end }}
    {{- with .Values.podAnnotations }}
    {{- toYaml . | nindent 4 }}
    {{- end }}
spec:
  {{- include "sessiond.podCommon" . | nindent 2 }}
  serviceAccountName: {{ include "sessiond.serviceAccountName" . }}
  # The delay, the drain, and the database, which is closed after that.
  terminationGracePeriodSeconds: {{ add .Values.shutdownDelaySeconds .Values.drainTimeoutSeconds 10 }}
  {{- with .Values.affinity }}
  affinity:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  {{- if $postgres }}
  {{- with .Values.topologySpreadConstraints }}
  topologySpreadConstraints:
    {{- range . }}
    {{- $selector := dict "matchLabels" (include "sessiond.serverSelector" $ | fromYaml) }}
    - {{ set (deepCopy .) "labelSelector" (default $selector .labelSelector) | toYaml | indent 6 | trim }}
    {{- end }}
  {{- end }}
  {{- end }}
  containers:
    - name: sessiond
      image: {{ include "sessiond.image" . | quote }}
      imagePullPolicy: {{ .Values.image.pullPolicy }}
      args: [serve]
      securityContext:
        {{- include "sessiond.containerSecurityContext" . | nindent 8 }}
      env:
        {{- if $postgres }}
        - name: DATABASE_URL
          valueFrom:
            secretKeyRef:
              name: {{ include "sessiond.secretName" . }}
              key: {{ .Values.secret.databaseUrlKey }}
        {{- if ne .Values.postgresql.migration.mode "server" }}
        - name: SESSIOND_NO_MIGRATE
          value: "true"
        {{- end }}
        {{- else }}
        - name: DATABASE_URL
          value: sqlite:///data/sessiond.db
        {{- end }}
        - name: SESSIOND_LISTEN
          value: {{ printf "%s:8080" .Values.listenHost | quote }}
        - name: SESSIOND_METRICS_LISTEN
          value: {{ ternary (printf "%s:9464" .Values.listenHost) "off" .Values.metrics.enabled | quote }}
        - name: SESSIOND_ALLOWED_HOSTS
          value: {{ include "sessiond.allowedHosts" . | quote }}
        {{- with .Values.corsOrigins }}
        - name: SESSIOND_CORS_ORIGINS
          value: {{ join "," . | quote }}
        {{- end }}
        - name: SESSIOND_SHUTDOWN_DELAY
          value: {{ printf "%ds" (int .Values.shutdownDelaySeconds) }}
        - name: SESSIOND_DRAIN_TIMEOUT
          value: {{ printf "%ds" (int .Values.drainTimeoutSeconds) }}
        {{- with .Values.auth }}
        {{- if .adminKey }}
        - name: SESSIOND_ADMIN_KEY_FILE
          value: /run/secrets/sessiond/admin-key
        {{- end }}
        {{- if .require }}
        - name: SESSIOND_REQUIRE_AUTH
          value: "true"
        {{- end }}
        {{- if .insecureNoAuth }}
        - name: SESSIOND_INSECURE_NO_AUTH
          value: "true"
        {{- end }}
        {{- with .jwt }}
        {{- if .issuer }}
        - name: SESSIOND_JWT_ISSUER
          value: {{ .issuer | quote }}
        - name: SESSIOND_JWT_AUDIENCE
          value: {{ .audience | quote }}
        - name: SESSIOND_JWT_JWKS_URL
          value: {{ .jwksUrl | quote }}
        {{- with .userClaim }}
        - name: SESSIOND_JWT_USER_CLAIM
          value: {{ . | quote }}
        {{- end }}
        {{- with .apps }}
        - name: SESSIOND_JWT_APPS
          value: {{ . | quote }}
        {{- end }}
        {{- with .appsClaim }}
        - name: SESSIOND_JWT_APPS_CLAIM
          value: {{ . | quote }}
        {{- end }}
        {{- with .role }}
        - name: SESSIOND_JWT_ROLE
          value: {{ . | quote }}
        {{- end }}
        {{- with .roleClaim }}
        - name: SESSIOND_JWT_ROLE_CLAIM
          value: {{ . | quote }}
        {{- end }}
        {{- end }}
        {{- end }}
        {{- end }}
        {{- with include "sessiond.settings" . | trim }}
        {{- . | nindent 8 }}
        {{- end }}
      ports:
        - name: http
          containerPort: 8080
        {{- if .Values.metrics.enabled }}
        - name: metrics
          containerPort: 9464
        {{- end }}
      # Five minutes: a start waits up to 30 s for PostgreSQL, and may migrate. One that failed has ended by itself.
      startupProbe:
        httpGet: {path: /healthz, port: http}
        periodSeconds: 2
        timeoutSeconds: 2
        failureThreshold: 150
      # Not /readyz: a restart does not mend the database.
      livenessProbe:
        httpGet: {path: /healthz, port: http}
        periodSeconds: 10
        timeoutSeconds: 5
        failureThreshold: 3
      readinessProbe:
        httpGet: {path: /readyz, port: http}
        periodSeconds: 5
        timeoutSeconds: 5
        failureThreshold: 2
      resources:
        {{- toYaml .Values.resources | nindent 8 }}
      volumeMounts:
        {{- if $postgres }}
        {{- include "sessiond.noDataMount" . | nindent 8 }}
        {{- else }}
        - name: data
          mountPath: /data
        {{- end }}
        {{- if .Values.auth.adminKey }}
        # A folder: a file that is mounted by `subPath` would not follow the Secret.
        - name: admin-key
          mountPath: /run/secrets/sessiond
          readOnly: true
        {{- end }}
        {{- with .Values.extraVolumeMounts }}
        {{- toYaml . | nindent 8 }}
        {{- end }}
  volumes:
    {{- if $postgres }}
    {{- include "sessiond.noDataVolume" . | nindent 4 }}
    {{- else }}
    - name: data
      persistentVolumeClaim:
        claimName: {{ include "sessiond.claimName" . }}
    {{- end }}
    {{- if .Values.auth.adminKey }}
    - name: admin-key
      secret:
        secretName: {{ include "sessiond.secretName" . }}
        defaultMode: 0440
        items:
          - key: {{ .Values.secret.adminKeyKey }}
            path: admin-key
    {{- end }}
    {{- with .Values.extraVolumes }}
    {{- toYaml . | nindent 4 }}
    {{- end }}
{{- end }}
