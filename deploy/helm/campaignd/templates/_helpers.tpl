{{- define "campaignd.name" -}}
{{- printf "%s" .Release.Name | trunc 50 | trimSuffix "-" -}}
{{- end -}}

{{- define "campaignd.labels" -}}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
{{ include "campaignd.selector" . }}
{{- end -}}

{{- define "campaignd.selector" -}}
app.kubernetes.io/name: campaignd
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end -}}

{{- define "campaignd.image" -}}
{{ .Values.image.repository }}{{ with .Values.image.digest }}@{{ . }}{{ else }}:{{ .Values.image.tag | default .Chart.AppVersion }}{{ end }}
{{- end -}}

{{- /* Whether the values name a service: "true", or nothing. */ -}}
{{- define "campaignd.service" -}}
{{- if or .Values.config.service.base_url .Values.secrets.apiKey.name .Values.secrets.webhookSecrets.name }}true{{ end -}}
{{- end -}}

{{- /* The rules between values, which the schema cannot check. */ -}}
{{- define "campaignd.check" -}}
{{- if regexMatch "^[0-9]|[.]" .Release.Name }}{{ fail (printf "the release name %q cannot name a Service: take letters, digits and -, beginning with a letter" .Release.Name) }}{{ end -}}
{{- range $role := list "sender" "intake" -}}
{{- $scale := (index $.Values $role).autoscaling -}}
{{- if gt (int $scale.minReplicas) (int $scale.maxReplicas) }}{{ fail (printf "%s.autoscaling.minReplicas is above maxReplicas" $role) }}{{ end -}}
{{- end -}}
{{- if not .Values.newLedger -}}
{{- $name := include "campaignd.name" . -}}
{{- if and (eq .Values.mode "cluster") (lookup "apps/v1" "StatefulSet" .Release.Namespace $name) }}{{ fail "this release keeps its ledger on the volume of mode embedded; mode cluster would begin with an empty ledger, without opt-outs and earlier runs: see docs/operations.md#on-kubernetes, then set newLedger=true" }}{{ end -}}
{{- if and (eq .Values.mode "embedded") (lookup "apps/v1" "Deployment" .Release.Namespace (printf "%s-sender" $name)) }}{{ fail "this release keeps its ledger in PostgreSQL; mode embedded would begin with an empty ledger, without opt-outs and earlier runs: see docs/operations.md#on-kubernetes, then set newLedger=true" }}{{ end -}}
{{- end -}}
{{- if eq .Values.mode "cluster" -}}
{{- if not .Values.secrets.ledger.name }}{{ fail "mode cluster needs secrets.ledger.name: a secret with the URL of PostgreSQL" }}{{ end -}}
{{- if not .Values.secrets.redis.name }}{{ fail "mode cluster needs secrets.redis.name: a secret with the URL of Redis" }}{{ end -}}
{{- if .Values.sandbox.enabled }}{{ fail "sandbox.enabled needs mode embedded" }}{{ end -}}
{{- if and .Values.sender.autoscaling.enabled .Values.sender.keda.enabled }}{{ fail "sender.autoscaling and sender.keda are both enabled: keep one" }}{{ end -}}
{{- end -}}
{{- $accounts := dig "cloud" "accounts" list .Values.config -}}
{{- $ids := list -}}
{{- range $accounts -}}
{{- $ids = append $ids .id -}}
{{- if not (dig .id "name" "" $.Values.secrets.cloud) }}{{ fail (printf "secrets.cloud.%s.name is empty: name the secret with the token, the app's secret and the verify token of the account" .id) }}{{ end -}}
{{- end -}}
{{- range $id, $_ := .Values.secrets.cloud -}}
{{- if not (has $id $ids) }}{{ fail (printf "secrets.cloud.%s: config.cloud.accounts has no account with this id" $id) }}{{ end -}}
{{- end -}}
{{- if and .Values.sandbox.enabled $accounts }}{{ fail "sandbox.enabled plays the service alone: remove config.cloud.accounts" }}{{ end -}}
{{- if and (not .Values.sandbox.enabled) (or (not $accounts) (include "campaignd.service" .)) -}}
{{- if not .Values.secrets.apiKey.name }}{{ fail "secrets.apiKey.name is empty: name the secret with the service's key, or try -f values-try.yaml" }}{{ end -}}
{{- if not .Values.secrets.webhookSecrets.name }}{{ fail "secrets.webhookSecrets.name is empty: without the signing secret no status and no opt-out is seen" }}{{ end -}}
{{- if not .Values.config.service.base_url }}{{ fail "config.service.base_url is empty: give the address of the messaging service, or accounts of the Cloud API in config.cloud.accounts" }}{{ end -}}
{{- end -}}
{{- if and .Values.ingress.enabled (not .Values.ingress.host) }}{{ fail "ingress.host is empty" }}{{ end -}}
{{- if and .Values.httpRoute.enabled (not .Values.httpRoute.parentRefs) }}{{ fail "httpRoute.parentRefs is empty: name a Gateway" }}{{ end -}}
{{- if and .Values.prometheusRule.enabled (not .Values.serviceMonitor.enabled) }}{{ fail "prometheusRule.enabled needs serviceMonitor.enabled: its rules watch the job of that monitor. If something else scrapes the pods, load files/alerts.yaml into Prometheus once (docs/recovery.md#alerts)" }}{{ end -}}
{{- if and .Values.istio.enabled (not .Values.istio.host) (or (not $accounts) (include "campaignd.service" .)) }}{{ fail "istio.host is empty: give the host of config.service.base_url" }}{{ end -}}
{{- end -}}

