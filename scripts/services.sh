#!/bin/sh
# Installs the programs that the tests need, redis-server, PostgreSQL, PgBouncer and chromium, from
# Debian's packages. It starts and enables nothing: each test starts a private server on a free loopback port
# and stops it again.
#
#   scripts/services.sh          install what is missing, print the versions
#   scripts/services.sh --check  install nothing; exit 1 when something is missing
#
# The script may be run again. It needs root, or sudo without a password, only to install something.
set -eu

check=no
case "${1-}" in
"") ;;
--check) check=yes ;;
*)
	echo "usage: scripts/services.sh [--check]" >&2
	exit 2
	;;
esac

policy=/usr/sbin/policy-rc.d
placed=no

fail() {
	echo "services.sh: $*" >&2
	exit 1
}

# Debian keeps PostgreSQL's server programs off PATH, one folder per version.
postgres_bin() {
	found=""
	if command -v initdb >/dev/null 2>&1 && command -v postgres >/dev/null 2>&1; then
		found=$(command -v postgres)
	else
		for candidate in /usr/lib/postgresql/*/bin/postgres; do
			[ -x "$candidate" ] && found=$candidate
		done
	fi
	[ -n "$found" ] && echo "$found"
}

missing() {
	command -v redis-server >/dev/null 2>&1 || echo redis-server
	postgres_bin >/dev/null || echo postgresql
	PATH=$PATH:/usr/sbin command -v pgbouncer >/dev/null 2>&1 || echo pgbouncer
	command -v chromium >/dev/null 2>&1 || echo chromium
}

as_root() {
	if [ "$(id -u)" -eq 0 ]; then
		"$@"
	else
		sudo -n "$@"
	fi
}

# While a package is installed, the exit code 101 of policy-rc.d keeps its scripts from starting the
# service (https://www.debian.org/doc/debian-policy/ch-opersys.html#interface-to-init-systems). An
# existing policy-rc.d belongs to the machine and is left as it is.
forbid_starting() {
	[ -e "$policy" ] && return 0
	placed=yes
	as_root sh -c "printf '#!/bin/sh\nexit 101\n' >$policy && chmod 755 $policy"
}

allow_starting() {
	[ "$placed" = yes ] || return 0
	placed=no
	as_root rm -f "$policy"
}

install() {
	command -v apt-get >/dev/null 2>&1 ||
		fail "$* missing and this is not a Debian system: install Redis 7 or newer, PostgreSQL 15 or newer, PgBouncer and chromium by hand"
	if [ "$(id -u)" -ne 0 ]; then
		command -v sudo >/dev/null 2>&1 || fail "$* missing: run scripts/services.sh as root"
		sudo -n true 2>/dev/null ||
			fail "$* missing and sudo wants a password: run \`sudo scripts/services.sh\`"
	fi
	trap allow_starting EXIT
	trap 'exit 130' INT TERM
	forbid_starting
	as_root env DEBIAN_FRONTEND=noninteractive apt-get update -qq ||
		fail "apt-get update failed: is a package mirror reachable? (see /etc/apt/sources.list*)"
	as_root env DEBIAN_FRONTEND=noninteractive \
		apt-get install -y -qq --no-install-recommends -o Dpkg::Use-Pty=0 "$@" </dev/null >&2 ||
		fail "apt-get could not install $*: its message is above"
	# The servers that were installed here do not start at the next boot either.
	if command -v systemctl >/dev/null 2>&1; then
		for unit in "$@"; do
			as_root systemctl disable -q "$unit" >/dev/null 2>&1 || true
		done
	fi
	allow_starting
}

wanted=$(missing)
if [ -n "$wanted" ]; then
	[ "$check" = no ] || fail "missing: $(echo $wanted); run scripts/services.sh"
	# shellcheck disable=SC2086 # a list of package names
	install $wanted
	wanted=$(missing)
	[ -z "$wanted" ] || fail "still missing after the installation: $(echo $wanted)"
fi

redis-server --version | sed 's/ sha=.*//'
"$(postgres_bin)" --version
PATH=$PATH:/usr/sbin pgbouncer --version | sed -n 1p
chromium --version
