package daemon

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/goccy/go-yaml"
	schema "github.com/santhosh-tekuri/jsonschema/v6"

	"campaignd/campaign"
	"campaignd/internal/sandbox"
)

var noEnv map[string]string

func env(pairs ...string) map[string]string {
	m := map[string]string{}
	for i := 0; i < len(pairs); i += 2 {
		m[pairs[i]] = pairs[i+1]
	}
	return m
}

func write(t testing.TB, name, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestZeroConfigurationRunsAgainstTheSandbox(t *testing.T) {
	c, err := LoadConfig(filepath.Join(t.TempDir(), DefaultConfigFile), false, noEnv)
	if err != nil {
		t.Fatal(err)
	}
	if c.Service.BaseURL != defaultService || c.Service.APIKey.Reveal() != sandbox.DemoKey || c.Webhooks.Secrets[0].Reveal() != sandbox.DemoSecret {
		t.Errorf("service %q with key %q, secrets %v: want the sandbox's", c.Service.BaseURL, c.Service.APIKey.Reveal(), c.Webhooks.Secrets)
	}
	if c.LedgerFile() != "campaignd.db" || c.Listen.Admin != "127.0.0.1:8081" {
		t.Errorf("ledger %q, admin %q", c.LedgerFile(), c.Listen.Admin)
	}
	if err := errors.Join(c.CanSend(), c.CanReceive()); err != nil {
		t.Error(err)
	}
}

func TestAFileThatSaysNothingIsTheDefault(t *testing.T) {
	for _, file := range []string{"", "\n", "# nothing yet\n", "---\n# nothing\n", "\uFEFF", "listen:\n  # public: \":8080\"\n", "service: {}\n", "ledger:\nlog:\n"} {
		c, err := LoadConfig(write(t, "c.yaml", file), true, noEnv)
		if err != nil {
			t.Errorf("%q is refused: %v, want the default", file, err)
			continue
		}
		if c.Listen.Public != ":8080" || c.LedgerFile() != "campaignd.db" || c.Service.BaseURL != defaultService || c.Log.Level != "info" {
			t.Errorf("%q: listen %q, ledger %q, service %q", file, c.Listen.Public, c.Ledger, c.Service.BaseURL)
		}
	}
}

func TestMissingFileIsAnErrorOnlyWhenAskedFor(t *testing.T) {
	path := filepath.Join(t.TempDir(), "absent.yaml")
	if _, err := LoadConfig(path, false, noEnv); err != nil {
		t.Errorf("default file missing: %v", err)
	}
	_, err := LoadConfig(path, true, noEnv)
	if err == nil || !strings.Contains(err.Error(), "absent.yaml does not exist") {
		t.Errorf("--config of a missing file: %v", err)
	}
}

func TestARealServiceNeedsItsOwnKeyAndSecret(t *testing.T) {
	path := write(t, "c.yaml", "service: {base_url: https://api.example.com}\n")
	c, err := LoadConfig(path, true, noEnv)
	if err != nil {
		t.Fatal(err)
	}
	if err := c.CanSend(); err == nil || !strings.Contains(err.Error(), "CAMPAIGND_SERVICE_API_KEY") {
		t.Errorf("CanSend without a key: %v", err)
	}
	if err := c.CanReceive(); err == nil || !strings.Contains(err.Error(), "webhooks.secrets") {
		t.Errorf("CanReceive without a secret: %v", err)
	}
}

func TestEnvironmentOverrulesTheFile(t *testing.T) {
	path := write(t, "c.yaml", "listen: {public: ':1'}\nservice: {timeout: 3s}\nnumbers: {a: {rate: 5}}\n")
	key := write(t, "key", "from-a-file\n")
	c, err := LoadConfig(path, true, env(
		"CAMPAIGND_LISTEN_PUBLIC", ":2",
		"CAMPAIGND_SERVICE_BASE_URL", "https://api.example.com",
		"CAMPAIGND_SERVICE_API_KEY_FILE", key,
		"CAMPAIGND_WEBHOOKS_SECRETS", "old, new",
		"CAMPAIGND_WEBHOOKS_SIGNATURE_ENCODING", "base64",
		"CAMPAIGND_NUMBERS", "{b: {rate: 7.5}}",
		"CAMPAIGND_SENDING_FLUSH", "7ms",
		"CAMPAIGND_SENDING_IN_FLIGHT", "9",
		"CAMPAIGND_SERVICE_HOST", "10.0.0.1", // Kubernetes', not ours
	))
	if err != nil {
		t.Fatal(err)
	}
	got := fmt.Sprint(c.Listen.Public, " ", c.Service.APIKey.Reveal(), " ", len(c.Webhooks.Secrets), c.Webhooks.Secrets[1].Reveal(), " ",
		c.Webhooks.Signature.Encoding, " ", c.Numbers, " ", c.Sending.Flush, " ", c.Sending.InFlight, " ", time.Duration(c.Service.Timeout))
	want := ":2 from-a-file 2new base64 map[b:{7.5 0 }] 7ms 9 3s"
	if got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

func TestBadConfigurationIsOneLineWithPlaceAndRemedy(t *testing.T) {
	for _, tt := range []struct {
		file string
		env  []string
		want string // in the error
	}{
		{"listn: {}\n", nil, `:1:1: unknown key "listn"; did you mean "listen"?`},
		{"listen:\n  public: ':1'\n  admn: x\n", nil, `:3:3: unknown key "listen.admn"; did you mean "admin"?`},
		{"numbers: {a: {rate: 1}, b: {rat: 1}}\n", nil, `:1:29: unknown key "numbers.b.rat"; did you mean "rate"?`},
		{"service: {refusals: [{status: 500, eror: x}]}\n", nil, `:1:36: unknown key "service.refusals[0].eror"; did you mean "error"?`},
		{"service: {colour: x}\n", nil, `:1:11: unknown key "service.colour"; known here: base_url, api_key`},
		{"service: {timeout: soon}\n", nil, `:1:20: "soon" is not a duration`},
		{"service: {timeout: 10}\n", nil, `:1:20: "10" is not a duration`},
		{"numbers: {a: {rate: fast}}\n", nil, ":1:21: want a number here"},
		{"webhooks: {secrets: one}\n", nil, "want a list"},
		{"ledger: [a]\n", nil, ":1:9: want a single value here, not a list"},
		{"listen:\n\tpublic: ':1'\n", nil, ":2:1: a tab stands where YAML wants spaces; indent with spaces"},
		{"listen: {public: ':1'}\nlisten: {public: ':2'}\n", nil, ":2:1: "},
		{"a: &x 1\nb: *x\n", nil, ":1:4: anchors"},
		{"ledger: sqlite:a\n---\nledger: sqlite:b\n", nil, ":2:1: a second document"},
		{"key:\n}", nil, "c.yaml:"},
		{"ledger: mysql://u:hush@h/x\n", nil, `ledger: "mysql://u:xxxxx@h/x" is not a ledger`},
		{"role: sendr\n", nil, `role: "sendr" is unknown; give all, intake, sender`},
		{"replicas: 3\n", nil, "replicas: 3 cannot send from an SQLite ledger"},
		{"ledger: postgres://h/x\nreplicas: -1\n", nil, "replicas: -1 is out of bounds"},
		{"redis: localhost:6379\n", nil, "redis: "},
		{"drops: [{bucket: file:///x, prefix: a/, campaign: b}]\n", nil, "drops: this version"},
		{"plan: {monthly_messages: 10}\n", nil, "plan.monthly_messages: this version"},
		{"numbers: {a: {tier: 10}}\n", nil, "numbers.a: this version"},
		{"numbers: {a: {rate: -1}}\n", nil, "numbers.a.rate: -1"},
		{"numbers: {a: {rate: .nan}}\n", nil, "numbers.a.rate: NaN"},
		{"numbers: {a: {rate: .inf}}\n", nil, "numbers.a.rate: +Inf"},
		{"numbers: {a: {rate: 1e-6}}\n", nil, "numbers.a.rate: 1e-06 messages per second is out of bounds; give 0.0001 to 10000"},
		{"correlation: tag\n", nil, "correlation: tag"},
		{"listen: {public: nowhere}\n", nil, `listen.public: "nowhere" is not an address`},
		{"service: {base_url: http://api.example.com}\n", nil, "give https://api.example.com"},
		{"service: {base_url: https://api.example.com/}\n", nil, "remove the slash"},
		{"service: {base_url: https://api.example.com, api_key: 'a b'}\n", nil, "service.api_key holds a blank"},
		{"service: {base_url: 'api.example.com'}\n", nil, "service.base_url: "},
		{"service: {timeout: 20s}\n", nil, "sending.lease: 15s is too short for service.timeout 20s"},
		{"service: {refusals: [{status: 200, error: x}]}\n", nil, "service.refusals[0]: "},
		{"webhooks: {path: hooks}\n", nil, "webhooks.path: "},
		{"webhooks: {signature: {encoding: hexx}}\n", nil, `webhooks.signature.encoding: "hexx" is unknown; give hex, base64`},
		{"log: {level: loud}\n", nil, `log.level: "loud" is unknown`},
		{"", []string{"CAMPAIGND_SERVICE_APIKEY", "k"}, "CAMPAIGND_SERVICE_APIKEY in the environment names no key; did you mean CAMPAIGND_SERVICE_API_KEY?"},
		{"", []string{"CAMPAIGND_WEBHOOK_SECRETS_FILE", "f"}, "did you mean CAMPAIGND_WEBHOOKS_SECRETS_FILE?"},
		{"", []string{"CAMPAIGND_LEDGER_URL", "sqlite:a"}, "did you mean CAMPAIGND_LEDGER?"},
		{"", []string{"CAMPAIGND_SENDING_LEASE", "long"}, "CAMPAIGND_SENDING_LEASE in the environment: want a duration"},
		{"", []string{"CAMPAIGND_SERVICE_API_KEY_FILE", "/nonexistent"}, "CAMPAIGND_SERVICE_API_KEY_FILE: "},
		{"", []string{"CAMPAIGND_SERVICE_API_KEY", "k", "CAMPAIGND_SERVICE_API_KEY_FILE", "f"}, "are both set"},
	} {
		path := write(t, "c.yaml", tt.file)
		_, err := LoadConfig(path, true, env(tt.env...))
		if err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%q %v:\n got %v\nwant %q", tt.file, tt.env, err, tt.want)
			continue
		}
		if strings.Contains(err.Error(), "\n") || strings.Contains(err.Error(), "daemon.") || strings.Contains(err.Error(), "hush") {
			t.Errorf("%q: %q is not one plain line", tt.file, err)
		}
	}
}

// Several processes with limits of their own would send a number's rate several times over (design section 6).
func TestAPostgresLedgerWantsRedisUnlessOneReplicaSends(t *testing.T) {
	for _, tt := range []struct {
		file string
		want string // in the error; "": it may send
	}{
		{"ledger: sqlite:a.db\n", ""},
		{"ledger: sqlite:a.db\nrole: sender\n", ""},
		{"ledger: postgres://h/x\n", "give redis://HOST:PORT, or replicas: 1"},
		{"ledger: postgresql://h/x\nrole: sender\nreplicas: 2\n", "give redis://HOST:PORT, or replicas: 1"},
		{"ledger: postgres://h/x\nreplicas: 1\n", ""},
		{"ledger: postgres://h/x\nredis: redis://h\nreplicas: 8\n", ""},
		{"ledger: postgres://h/x\nrole: intake\n", "role: intake takes webhooks and sends nothing"},
	} {
		c, err := LoadConfig(write(t, "c.yaml", tt.file), true, noEnv)
		if err != nil {
			t.Fatal(err)
		}
		err = c.CanSend()
		if (err == nil) != (tt.want == "") || err != nil && !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%q: %v, want %q", tt.file, err, tt.want)
		}
	}
}

