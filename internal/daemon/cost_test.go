package daemon

import (
	"context"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"campaignd/campaign"
	"campaignd/campaign/file"
	"campaignd/campaign/launch"
	"campaignd/campaign/price"
	"campaignd/internal/config"
)

// pastLedger has runs of 100 rows and 7 skipped ones, of which some were delivered.
type pastLedger struct {
	campaign.Ledger
	runs      []campaign.Run
	delivered map[campaign.RunNo]int64
}

func (l *pastLedger) Runs(_ context.Context, f campaign.RunFilter) (found []campaign.Run, err error) {
	for _, r := range l.runs {
		if (f.Template == "" || r.Template == f.Template) && (f.Campaign == "" || r.Campaign == f.Campaign) {
			found = append(found, r)
		}
	}
	return found, nil
}

func (l *pastLedger) Tallies(_ context.Context, no campaign.RunNo) ([]campaign.Tally, campaign.Funnel, error) {
	n := l.delivered[no]
	return []campaign.Tally{{Status: campaign.Read, N: n}, {Status: campaign.Failed, N: 100 - n}, {Status: campaign.Skipped, N: 7}},
		campaign.Funnel{Delivered: n}, nil
}

// The runs of the template come before those of the campaign. A run that was cancelled, and one
// about which no event came, say nothing about the next one.
func TestTheLowerCostIsOfRunsLikeThisOne(t *testing.T) {
	run := func(no campaign.RunNo, name, template string, state campaign.State) campaign.Run {
		return campaign.Run{No: no, Campaign: name, Template: template, State: state}
	}
	delivered := map[campaign.RunNo]int64{1: 50, 2: 90, 3: 80, 4: 0, 5: 10}
	for name, of := range map[string]struct {
		runs []campaign.Run
		want *price.Past
	}{
		"none": {nil, nil},
		"of the template": {[]campaign.Run{run(2, "winter", "sale", campaign.Finished), run(3, "spring", "sale", campaign.Finished),
			run(1, "spring", "other", campaign.Finished)}, &price.Past{Of: "template sale", Runs: 2, Messages: 200, Delivered: 170}},
		"of the campaign": {[]campaign.Run{run(1, "spring", "other", campaign.Finished), run(2, "winter", "other", campaign.Finished)},
			&price.Past{Of: "campaign spring", Runs: 1, Messages: 100, Delivered: 50}},
		"without an event, and cancelled": {[]campaign.Run{run(4, "spring", "sale", campaign.Finished),
			run(5, "spring", "sale", campaign.Cancelled)}, nil},
	} {
		def := &file.Definition{Name: "spring"}
		def.Template.Name = "sale"
		got, err := pastOf(t.Context(), &pastLedger{runs: of.runs, delivered: delivered}, def)
		if d := cmp.Diff(of.want, got); d != "" || err != nil {
			t.Errorf("%s: %v, -want +got:\n%s", name, err, d)
		}
	}
}

// The cost is of the sendable rows in the category that the service told.
func TestAListIsPricedByItsMarketsAndItsCategory(t *testing.T) {
	path := filepath.Join(t.TempDir(), "rates.csv")
	const rates = "market,category,currency,rate,from\nDE,marketing,EUR,0.1131,2026-10-01\nDE,utility,EUR,0.05,2026-10-01\n"
	if err := os.WriteFile(path, []byte(rates), 0o600); err != nil {
		t.Fatal(err)
	}
	p := &launch.Preflight{Category: "MARKETING", Sendable: 12,
		Countries: []launch.CountryCount{{Country: "DE", Rows: 10}, {Country: "FR", Rows: 2}}}
	now := time.Date(2026, 11, 1, 0, 0, 0, 0, time.UTC)
	if err := estimate(t.Context(), &config.Config{}, nil, &file.Definition{}, p, now); err != nil || p.Cost != nil {
		t.Errorf("without prices: got %v and %v, want no cost", p.Cost, err)
	}
	if err := estimate(t.Context(), &config.Config{Prices: path}, nil, &file.Definition{}, p, now); err != nil {
		t.Fatal(err)
	}
	const want = "1.131 EUR, marketing at the rates of 2026-11-01; no rate for 2 marketing messages (FR)"
	if got := p.Cost.String(); got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}
