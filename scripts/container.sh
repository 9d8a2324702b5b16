#!/usr/bin/env bash
# Runs the image as the chart sets the container: by an OCI runtime, with a read-only root, user
# 65532, no capability, no new privileges, and the chart's limit of memory. `doctor` beside the
# sandbox, the demo, and ROWS rows (1,000,000) that `serve` imports and sends to a service without
# latency must pass. It needs root, buildah and crun. The seccomp profile of the node is not set.
#
#   scripts/container.sh [ROWS]
set -euo pipefail
cd "$(dirname "$0")/.."
# crun refuses the two versions of cgroups side by side; version 1 is enough for the limit of
# memory.
if mountpoint -q /sys/fs/cgroup/unified; then
	exec unshare --mount bash -c 'umount /sys/fs/cgroup/unified && exec "$0" "$@"' scripts/container.sh "$@"
fi
rows=${1:-1000000}
golden=deploy/helm/testdata/embedded.golden.yaml
work=$(mktemp -d)
store=(--storage-driver vfs --root "$work/store" --runroot "$work/run")
crun=(crun --root "$work/crun" --cgroup-manager=disabled)
cgroups=/sys/fs/cgroup/memory # version 1
[ -d $cgroups ] || cgroups=/sys/fs/cgroup

finish() {
	local status=$?
	for name in campaignd sandbox; do "${crun[@]}" delete --force "$name" 2>/dev/null || true; done
	rmdir "$cgroups"/campaignd-* 2>/dev/null || true
	exec 8>&- || true # the end of its input ends the sink
	[ -z "${sink:-}" ] || wait "$sink" 2>/dev/null || true
	buildah "${store[@]}" umount --all >/dev/null 2>&1 || true
	[ $status -eq 0 ] || tail -n 20 "$work"/*.log 2>/dev/null || true
	rm -rf "$work"
}
trap finish EXIT

# What is emulated below is what the chart says.
for line in 'runAsUser: 65532' 'readOnlyRootFilesystem: true' 'allowPrivilegeEscalation: false' 'memory: 1Gi' \
	'args: \[serve, --config, /etc/campaignd/campaignd.yaml, --role, all\]'; do
	grep -q -- "$line" "$golden" || { echo "$golden has no \"$line\""; exit 1; }
done
grep -A 3 'capabilities:' "$golden" | grep -q ALL
memory=$((1 << 30))

make -s image IMAGE=campaignd:container BUILDAH_FLAGS="${store[*]}" >"$work/image.log" 2>&1
root=$(buildah "${store[@]}" mount "$(buildah "${store[@]}" from campaignd:container)")
mkdir -p "$work"/{data,tmp,config,campaigns,secrets}
chown 65532:65532 "$work/data" "$work/tmp"
chmod 755 "$work"

# bundle NAME ARG... writes the bundle of a container. $env has its environment, in JSON.
bundle() {
	local name=$1 args
	shift
	args=$(printf ',"%s"' "$@")
	mkdir -p "$work/bundle-$name"
	cat >"$work/bundle-$name/config.json" <<-EOF
		{"ociVersion": "1.0.2", "root": {"path": "$root", "readonly": true}, "hostname": "$name",
		 "process": {"args": ["/campaignd"$args], "cwd": "/data", "user": {"uid": 65532, "gid": 65532}, "noNewPrivileges": true,
		  "env": ["PATH=/"${env:-}],
		  "capabilities": {"bounding": [], "effective": [], "inheritable": [], "permitted": [], "ambient": []}},
		 "mounts": [
		  {"destination": "/proc", "type": "proc", "source": "proc"},
		  {"destination": "/dev", "type": "tmpfs", "source": "tmpfs", "options": ["nosuid", "mode=755", "size=64k"]},
		  {"destination": "/data", "type": "bind", "source": "$work/data", "options": ["bind", "rw"]},
		  {"destination": "/tmp", "type": "bind", "source": "$work/tmp", "options": ["bind", "rw"]},
		  {"destination": "/etc/campaignd", "type": "bind", "source": "$work/config", "options": ["bind", "ro"]},
		  {"destination": "/var/campaigns", "type": "bind", "source": "$work/campaigns", "options": ["bind", "ro"]},
		  {"destination": "/run/secrets/campaignd", "type": "bind", "source": "$work/secrets", "options": ["bind", "ro"]}],
		 "linux": {"namespaces": [{"type": "pid"}, {"type": "mount"}, {"type": "ipc"}, {"type": "uts"}]}}
	EOF
}

# limited NAME COMMAND... runs a command, and what it starts, within the chart's limit of memory.
limited() {
	local cgroup="$cgroups/campaignd-$1"
	shift
	mkdir -p "$cgroup"
	for file in memory.limit_in_bytes memory.max; do
		[ ! -e "$cgroup/$file" ] || echo $memory >"$cgroup/$file"
	done
	(echo $BASHPID >"$cgroup/cgroup.procs" && exec "$@")
}

pid_of() { "${crun[@]}" state "$1" | sed -n 's/.*"pid" *: *\([0-9]*\).*/\1/p'; }

# inside ARG... runs one command of the image to its end.
inside() {
	bundle once "$@"
	limited once "${crun[@]}" run --bundle "$work/bundle-once" "once-$RANDOM"
}

# background NAME ARG... starts a container, and requires that it is confined.
background() {
	local name=$1 pid
	bundle "$@"
	limited "$name" "${crun[@]}" run --detach --bundle "$work/bundle-$name" "$name" >"$work/$name.log" 2>&1
	pid=$(pid_of "$name")
	grep -q "campaignd-$name" "/proc/$pid/cgroup"
	grep -q 'CapBnd:.*0000000000000000' "/proc/$pid/status"
	grep -q 'CapEff:.*0000000000000000' "/proc/$pid/status"
	grep -q 'NoNewPrivs:.*1' "/proc/$pid/status"
	grep -Eq 'Uid:\s+65532\s+65532' "/proc/$pid/status"
	awk '$5 == "/" && $6 ~ /^ro/ {found = 1} END {exit !found}' "/proc/$pid/mountinfo"
	echo "$name: user 65532, no capability, no new privileges, read-only root"
}

# until_true WHAT COMMAND... tries for 15 minutes.
until_true() {
	local what=$1 end=$((SECONDS + 900))
	shift
	until "$@" >/dev/null 2>&1; do
		[ $SECONDS -lt $end ] || { echo "not within 15 minutes: $what"; exit 1; }
		sleep 0.5
	done
}

echo "== doctor, beside the sandbox"
echo 'service: {base_url: "http://127.0.0.1:8090"}' >"$work/config/campaignd.yaml"
echo 'ledger: "sqlite:/data/campaignd.db"' >>"$work/config/campaignd.yaml"
env=',"CAMPAIGND_SERVICE_API_KEY=sandbox-key","CAMPAIGND_WEBHOOKS_SECRETS=sandbox-secret"'
background sandbox sandbox --webhook http://127.0.0.1:8080/webhooks/messaging
until_true "the sandbox answers" curl -sS -o /dev/null http://127.0.0.1:8090/
inside doctor --config /etc/campaignd/campaignd.yaml
"${crun[@]}" delete --force sandbox

echo "== demo"
inside demo | tail -n 12

echo "== $rows rows"
make -s bin/bench
mkfifo "$work/job"
bin/bench sink <"$work/job" >"$work/sink.out" 2>"$work/sink.log" &
sink=$!
exec 8>"$work/job"
echo '{"Batch": 64, "Posters": 8}' >&8
until_true "the service answers" test -s "$work/sink.out"
service=$(tr -d '"' <"$work/sink.out")
{
	echo "service: {base_url: \"$service\"}"
	echo 'ledger: "sqlite:/data/campaignd.db"'
	echo 'listen: {public: "127.0.0.1:18080", admin: "127.0.0.1:18081"}'
	echo 'campaigns: /var/campaigns'
	echo 'numbers: {conn_1: {rate: 10000}, conn_2: {rate: 10000}, conn_3: {rate: 10000}, conn_4: {rate: 10000}}'
} >"$work/config/campaignd.yaml"
printf bench-key >"$work/secrets/api-key"
printf bench-secret-of-more-than-32-bytes >"$work/secrets/webhook-secrets"
cat >"$work/campaigns/bench.yaml" <<-'EOF'
	name: bench
	connections: [conn_1, conn_2, conn_3, conn_4]
	template: {name: spring_sale, language: en_US, body: ["{{ .first_name }}", "{{ .discount }}"], buttons: [{type: url, text: "{{ .slug }}"}]}
	recipients: {file: list.csv}
	schedule: {cron: "0 0 * * *", timezone: UTC, misfire: run, grace: 48h}
EOF
awk -v n="$rows" 'BEGIN {
	print "to,first_name,discount,slug"
	for (i = 0; i < n; i++) printf "+49151%08d,Ada,15%%,spring/%07d\n", 10000000 + i, i
}' >"$work/campaigns/list.csv"
touch -d yesterday "$work/campaigns/bench.yaml"
chmod -R a+rX "$work/config" "$work/campaigns" "$work/secrets"
env=',"CAMPAIGND_SERVICE_API_KEY_FILE=/run/secrets/campaignd/api-key","CAMPAIGND_WEBHOOKS_SECRETS_FILE=/run/secrets/campaignd/webhook-secrets"'
curl -fsS -d 'http://127.0.0.1:18080/webhooks/messaging' "$service/bench/webhook"
began=$SECONDS
background campaignd serve --config /etc/campaignd/campaignd.yaml --role all
# Three statuses of each message are answered when all of them are committed.
figure() { curl -fsS "$service/bench/figures" | sed -n "s/.*\"$1\":\([0-9]*\).*/\1/p"; }
all_answered() { [ "$(figure Acked)" -ge $((3 * rows)) ]; }
until_true "every message has its three statuses" all_answered
took=$((SECONDS - began))
pid=$(pid_of campaignd)
peak=$(cat "$cgroups"/campaignd-campaignd/memory.{max_usage_in_bytes,peak} 2>/dev/null || true)
resident=$(awk '/VmHWM/ {print $2 * 1024}' "/proc/$pid/status")
"${crun[@]}" kill campaignd TERM
until_true "campaignd ends after SIGTERM" test ! -e "/proc/$pid/exe"
[ "$(figure Accepted)" -eq "$rows" ] || { echo "the service accepted $(figure Accepted) of $rows messages"; exit 1; }
inside audit latest --config /etc/campaignd/campaignd.yaml
inside report latest --config /etc/campaignd/campaignd.yaml | tail -n 15
printf '%d rows imported and sent in %d s; peak memory %d MB resident, %d MB in the cgroup with the page cache, limit %d MB; ledger %d MB\n' \
	"$rows" "$took" $((resident >> 20)) $((${peak:-0} >> 20)) $((memory >> 20)) $(($(stat -c %s "$work/data/campaignd.db") >> 20))
