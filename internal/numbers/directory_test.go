package numbers

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"campaignd/campaign"
	"campaignd/internal/config"
	"campaignd/internal/messaging"
	"campaignd/internal/numbers/numberstest"
	"campaignd/throttle/throughput"
)

// The wanted paces are those of docs/limits.md#pace. Inbound messages take 5 % of the limit, or 30
// % where a phone uses the number too. The pace is 0.90 of the rest up to 100/s, and 0.95 from
// 500/s.
func TestTheServiceTellsThePaceOfANumber(t *testing.T) {
	c := numberstest.Service(t, 200, `{"data": [
		{"connectionId": "standard", "throughput": {"level": "STANDARD"}}, {"connectionId": "high", "throughput": {"level": "HIGH"}},
		{"connectionId": "fifty", "throughput": 50}, {"connectionId": "phone", "throughput": 80, "coexistence": true},
		{"connectionId": "own", "throughput": {"level": "HIGH"}}, {"connectionId": "none", "throughput": {"level": "HIGH"}}]}`)
	c.Numbers = map[string]config.Number{"own": {Rate: 20, Tier: -1}, "none": {Rate: 0}, "alone": {Rate: 10}, "slow": {Rate: 1}}
	n := NewDirectory(c)
	for id, want := range map[string]float64{"own": 17.1, "alone": 0, "phone": 0, "other": 0} { // not asked yet
		if got := n.Pace(id); math.Abs(got-want) > 1e-9 {
			t.Errorf("pace of %s before the service was asked = %v, want %v", id, got, want)
		}
	}
	client, err := config.NewClient(c)
	if err != nil {
		t.Fatal(err)
	}
	conns, err := n.Refresh(t.Context(), client)
	if err != nil || len(conns) != 2 || conns[0].ID != "a" {
		t.Fatalf("refresh = %+v and %v, want the connections a and b", conns, err)
	}
	for id, want := range map[string]float64{
		"standard": 68.4, "high": 902.5, "fifty": 42.75, "phone": 12.6, // the service tells them
		"own": 17.1, "alone": 8.55, "slow": 0.855, // configured
		"none": 902.5, "other": 68.4,
	} {
		if got := n.Pace(id); math.Abs(got-want) > 1e-9 {
			t.Errorf("pace of %s = %v, want %v", id, got, want)
		}
	}
	for id, want := range map[string]bool{"standard": true, "own": true, "alone": false, "other": false} {
		if got := n.Told(id); got != want {
			t.Errorf("told of %s = %v, want %v", id, got, want)
		}
	}
	for phone, want := range map[string]string{"15555550100": "a", "15555550101": "", "hidden": ""} {
		if got := n.ConnectionOf(phone); got != want {
			t.Errorf("connectionOf %s = %q, want %q", phone, got, want)
		}
	}
	if _, err := n.Refresh(t.Context(), client); err != nil { // the reads before hold no lock
		t.Errorf("refresh again = %v, want nil", err)
	}
}

// A configured rate is paced as that of the number that the service tells: the owner's phone uses a
// coexistence number too.
func TestAConfiguredRateKeepsTheCoexistence(t *testing.T) {
	c := numberstest.Service(t, 200, `{"data": [{"connectionId": "a", "coexistence": true}, {"connectionId": "b"}]}`)
	own := config.Number{Rate: 20, Tier: -1}
	c.Numbers = map[string]config.Number{"a": own, "b": own}
	d := NewDirectory(c)
	client, err := config.NewClient(c)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []int{1, 0} { // how many paces change with each question
		if changed, err := d.RefreshRates(t.Context(), client); err != nil || len(changed) != want {
			t.Errorf("refresh rates = %v and %v, want %d new", changed, err, want)
		}
	}
	for id, want := range map[string]throughput.Number{"a": {Limit: 20, Coexistence: true}, "b": {Limit: 20}} {
		if got := d.Limit(id); got != want.Pace() || d.Pace(id) != got.Rate || d.AssumedPace(id) != got.Rate {
			t.Errorf("pace of %s = %v, %v and %v, want %v", id, got, d.Pace(id), d.AssumedPace(id), want.Pace())
		}
	}
}

