package daemon

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"campaignd/campaign"
	"campaignd/internal/commerce"
	"campaignd/internal/config"
	"campaignd/internal/messaging"
	"campaignd/internal/purchases"
	"campaignd/internal/secret"
)

// CommerceStatus is what is known of the connection to the commerce platform.
type CommerceStatus struct {
	// Connected means that the platform answers, and that the key or the token may read the company.
	Connected bool `json:"connected"`
	// Code is why not: a code of docs/commerce.md#errors, not_configured or broken; "" if connected.
	Code string `json:"code,omitempty"`
	// Sentence says it to a person, without a full stop.
	Sentence string `json:"sentence"`
	// Remedy is what to do; "" if connected.
	Remedy string `json:"remedy,omitempty"`
}

// AskCommerce asks the platform for the company and for a payment. It blocks for at most as long as
// the client repeats its requests, and changes nothing.
func AskCommerce(ctx context.Context, cfg *config.Config) CommerceStatus {
	if !cfg.Commerce.Configured() {
		return CommerceStatus{Code: "not_configured", Sentence: "no commerce platform is configured",
			Remedy: "set commerce.base_url, commerce.company and a key, if there is one"}
	}
	client, err := config.NewCommerce(cfg, nil)
	if err != nil {
		return faultOfCommerce(err)
	}
	defer client.Close()
	company, err := client.Check(ctx)
	if err != nil {
		return faultOfCommerce(err)
	}
	with := "API key"
	switch {
	case cfg.Commerce.ClientID != "":
		with = "token of the installed application"
	case !cfg.Commerce.AccessToken.IsZero():
		with = "access token"
	}
	return CommerceStatus{Connected: true, Sentence: fmt.Sprintf("%s answers for the company %s with the %s",
		cfg.Commerce.BaseURL, messaging.Scrub(company.Name, 80), with)}
}

func faultOfCommerce(err error) CommerceStatus {
	var e *commerce.Error
	var code commerce.Code
	switch {
	case errors.As(err, &e):
		code = e.Code
	case errors.Is(err, context.DeadlineExceeded):
		code = commerce.CodeTimeOut
	}
	if code != "" {
		return CommerceStatus{Code: string(code), Sentence: code.Sentence(), Remedy: code.Remedy()}
	}
	return CommerceStatus{Code: "broken", Sentence: messaging.Scrub(err.Error(), 300), Remedy: "check commerce in the configuration"}
}

// checkCommerce is the doctor's line about the platform; there is none without one.
func checkCommerce(ctx context.Context, cfg *config.Config) []Check {
	const name = "commerce"
	if !cfg.Commerce.Configured() {
		return nil
	}
	s := AskCommerce(ctx, cfg)
	if s.Connected {
		return []Check{good(name, "%s", s.Sentence)}
	}
	return []Check{fail(name, s.Remedy, errors.New(s.Sentence))}
}

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

// commerceCollector reads the counts of the platform's events at each scrape.
type commerceCollector struct {
	intake *commerce.Intake
	ledger campaign.PurchaseLedger
}

var (
	descCommerce = desc("campaignd_commerce_events_total",
		"Requests with events of the commerce platform: taken, unsigned, invalid, other_company or unstored.", "result")
	descBacklog = desc("campaignd_commerce_backlog", "Orders that events named and that have not been asked for yet.")
)

// Describe implements prometheus.Collector.
func (c *commerceCollector) Describe(ch chan<- *prometheus.Desc) {
	prometheus.DescribeByCollect(c, ch)
}

// Collect implements prometheus.Collector.
func (c *commerceCollector) Collect(ch chan<- prometheus.Metric) {
	counts := c.intake.Counts()
	for _, result := range slices.Sorted(maps.Keys(counts)) {
		ch <- prometheus.MustNewConstMetric(descCommerce, prometheus.CounterValue, float64(counts[result]), result)
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	if n, _, err := c.ledger.HintBacklog(ctx); err == nil { // a ledger that is away is another metric
		ch <- prometheus.MustNewConstMetric(descBacklog, prometheus.GaugeValue, float64(n))
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
		return "", fmt.Errorf("%q has no path; give one of its own, such as /commerce/callback", address)
	}
	return u.EscapedPath(), nil
}
