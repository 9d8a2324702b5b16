package config

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"campaignd/campaign"
	"campaignd/internal/messaging"
)

// The golden file is the output of `campaignd config show` without a configuration.
func TestTheDefaultsMatchTheirGoldenFile(t *testing.T) {
	want, err := os.ReadFile(filepath.Join("testdata", "default.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	c, err := Load("none", false, noEnv)
	if err != nil {
		t.Fatal(err)
	}
	got, err := c.YAML()
	if err != nil || string(got) != string(want) {
		t.Errorf("the defaults are (%v)\n%s\nwant\n%s", err, got, want)
	}
}

// Each bound is tested from both sides: with the outermost value that is accepted, and with the
// next value and its error.
func TestEachBoundOfTheConfigurationIsChecked(t *testing.T) {
	const pg = "ledger: postgres://h/x\n"
	https := func(s string) string { return "service: {base_url: https://api.example.com, " + s + "}\n" }
	const (
		replicas = " is out of bounds; give how many processes send, or 0 for any number"
		refusal  = ": give a status from 408 to 599 and the error code that comes with it"
		blank    = "service.api_key holds a blank, a line break or a letter outside ASCII: check that it was copied whole and alone"
		clear    = ", or service.allow_http: true inside a network of your own"
		parts    = "service.base_url: give scheme and host only; the key belongs to service.api_key"
		rates    = " messages per second is out of bounds; give 0.0001 to 10000, " +
			"for example 80 (STANDARD) or 1000 (HIGH), or 0 for what the service tells"
		address = " is not an address; give HOST:PORT or :PORT, for example 127.0.0.1:8080"
		ledger  = " is not a ledger; give sqlite:FILE, for example sqlite:campaignd.db, or postgres://USER@HOST/DATABASE"
		redis   = " is not the address of a Redis; give redis://HOST:PORT, or rediss:// for TLS"
	)
	for _, tt := range []struct{ good, bad, want string }{
		{"replicas: 1\n", "replicas: 2\n",
			"replicas: 2 cannot send from an SQLite ledger; give replicas: 1, or a ledger postgres://USER@HOST/DATABASE"},
		{pg + "replicas: 1000\n", pg + "replicas: 1001\n", "replicas: 1001" + replicas},
		{pg + "replicas: 0\n", pg + "replicas: -1\n", "replicas: -1" + replicas},
		{"service: {timeout: 10ms}\n", "service: {timeout: 9ms}\n", "service.timeout: 9ms is out of bounds; give 10ms to 25s"},
		{"service: {timeout: 25s}\nsending: {lease: 31s}\n", "service: {timeout: 25s1ms}\nsending: {lease: 1m}\n",
			"service.timeout: 25s1ms is out of bounds; give 10ms to 25s"},
		{https("refusals: [{status: 408, error: x}]"), https("refusals: [{status: 407, error: x}]"), "service.refusals[0]" + refusal},
		{https("refusals: [{status: 599, error: x}]"), https("refusals: [{status: 599, error: x}, {status: 600, error: x}]"),
			"service.refusals[1]" + refusal},
		{https("refusals: [{status: 500, error: x}]"), https("refusals: [{status: 500}]"), "service.refusals[0]" + refusal},
		{https("api_key: '!a~'"), https("api_key: ' '"), blank},
		{https("api_key: a"), https("api_key: aé"), blank},
		{"service: {base_url: http://localhost}\n", "service: {base_url: http://localhost.example}\n",
			"service.base_url: http://localhost.example sends the key unencrypted; give https://localhost.example" + clear},
		{"service: {base_url: 'http://[::1]:1'}\n", "service: {base_url: http://10.0.0.1:80}\n",
			"service.base_url: http://10.0.0.1:80 sends the key unencrypted; give https://10.0.0.1:80" + clear},
		{"service: {base_url: http://10.0.0.1, allow_http: true}\n", "service: {base_url: ftp://10.0.0.1, allow_http: true}\n",
			`service.base_url: "ftp://10.0.0.1" is not a URL; give https://HOST`},
		{https(""), "service: {base_url: 'https://'}\n", `service.base_url: "https://" is not a URL; give https://HOST`},
		{https(""), "service: {base_url: https://a@h}\n", parts},
		{https(""), "service: {base_url: 'https://h?k=1'}\n", parts},
		{https(""), "service: {base_url: 'https://h#k'}\n", parts},
		{https(""), "service: {base_url: https://h/}\n",
			"service.base_url: remove the slash at the end of https://h/ (the service answers it with 308)"},
		{"webhooks: {path: /a}\n", "webhooks: {path: '/a?b'}\n",
			`webhooks.path: "/a?b" is not a path; it begins with / and has no ?, #, blank or brace`},
		{"webhooks: {path: /healthz/}\n", "webhooks: {path: /healthz}\n", "webhooks.path: /healthz is taken by the health check; give another"},
		{"webhooks: {signature: {header: X}}\n", "webhooks: {signature: {header: 'X:'}}\n",
			`webhooks.signature.header: "X:" is not the name of a header`},
		{"webhooks: {signature: {header: X}}\n", "webhooks: {signature: {header: ''}}\n",
			`webhooks.signature.header: "" is not the name of a header`},
		{"webhooks: {secrets: [0123456789abcdef, fedcba9876543210]}\n", "webhooks: {secrets: [0123456789abcdef, '']}\n",
			"webhooks.secrets[1] is empty: remove it, or give the secret that the service signs with"},
		{"webhooks: {signature: {encoding: base64}}\n", "webhooks: {signature: {encoding: hexx}}\n",
			`webhooks.signature.encoding: "hexx" is unknown; give hex, base64`},
		{"webhooks: {signature: {tolerance: 1s}}\n", "webhooks: {signature: {tolerance: 999ms}}\n",
			"webhooks.signature.tolerance: 999ms is out of bounds; give 1s to 24h"},
		{"webhooks: {signature: {tolerance: 24h}}\n", "webhooks: {signature: {tolerance: 24h1ms}}\n",
			"webhooks.signature.tolerance: 24h1ms is out of bounds; give 1s to 24h"},
		{"webhooks: {sweep: 10ms}\n", "webhooks: {sweep: 9ms}\n", "webhooks.sweep: 9ms is out of bounds; give 10ms to 1m"},
		{"webhooks: {sweep: 1m}\n", "webhooks: {sweep: 1m1ms}\n", "webhooks.sweep: 1m1ms is out of bounds; give 10ms to 1m"},
		{"numbers: {a: {rate: 0.0001}}\n", "numbers: {a: {rate: 0.000099}}\n", "numbers.a.rate: 9.9e-05" + rates},
		{"numbers: {a: {rate: 10000}}\n", "numbers: {a: {rate: 10000.5}}\n", "numbers.a.rate: 10000.5" + rates},
		{"numbers: {a: {rate: 0, tier: -1}}\n", "numbers: {a: {tier: -2}}\n", "numbers.a.tier: -2 people in 24 hours; give 1 to 100000000, " +
			"-1 for no limit, or 0 for the tier that the service tells"},
		{"sending: {lease: 500ms}\nservice: {timeout: 400ms}\n", "sending: {lease: 499ms}\nservice: {timeout: 400ms}\n",
			"sending.lease: 499ms is out of bounds; give 500ms to 5m"},
		{"sending: {lease: 5m}\n", "sending: {lease: 5m1ms}\n", "sending.lease: 5m1ms is out of bounds; give 500ms to 5m"},
		{"sending: {lease: 12s1ms}\n", "sending: {lease: 12s}\n", "sending.lease: 12s is too short for service.timeout 10s; give more than 12s"},
		{"sending: {group: 1ms}\n", "sending: {group: 1s1ms}\n", "sending.group: 1s1ms is out of bounds; give 1ms to 1s"},
		{"sending: {group: 1s}\n", "sending: {group: 0s}\n", "sending.group: 0s is out of bounds; give 1ms to 1s"},
		{"sending: {flush: 1ms}\n", "sending: {flush: 1s1ms}\n", "sending.flush: 1s1ms is out of bounds; give 1ms to 1s"},
		{"sending: {flush: 1s}\n", "sending: {flush: 0s}\n", "sending.flush: 0s is out of bounds; give 1ms to 1s"},
		{"sending: {tick: 1ms}\n", "sending: {tick: 10s1ms}\n", "sending.tick: 10s1ms is out of bounds; give 1ms to 10s"},
		{"sending: {tick: 10s}\n", "sending: {tick: 0s}\n", "sending.tick: 0s is out of bounds; give 1ms to 10s"},
		{"sending: {backoff: 1ms}\n", "sending: {backoff: 10m1ms}\n", "sending.backoff: 10m1ms is out of bounds; give 1ms to 10m"},
		{"sending: {backoff: 10m}\n", "sending: {backoff: 0s}\n", "sending.backoff: 0s is out of bounds; give 1ms to 10m"},
		{"sending: {in_flight: 1}\n", "sending: {in_flight: 0}\n", "sending.in_flight: 0 is out of bounds; give 1 to 10000"},
		{"sending: {in_flight: 10000}\n", "sending: {in_flight: 10001}\n", "sending.in_flight: 10001 is out of bounds; give 1 to 10000"},
		{"ledger_connections: 6\n", "ledger_connections: 5\n", "ledger_connections: 5 is out of bounds; give 6 to 300, " +
			"a third for each of sending, webhooks and reports"},
		{"ledger_connections: 300\n", "ledger_connections: 301\n", "ledger_connections: 301 is out of bounds; give 6 to 300, " +
			"a third for each of sending, webhooks and reports"},
		{"listen: {public: ':65535'}\n", "listen: {public: ':65536'}\n", `listen.public: ":65536"` + address},
		{"listen: {admin: '[::1]:0'}\n", "listen: {admin: '::1'}\n", `listen.admin: "::1"` + address},
		{"listen: {admin: 'h:0'}\n", "listen: {admin: 'http://h:0'}\n", `listen.admin: "http://h:0"` + address},
		{"ledger: sqlite:a\n", "ledger: 'sqlite:'\n", `ledger: "sqlite:"` + ledger},
		{"ledger: postgresql://h/x\n", "ledger: a.db\n", `ledger: "a.db"` + ledger},
		{"redis: rediss://h\n", "redis: http://h\n", `redis: "http://h"` + redis},
		{"redis: redis://h\n", "redis: 'redis://'\n", `redis: "redis://"` + redis},
		{"suppressions: {scope: company}\n", "suppressions: {scope: client}\n",
			`suppressions.scope: "client" is unknown; give everywhere, company`},
		{"suppressions: {words: [unwatch, нет]}\n", "suppressions: {words: [unwatch, '!']}\n",
			"suppressions.words[1]: want a word or a short message with letters or digits, of at most 256 bytes"},
		{"correlation: off\n", "correlation: on\n", `correlation: "on" is unknown; give off, tag`},
		{"plan: {monthly_messages: 0}\n", "plan: {monthly_messages: -1}\n",
			"plan.monthly_messages: -1 is out of bounds; give 0 to 1000000000000"},
		{"plan: {resets: {day: 28}}\n", "plan: {resets: {day: 29}}\n",
			"plan.resets.day: 29 is out of bounds; give 1 to 28, a day that every month has"},
		{"plan: {reserve: 1}\n", "plan: {reserve: 1.1}\n", "plan.reserve: 1.1 is out of bounds; give a share from 0 to 1"},
		{"numbers: {a: {ramp: {start: 1, step: 0, ceiling: 1}}}\n", "numbers: {a: {ramp: {start: 2, step: 0, ceiling: 1}}}\n",
			"numbers.a.ramp: start 2, step 0, ceiling 1 is no warm-up; give a start of 1 or more, a step of 0 or more, " +
				"and a ceiling from the start to 1000000000000"},
		{"log: {format: json}\n", "log: {format: xml}\n", `log.format: "xml" is unknown; give text, json`},
		{"log: {level: warn}\n", "log: {level: warning}\n", `log.level: "warning" is unknown; give debug, info, warn, error`},
	} {
		if _, err := Load(write(t, "c.yaml", tt.good), true, noEnv); err != nil {
			t.Errorf("%q: got %v, want it accepted", tt.good, err)
		}
		path := write(t, "c.yaml", tt.bad)
		_, err := Load(path, true, noEnv)
		if got := errorText(err); got != path+": "+tt.want {
			t.Errorf("%q:\ngot  %s\nwant %s", tt.bad, strings.TrimPrefix(got, path+": "), tt.want)
		}
	}
}

func TestWhatIsMissingToSendIsNamed(t *testing.T) {
	key := messaging.NewSecret("k")
	const (
		intake = "role: intake takes webhooks and sends nothing; give all or sender"
		redis  = "redis is empty, so each process would send a number's full rate: " +
			"give redis://HOST:PORT, or replicas: 1 if only one process ever sends from this ledger"
		noKey = "service.api_key is empty: set CAMPAIGND_SERVICE_API_KEY, or CAMPAIGND_SERVICE_API_KEY_FILE to the file that holds it; " +
			"or give cloud.accounts"
	)
	for _, tt := range []struct {
		config Config
		want   string
	}{
		{Config{Role: RoleAll, Ledger: "sqlite:a", Service: Service{APIKey: key}}, "no error"},
		{Config{Role: RoleSender, Ledger: "postgres://h", Redis: "redis://h", Service: Service{APIKey: key}}, "no error"},
		{Config{Role: RoleSender, Ledger: "postgresql://h", Replicas: 1, Service: Service{APIKey: key}}, "no error"},
		{Config{Role: RoleIntake, Ledger: "sqlite:a", Service: Service{APIKey: key}}, intake},
		{Config{Role: RoleAll, Ledger: "postgres://h", Service: Service{APIKey: key}}, redis},
		{Config{Role: RoleAll, Ledger: "postgresql://h", Replicas: 2, Service: Service{APIKey: key}}, redis},
		{Config{Role: RoleAll, Ledger: "sqlite:a"}, noKey},
	} {
		if got := errorText(tt.config.CanSend()); got != tt.want {
			t.Errorf("%s, %s, %d replicas: got %q, want %q", tt.config.Role, tt.config.Ledger, tt.config.Replicas, got, tt.want)
		}
	}
}

func TestALedgerIsMissingWhenItsFileIs(t *testing.T) {
	there := write(t, "a.db", "")
	for ledger, want := range map[string]bool{
		"sqlite:" + there: false, "sqlite:" + there + "x": true, "postgres://h/x": false, "postgresql://h/x": false,
	} {
		if got := (&Config{Ledger: ledger}).NoLedger(); got != want {
			t.Errorf("NoLedger of %s = %v, want %v", ledger, got, want)
		}
	}
	for ledger, want := range map[string]string{"sqlite:a.db": "a.db", "postgres:x": "", "postgresql:x": ""} {
		if got := (&Config{Ledger: ledger}).LedgerFile(); got != want {
			t.Errorf("LedgerFile of %s = %q, want %q", ledger, got, want)
		}
	}
}

func TestAFileThatIsNoConfigurationIsRefused(t *testing.T) {
	nested := func(n int) string { return "numbers: " + strings.Repeat("[", n) + strings.Repeat("]", n) + "\n" }
	for _, tt := range []struct{ file, want string }{
		{strings.Repeat("#", 1<<20) + "\n",
			"the file has 1048577 bytes; a configuration file has at most 1048576; give the YAML file with --config"},
		{"\xff", "the file is not UTF-8 text; save it as UTF-8"},
		{nested(33), "nested more than 32 deep; see `campaignd config schema`"},
		{"campaigns: !!str x\n",
			"tags and directives are not read in configuration files; remove it; text that begins with ! or % goes in quotes"},
		{"numbers: [a]\n", "want keys with values here; see `campaignd config schema`"},
	} {
		_, err := Load(write(t, "c.yaml", tt.file), true, noEnv)
		if !strings.HasSuffix(errorText(err), ": "+tt.want) {
			t.Errorf("%.20q: got %q, want %q", tt.file, errorText(err), tt.want)
		}
	}
	for _, file := range []string{strings.Repeat("#", 1<<20-1) + "\n", "---\nlog: {level: warn}\n"} {
		if _, err := Load(write(t, "c.yaml", file), true, noEnv); err != nil {
			t.Errorf("%.20q: got %v, want it accepted", file, err)
		}
	}
	if _, err := Load(write(t, "c.yaml", nested(32)), true, noEnv); strings.Contains(errorText(err), "nested") {
		t.Errorf("32 deep: got %q, want another fault", errorText(err))
	}
}

func TestAHostOfTheAdminListenerIsANameAlone(t *testing.T) {
	for _, name := range []string{"", "https://campaignd.example", "campaignd.example:8081", "*.example"} {
		if got := errorText((Listen{AdminHosts: []string{"a.example", name}}).checkHosts()); !strings.Contains(got, "listen.admin_hosts[1]") {
			t.Errorf("%q: got %q, want listen.admin_hosts[1] at fault", name, got)
		}
	}
}

func TestAShortRetentionIsRefused(t *testing.T) {
	for text, want := range map[string]string{
		"0s": "", "32d": "", "90d": "",
		"31d": "retention.deliveries: 744h is too short",
	} {
		keep, err := campaign.ParseDuration(text)
		if err != nil {
			t.Fatal(err)
		}
		err = Retention{Deliveries: keep}.check()
		if err == nil && want != "" || err != nil && (want == "" || !strings.Contains(err.Error(), want)) {
			t.Errorf("retention.deliveries: %s: %v; want %q", text, err, want)
		}
	}
}