// Nothing is sent over a number before it is known how many people it may reach, and which numbers
// share them.
func TestANumberWaitsForItsTier(t *testing.T) {
	c := numberstest.Service(t, 200, `{"data": [{"connectionId": "a", "messagingLimitTier": "TIER_2K"}]}`)
	c.Numbers = map[string]config.Number{"a": {Rate: 20}, "free": {Rate: 20, Tier: -1}, "alone": {Rate: 20, Tier: 250},
		"company": {Rate: 20, Tier: 250, Company: "co"}, "main": {Rate: 20, Tier: 250, Portfolio: "main"}, "tier": {Tier: 250, Company: "co"}}
	d := NewDirectory(c)
	client, err := config.NewClient(c)
	if err != nil {
		t.Fatal(err)
	}
	sent := func() (ids []string) {
		for _, id := range d.IDs() {
			if d.Pace(id) > 0 {
				ids = append(ids, id)
			}
			if want := 17.1; c.Numbers[id].Rate > 0 && math.Abs(d.AssumedPace(id)-want) > 1e-9 {
				t.Errorf("assumed pace of %s = %v, want the configured %v", id, d.AssumedPace(id), want)
			}
		}
		return ids
	}
	if got, want := fmt.Sprint(sent()), "[company free main]"; got != want {
		t.Errorf("before the service was asked: %s are sent, want %s", got, want)
	}
	if _, err := d.RefreshRates(t.Context(), client); err != nil {
		t.Fatal(err)
	}
	if got, want := fmt.Sprint(sent()), "[company free main tier]"; got != want {
		t.Errorf("when the numbers are listed: %s are sent, want %s", got, want)
	}
	if _, err := d.RefreshConnections(t.Context(), client); err != nil {
		t.Fatal(err)
	}
	if got, want := fmt.Sprint(sent()), "[a alone b company free main tier]"; got != want {
		t.Errorf("when the connections are listed too: %s are sent, want %s", got, want)
	}
}

func TestWithoutTheListOfNumbersTheConfigurationHolds(t *testing.T) {
	c := numberstest.Service(t, 404, `{"error": "not_found", "message": "no such path"}`)
	c.Numbers = map[string]config.Number{"own": {Rate: 20}}
	n := NewDirectory(c)
	client, err := config.NewClient(c)
	if err != nil {
		t.Fatal(err)
	}
	if conns, err := n.Refresh(t.Context(), client); err != nil || len(conns) != 2 {
		t.Errorf("refresh = %d connections and %v, want 2 and no error", len(conns), err)
	}
	for id, want := range map[string]float64{"own": 17.1, "a": 68.4} {
		if got := n.Pace(id); math.Abs(got-want) > 1e-9 {
			t.Errorf("pace of %s = %v, want %v", id, got, want)
		}
	}
	if got := n.ConnectionOf("15555550100"); got != "a" {
		t.Errorf("connectionOf = %q, want a", got)
	}
}

func TestAServiceThatCannotTellIsAnErrorWithARemedy(t *testing.T) {
	for _, tt := range []struct {
		name, ends string
		change     func(*config.Config)
		status     int
	}{
		{"an error", "", func(*config.Config) {}, 400},
		{"a wrong key", "(sandbox: sandbox-key)", func(*config.Config) {}, 401},
		{"no answer", "; check service.base_url, or try without a service: campaignd sandbox",
			func(c *config.Config) { c.Service.BaseURL = "http://127.0.0.1:1" }, 200},
	} {
		c := numberstest.Service(t, tt.status, `{"error": "bad", "message": "no"}`)
		tt.change(c)
		n := NewDirectory(c)
		n.rates["a"] = throughput.Pace{Rate: 5}
		client, err := config.NewClient(c)
		if err != nil {
			t.Fatal(err)
		}
		_, err = n.Refresh(t.Context(), client)
		what := "numbers"
		if tt.status == 200 {
			what = "connections"
		}
		got, head := fmt.Sprint(err), "cannot ask the service at "+c.Service.BaseURL+" for its "+what+": "
		if !strings.HasPrefix(got, head) || !strings.HasSuffix(got, tt.ends) || tt.ends == "" && strings.Contains(got, "; check") {
			t.Errorf("%s: got %q, want %q and at its end %q", tt.name, got, head, tt.ends)
		}
		if got := n.Pace("a"); got != 5 {
			t.Errorf("%s: pace = %v, want 5, which was known before", tt.name, got)
		}
	}
}

