package schedule

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"campaignd/campaign"
	"campaignd/campaign/launch"
	"campaignd/campaign/sender"
	"campaignd/internal/audience"
	"campaignd/internal/commerce"
	"campaignd/internal/messaging"
	"campaignd/internal/secret"
)

// silent is a service that lists nothing but a connection.
type silent struct{ messaging.Service }

func (silent) Connections(context.Context) ([]messaging.Connection, error) {
	return []messaging.Connection{{ID: "conn_1"}}, nil
}
func (silent) Numbers(context.Context) ([]messaging.Number, error) { return nil, nil }
func (silent) Templates(context.Context, string) ([]messaging.TemplateRecord, error) {
	return []messaging.TemplateRecord{{Name: "order_update", Language: "en_US", Status: "APPROVED"}}, nil
}

// winback makes the scene one with a shop, and returns a campaign over its customers.
func (c *scene) winback(shop, folder string, lists audience.Ledger) Scheduled {
	c.Helper()
	c.schedule.o.Audiences = audience.NewLists(folder, func() (*commerce.Client, error) {
		return commerce.New(commerce.Options{BaseURL: shop, Company: "acme", APIKey: secret.New("key"), Rate: 1000})
	}, lists, c.schedule.o.Log)
	c.schedule.o.Service = silent{}
	c.schedule.o.Check = func(context.Context, string) func(*launch.Preflight) { return nil }
	c.schedule.o.Config.Commerce.BaseURL = shop
	s, err := readScheduled(write(c.T, "winback.yaml", `name: winback
connections: [conn_1]
template: {name: order_update, language: en_US}
audience: {from: customers, consent: {field: metadata.consent, values: ["yes"]}}
schedule: {cron: "0 * * * *", timezone: UTC}
`))
	if err != nil {
		c.Fatal(err)
	}
	return s
}

// forgetful is a ledger that cannot read its runs. Its answer says whether a deadline bounds the
// question.
type forgetful struct {
	audience.Ledger
	bounded bool
}

func (f *forgetful) Runs(ctx context.Context, _ campaign.RunFilter) ([]campaign.Run, error) {
	_, f.bounded = ctx.Deadline()
	return nil, errors.New("the ledger is away")
}

// A list that cannot be cleared away after its launch does not make the launch a failure: somebody
// would launch it again with --new. The end of a process does not wait for a ledger that is away.
func TestALaunchIsNoFailureForAListThatStays(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprint(w, `{"data":[{"id":"1","phone":"+237650000001","metadata":{"consent":"yes"}}],"links":{"next":null},"meta":{"total":1}}`)
	}))
	defer server.Close()
	c := newScene(t)
	ledger := &forgetful{Ledger: c.ledger}
	s := c.winback(server.URL, filepath.Join(t.TempDir(), "lists"), ledger)
	run, err := c.schedule.FireAs(t.Context(), s, CronKey+"2026-11-20T09:00", &sender.Engine{})
	if err != nil || run.Rows != 1 || !ledger.bounded {
		t.Errorf("got %d rows, %v, a deadline %t; want a run of one row, and a deadline", run.Rows, err, ledger.bounded)
	}
}

// A shop that is away delays a firing; a customer who withdraws between two is not in the second.
func TestEachFiringAsksTheShopAnew(t *testing.T) {
	var consent atomic.Value
	consent.Store("")
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		if consent.Load() == "" {
			w.WriteHeader(http.StatusInternalServerError)
			return
		}
		fmt.Fprintf(w, `{"data":[{"id":"1","phone":"+237650000001","metadata":{"consent":"yes"}},
			{"id":"2","phone":"+237650000002","metadata":{"consent":"%s"}}],"links":{"next":null},"meta":{"total":2}}`, consent.Load())
	}))
	defer server.Close()
	c, hours := newScene(t), 8
	folder := filepath.Join(t.TempDir(), "lists")
	s := c.winback(server.URL, folder, c.ledger)
	fire := func() (campaign.Run, error) {
		hours++
		return c.schedule.FireAs(t.Context(), s, fmt.Sprintf("%s2026-11-20T%02d:00", CronKey, hours), &sender.Engine{})
	}
	if _, err := fire(); err == nil || !strings.Contains(err.Error(), "if it stays, ask the platform") || strings.Contains(err.Error(), "\n") {
		t.Errorf("without the shop: got %v, want one line with the remedy", err)
	}
	for _, answer := range []string{"yes", "no"} {
		consent.Store(answer)
		run, err := fire()
		if err != nil {
			t.Fatalf("with the consent %q: %v, want a run", answer, err)
		}
		tallies, _, err := c.ledger.Tallies(t.Context(), run.No)
		if err != nil {
			t.Fatal(err)
		}
		var queued, skipped int64
		for _, n := range tallies {
			switch {
			case n.Status == campaign.Queued:
				queued += n.N
			case n.Reason == string(campaign.NoConsent):
				skipped += n.N
			}
		}
		if wantSkipped := map[string]int64{"yes": 0, "no": 1}[answer]; queued != 2-wantSkipped || skipped != wantSkipped || run.Rows != 2 {
			t.Errorf("with the consent %q: got %d queued and %d skipped of %d, want %d skipped of 2", answer, queued, skipped, run.Rows, wantSkipped)
		}
	}
	left, _ := filepath.Glob(filepath.Join(folder, "audience-*"))
	if len(left) > 0 {
		t.Errorf("got the lists %q, want none after the imports", left)
	}
}
