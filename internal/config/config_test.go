package config

import (
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"campaignd/campaign"
	"campaignd/campaign/file"
	"campaignd/internal/messaging"
	"campaignd/internal/sandbox"
)

// noEnv is an environment without variables.
var noEnv map[string]string

// env makes an environment of names and values in turn.
func env(pairs ...string) map[string]string {
	m := map[string]string{}
	for i := 0; i < len(pairs); i += 2 {
		m[pairs[i]] = pairs[i+1]
	}
	return m
}

func TestZeroConfigurationRunsAgainstTheSandbox(t *testing.T) {
	c, err := Load(filepath.Join(t.TempDir(), DefaultFile), false, noEnv)
	if err != nil {
		t.Fatal(err)
	}
	got := []string{
		c.Service.BaseURL, c.Service.APIKey.Reveal(), c.Webhooks.Secrets[0].Reveal(), c.LedgerFile(), c.Listen.Admin,
	}
	want := []string{defaultService, sandbox.DemoKey, sandbox.DemoSecret, "campaignd.db", "127.0.0.1:8081"}
	if !slices.Equal(got, want) {
		t.Errorf("service, key, secret, ledger and admin listener: got %q, want %q", got, want)
	}
	if err := errors.Join(c.CanSend(), c.CanReceive()); err != nil {
		t.Error(err)
	}
}

func TestAFileWithoutValuesIsTheDefault(t *testing.T) {
	for _, file := range []string{
		"", "\n", "# nothing yet\n", "---\n# nothing\n", "\uFEFF",
		"listen:\n  # public: \":8080\"\n", "service: {}\n", "ledger:\nlog:\n",
	} {
		c, err := Load(write(t, "c.yaml", file), true, noEnv)
		if err != nil {
			t.Errorf("%q is refused: %v, want the default", file, err)
			continue
		}
		got := []string{c.Listen.Public, c.LedgerFile(), c.Service.BaseURL, c.Log.Level}
		if want := []string{"127.0.0.1:8080", "campaignd.db", defaultService, "info"}; !slices.Equal(got, want) {
			t.Errorf("%q: listener, ledger, service and level: got %q, want %q", file, got, want)
		}
	}
}

