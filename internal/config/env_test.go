package config

import (
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"
)

func TestEnvironmentOverrulesTheFile(t *testing.T) {
	path := write(t, "c.yaml", "listen: {public: ':1'}\nservice: {timeout: 3s}\nnumbers: {a: {rate: 5}}\n")
	key := write(t, "key", "from-a-file\n")
	c, err := Load(path, true, env(
		"CAMPAIGND_LISTEN_PUBLIC", ":2",
		"CAMPAIGND_SERVICE_BASE_URL", "https://api.example.com",
		"CAMPAIGND_SERVICE_API_KEY_FILE", key,
		"CAMPAIGND_WEBHOOKS_SECRETS", "old-0123456789ab, new-0123456789ab",
		"CAMPAIGND_WEBHOOKS_SIGNATURE_ENCODING", "base64",
		"CAMPAIGND_NUMBERS", "{b: {rate: 7.5}}",
		"CAMPAIGND_SENDING_FLUSH", "7ms",
		"CAMPAIGND_SENDING_IN_FLIGHT", "9",
		"CAMPAIGND_SERVICE_HOST", "10.0.0.1", // a variable of Kubernetes
	))
	if err != nil {
		t.Fatal(err)
	}
	got := fmt.Sprint(c.Listen.Public, " ", c.Service.APIKey.Reveal(), " ", len(c.Webhooks.Secrets), c.Webhooks.Secrets[1].Reveal(),
		" ", c.Webhooks.Signature.Encoding, " ", c.Numbers, " ", c.Sending.Flush, " ", c.Sending.InFlight,
		" ", time.Duration(c.Service.Timeout))
	want := ":2 from-a-file 2new-0123456789ab base64 map[b:{7.5 0   <nil> }] 7ms 9 3s"
	if got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

func TestVariablesOfKubernetesAreIgnored(t *testing.T) {
	for _, name := range []string{
		// Kubernetes sets these for Services named campaignd and campaignd-public.
		"CAMPAIGND_SERVICE_HOST", "CAMPAIGND_SERVICE_PORT", "CAMPAIGND_SERVICE_PORT_ADMIN", "CAMPAIGND_PORT", "CAMPAIGND_PORT_8080_TCP",
		"CAMPAIGND_PORT_8080_TCP_PROTO", "CAMPAIGND_PORT_8080_TCP_PORT", "CAMPAIGND_PORT_8080_TCP_ADDR",
		"CAMPAIGND_PUBLIC_SERVICE_HOST", "CAMPAIGND_PUBLIC_SERVICE_PORT_HTTP", "CAMPAIGND_PUBLIC_PORT_443_TCP",
		"CAMPAIGND_MUTANT", "CAMPAIGND_CRASH", "CAMPAIGND_LONG", "CAMPAIGNDX_LEDGR", "LEDGR",
	} {
		if _, err := Load("none", false, env(name, "tcp://10.0.0.1:8080")); err != nil {
			t.Errorf("%s: got %v, want it ignored", name, err)
		}
	}
	if _, err := Load("none", false, env("CAMPAIGND_LEDGR", "")); err != nil {
		t.Errorf("an empty variable: got %v, want it ignored", err)
	}
}

// A variable that names no key may be a misspelled limit.
func TestAVariableThatNamesNoKeyIsRefused(t *testing.T) {
	for name, want := range map[string]string{
		"CAMPAIGND_LEDGR":               "did you mean CAMPAIGND_LEDGER?",
		"CAMPAIGND_VERSION":             "CAMPAIGND_VERSION in the environment names no key; `campaignd config show` lists the keys",
		"CAMPAIGND_NUMBERS_CONN_1_RA":   "CAMPAIGND_NUMBERS_CONN_1_RA in the environment names no key",
		"CAMPAIGND_NUMBERS_CONN_1_RAET": "did you mean CAMPAIGND_NUMBERS_CONN_1_RATE?",
		"CAMPAIGND_NUMBERS_X_ACOUNT":    "did you mean CAMPAIGND_NUMBERS_X_ACCOUNT?",
		"CAMPAIGND_NUMBERS_RATE":        "CAMPAIGND_NUMBERS_RATE in the environment names no key",
		"CAMPAIGND_LISTEN_PORT":         "CAMPAIGND_LISTEN_PORT in the environment names no key",
	} {
		if _, err := Load("none", false, env(name, "5")); !strings.Contains(errorText(err), want) {
			t.Errorf("%s: got %q, want %q in it", name, errorText(err), want)
		}
	}
}

func TestAVariableSetsOneKeyOfOneNumber(t *testing.T) {
	file := write(t, "c.yaml", "numbers: {conn_1: {rate: 80}, Sales-DE: {rate: 20}}\n")
	for _, tt := range []struct {
		pairs []string
		want  string
	}{
		{nil, "map[Sales-DE:20 conn_1:80]"},
		{[]string{"CAMPAIGND_NUMBERS_CONN_1_RATE", "5"}, "map[Sales-DE:20 conn_1:5]"},
		{[]string{"CAMPAIGND_NUMBERS_SALES_DE_RATE", "7.5"}, "map[Sales-DE:7.5 conn_1:80]"},
		{[]string{"CAMPAIGND_NUMBERS_CONN_2_RATE", "9"}, "map[Sales-DE:20 conn_1:80 conn_2:9]"},
		{[]string{"CAMPAIGND_NUMBERS", "{a: {rate: 6}, b: {rate: 6}}", "CAMPAIGND_NUMBERS_B_RATE", "7"}, "map[a:6 b:7]"},
	} {
		c, err := Load(file, true, env(tt.pairs...))
		if err != nil {
			t.Errorf("%q: got %v, want %s", tt.pairs, err, tt.want)
			continue
		}
		rates := map[string]float64{}
		for id, n := range c.Numbers {
			rates[id] = n.Rate
		}
		if got := fmt.Sprint(rates); got != tt.want {
			t.Errorf("%q: got %s, want %s", tt.pairs, got, tt.want)
		}
	}
	twins := write(t, "twins.yaml", "numbers: {conn_1: {rate: 80}, conn-1: {rate: 20}}\n")
	_, err := Load(twins, true, env("CAMPAIGND_NUMBERS_CONN_1_RATE", "5"))
	if want := "may mean"; !strings.Contains(errorText(err), want) {
		t.Errorf("two numbers of one variable: got %q, want %q in it", errorText(err), want)
	}
	_, err = Load(file, true, env("CAMPAIGND_NUMBERS_CONN_1_RATE", "fast"))
	if want := "CAMPAIGND_NUMBERS_CONN_1_RATE in the environment: want a number"; errorText(err) != want {
		t.Errorf("a word for a rate: got %q, want %q", errorText(err), want)
	}
}

func TestASecretIsReadFromItsFileWhole(t *testing.T) {
	most := strings.Repeat("k", 64<<10)
	for _, tt := range []struct{ file, want string }{
		{"k\n", "k"}, {"k\r\n\n", "k"}, {" k", " k"}, {"", ""}, {most, most},
	} {
		got, err := secretText("N", "", env("N_FILE", write(t, "k", tt.file)))
		if err != nil || got != tt.want {
			t.Errorf("a file of %d bytes: got %d bytes and %v, want %d bytes", len(tt.file), len(got), err, len(tt.want))
		}
	}
	for _, file := range []string{most + "k", "\xff"} {
		path := write(t, "k", file)
		_, err := secretText("N", "", env("N_FILE", path))
		want := "N_FILE: " + path + " does not hold a secret as text; it names the file that holds the value"
		if errorText(err) != want {
			t.Errorf("a file of %d bytes: got %q, want %q", len(file), errorText(err), want)
		}
	}
	if _, err := secretText("N", "k", env("N_FILE", "f")); errorText(err) != "N and N_FILE are both set: keep one" {
		t.Errorf("both: got %q, want that they are both set", errorText(err))
	}
	if got, err := secretText("N", "k", noEnv); got != "k" || err != nil {
		t.Errorf("the variable alone: got %q and %v, want k", got, err)
	}
}

func TestAWrongVariableNamesTheFormItWants(t *testing.T) {
	for name, want := range map[string]string{
		"CAMPAIGND_SENDING_LEASE":      "a duration such as 10s, 15m or 24h",
		"CAMPAIGND_SERVICE_ALLOW_HTTP": "true or false",
		"CAMPAIGND_REPLICAS":           "a whole number",
		"CAMPAIGND_PLAN_RESERVE":       "a number",
		"CAMPAIGND_SERVICE_REFUSALS":   "a list such as [a, b]",
		"CAMPAIGND_NUMBERS":            "keys with values such as {key: value}",
	} {
		_, err := Load("none", false, env(name, "{[,"))
		if got := errorText(err); got != name+" in the environment: want "+want {
			t.Errorf("got %q, want %s", got, want)
		}
	}
	path := write(t, "c.yaml", "ledger: sqlite:c.db\n")
	for name, value := range map[string]string{"CAMPAIGND_LEDGER": "c.csv", "CAMPAIGND_LEDGER_FILE": write(t, "ledger", "c.csv"),
		"CAMPAIGND_NUMBERS_CONN_1_RATE": "-5", "CAMPAIGND_NUMBERS": "{conn_1: {rate: -5}}"} {
		_, err := Load(path, true, env(name, value))
		if got := errorText(err); !strings.HasPrefix(got, name+" in the environment: ") {
			t.Errorf("got %q, want the fault of %s", got, name)
		}
	}
	_, err := Load(write(t, "c.yaml", "ledger: c.csv\n"), true, env("CAMPAIGND_REDIS", "redis://127.0.0.1"))
	if got := errorText(err); !strings.Contains(got, "c.yaml: ledger: ") {
		t.Errorf("got %q, want the fault of the file", got)
	}
	var got []string
	c, err := Load("none", false, env("CAMPAIGND_WEBHOOKS_SECRETS", " a-0123456789abcd ,\r\nb-0123456789abcd,, ,c-0123456789abcd\n"))
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range c.Webhooks.Secrets {
		got = append(got, s.Reveal())
	}
	if want := []string{"a-0123456789abcd", "b-0123456789abcd", "c-0123456789abcd"}; !reflect.DeepEqual(got, want) {
		t.Errorf("secrets = %q, want %q", got, want)
	}
}