{{- /* A secret as an environment variable that names its file, and as an item of the volume. */ -}}
{{- define "campaignd.env" -}}
{{- $s := .Values.secrets -}}
{{- if .Values.sandbox.enabled }}
- {name: CAMPAIGND_SERVICE_API_KEY, value: sandbox-key}
- {name: CAMPAIGND_WEBHOOKS_SECRETS, value: sandbox-secret}
{{- else }}
{{- if include "campaignd.service" . }}
- {name: CAMPAIGND_SERVICE_API_KEY_FILE, value: /run/secrets/campaignd/api-key}
- {name: CAMPAIGND_WEBHOOKS_SECRETS_FILE, value: /run/secrets/campaignd/webhook-secrets}
{{- end }}
{{- if $s.commerceKey.name }}
- {name: CAMPAIGND_COMMERCE_API_KEY_FILE, value: /run/secrets/campaignd/commerce-api-key}
{{- end }}
{{- if $s.commerceToken.name }}
- {name: CAMPAIGND_COMMERCE_ACCESS_TOKEN_FILE, value: /run/secrets/campaignd/commerce-access-token}
{{- end }}
{{- if $s.commerceWebhookSecrets.name }}
- {name: CAMPAIGND_COMMERCE_WEBHOOKS_SECRETS_FILE, value: /run/secrets/campaignd/commerce-webhook-secrets}
{{- end }}
{{- end }}
{{- if eq .Values.mode "cluster" }}
- {name: CAMPAIGND_LEDGER_FILE, value: /run/secrets/campaignd/ledger-url}
- {name: CAMPAIGND_REDIS_FILE, value: /run/secrets/campaignd/redis-url}
{{- end }}
{{- with .Values.extraEnv }}
{{ toYaml . }}
{{- end }}
{{- end -}}

{{- define "campaignd.secretItem" -}}
- secret:
    name: {{ .from.name }}
    items: [{key: {{ .from.key }}, path: {{ .path }}}]
{{- end -}}