// The prefix is not campaignd's alone: what is far from every key belongs to somebody else.
func TestVariablesOfOthersAreLeftAlone(t *testing.T) {
	for _, name := range []string{
		// What Kubernetes sets for Services named campaignd and campaignd-public.
		"CAMPAIGND_SERVICE_HOST", "CAMPAIGND_SERVICE_PORT", "CAMPAIGND_SERVICE_PORT_ADMIN", "CAMPAIGND_PORT", "CAMPAIGND_PORT_8080_TCP",
		"CAMPAIGND_PORT_8080_TCP_PROTO", "CAMPAIGND_PORT_8080_TCP_PORT", "CAMPAIGND_PORT_8080_TCP_ADDR",
		"CAMPAIGND_PUBLIC_SERVICE_HOST", "CAMPAIGND_PUBLIC_SERVICE_PORT_HTTP", "CAMPAIGND_PUBLIC_PORT_443_TCP",
		"CAMPAIGND_MUTANT", "CAMPAIGND_CRASH", "CAMPAIGND_LONG", "CAMPAIGND_VERSION", "CAMPAIGND_IMAGE", "CAMPAIGND_HOME",
		"CAMPAIGNDX_LEDGR", "LEDGR",
	} {
		if _, err := LoadConfig("none", false, env(name, "tcp://10.0.0.1:8080")); err != nil {
			t.Errorf("%s is refused: %v, want it left alone", name, err)
		}
	}
	if _, err := LoadConfig("none", false, env("CAMPAIGND_LEDGR", "")); err != nil {
		t.Errorf("an empty variable counts as not set: %v", err)
	}
}

