package sandbox

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// Each scenario of testdata/scenarios loads, and the README there names it.
func TestTheScenariosOfTheTreeLoad(t *testing.T) {
	files, err := filepath.Glob("../../testdata/scenarios/*.yaml")
	must(t, err)
	readme, err := os.ReadFile("../../testdata/scenarios/README.md")
	must(t, err)
	if len(files) < 5 {
		t.Fatalf("found %d scenarios, want 5 or more", len(files))
	}
	for _, f := range files {
		o, err := LoadScenario(f)
		must(t, err)
		if _, err := New(o); err != nil {
			t.Errorf("New(%s): %v, want no error", f, err)
		}
		if !strings.Contains(string(readme), "`"+filepath.Base(f)+"`") {
			t.Errorf("%s is not in the README, want it named there", f)
		}
	}
}

func TestAScenarioSetsEveryOption(t *testing.T) {
	o, err := parseScenario("all.yaml", []byte(`
seed: 42
keys: [{token: k, company: co_2}]
companies: [{id: co_2, name: Two, allowance: 10, used: 3}]
connections: [{id: c, phone: "+15555550100", company: co_2, throughput: HIGH, tier: TIER_10K, portfolio: p, coexistence: false, rate: 30}]
templates:
  - name: t
    language: en_US
    status: pending
    category: UTILITY
    components: [{type: BODY, text: "Hi {{1}}"}, {type: BUTTONS, buttons: [{type: URL, text: x, url: "https://x/{{1}}"}]}]
assets: [{id: a, age: 240h}]
opted_out: ["+23480312345"]
window_open: ["+23480312346"]
webhook_url: http://127.0.0.1:1/
webhook_secret: s
retry_schedule: [1s, 2s]
webhook_timeout: 3s
webhook_workers: 4
events:
  {envelope: platform, batch: 64, batch_object: true, linger: 5ms, timestamps: unix, omit_recipient: true, omit_connection: true,
  signature_prefix: "v1=", signature_encoding: base64, signature_timestamp: X-Service-Timestamp}
allowance: 7
throttle: http
tier_code: 131049
faults: {latency: {median: 40ms, sigma: 0.5}, lost_after: 0.25, webhook_late_by: 1h, refusals: [{code: 131000, share: 1, times: 2}]}
statuses: {read: 1m, failed: [{code: 131049, share: 0.5, after: {median: 1s, sigma: 1}}], recipients: [{phone: "+23480312345", fate: stop}]}
timeline: [{after: 1h, faults: {lost_after: 0.5}}, {after_messages: 3, template: t, status: approved}]
`))
	must(t, err)
	if o.Seed != 42 || o.Faults.Latency != (Delay{Median: 40 * time.Millisecond, Sigma: 0.5}) || o.Faults.LateBy.Median != time.Hour ||
		o.Statuses.Read.Median != time.Minute || o.RetrySchedule[1] != 2*time.Second || o.Timeline[0].Faults.LostAfter != 0.5 ||
		o.Events.Batch != 64 || o.Assets[0].Age != 240*time.Hour || o.Templates[0].Components[1].Buttons[0].URL == "" {
		t.Errorf("options = %+v, want what the scenario says", o)
	}
	if _, err := New(o); err != nil {
		t.Error(err)
	}
}

func TestAnEmptyScenarioIsTheDemoWithoutFaults(t *testing.T) {
	for _, raw := range []string{"", "# nothing\n", "seed: 0\n"} {
		o, err := parseScenario("empty.yaml", []byte(raw))
		must(t, err)
		if len(o.Connections) != 4 || len(o.Templates) == 0 || o.Faults.LostAfter != 0 || o.Statuses.Unread != 0 {
			t.Errorf("scenario %q = %+v, want four connections, templates, no faults", raw, o)
		}
	}
}

// The error of a scenario has one line with the file, the line and the column.
func TestAScenarioErrorNamesItsLine(t *testing.T) {
	for name, c := range map[string]struct{ raw, want string }{
		"unknown key":   {"seed: 1\nfautls: {}\n", "x.yaml:2:1: "},
		"unknown inner": {"faults:\n  lost_aftr: 0.1\n", "x.yaml:2:3: "},
		"unknown delay": {"faults:\n  latency: {mean: 1s}\n", "mean"},
		"wrong type":    {"faults:\n  lost_after: often\n", "x.yaml:2:"},
		"share":         {"faults: {lost_after: 1.5}\n", "lost_after"},
		"phone":         {"connections: [{id: a, phone: \"0803\"}]\n", "phone"},
		"throughput":    {"connections: [{id: a, phone: \"+15555550100\", throughput: FAST}]\n", "FAST"},
		"tier":          {"connections: [{id: a, phone: \"+15555550100\", tier: TIER_3}]\n", "TIER_3"},
		"category":      {"templates: [{name: a, language: en, category: PROMO}]\n", "PROMO"},
		"fate":          {"statuses: {recipients: [{phone: \"+15555550100\", fate: lost}]}\n", "lost"},
		"throttle":      {"throttle: tcp\n", "tcp"},
		"encoding":      {"events: {signature_encoding: base32}\n", "base32"},
		"step":          {"timeline: [{template: x}]\n", "timeline[0]"},
		"code":          {"faults: {server_error_codes: [200]}\n", "200"},
		"commerce key":  {"commerce:\n  companys: []\n", "x.yaml:2:3: "},
		"commerce id":   {"commerce:\n  companies:\n  - name: A\n    id: x\n", "x.yaml:4:9: commerce.companies[0].id: "},
		"commerce name": {"commerce:\n  companies:\n  - id: 01HZX3V7Q8R9S0T1V2W3X4Y5Z6\n", "x.yaml:3:"},
		"not YAML":      {"a: [\n", "x.yaml"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := parseScenario("x.yaml", []byte(c.raw))
			if err == nil || !strings.Contains(err.Error(), c.want) || !strings.HasPrefix(err.Error(), "x.yaml") {
				t.Errorf("%v, want %s", err, c.want)
			}
		})
	}
	if _, err := LoadScenario("no-such-file.yaml"); err == nil {
		t.Error("a missing file loads, want an error")
	}
}

func FuzzScenario(f *testing.F) {
	f.Add([]byte("seed: 1\nfaults: {latency: 1s}\n"))
	f.Fuzz(func(t *testing.T, raw []byte) {
		if o, err := parseScenario("x.yaml", raw); err == nil && len(o.Connections) == 0 {
			t.Error("got no connections, want those of the demo")
		}
	})
}