// The service's key, its accounts and its companies are none of the Cloud API's.
func TestTheCloudAPIIsNoneOfTheServices(t *testing.T) {
	c := numberstest.Service(t, 200, `{"data": []}`)
	c.Cloud.Accounts = []config.CloudAccount{{ID: "200", Portfolio: "main"}}
	c.Cloud.Names = map[string]string{"shop": "300"}
	d := NewDirectory(c)
	if got := d.Platform(); !slices.Equal(got, []string{"shop"}) {
		t.Errorf("before a listing: %v, want the named connection", got)
	}
	d.PlatformOf(func() []string { return []string{"301", "shop"} })
	for _, x := range []struct {
		connection, account, company string
		want                         bool
	}{{"shop", "", "", true}, {"301", "", "", true}, {"", "200", "", true}, {"", "", "main", true}, {"a", "a", "co", false}, {"", "", "",
		false}} {
		if got := d.Foreign(x.connection, x.account, x.company); got != x.want {
			t.Errorf("foreign %+v: %v", x, got)
		}
	}
	if o := d.Origin("301"); !o.Platform || o.Key != "" {
		t.Errorf("origin of a number of the Cloud API: %+v, want one of the platform without the service's key", o)
	}
	if o := d.Origin("a"); o.Platform || o.Key == "" {
		t.Errorf("origin of a number of the service: %+v, want one with the service's key", o)
	}
}

// Holds name these ids. They are the same in every process, and no key is shown.
func TestOriginsComeFromConfigurationAndService(t *testing.T) {
	c := numberstest.Service(t, 200, `{"data": []}`)
	c.Numbers = map[string]config.Number{"b": {Company: "co_b", Account: "acc", Portfolio: "main"},
		"alone": {Account: "acc"}, "c": {Company: "co"}}
	d := NewDirectory(c)
	client, err := config.NewClient(c)
	if err != nil {
		t.Fatal(err)
	}
	for connection, want := range map[string]bool{"a": true, "b": false, "alone": true} {
		if got := d.Sending(connection).Unasked; got != want {
			t.Errorf("before the service was asked: Unasked of %s = %v, want %v", connection, got, want)
		}
	}
	if _, err := d.Refresh(t.Context(), client); err != nil {
		t.Fatal(err)
	}
	if d.Sending("a") != d.Origin("a") || d.Sending("other").Unasked {
		t.Errorf("after the service was asked: %+v, want %+v", d.Sending("a"), d.Origin("a"))
	}
	const key = "8254c329a92850f6" // SHA-256 of "k"
	for _, want := range []campaign.Origin{
		{Key: key, Company: "co", Account: "a", Portfolio: "co", Connection: "a"},
		{Key: key, Company: "co_b", Account: "acc", Portfolio: "main", Connection: "b"},
		{Key: key, Account: "acc", Connection: "alone"},
		{Key: key, Account: "other", Connection: "other"},
	} {
		if got := d.Origin(want.Connection); got != want {
			t.Errorf("origin of %s = %+v, want %+v", want.Connection, got, want)
		}
	}
	for connection, want := range map[string]string{"a": "[c]", "c": "[a]", "b": "[]", "alone": "[]", "other": "[]"} {
		if got := fmt.Sprint(d.Peers(connection)); got != want {
			t.Errorf("accounts that may be that of %s = %s, want %s", connection, got, want)
		}
	}
	if got := fingerprint(messaging.Secret{}); got != "" {
		t.Errorf("fingerprint of no key = %q, want none", got)
	}
}

func TestProvenRefusalsReachTheClient(t *testing.T) {
	got := config.Service{Refusals: []config.Refusal{{Status: 500, Error: "x"}, {Status: 503, Error: "y"}}}.ProvenRefusals()
	if want := (messaging.StatusCode{Status: 503, Code: "y"}); len(got) != 2 || got[1] != want {
		t.Errorf("provenRefusals = %+v, want %+v as the second of two", got, want)
	}
}

// A sandbox on this machine has a known key; a service elsewhere has not.
func TestARefusedKeyOfTheSandboxHasItsRemedy(t *testing.T) {
	for url, want := range map[string]bool{"http://127.0.0.1:9000": true, "http://localhost:9000": true, "https://service.example": false} {
		s := config.Service{BaseURL: url}
		got := s.KeyRemedy()
		if !strings.HasPrefix(got, "check service.api_key") || strings.Contains(got, "(sandbox: sandbox-key)") != want {
			t.Errorf("%s: got %q, want the key of the sandbox in it %v", url, got, want)
		}
	}
}