// Editors of Windows write a byte order mark, which is no part of the first key or of a secret.
func TestAFileMayBeginWithAByteOrderMark(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte("\uFEFF"+text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	key := write("key", "sk_of_the_service\r\n")
	c, err := Load(write("c.yaml", "ledger: sqlite:a.db\n"), true, map[string]string{"CAMPAIGND_SERVICE_API_KEY_FILE": key})
	if err != nil || c.Ledger != "sqlite:a.db" || c.Service.APIKey.Reveal() != "sk_of_the_service" {
		t.Errorf("got %+v and %v, want the ledger sqlite:a.db and the key without the mark", c, err)
	}
}

// The remedy of an unknown key lists keys only.
func TestTheKnownKeysHaveNoEmptyName(t *testing.T) {
	c := Default()
	err := c.readYAML("c.yaml", []byte("zzzzzzzz: 1\n"))
	if err == nil || strings.Contains(err.Error(), ", ,") || strings.HasSuffix(strings.TrimSpace(err.Error()), ",") {
		t.Errorf("got %v, want known keys alone", err)
	}
}

func TestMissingFileIsAnErrorOnlyWhenAskedFor(t *testing.T) {
	path := filepath.Join(t.TempDir(), "absent.yaml")
	if _, err := Load(path, false, noEnv); err != nil {
		t.Errorf("the default file is missing: got %v, want nil", err)
	}
	_, err := Load(path, true, noEnv)
	if err == nil || !strings.Contains(err.Error(), "absent.yaml does not exist") {
		t.Errorf("--config of a missing file: got %v, want an error that names it", err)
	}
}

func TestARealServiceNeedsItsOwnKeyAndSecret(t *testing.T) {
	path := write(t, "c.yaml", "service: {base_url: https://api.example.com}\n")
	c, err := Load(path, true, noEnv)
	if err != nil {
		t.Fatal(err)
	}
	if err := c.CanSend(); err == nil || !strings.Contains(err.Error(), "CAMPAIGND_SERVICE_API_KEY") {
		t.Errorf("CanSend without a key: got %v, want CAMPAIGND_SERVICE_API_KEY in it", err)
	}
	if err := c.CanReceive(); err == nil || !strings.Contains(err.Error(), "webhooks.secrets") {
		t.Errorf("CanReceive without a secret: got %v, want webhooks.secrets in it", err)
	}
	// The secret of an app does not vouch for the service.
	c.Cloud.Accounts = []CloudAccount{{ID: "200000000000001"}}
	if err := c.CanReceive(); err != nil || !c.Receives() {
		t.Errorf("CanReceive with cloud accounts alone: got %v and %t, want nil and true", err, c.Receives())
	}
	c.Service.APIKey = messaging.NewSecret("key")
	if err := c.CanReceive(); err == nil || !strings.Contains(err.Error(), "webhooks.secrets") || !c.Receives() {
		t.Errorf("CanReceive with a service too: got %v and %t, want webhooks.secrets in it and true", err, c.Receives())
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
		{"drops: one\n", nil, ":1:8: want a list here; write [one]"},
		{"drops: {inbox: {campaign: a}}\n", nil, ":1:8: want a list here, not keys with values; write - before"},
		{"drops:\n  bucket: file:inbox\n", nil, ":2:9: want a list here, not keys with values; write - before"},
		{"ledger: [a]\n", nil, ":1:9: want a single value here, not a list"},
		{"listen:\n\tpublic: ':1'\n", nil, ":2:1: a tab stands where YAML wants spaces; indent with spaces"},
		{"listen: {public: ':1'}\nlisten: {public: ':2'}\n", nil, ":2:1: "},
		{"a: &x 1\nb: *x\n", nil, ":1:4: anchors"},
		{"ledger: sqlite:a\n---\nledger: sqlite:b\n", nil, ":3:1: a second document"},
		{"key:\n}", nil, "c.yaml:"},
		{"ledger: mysql://u:hush@h/x\n", nil, `ledger: "mysql://u:xxxxx@h/x" is not a ledger`},
		{"role: sendr\n", nil, `role: "sendr" is unknown; give all, intake, sender`},
		{"replicas: 3\n", nil, "replicas: 3 cannot send from an SQLite ledger"},
		{"ledger: postgres://h/x\nreplicas: -1\n", nil, "replicas: -1 is out of bounds"},
		{"redis: localhost:6379\n", nil, "redis: "},
		{"replicas: 01\n", nil, ":1:11: YAML reads 01 as 1; write a number in decimal without a leading 0; text goes in quotes"},
		{"numbers: {a: {rate: 0x10}}\n", nil, ":1:21: YAML reads 0x10 as 16"},
		{"service: {api_key: 0777}\n", nil, ":1:20: YAML takes a number"},
		{"", []string{"CAMPAIGND_REPLICAS", "0001"}, "CAMPAIGND_REPLICAS in the environment: want a whole number"},
		{"plan: {resets: {timezone: Mars}}\n", nil, "plan.resets.timezone: "},
		{"numbers: {a: {rate: -1}}\n", nil, "numbers.a.rate: -1"},
		{"numbers: {a: {rate: .nan}}\n", nil, "numbers.a.rate: NaN"},
		{"numbers: {a: {rate: .inf}}\n", nil, "numbers.a.rate: +Inf"},
		{"numbers: {a: {rate: 1e-6}}\n", nil, "numbers.a.rate: 1e-06 messages per second is out of bounds; give 0.0001 to 10000"},
		{"correlation: tag\n", nil, "correlation: tag"},
		{"drops: [{bucket: /x, campaign: b}]\n", nil, `drops[0].bucket: "/x" cannot be watched; give file:///FOLDER`},
		{"drops: [{bucket: 'file://x/y', campaign: b}]\n", nil, `drops[0].bucket: "file://x/y" cannot be watched`},
		{"drops: [{bucket: 'file:', campaign: b}]\n", nil, `drops[0].bucket: "file:" cannot be watched`},
		{"drops: [{bucket: 's3://x/y', campaign: b}]\n", nil, `drops[0].bucket: "s3://x/y": give s3://BUCKET; folders belong to prefix`},
		{"drops: [{bucket: 's3://k:hush@x', campaign: b}]\n", nil, `drops[0].bucket: "s3://k:xxxxx@x": give s3://BUCKET`},
		{"drops: [{bucket: 's3://x?endpoint=http://host', campaign: b}]\n", nil, `sends lists with phone numbers unencrypted; give https://host`},
		{"drops: [{bucket: 's3://x?regon=y', campaign: b}]\n", nil, `unknown parameter "regon"`},
		{"drops: [{bucket: 's3://X', campaign: b}, {bucket: 's3://x?endpoint=ftp://y', campaign: b}]\n", nil,
			`drops[1].bucket: "s3://x?endpoint=ftp://y": endpoint "ftp://y" is no address`},
		{"drops: [{bucket: 'file:x'}]\n", nil, "drops[0].campaign: name the campaign"},
		{"drops: [{bucket: 'file:x', prefix: ../, campaign: b}]\n", nil, `drops[0].prefix: "../" is not the begin of a name`},
		{"drops: [{bucket: 'file:x', prefix: /a/, campaign: b}]\n", nil, `drops[0].prefix: "/a/" is not`},
		{"drops: [{bucket: 'file:x', patterns: ['[a'], campaign: b}]\n", nil, `drops[0].patterns[0]: "[a" is not a pattern`},
		{"drops: [{bucket: 'file:x', campaign: a}, {bucket: 'file:x', campaign: b}]\n", nil, "drops[1]: drops[0] watches the same folder"},
		{"drops: [{bucket: 'file:x', prefx: a/, campaign: b}]\n", nil, `unknown key "drops[0].prefx"; did you mean "prefix"?`},
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
		{"", []string{"CAMPAIGND_SERVICE_APIKEY", "k"},
			"CAMPAIGND_SERVICE_APIKEY in the environment names no key; did you mean CAMPAIGND_SERVICE_API_KEY?"},
		{"", []string{"CAMPAIGND_WEBHOOK_SECRETS_FILE", "f"}, "did you mean CAMPAIGND_WEBHOOKS_SECRETS_FILE?"},
		{"", []string{"CAMPAIGND_WEBHOOKS_SECRETS", "[a-0123456789abcd, b-0123456789abcd]"},
			"CAMPAIGND_WEBHOOKS_SECRETS in the environment: want the secrets alone, separated by line breaks or commas, without [ and ]"},
		{"", []string{"CAMPAIGND_LEDGER_URL", "sqlite:a"}, "did you mean CAMPAIGND_LEDGER?"},
		{"", []string{"CAMPAIGND_SENDING_LEASE", "long"}, "CAMPAIGND_SENDING_LEASE in the environment: want a duration"},
		{"", []string{"CAMPAIGND_SERVICE_API_KEY_FILE", "/nonexistent"}, "CAMPAIGND_SERVICE_API_KEY_FILE: "},
		{"", []string{"CAMPAIGND_SERVICE_API_KEY", "k", "CAMPAIGND_SERVICE_API_KEY_FILE", "f"}, "are both set"},
	} {
		path := write(t, "c.yaml", tt.file)
		_, err := Load(path, true, env(tt.env...))
		if err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%q %v:\n got %v\nwant %q", tt.file, tt.env, err, tt.want)
			continue
		}
		if strings.Contains(err.Error(), "\n") || strings.Contains(err.Error(), "daemon.") || strings.Contains(err.Error(), "hush") {
			t.Errorf("%q: got %q, want one plain line without Go types and passwords", tt.file, err)
		}
	}
}

