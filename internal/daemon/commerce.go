package daemon

import (
	"context"
	"fmt"
	"net/url"
	"time"

	"campaignd/campaign"
	"campaignd/internal/commerce"
	"campaignd/internal/config"
	"campaignd/internal/purchases"
	"campaignd/internal/secret"
)

// openCommerce returns the route of the platform's events, none if they are not taken.
func (d *Daemon) openCommerce() []publicRoute {
	if !d.cfg.TakesEvents() {
		return nil
	}
	c := d.cfg.Commerce
	d.commerce = commerce.NewIntake(c.Assumptions(), c.Company, c.Webhooks.Secrets, d.log, d.keepHints)
	return []publicRoute{{c.Webhooks.Path, d.commerce}}
}

// keepHints stores the orders that events named.
func (d *Daemon) keepHints(ctx context.Context, hints []commerce.Hint) error {
	all, now := make([]campaign.OrderHint, len(hints)), time.Now()
	for i, h := range hints {
		all[i] = campaign.OrderHint{Order: h.Order, At: h.At, Received: now}
	}
	return d.ledger.AddHints(ctx, all)
}

// keepOrders takes the orders of the commerce platform, if there is one, and matches them until ctx
// ends. One replica at a time does it.
func (d *Daemon) keepOrders(ctx context.Context) {
	if !d.cfg.Commerce.Configured() {
		return
	}
	t := turn{job: d.job("orders")}
	defer func() { _ = t.end() }() // the lease ends by itself
	purchases.New(purchases.Options{
		Ledger: d.ledger, Client: func() (*commerce.Client, error) { return config.NewCommerce(d.cfg, d.log) },
		Poll: d.cfg.Commerce.Poll.Std(), Ours: t.ours, Log: d.log,
	}).Run(ctx)
}

var (
	descCommerce = counter("campaignd_commerce_events_total",
		"Requests with events of the commerce platform: taken, unsigned, invalid, other_company or unstored.", "result")
	descBacklog = gauge("campaignd_commerce_backlog", "Orders that events named and that have not been asked for yet.")
)

// commerceMetrics reads the counts of the platform's events.
func commerceMetrics(intake *commerce.Intake, l campaign.PurchaseLedger) collector {
	return func(put emit) {
		for result, n := range intake.Counts() {
			put(descCommerce, float64(n), result)
		}
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		if n, _, err := l.HintBacklog(ctx); err == nil { // a ledger that is away is another metric
			put(descBacklog, float64(n))
		}
	}
}

// callbackPath returns the path of the address that the platform calls back, which is https, or
// http on this machine.
func callbackPath(address string) (string, error) {
	u, err := url.Parse(address)
	switch {
	case err != nil || u.Host == "" || u.User != nil || u.Fragment != "" || u.RawQuery != "" ||
		u.Scheme != "https" && (u.Scheme != "http" || !secret.Loopback(u.Hostname())):
		return "", fmt.Errorf("%q is not an address such as https://hooks.example/commerce/callback", address)
	case u.Path == "" || u.Path == "/":
		return "", fmt.Errorf("%q has no path; give it one, such as /commerce/callback", address)
	}
	return u.EscapedPath(), nil
}
