package daemon

import (
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"campaignd/campaign"
	"campaignd/internal/config"
	"campaignd/internal/messaging"
	"campaignd/internal/sandbox"
)

// No event of the platform tells that a token is valid again. Another token in the file of an
// account ends the holds of its numbers that it may mend, at once and at the next start, and no
// others.
func TestAnotherTokenEndsTheHoldsItMayMend(t *testing.T) {
	s, err := sandbox.New(sandbox.Options{API: sandbox.APICloud, WebhookSecret: "a-long-app-secret-1"})
	if err != nil {
		t.Fatal(err)
	}
	platform := httptest.NewServer(s)
	defer platform.Close()
	dir := t.TempDir()
	write := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	token := write("token", sandbox.DemoKey)
	file := write("c.yaml", `
cloud: {base_url: "`+platform.URL+`", names: {main: "`+sandbox.CloudNumber(1)+`"}, accounts: [{id: "`+
		sandbox.CloudAccount+`", token_file: `+token+`, app_secret_file: `+write("app", "a-long-app-secret-1")+
		`, verify_token_file: `+write("verify", "word")+`}]}
listen: {public: "127.0.0.1:0"}
ledger: sqlite:`+filepath.Join(dir, "c.db"))
	start := func() (*Daemon, *config.Config) {
		cfg, err := config.Load(file, true, nil)
		if err != nil {
			t.Fatal(err)
		}
		d, err := New(t.Context(), cfg, Options{})
		if err != nil {
			t.Fatal(err)
		}
		return d, cfg
	}
	d, _ := start()
	if _, err := d.client.Cloud.Connections(t.Context()); err != nil {
		t.Fatal(err)
	}
	at := time.Now().Add(-time.Minute)
	hold := func(scope campaign.HoldScope, id, reason string, source campaign.HoldSource) campaign.Hold {
		return campaign.Hold{Scope: scope, ID: id, Reason: reason, Source: source, Since: at, Manual: source == campaign.HoldByOperator}
	}
	second := sandbox.CloudNumber(2)
	all := []campaign.Hold{
		hold(campaign.HoldConnection, "main", "190", campaign.HoldByRefusal), hold(campaign.HoldConnection, second, "10", campaign.HoldByStatus),
		hold(campaign.HoldConnection, "main", "131037", campaign.HoldByRefusal), hold(campaign.HoldConnection, "another", "190",
			campaign.HoldByRefusal),
		hold(campaign.HoldConnection, second, "190", campaign.HoldByOperator), hold(campaign.HoldAccount, sandbox.CloudAccount, "131042",
			campaign.HoldByRefusal),
	}
	add := func(hs ...campaign.Hold) {
		t.Helper()
		if _, err := d.ledger.AddHolds(t.Context(), hs); err != nil {
			t.Fatal(err)
		}
	}
	want := func(when string, want ...string) {
		t.Helper()
		holds, err := d.ledger.Holds(t.Context(), false)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, h := range holds {
			got = append(got, h.ID+" "+h.Reason)
		}
		if slices.Sort(got); !slices.Equal(got, want) {
			t.Errorf("%s: got the holds %q, want %q", when, got, want)
		}
	}
	kept := []string{sandbox.CloudAccount + " 131042", second + " 190", "another 190", "main 131037"}
	add(all...)
	again := func() {
		t.Helper()
		cfg, err := config.Load(file, true, nil)
		if err != nil {
			t.Fatal(err)
		}
		d.renewCloud(cfg)
	}
	again()
	want("the same token", append([]string{sandbox.CloudAccount + " 131042", second + " 10", second + " 190", "another 190", "main 131037"},
		"main 190")...)
	write("token", "another-token")
	again()
	want("another token", kept...)
	proof := hold(campaign.HoldAccount, sandbox.CloudAccount, messaging.AppSecretRefused, campaign.HoldByRefusal)
	proof.Manual = true
	add(proof)
	again()
	want("the same secret", sandbox.CloudAccount+" 100/appsecret_proof", sandbox.CloudAccount+" 131042", second+" 190", "another 190",
		"main 131037")
	write("app", "a-long-app-secret-2")
	again()
	want("another secret of the app", kept...)
	write("app", "a-long-app-secret-1")
	add(hold(campaign.HoldConnection, "main", "200", campaign.HoldByRefusal))
	if err := d.Close(); err != nil {
		t.Fatal(err)
	}
	d, _ = start()
	defer func() { _ = d.Close() }()
	want("the next start", kept...)
}
