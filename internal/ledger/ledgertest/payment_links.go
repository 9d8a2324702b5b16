package ledgertest

import (
	"context"
	"fmt"
	"testing"
	"time"

	"campaignd/campaign"
)

// linked stores the link of an order, and fails unless that of want is to be sent.
func (f *fixture) linked(terms, url, want string) {
	f.Helper()
	if got, err := f.l.StorePaymentLink(f.ctx, campaign.PaymentLink{Order: "o1", Terms: terms, URL: url}); got != want || err != nil {
		f.Errorf("storing %q for %q: got %q and %v, want %q", url, terms, got, err, want)
	}
	if got, err := f.l.PaymentLink(f.ctx, "o1", terms); got != want || err != nil {
		f.Errorf("the link for %q: got %q and %v, want %q", terms, got, err, want)
	}
}

var paymentLinkPromises = []promise{
	{"AnOrderHasOneLinkForItsTerms", func(f *fixture) {
		if got, err := f.l.PaymentLink(f.ctx, "o1", "10 EUR"); got != "" || err != nil {
			f.Errorf("got %q and %v, want no link at first", got, err)
		}
		f.linked("10 EUR", "https://pay.example/a", "https://pay.example/a")
		f.linked("10 EUR", "https://pay.example/b", "https://pay.example/a")
		f.linked("5 EUR", "https://pay.example/c", "https://pay.example/c")
		if got, err := f.l.PaymentLink(f.ctx, "o1", "10 EUR"); got != "" || err != nil {
			f.Errorf("got %q and %v, want no link for an amount that is due no more", got, err)
		}
	}},
}

var paymentLinkFaults = []faultyMethod{
	{"PaymentLink", func(f *fixture, _ Faults) func(context.Context) error {
		return func(ctx context.Context) error { _, err := f.l.PaymentLink(ctx, "f1", ""); return err }
	}},
	{"StorePaymentLink", func(f *fixture, _ Faults) func(context.Context) error {
		return func(ctx context.Context) error {
			_, err := f.l.StorePaymentLink(ctx, campaign.PaymentLink{Order: fmt.Sprint("f", f.ids), URL: "u"})
			return err
		}
	}},
}

// Retention deletes links that are older than it keeps anything.
func oldPaymentLinksAreForgotten(t *testing.T, l Tables) {
	if _, err := l.StorePaymentLink(t.Context(), campaign.PaymentLink{Order: "o1", URL: "u"}); err != nil {
		t.Fatalf("storing a link: %v; want no error", err)
	}
	for _, c := range []struct {
		before time.Time
		want   string
	}{{time.Now().Add(-time.Hour), "u"}, {time.Now().Add(time.Hour), ""}} {
		if _, err := l.Retire(t.Context(), c.before); err != nil {
			t.Fatalf("retention: %v; want no error", err)
		}
		if got, err := l.PaymentLink(t.Context(), "o1", ""); got != c.want || err != nil {
			t.Errorf("kept from %v: got the link %q and %v, want %q", c.before, got, err, c.want)
		}
	}
}
