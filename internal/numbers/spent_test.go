package numbers

import (
	"fmt"
	"log/slog"
	"testing"
	"time"

	"campaignd/campaign"
	"campaignd/internal/config"
	"campaignd/internal/numbers/numberstest"
	"campaignd/throttle"
)

// Messages of a number that nobody knows any more count for every company, but for no ramp. While
// the service may still tell whose number it is, no count is made, and the company waits.
func TestWhatNobodyKnowsCountsForAll(t *testing.T) {
	cfg := numberstest.Service(t, 200, `{"data": []}`) // with a and b of co
	cfg.Plan.MonthlyMessages = 1000
	cfg.Numbers = map[string]config.Number{"a": {Company: "co"}, "c": {Company: "other"}}
	d := NewDirectory(cfg)
	l := &spending{n: map[string]int64{"a": 1, "c": 300, "": 4000}}
	q := NewQuotas(cfg, d, l, slog.New(slog.DiscardHandler))
	now := time.Now()
	counted := func(when, want string) {
		t.Helper()
		var got []string
		for _, key := range []string{"plan:co", "plan:other", "ramp:a"} {
			n, err := q.Count(t.Context(), throttle.Quota{Key: key, From: now})
			if err != nil {
				n = -1
			}
			got = append(got, fmt.Sprint(n))
		}
		if fmt.Sprint(got) != want {
			t.Errorf("%s: got %v, want %s", when, got, want)
		}
	}
	counted("all are configured", "[4001 4300 4001]")
	l.n["b"], l.n["gone"] = 20, 50_000
	counted("b and gone may be listed", "[-1 -1 4001]")
	const why = "the allowance cannot be counted: the service cannot be asked whose connection gone is, which has sent; " +
		"else set numbers.gone.company"
	if all := q.ForConnection("a", now); len(all) != 1 || !all[0].Unknown || all[0].By != campaign.ByAllowance || all[0].Full != why {
		t.Errorf("meanwhile: got %+v, want an unknown allowance because %s", all, why)
	}
	client, err := config.NewClient(cfg)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := d.RefreshConnections(t.Context(), client); err != nil {
		t.Fatal(err)
	}
	counted("b is listed, gone is not", "[54021 54300 4001]")
	if all := q.ForConnection("a", now); len(all) != 1 || all[0].Unknown || all[0].Key != "plan:co" {
		t.Errorf("then: got %+v, want the allowance of co", all)
	}
	cfg.Numbers["gone"] = config.Number{Company: "other"}
	counted("gone is configured", "[4021 54300 4001]")
	delete(cfg.Numbers, "gone")
	q.plan.Messages = 0
	counted("the billing tells the plan", "[4021 4300 4001]")
}
