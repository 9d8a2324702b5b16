#!/usr/bin/env bash
# Installs, upgrades, rolls back and uninstalls the chart on a real API server, with Pod Security
# `restricted` enforced on the namespace. kube-apiserver, kube-controller-manager and etcd are built
# from their modules, which takes about ten minutes the first time; bin/k8s keeps them. There is no
# node: the controllers make the pods, the API server admits or refuses them, and none runs. The
# script sets the pods of the hook Jobs to Succeeded. It is not part of the gate.
#
#   KUBERNETES_VERSION=v1.36.3 scripts/kubernetes.sh
set -euo pipefail
cd "$(dirname "$0")/.."
version=${KUBERNETES_VERSION:?}
etcd_version=v3.6.8
bin=$PWD/bin/k8s helm=$PWD/bin/helm chart=$PWD/deploy/helm/campaignd
export CGO_ENABLED=0 GOFLAGS=-trimpath

# module FOLDER: a module of its own, because Kubernetes replaces its parts by relative paths.
kube_module() {
	local sources
	sources=$(go mod download -json "k8s.io/kubernetes@$version" | sed -n 's/.*"Dir": "\(.*\)",/\1/p')
	go mod init kubernetes 2>/dev/null
	go mod edit -require "k8s.io/kubernetes@$version"
	sed -n 's#^\s*\(k8s.io/[a-z-]*\) => ./staging.*#\1#p' "$sources/go.mod" | while read -r part; do
		go mod edit -replace "$part=$part@v0${version#v1}"
	done
}
mkdir -p "$bin"
work=$(mktemp -d)
pids=()
finish() {
	local status=$?
	[ $status -eq 0 ] || tail -n 5 "$work"/*.log 2>/dev/null || true
	for pid in "${pids[@]}"; do kill -9 "$pid" 2>/dev/null || true; done
	wait 2>/dev/null || true
	rm -rf "$work"
}
trap finish EXIT
if [ ! -x "$bin/kube-apiserver" ] || [ ! -x "$bin/kube-controller-manager" ]; then
	(mkdir "$work/kube" && cd "$work/kube" && kube_module && for program in kube-apiserver kube-controller-manager; do
		go build -mod=mod -ldflags "-s -w -X k8s.io/component-base/version.gitVersion=$version" -o "$bin/$program" "k8s.io/kubernetes/cmd/$program"
	done)
fi
if [ ! -x "$bin/etcd" ]; then
	(mkdir "$work/etcd" && cd "$work/etcd" && go mod init etcd 2>/dev/null &&
		printf 'package main\n\nimport (\n\t"os"\n\n\t"go.etcd.io/etcd/server/v3/etcdmain"\n)\n\nfunc main() { etcdmain.Main(os.Args) }\n' >main.go &&
		go get "go.etcd.io/etcd/server/v3@$etcd_version" && go build -mod=mod -ldflags '-s -w' -o "$bin/etcd" .)
fi

# The servers, on ports of loopback.
openssl genrsa -out "$work/accounts.key" 2048 2>/dev/null
echo 'secret-of-this-run,admin,admin,system:masters' >"$work/tokens"
"$bin/etcd" --data-dir "$work/etcd-data" --listen-client-urls http://127.0.0.1:24379 --advertise-client-urls http://127.0.0.1:24379 \
	--listen-peer-urls http://127.0.0.1:24380 --initial-advertise-peer-urls http://127.0.0.1:24380 \
	--initial-cluster default=http://127.0.0.1:24380 >"$work/etcd.log" 2>&1 &
pids+=($!)
"$bin/kube-apiserver" --etcd-servers http://127.0.0.1:24379 --bind-address 127.0.0.1 --secure-port 26443 --cert-dir "$work/certs" \
	--token-auth-file "$work/tokens" --authorization-mode RBAC --service-cluster-ip-range 10.99.0.0/16 \
	--service-account-issuer https://kubernetes.default.svc --service-account-signing-key-file "$work/accounts.key" \
	--service-account-key-file "$work/accounts.key" >"$work/apiserver.log" 2>&1 &
pids+=($!)
export KUBECONFIG=$work/config
cat >"$KUBECONFIG" <<-'EOF'
	{apiVersion: v1, kind: Config, current-context: it,
	 clusters: [{name: it, cluster: {server: "https://127.0.0.1:26443", insecure-skip-tls-verify: true}}],
	 users: [{name: it, user: {token: secret-of-this-run}}],
	 contexts: [{name: it, context: {cluster: it, user: it, namespace: campaigns}}]}
EOF
# within WHAT COMMAND... tries for two minutes.
within() {
	local what=$1 end=$((SECONDS + 120))
	shift
	until "$@" >/dev/null 2>&1; do
		[ $SECONDS -lt $end ] || { echo "not within two minutes: $what"; "$@" || true; exit 1; }
		sleep 0.5
	done
}
api() { curl -fsSk -H 'Authorization: Bearer secret-of-this-run' "$@"; }
server=https://127.0.0.1:26443
within "the API server is ready" api "$server/readyz"
"$bin/kube-controller-manager" --kubeconfig "$KUBECONFIG" --use-service-account-credentials=false --leader-elect=false \
	--service-account-private-key-file "$work/accounts.key" --bind-address 127.0.0.1 --secure-port 26257 --cert-dir "$work/certs" \
	--controllers '*,-nodeipam,-node-lifecycle-controller,-cloud-node-lifecycle-controller,-node-route-controller' >"$work/controllers.log" 2>&1 &
pids+=($!)
echo "kube-apiserver of k8s.io/kubernetes $version"

api -X POST -H 'Content-Type: application/json' "$server/api/v1/namespaces" -o /dev/null -d '{"apiVersion": "v1", "kind": "Namespace",
	"metadata": {"name": "campaigns", "labels": {"pod-security.kubernetes.io/enforce": "restricted"}}}'
within "the namespace has its service account" api "$server/api/v1/namespaces/campaigns/serviceaccounts/default"
for name in campaignd campaignd-db campaignd-redis; do
	api -X POST -H 'Content-Type: application/json' "$server/api/v1/namespaces/campaigns/secrets" -o /dev/null \
		-d "{\"metadata\": {\"name\": \"$name\"}, \"stringData\": {\"api-key\": \"k\", \"webhook-secrets\": \"s\", \"url\": \"u\"}}"
done
refused=$(curl -sk -H 'Authorization: Bearer secret-of-this-run' -X POST -H 'Content-Type: application/json' "$server/api/v1/namespaces/campaigns/pods" \
	-d '{"metadata": {"name": "p"}, "spec": {"containers": [{"name": "c", "image": "i"}]}}')
grep -q 'violates PodSecurity' <<<"$refused" || { echo "an unconfined pod was admitted: $refused"; exit 1; }
echo "an unconfined pod is refused: Pod Security restricted is enforced"

# pods COMPONENT N: the namespace has N admitted pods of the component.
pods() {
	local n
	n=$(api "$server/api/v1/namespaces/campaigns/pods?labelSelector=app.kubernetes.io/component=$1" | grep -c '"uid"' || true)
	[ $((n / 2)) -ge "$2" ] # of the pod and of its owner
}
# finish_hooks sets the pods of hook Jobs to Succeeded, as a node would, until it is killed.
finish_hooks() {
	while sleep 0.5; do
		api "$server/api/v1/namespaces/campaigns/pods?labelSelector=app.kubernetes.io/component=migrate" 2>/dev/null |
			sed -n 's/^ *"name": "\(prod-migrate-[a-z0-9]*\)",$/\1/p' | sort -u | while read -r pod; do
			api -X PATCH -H 'Content-Type: application/merge-patch+json' "$server/api/v1/namespaces/campaigns/pods/$pod/status" \
				-o /dev/null -d '{"status": {"phase": "Succeeded"}}' 2>/dev/null || true
		done
	done
}
finish_hooks &
pids+=($!)
denied() {
	! api "$server/api/v1/namespaces/campaigns/events" | grep -i 'forbidden: violates' || { echo "Pod Security refused a pod of the chart"; exit 1; }
}
step() { printf '== %s\n' "$*"; }

step "install, cluster mode"
"$helm" install prod "$chart" -n campaigns -f "$chart/ci/closed.yaml" --timeout 3m | sed -n '/^STATUS/p;/^REVISION/p'
within "two pods of senders are admitted" pods sender 2
within "two pods of intake are admitted" pods intake 2
step "upgrade: one sender more, another configuration"
"$helm" upgrade prod "$chart" -n campaigns -f "$chart/ci/closed.yaml" --set sender.replicas=3 --set config.log.level=debug --timeout 3m | sed -n '/^STATUS/p;/^REVISION/p'
within "a third pod of senders is admitted" pods sender 3
step "roll back"
"$helm" rollback prod 1 -n campaigns --timeout 3m
replicas() { api "$server/apis/apps/v1/namespaces/campaigns/deployments/prod-sender" | grep -q '"replicas": 2,'; }
within "two senders are wanted again" replicas
denied
step "uninstall"
"$helm" uninstall prod -n campaigns --timeout 3m
gone() { [ "$(api "$server/apis/apps/v1/namespaces/campaigns/deployments" | grep -c '"uid"')" -eq 0 ]; }
within "no Deployment is left" gone

for values in embedded try; do
	step "install, $values"
	"$helm" install "$values" "$chart" -n campaigns -f "$chart/ci/$values.yaml" --timeout 3m | sed -n '/^STATUS/p'
	within "its pod is admitted" api "$server/api/v1/namespaces/campaigns/pods/$values-0"
	# The pod of helm test is admitted, too.
	"$helm" get hooks "$values" -n campaigns >"$work/test.yaml"
	denied
	kubectl --insecure-skip-tls-verify create -n campaigns -f "$work/test.yaml" --dry-run=server -o name
	"$helm" uninstall "$values" -n campaigns --timeout 3m
done
echo "installed, upgraded, rolled back and uninstalled; every pod was admitted"
