#!/usr/bin/env bash
# Rehearses the restore of a PostgreSQL ledger (docs/recovery.md#backup-and-restore): a backup is
# made in the middle of a run of ROWS rows (2,000 or 4,000), sending goes on, and then the server and the
# sender are lost. The backup is restored into a new server, quarantined, its lost webhooks are
# asked for again, and the run goes on to its end. With `failover`, the second server is an
# asynchronous standby that lacks the last 7 s. It is promoted, the sender stays, and the operator
# comes LATE seconds (300) later. It fails if the service accepted two messages to anybody, if
# anybody who can be reached got none, if somebody who wrote STOP in the lost time got one, or if the
# audit finds something. It needs initdb, pg_dump and pg_basebackup, curl and jq; root needs runuser
# too.
#
#   scripts/rehearse.sh dump|base|failover [ROWS]
set -euo pipefail
cd "$(dirname "$0")/.."
way=${1:?dump, base or failover}
rows=${2:-2000}
[ "$way" != failover ] || rows=${2:-4000}
work=$(mktemp -d)
chmod 755 "$work"
pg=$(dirname "$(readlink -f "$(command -v initdb || ls -v /usr/lib/postgresql/*/bin/initdb | tail -n 1)")")
as=()
[ "$(id -u)" != 0 ] || as=(runuser -u postgres --)
port=$((20000 + RANDOM % 10000))
declare -A started=()

finish() {
	local status=$?
	for pid in "${started[@]}"; do kill -9 "$pid" 2>/dev/null || true; done
	for data in "$work"/pg/*/; do "${as[@]}" "$pg/pg_ctl" stop -D "$data" -m immediate >/dev/null 2>&1 || true; done
	[ $status -eq 0 ] || { echo "rehearse: failed; the logs:"; tail -n 15 "$work"/*.log "$work"/pg/*.log 2>/dev/null; }
	rm -rf "$work"
}
trap finish EXIT

say() { echo "rehearse: $*"; }

# until_true SECONDS COMMAND waits for the command to succeed.
until_true() {
	local end=$((SECONDS + $1))
	shift
	until "$@"; do
		[ $SECONDS -lt $end ] || { echo "rehearse: not within its time: $*"; exit 1; }
		sleep 0.3
	done
}

# server NAME [PORT] starts the server of a data directory; without a port, on that of the first.
server() {
	"${as[@]}" "$pg/pg_ctl" start -w -D "$work/pg/$1" -l "$work/pg/$1.log" \
		-o "-p ${2:-$port} -c listen_addresses=127.0.0.1 -c unix_socket_directories=$work/pg -c wal_level=replica" >/dev/null
}
empty() { "${as[@]}" "$pg/initdb" -D "$work/pg/$1" -U postgres -A trust -E UTF8 >/dev/null; }
at=(-h 127.0.0.1 -p "$port" -U postgres)

# begin NAME COMMAND... starts a process whose log is NAME.log.
begin() {
	local name=$1
	shift
	"$@" >>"$work/$name.log" 2>&1 &
	started[$name]=$!
}
lose() { kill -9 "${started[$1]}" && wait "${started[$1]}" 2>/dev/null || true; unset "started[$1]"; }

CGO_ENABLED=0 go build -o "$work/campaignd" ./cmd/campaignd
cd "$work"
mkdir pg
[ ${#as[@]} -eq 0 ] || chown postgres pg
hosts=127.0.0.1:$port
[ "$way" != failover ] || hosts+=,127.0.0.1:$((port + 4))
cat >campaignd.yaml <<-END
	listen: {public: "127.0.0.1:$((port + 1))", admin: "127.0.0.1:$((port + 2))"}
	ledger: postgres://postgres@$hosts/ledger?sslmode=disable&target_session_attrs=read-write
	data_dir: .
	replicas: 1
	numbers: {conn_1: {rate: 80}}
	service: {base_url: "http://127.0.0.1:$((port + 3))", api_key: sandbox-key}
	webhooks: {secrets: [sandbox-secret]}
END
cat >spring.yaml <<-END
	name: spring
	connections: [conn_1]
	template: {name: newsletter, language: en_US}
	recipients: {columns: {to: phone}}
	policies: {doubt_window: 20s}
END
awk -v n="$rows" 'BEGIN { print "phone,name"; for (i = 0; i < n; i++) printf "+234803%07d,Name %d\n", i, i }' >list.csv
truth() { curl -fsS "http://127.0.0.1:$((port + 3))/sandbox/truth"; }
accepted() { truth | jq '.messages | length'; }
sent() { [ "$(accepted)" -ge "$1" ]; }
# The last person of the list writes STOP, which is answered 2xx in the lost time.
stopper=+234803$(printf %07d $((rows - 1)))
stopped() { ./campaignd suppressions show "$stopper" -o json 2>/dev/null | jq -e 'length > 0' >/dev/null; }
stop() {
	curl -fsS -o stop.json "http://127.0.0.1:$((port + 3))/sandbox/inbound" -H 'Content-Type: application/json' \
		-d "{\"connectionId\": \"conn_1\", \"from\": \"$stopper\", \"text\": \"STOP\"}"
	until_true 10 stopped
}

say "a server, a service, and a run of $rows rows"
empty first
server first
"$pg/createdb" "${at[@]}" ledger
begin service ./campaignd sandbox --addr "127.0.0.1:$((port + 3))" --webhook "http://127.0.0.1:$((port + 1))/webhooks/messaging" \
	--retry-schedule 1s,2s,5s
until_true 30 curl -fs -o health.json "http://127.0.0.1:$((port + 3))/sandbox/health"
begin serve ./campaignd serve
until_true 30 curl -fs -o health.json "http://127.0.0.1:$((port + 2))/readyz"
./campaignd launch spring.yaml --recipients list.csv
until_true 120 sent $((rows / 5))

force=()
if [ "$way" = failover ]; then
	say "the asynchronous standby stops to follow after $(accepted) messages"
	"${as[@]}" "$pg/pg_basebackup" "${at[@]}" -D "$work/pg/second" -c fast -X stream -R
	server second $((port + 4))
	standby() { "$pg/psql" -h 127.0.0.1 -p $((port + 4)) -U postgres -qAtX -c "$1"; }
	following() { [ "$(standby 'SELECT count(*) FROM pg_stat_wal_receiver WHERE status = $$streaming$$')" = 1 ]; }
	until_true 30 following
	standby "ALTER SYSTEM SET primary_conninfo = ''"
	standby 'SELECT pg_reload_conf()' >/dev/null
	alone() { [ "$(standby 'SELECT count(*) FROM pg_stat_wal_receiver')" = 0 ]; }
	until_true 30 alone
	began=$(date +%s)
	stop
	sleep 7
	say "the server is lost and the standby promoted, after $(accepted) messages; the sender stays"
	"${as[@]}" "$pg/pg_ctl" stop -D "$work/pg/first" -m immediate >/dev/null
	lost=$(($(date +%s) - began + 3))
	"${as[@]}" "$pg/pg_ctl" promote -w -D "$work/pg/second" >/dev/null
	noticed() { grep -q 'went back in time' serve.log; }
	until_true 60 noticed
	! stopped || { echo "rehearse: the standby has the STOP, so nothing was lost"; exit 1; }
	say "the operator comes ${LATE:-300} s later"
	sleep "${LATE:-300}"
else
	say "backup by $way after $(accepted) messages"
	if [ "$way" = dump ]; then
		"$pg/pg_dump" "${at[@]}" --format=custom --file=ledger.dump ledger
	else
		"${as[@]}" "$pg/pg_basebackup" "${at[@]}" -D "$work/pg/second" -c fast -X stream
	fi
	began=$SECONDS
	stop
	until_true 120 sent $((rows / 2))
	say "the sender and the server are lost after $(accepted) messages"
	lose serve
	"${as[@]}" "$pg/pg_ctl" stop -D "$work/pg/first" -m immediate >/dev/null
	lost=$((SECONDS - began + 5))

	say "restore, and quarantine for $lost s"
	if [ "$way" = dump ]; then
		empty second
		server second
		"$pg/createdb" "${at[@]}" ledger
		"$pg/pg_restore" "${at[@]}" --exit-on-error --dbname=ledger ledger.dump
		if timeout 60 ./campaignd serve >>refused.log 2>&1; then
			echo "rehearse: serve sends from a ledger that went back"
			exit 1
		fi
		grep -q quarantine refused.log
	else
		server second # its identifier and timeline are those of the first: nothing tells that it is a copy
		force=(--force)
	fi
fi
./campaignd ledger quarantine --dry-run --lost "${lost}s" "${force[@]}"
./campaignd ledger quarantine --lost "${lost}s" "${force[@]}" -o json >quarantine.json
since=$(jq -r .since quarantine.json)

say "webhooks of the lost time, since $since"
if [ "$way" = failover ]; then
	[ "$(date -d "$since" +%s)" -le "$began" ] || { echo "rehearse: the lost time began before $since"; exit 1; }
else
	begin intake ./campaignd serve --role intake
	until_true 30 curl -fs -o health.json "http://127.0.0.1:$((port + 2))/readyz"
fi
./campaignd webhooks replay --since "$since"
quiet() { [ "$(truth | jq .stats.pending)" = 0 ]; }
until_true 120 quiet
stopped || { echo "rehearse: the STOP of the lost time is not back"; exit 1; }

say "the run goes on"
if [ "$way" != failover ]; then
	lose intake
	begin serve ./campaignd serve
fi
# It waits until the replayed deliveries are counted, or for the doubt window if intake was killed first.
resumed() { ./campaignd resume spring-1 >resume.log 2>&1; }
until_true 120 resumed
ended() { ./campaignd runs -o json | jq -e 'all(.[]; .state == "finished")' >/dev/null; }
until_true 300 ended
until_true 120 quiet
again() { ./campaignd resolve spring-1 --unknown resend >resolve.log 2>&1 || grep -q 'no row is chosen' resolve.log; }
until_true 240 again
until_true 300 ended
for run in $(./campaignd runs -o json | jq -r '.[].run // .[].id'); do ./campaignd audit "$run"; done
truth | jq -e --argjson rows "$rows" --arg stopper "$stopper" '
	([.messages[].to] | group_by(.)) as $by
	| {messages: (.messages | length), people: ($by | length), twice: ($by | map(select(length > 1)) | length), refused: (.stats.refused // {})}
	| ., if .twice > 0 or .people + ([.refused[]] | add // 0) < $rows - 1 then error("somebody got two messages, or none") else true end'
truth | jq -e --arg stopper "$stopper" 'if any(.messages[]; .to == $stopper) then error("a STOP was not obeyed") else true end' >/dev/null
for run in spring-1 spring-2; do ./campaignd report $run --format csv >>reports.csv; done
grep -q "$stopper.*skipped,opted_out" reports.csv ||
	{ echo "rehearse: the STOP was not obeyed by the ledger"; exit 1; }
say "passed: nobody got two messages, and everybody who can be reached got one"