func TestAFaultShowsItsLineWithACaret(t *testing.T) {
	path := write(t, "c.yaml", "listen:\n  admn: x\n")
	_, err := LoadConfig(path, true, noEnv)
	var file *campaign.FileError
	if !errors.As(err, &file) {
		t.Fatalf("%T: %v", err, err)
	}
	if want := "    2 |   admn: x\n          ^"; !strings.Contains(file.Show(), want) {
		t.Errorf("got\n%s\nwant\n%s", file.Show(), want)
	}
}

func TestShownConfigurationHidesSecretsAndReadsBack(t *testing.T) {
	c, err := LoadConfig("none", false, env(
		"CAMPAIGND_SERVICE_BASE_URL", "https://api.example.com", "CAMPAIGND_SERVICE_API_KEY", "canary-1",
		"CAMPAIGND_WEBHOOKS_SECRETS", "canary-2,canary-3", "CAMPAIGND_REDIS", "redis://u:canary-4@h:1"))
	if err != nil {
		t.Fatal(err)
	}
	text, err := c.YAML()
	if err != nil {
		t.Fatal(err)
	}
	object, err := json.Marshal(c.Masked())
	if err != nil {
		t.Fatal(err)
	}
	for _, out := range []string{string(text), string(object), fmt.Sprintf("%v %+v %#v", c.Service, c.Webhooks, c.Service.APIKey)} {
		if strings.Contains(out, "canary") {
			t.Errorf("a secret is shown:\n%s", out)
		}
	}
	if _, err := LoadConfig(write(t, "shown.yaml", string(text)), true, noEnv); err != nil {
		t.Errorf("what is shown does not read back: %v\n%s", err, text)
	}
}

