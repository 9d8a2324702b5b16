#!/usr/bin/env bash
# Checks the chart: lint, the manifests of each value set in deploy/helm/campaignd/ci against their
# golden files and the schemas of Kubernetes, its unit tests, its README against values.yaml, and
# the values that must be refused. UPDATE_GOLDEN=1 writes the golden files and the README.
set -euo pipefail
cd "$(dirname "$0")/.."
chart=deploy/helm/campaignd golden=deploy/helm/testdata
out=$(mktemp -d)
trap 'rm -rf "$out"' EXIT

for values in "$chart"/ci/*.yaml; do
	name=$(basename "$values" .yaml)
	bin/helm lint --strict "$chart" -f "$values" >"$out/lint" 2>&1 || { cat "$out/lint"; exit 1; }
	bin/helm template prod "$chart" -n campaigns -f "$values" >"$out/$name.golden.yaml"
	[ -z "${UPDATE_GOLDEN:-}" ] || cp "$out/$name.golden.yaml" "$golden/"
	diff -u "$golden/$name.golden.yaml" "$out/$name.golden.yaml"
done
cmp "$chart/values-try.yaml" "$chart/ci/try.yaml"
bin/helm-unittest "$chart"

go run ./tools/chartdoc "$chart/values.yaml" >"$out/README.md"
[ -z "${UPDATE_GOLDEN:-}" ] || cp "$out/README.md" "$chart/"
diff -u "$chart/README.md" "$out/README.md" || { echo "UPDATE_GOLDEN=1 scripts/helm.sh writes it"; exit 1; }

# Kinds of other projects have no schema here.
bin/kubeconform -strict -summary -schema-location 'bin/kubeschemas/{{.ResourceKind}}{{.KindSuffix}}.json' \
	-skip ServiceMonitor,PrometheusRule,HTTPRoute,VirtualService,ScaledObject "$out"/*.golden.yaml

# refuses MESSAGE FLAG... requires that the chart refuses these values and says MESSAGE.
refuses() {
	local message=$1
	shift
	if bin/helm template prod "$chart" "$@" >/dev/null 2>"$out/refused"; then
		echo "the chart takes $*, and must refuse it"
		exit 1
	fi
	grep -qF -- "$message" "$out/refused" || { echo "the refusal of $* does not say \"$message\":"; cat "$out/refused"; exit 1; }
}
ok="$chart/ci/embedded.yaml"
refuses "secrets.apiKey.name is empty"
refuses "/mode" -f "$ok" --set mode=both
refuses "secrets.webhookSecrets.name is empty" -f "$chart/ci/cloud.yaml" --set secrets.apiKey.name=campaignd
refuses "secrets.cloud.7.name is empty" -f "$ok" --set-string 'config.cloud.accounts[0].id=7'
refuses "has no account with this id" -f "$ok" --set secrets.cloud.7.name=campaignd-cloud
refuses "/config/cloud/accounts/0/token_file" -f "$chart/ci/cloud.yaml" --set 'config.cloud.accounts[0].token_file=token'
refuses "remove config.cloud.accounts" -f "$ok" --set sandbox.enabled=true --set-string 'config.cloud.accounts[0].id=7' \
	--set secrets.cloud.7.name=campaignd-cloud
refuses "nonsense" -f "$ok" --set nonsense=1
refuses "/config/service/api_key" -f "$ok" --set config.service.api_key=k
refuses "/config/notifications/ops/url" -f "$ok" --set config.notifications.ops.url=https://hooks.example.com/x
refuses "/config/notifications/ops/secrets" -f "$ok" --set 'config.notifications.ops.secrets={whsec_x}'
refuses "nonsense" -f "$ok" --set config.service.nonsense=1
refuses "/config/plan/monthly_messages" -f "$ok" --set config.plan.monthly_messages=many
refuses "/config/ledger" -f "$ok" --set config.ledger=postgres://u:p@db/c
refuses "/intake/replicas" -f "$ok" --set intake.replicas=1
refuses "mode cluster needs secrets.ledger.name" -f "$ok" --set mode=cluster --set secrets.ledger.name=
refuses "sandbox.enabled needs mode embedded" -f "$ok" --set mode=cluster --set sandbox.enabled=true
refuses "/ingress/host" -f "$ok" --set ingress.enabled=true --set ingress.host=https://hooks.example.com/
refuses "/istio/host" -f "$ok" --set istio.host=api.example.com:443
refuses "/httpRoute/hostnames/0" -f "$ok" --set 'httpRoute.hostnames={Hooks_1}'
refuses "/image/digest" -f "$ok" --set image.digest=latest
refuses "sender.autoscaling.minReplicas is above maxReplicas" -f "$ok" --set sender.autoscaling.minReplicas=7
refuses "intake.autoscaling.minReplicas is above maxReplicas" -f "$ok" --set intake.autoscaling.minReplicas=9
refuses "/config/ledger_connections" -f "$ok" --set config.ledger_connections=5
for base in recovery.md https:// "https://example.com/recovery.md#alerts" "https://example.com/a b"; do
	refuses "/prometheusRule/runbook" -f "$chart/ci/monitored.yaml" --set "prometheusRule.runbook=$base"
done
refuses "needs serviceMonitor.enabled" -f "$chart/ci/monitored.yaml" --set serviceMonitor.enabled=false
refuses "ingress.host is empty" -f "$ok" --set ingress.enabled=true
if bin/helm template prod.eu "$chart" -f "$ok" >/dev/null 2>"$out/refused"; then
	echo "the chart takes a release name with a dot, which no Service can have"
	exit 1
fi
grep -qF "cannot name a Service" "$out/refused" || { cat "$out/refused"; exit 1; }