// Each of several processes with limits of its own would send a number's full rate
// (docs/operations.md#several-replicas).
func TestAPostgresLedgerNeedsRedisUnlessOneSends(t *testing.T) {
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
		c, err := Load(write(t, "c.yaml", tt.file), true, noEnv)
		if err != nil {
			t.Fatal(err)
		}
		err = c.CanSend()
		if (err == nil) != (tt.want == "") || err != nil && !strings.Contains(err.Error(), tt.want) {
			t.Errorf("CanSend with %q: got %v, want %q", tt.file, err, tt.want)
		}
	}
}

func TestAFaultShowsItsLineWithACaret(t *testing.T) {
	path := write(t, "c.yaml", "listen:\n  admn: x\n")
	_, err := Load(path, true, noEnv)
	var file *file.Error
	if !errors.As(err, &file) {
		t.Fatalf("got %T: %v, want a *file.Error", err, err)
	}
	if want := "    2 |   admn: x\n          ^"; !strings.Contains(file.Show(), want) {
		t.Errorf("got\n%s\nwant\n%s", file.Show(), want)
	}
}

// FuzzConfig gives arbitrary bytes to the reader. It may refuse them; it must not panic.
func FuzzConfig(f *testing.F) {
	for _, s := range []string{
		"", "listen: {public: ':1'}", "key:\n}", "- a", "a: &x [*x]", "\xff", "numbers: {a: {rate: 1e309}}", strings.Repeat("[", 99),
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, src []byte) {
		c := Default()
		if err := c.readYAML("f.yaml", src); err == nil {
			_ = c.Validate()
		}
	})
}

// Each key of webhooks.signature is passed to the verifier.
func TestEachKeyOfASignatureIsObeyed(t *testing.T) {
	set := Webhooks{Signature: Signature{
		Header: "X-Sign", Encoding: "base64", Prefix: "v1,", TimestampHeader: "X-Time",
		Tolerance: campaign.Duration(time.Minute), SecretBase64: true,
	}}
	form := reflect.ValueOf(set.Form())
	for i := range form.NumField() {
		if form.Field(i).IsZero() {
			t.Errorf("%s of the form is zero, want the configured value", form.Type().Field(i).Name)
		}
	}
}