func TestTheSchemaRefusesTypingErrors(t *testing.T) {
	text, err := ConfigSchema()
	if err != nil {
		t.Fatal(err)
	}
	doc, err := schema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	compiler := schema.NewCompiler()
	if err := compiler.AddResource("config.json", doc); err != nil {
		t.Fatal(err)
	}
	s, err := compiler.Compile("config.json")
	if err != nil {
		t.Fatal(err)
	}
	check := func(text string) error {
		var v any
		if err := yaml.Unmarshal([]byte(text), &v); err != nil {
			t.Fatal(err)
		}
		object, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		doc, err := schema.UnmarshalJSON(bytes.NewReader(object))
		if err != nil {
			t.Fatal(err)
		}
		return s.Validate(doc)
	}
	example := `
listen:   {public: ":8080", admin: "127.0.0.1:8081"}
ledger:   sqlite:campaignd.db
redis:    ""
service:  {base_url: "http://127.0.0.1:8090", api_key: "", timeout: 10s}
webhooks: {path: /webhooks/messaging, secrets: []}
numbers:  {conn_1: {rate: 80, tier: 100000, portfolio: main}}
plan:     {monthly_messages: 0, resets: {day: 1, timezone: UTC}, reserve: 0.05}
campaigns: ./campaigns
drops:    [{bucket: "file:///var/lib/campaignd/inbox", prefix: "spring/", campaign: spring-sale}]
`
	if err := check(example); err != nil {
		t.Errorf("the example of design section 10: %v", err)
	}
	for _, bad := range []string{"listn: {}", "service: {timeout: 10}", "log: {level: loud}", "service: {timeout: soon}", "numbers: {a: {rte: 1}}"} {
		if check(bad) == nil {
			t.Errorf("the schema accepts %q", bad)
		}
	}
	if !bytes.Contains(text, []byte(`"default": "sqlite:campaignd.db"`)) {
		t.Error("the schema names no defaults")
	}
}

