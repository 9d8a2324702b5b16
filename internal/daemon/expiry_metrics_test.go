package daemon

import (
	"context"
	"fmt"
	"log/slog"
	"testing"
	"time"

	"campaignd/campaign"
	"campaignd/internal/config"
	"campaignd/internal/numbers"
)

// near is a ledger with people whom a portfolio has reached, and runs with header files.
type near struct{ campaign.Ledger }

func (near) Reached(_ context.Context, portfolio string, _ time.Time) ([]campaign.Reached, error) {
	if portfolio != "pf_1" {
		return nil, fmt.Errorf("got the portfolio %q, want pf_1", portfolio)
	}
	return []campaign.Reached{{N: 40}, {N: 2}}, nil
}

func (near) Runs(context.Context, campaign.RunFilter) ([]campaign.Run, error) {
	return []campaign.Run{
		{State: campaign.Running, AssetUntil: time.Unix(2_000_000_000, 0)}, {State: campaign.Running},
		{State: campaign.Paused, AssetUntil: time.Unix(1_900_000_000, 0)}, {State: campaign.Running},
		{State: campaign.Running, AssetUntil: time.Unix(1_950_000_000, 0)},
	}, nil
}

func (near) Holds(context.Context, bool) ([]campaign.Hold, error) { return nil, nil }

func (near) Spent(context.Context, time.Time) (map[string]int64, error) {
	return map[string]int64{"conn_1": 1, "conn_2": 20}, nil
}

func TestNumbersCountThePeopleReached(t *testing.T) {
	t.Parallel()
	cfg := config.Default()
	cfg.Numbers = map[string]config.Number{"conn_1": {Portfolio: "pf_1", Tier: 1000}}
	d := &Daemon{cfg: cfg, directory: numbers.NewDirectory(cfg), ledger: near{}}
	d.quotas = numbers.NewQuotas(cfg, d.directory, d.ledger, slog.New(slog.DiscardHandler))
	numbers, err := d.numbersNow(t.Context())
	if err != nil || len(numbers) != 1 || numbers[0].Reached != 42 {
		t.Errorf("got %+v, %v, want one number whose portfolio has reached 42 people", numbers, err)
	}
}

// Each company sees what it has used of its plan, and nothing of another's.
func TestANumberShowsTheAllowanceOfItsCompany(t *testing.T) {
	t.Parallel()
	cfg := config.Default()
	cfg.Plan.MonthlyMessages = 1000
	cfg.Numbers = map[string]config.Number{"conn_1": {Company: "co_1", Account: "x"}, "conn_2": {Company: "co_2", Account: "y"}}
	d := &Daemon{cfg: cfg, directory: numbers.NewDirectory(cfg), ledger: near{}}
	d.quotas = numbers.NewQuotas(cfg, d.directory, d.ledger, slog.New(slog.DiscardHandler))
	all, err := d.numbersNow(t.Context())
	if err != nil || len(all) != 2 {
		t.Fatalf("got %+v, %v, want two numbers", all, err)
	}
	for i, want := range []int64{1, 20} {
		if a := all[i].Allowance; a == nil || a.Company != all[i].Company || a.Used != want {
			t.Errorf("%s of %s: got the allowance %+v, want its own with %d used", all[i].Connection, all[i].Company, a, want)
		}
	}
}

func TestWhatComesNearItsEndIsMeasured(t *testing.T) {
	t.Parallel()
	cfg := config.Default()
	cfg.Numbers = map[string]config.Number{
		"conn_1": {Portfolio: "pf_1", Tier: 1000}, "conn_2": {Portfolio: "pf_1", Tier: 1000}, "conn_3": {Tier: -1},
	}
	files := certificateFiles(t)
	issue(t, files, 1)
	c := &certificate{files: files, log: slog.New(slog.DiscardHandler)}
	if err := c.load(); err != nil {
		t.Fatal(err)
	}
	d := &Daemon{cfg: cfg, owner: "h/1/x", directory: numbers.NewDirectory(cfg), ledger: near{}, log: slog.New(slog.DiscardHandler),
		public: &listener{name: "listen.public", certificate: c}}
	d.quotas = numbers.NewQuotas(cfg, d.directory, d.ledger, d.log)
	engine, err := d.engine(0)
	if err != nil {
		t.Fatal(err)
	}
	differ(t, scrape(t, d.nearMetrics(engine)), []string{
		"campaignd_certificate_expiry_timestamp_seconds gauge",
		`campaignd_certificate_expiry_timestamp_seconds{listener="listen.public"} 8.589934592e+09`,
		"campaignd_clock_apart_seconds gauge", "campaignd_clock_apart_seconds 0",
		"campaignd_ledger_lag_seconds gauge", "campaignd_ledger_lag_seconds 0",
		"campaignd_tier_recipients gauge", `campaignd_tier_recipients{portfolio="pf_1"} 1000`,
		"campaignd_tier_used gauge", `campaignd_tier_used{portfolio="pf_1"} 42`,
	})
	differ(t, scrape(t, runMetrics(near{}))[:2], []string{
		"campaignd_asset_expiry_timestamp_seconds gauge", "campaignd_asset_expiry_timestamp_seconds 1.9e+09",
	})
}
