package daemon

import (
	"context"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"campaignd/campaign"
	"campaignd/campaign/sender"
)

// nearCollector reports at each scrape what may soon be used up, expire or be late: the tiers of
// portfolios, the certificates of the listeners, and how late the ledger is with results.
type nearCollector struct {
	d      *Daemon
	engine *sender.Engine // nil: this process sends nothing
}

var (
	descLag = desc("campaignd_ledger_lag_seconds",
		"How long the results of requests that are being written wait for the ledger; 0 while none waits.")
	descPeople  = desc("campaignd_tier_recipients", "People whom the portfolio may reach in 24 hours.", "portfolio")
	descReached = desc("campaignd_tier_used", "People whom the portfolio has reached in the last 24 hours.", "portfolio")
	descExpiry  = desc("campaignd_certificate_expiry_timestamp_seconds", "Unix time at which the certificate of a listener ends.", "listener")
)

// Describe implements prometheus.Collector.
func (c *nearCollector) Describe(ch chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{descLag, descPeople, descReached, descExpiry} {
		ch <- d
	}
}

// Collect implements prometheus.Collector. While the ledger does not answer there is no tier_used.
func (c *nearCollector) Collect(ch chan<- prometheus.Metric) {
	gauge := func(d *prometheus.Desc, v float64, labels ...string) {
		ch <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, v, labels...)
	}
	for _, l := range []*listener{c.d.public, c.d.admin} {
		if l == nil || l.certificate == nil {
			continue
		}
		if pair, err := l.certificate.get(nil); err == nil && pair.Leaf != nil {
			gauge(descExpiry, float64(pair.Leaf.NotAfter.Unix()), l.name)
		}
	}
	if c.engine == nil {
		return
	}
	gauge(descLag, c.engine.LedgerLag().Seconds())
	ctx, stop := context.WithTimeout(context.Background(), 2*time.Second)
	defer stop()
	seen := map[string]bool{}
	for _, id := range c.d.directory.IDs() {
		t := c.d.directory.Tier(id)
		if t.Places <= 0 || seen[t.Portfolio] {
			continue
		}
		seen[t.Portfolio] = true
		gauge(descPeople, float64(t.Places), t.Portfolio)
		if n, err := peopleReached(ctx, c.d.ledger, t.Portfolio, time.Now()); err == nil {
			gauge(descReached, float64(n), t.Portfolio)
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