{{- /* The pod of a role: (dict "root" $ "role" "all" "resources" ...). */ -}}
{{- define "campaignd.pod" -}}
{{- $root := .root -}}
metadata:
  labels:
    {{- include "campaignd.selector" $root | nindent 4 }}
    app.kubernetes.io/component: {{ .role }}
    {{- with $root.Values.podLabels }}{{ toYaml . | nindent 4 }}{{ end }}
  annotations:
    # A changed configuration restarts the pod. Changed campaign files do not: serve reads them again.
    checksum/config: {{ include (print $root.Template.BasePath "/configmap.yaml") $root | sha256sum }}
    {{- with $root.Values.podAnnotations }}{{ toYaml . | nindent 4 }}{{ end }}
spec:
  serviceAccountName: {{ include "campaignd.name" $root }}
  automountServiceAccountToken: false
  # Without this Kubernetes sets CAMPAIGND_SERVICE_HOST and its like for the Service of the release, and
  # campaignd refuses variables that name no key.
  enableServiceLinks: false
  # 45s: preStop (5s, until endpoints forget the pod) + requests under way and their results (20s) + webhooks
  # that wait for a commit (5s) + their writer (5s) + reserve (10s). docs/architecture.md#goroutines
  terminationGracePeriodSeconds: 45
  securityContext: {{- toYaml $root.Values.podSecurityContext | nindent 4 }}
  {{- with $root.Values.priorityClassName }}
  priorityClassName: {{ . }}
  {{- end }}
  {{- with $root.Values.image.pullSecrets }}
  imagePullSecrets: {{ toYaml . | nindent 4 }}
  {{- end }}
  {{- with $root.Values.nodeSelector }}
  nodeSelector: {{ toYaml . | nindent 4 }}
  {{- end }}
  {{- with $root.Values.tolerations }}
  tolerations: {{ toYaml . | nindent 4 }}
  {{- end }}
  {{- with $root.Values.affinity }}
  affinity: {{ toYaml . | nindent 4 }}
  {{- end }}
  {{- if ne .role "all" }}
  topologySpreadConstraints:
    - maxSkew: 1
      topologyKey: kubernetes.io/hostname
      whenUnsatisfiable: ScheduleAnyway
      labelSelector: &pods
        matchLabels:
          {{- include "campaignd.selector" $root | nindent 10 }}
          app.kubernetes.io/component: {{ .role }}
    - maxSkew: 1
      topologyKey: topology.kubernetes.io/zone
      whenUnsatisfiable: ScheduleAnyway
      labelSelector: *pods
  {{- end }}
  containers:
    - name: campaignd
      image: {{ include "campaignd.image" $root }}
      imagePullPolicy: {{ $root.Values.image.pullPolicy }}
      args: [serve, --config, /etc/campaignd/campaignd.yaml, --role, {{ .role }}]
      workingDir: /data
      env: {{- include "campaignd.env" $root | trim | nindent 8 }}
      ports:
        - {name: public, containerPort: 8080}
        - {name: admin, containerPort: 8081}
      {{- $scheme := ternary ", scheme: HTTPS" "" (ne $root.Values.adminTLS.name "") }}
      startupProbe:
        httpGet: {path: /healthz, port: admin{{ $scheme }}}
        periodSeconds: 2
        # Mode embedded waits for space when its volume is full, and answers after that: a day.
        failureThreshold: {{ ternary 43200 60 (eq .role "all") }}
      livenessProbe:
        httpGet: {path: /healthz, port: admin{{ $scheme }}}
        periodSeconds: 10
        timeoutSeconds: 5
        failureThreshold: 6
      readinessProbe:
        httpGet: {path: /readyz, port: admin{{ $scheme }}}
        periodSeconds: 5
        timeoutSeconds: 5
      lifecycle:
        preStop: {sleep: {seconds: 5}}
      securityContext: {{- toYaml $root.Values.securityContext | nindent 8 }}
      resources: {{- toYaml .resources | nindent 8 }}
      volumeMounts:
        - {name: data, mountPath: /data}
        - {name: tmp, mountPath: /tmp}
        - {name: config, mountPath: /etc/campaignd, readOnly: true}
        - {name: campaigns, mountPath: /var/campaigns, readOnly: true}
        {{- if not $root.Values.sandbox.enabled }}
        - {name: secrets, mountPath: /run/secrets/campaignd, readOnly: true}
        {{- end }}
        {{- if $root.Values.adminTLS.name }}
        - {name: admin-tls, mountPath: /run/secrets/admin-tls, readOnly: true}
        {{- end }}
        {{- with $root.Values.extraVolumeMounts }}{{ toYaml . | nindent 8 }}{{ end }}
    {{- if $root.Values.sandbox.enabled }}
    - name: sandbox
      image: {{ include "campaignd.image" $root }}
      imagePullPolicy: {{ $root.Values.image.pullPolicy }}
      args: [sandbox, --webhook, "http://127.0.0.1:8080/webhooks/messaging"]
      workingDir: /tmp
      securityContext: {{- toYaml $root.Values.securityContext | nindent 8 }}
      resources:
        requests: {cpu: 50m, memory: 64Mi}
        limits: {memory: 256Mi}
      volumeMounts:
        - {name: tmp, mountPath: /tmp}
    {{- end }}
  volumes:
    {{- if ne .role "all" }}
    # The wire log, and lists and reports while they are read and written: they outlive a killed container,
    # not the pod. A sizeLimit would evict the pod, while it sends, for a large list.
    - {name: data, emptyDir: {}}
    {{- end }}
    - {name: tmp, emptyDir: {}}
    - {name: config, configMap: {name: {{ include "campaignd.name" $root }}}}
    - {name: campaigns, configMap: {name: {{ include "campaignd.name" $root }}-campaigns}}
    {{- with $root.Values.adminTLS.name }}
    - {name: admin-tls, secret: {secretName: {{ . }}, defaultMode: 0440}}
    {{- end }}
    {{- with $root.Values.extraVolumes }}{{ toYaml . | nindent 4 }}{{ end }}
    {{- if not $root.Values.sandbox.enabled }}
    - name: secrets
      projected:
        defaultMode: 0440
        sources:
          {{- $s := $root.Values.secrets }}
          {{- if include "campaignd.service" $root }}
          {{- include "campaignd.secretItem" (dict "from" $s.apiKey "path" "api-key") | nindent 10 }}
          {{- include "campaignd.secretItem" (dict "from" $s.webhookSecrets "path" "webhook-secrets") | nindent 10 }}
          {{- end }}
          {{- range $id, $from := $s.cloud }}
          - secret:
              name: {{ $from.name }}
              items:
                - {key: {{ $from.token | default "token" }}, path: cloud/{{ $id }}/token}
                - {key: {{ $from.appSecret | default "app-secret" }}, path: cloud/{{ $id }}/app-secret}
                - {key: {{ $from.verifyToken | default "verify-token" }}, path: cloud/{{ $id }}/verify-token}
          {{- end }}
          {{- if $s.commerceKey.name }}
          {{- include "campaignd.secretItem" (dict "from" $s.commerceKey "path" "commerce-api-key") | nindent 10 }}
          {{- end }}
          {{- if $s.commerceToken.name }}
          {{- include "campaignd.secretItem" (dict "from" $s.commerceToken "path" "commerce-access-token") | nindent 10 }}
          {{- end }}
          {{- if $s.commerceWebhookSecrets.name }}
          {{- include "campaignd.secretItem" (dict "from" $s.commerceWebhookSecrets "path" "commerce-webhook-secrets") | nindent 10 }}
          {{- end }}
          {{- if eq $root.Values.mode "cluster" }}
          {{- include "campaignd.secretItem" (dict "from" $s.ledger "path" "ledger-url") | nindent 10 }}
          {{- include "campaignd.secretItem" (dict "from" $s.redis "path" "redis-url") | nindent 10 }}
          {{- end }}
    {{- end }}
{{- end -}}
