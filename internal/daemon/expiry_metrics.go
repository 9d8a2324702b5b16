package daemon

import (
	"context"
	"time"

	"campaignd/campaign"
	"campaignd/campaign/sender"
)

var (
	descLag = gauge("campaignd_ledger_lag_seconds",
		"How long the results of requests that are being written wait for the ledger; 0 while none waits.")
	descPeople  = gauge("campaignd_tier_recipients", "People whom the portfolio may reach in 24 hours.", "portfolio")
	descReached = gauge("campaignd_tier_used", "People whom the portfolio has reached in the last 24 hours.", "portfolio")
	descApart   = gauge("campaignd_clock_apart_seconds",
		"How far the clock of this machine is ahead of the ledger's or the service's, if it is more than a minute; negative: behind.")
	descExpiry = gauge("campaignd_certificate_expiry_timestamp_seconds", "Unix time at which the certificate of a listener ends.", "listener")
)

// nearMetrics reports what may soon be used up, expire or be late: the tiers of portfolios, the
// certificates of the listeners, how late the ledger is with results, and how wrong the clock is.
// Without an engine this process sends nothing. While the ledger does not answer there is no
// tier_used.
func (d *Daemon) nearMetrics(e *sender.Engine) collector {
	return func(put emit) {
		put(descApart, d.clock.Apart().Seconds())
		for _, l := range []*listener{d.public, d.admin} {
			if l == nil || l.certificate == nil {
				continue
			}
			if pair, err := l.certificate.get(nil); err == nil && pair.Leaf != nil {
				put(descExpiry, float64(pair.Leaf.NotAfter.Unix()), l.name)
			}
		}
		if e == nil {
			return
		}
		put(descLag, e.LedgerLag().Seconds())
		ctx, stop := context.WithTimeout(context.Background(), 2*time.Second)
		defer stop()
		seen := map[string]bool{}
		for _, id := range d.directory.IDs() {
			t := d.directory.Tier(id)
			if t.Places <= 0 || seen[t.Portfolio] {
				continue
			}
			seen[t.Portfolio] = true
			put(descPeople, float64(t.Places), t.Portfolio)
			if n, err := peopleReached(ctx, d.ledger, t.Portfolio, time.Now()); err == nil {
				put(descReached, float64(n), t.Portfolio)
			}
		}
	}
}

// peopleReached counts the people who take a place of the portfolio's tier at now.
func peopleReached(ctx context.Context, l campaign.Ledger, portfolio string, now time.Time) (n int64, err error) {
	all, err := l.Reached(ctx, portfolio, now.Add(-campaign.ReachFor))
	for _, r := range all {
		n += r.N
	}
	return n, err
}