// FuzzConfig feeds the reader what is no configuration: it may refuse, it must not panic.
func FuzzConfig(f *testing.F) {
	for _, s := range []string{"", "listen: {public: ':1'}", "key:\n}", "- a", "a: &x [*x]", "\xff", "numbers: {a: {rate: 1e309}}", strings.Repeat("[", 99)} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, src []byte) {
		c := DefaultConfig()
		if err := c.readYAML("f.yaml", src); err == nil {
			_ = c.Validate()
		}
	})
}

func TestNoPasswordIsShownWhereverItStandsInAnAddress(t *testing.T) {
	for _, given := range []string{
		"postgres://u:geheim@h/db", "postgres://h/db?user=u&password=geheim", "postgres://h/db?sslpassword=geheim", "postgres://u:a@geheim/x@h/db",
		"postgres://u:a geheim@h/db", "redis://:geheim@h:port", "redis://:a/geheim@h", "host=h password=geheim", "password = geheim user = u",
	} {
		if shown := redactURL(given); strings.Contains(shown, "geheim") {
			t.Errorf("%s is shown as %s", given, shown)
		}
		c := DefaultConfig()
		for _, at := range []*string{&c.Ledger, &c.Redis, &c.Service.BaseURL} {
			old := *at
			if *at = given; c.Validate() != nil && strings.Contains(c.Validate().Error(), "geheim") {
				t.Errorf("%s is shown in %v, want no password", given, c.Validate())
			}
			*at = old
		}
	}
	for _, plain := range []string{"sqlite:campaignd.db", "sqlite:/var/lib/password/c.db", "postgres://h/db?sslmode=disable", "redis://h:6379/1", ""} {
		if shown := redactURL(plain); shown != plain {
			t.Errorf("%s is shown as %s", plain, shown)
		}
	}
}

// What an operator says of signatures reaches the verifier, each key of it.
func TestEachKeyOfASignatureIsObeyed(t *testing.T) {
	said := Webhooks{Signature: Signature{
		Header: "X-Sign", Encoding: "base64", Prefix: "v1,", TimestampHeader: "X-Time", Tolerance: campaign.Duration(time.Minute), SecretBase64: true,
	}}
	form := reflect.ValueOf(said.form())
	for i := range form.NumField() {
		if form.Field(i).IsZero() {
			t.Errorf("%s is lost", form.Type().Field(i).Name)
		}
	}
}
