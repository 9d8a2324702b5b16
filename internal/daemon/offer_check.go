package daemon

import (
	"fmt"
	"time"

	"campaignd/campaign/file"
	"campaignd/campaign/launch"
	"campaignd/internal/sentence"
)

// checkOffer warns of a discount that ends, and of unpaid orders that expire, while the campaign is
// sent.
func checkOffer(d *file.Definition, found *launch.Preflight, now time.Time) error {
	offer := found.Offer
	if offer == nil || found.Sendable == 0 {
		return nil
	}
	w, o, err := openingOf(d, found, now)
	if err != nil {
		return err
	}
	begins, closes := now, o.Closes
	if o.Open == 0 {
		if o.Opens.IsZero() {
			return nil // the sentence of the window says that nothing is ever sent
		}
		begins = o.Opens
		if _, o, err = openingOf(d, found, begins); err != nil {
			return err
		}
		closes = o.Closes
	}
	zone := time.UTC
	if w != nil && o.Zone != nil {
		zone = o.Zone
	}
	at := func(t time.Time) string { return t.In(zone).Format("2006-01-02 15:04 MST") }
	warn := func(count int64, where, what, remedy string) {
		found.Findings = append(found.Findings, file.Warning(file.KindOffer, count, where, what, remedy))
	}
	ends := begins.Add(found.Duration)
	switch discount := offer.DiscountEnds; {
	case discount.IsZero():
	case discount.Before(begins):
		warn(0, "audience.discount", fmt.Sprintf("%q ends at %s, before sending begins at %s", offer.Discount, at(discount), at(begins)),
			"prolong it at the commerce platform, or take it out")
	case discount.Before(ends):
		warn(0, "audience.discount", fmt.Sprintf("%q ends at %s, and sending lasts until about %s", offer.Discount, at(discount), at(ends)),
			"prolong it at the commerce platform, or send to fewer people")
	}
	until, what := closes, "the window closes"
	if until.IsZero() {
		until, what = ends, "sending ends"
	}
	if n := offer.ExpireBefore(until); n > 0 {
		warn(n, "audience.from", fmt.Sprintf("%s before %s at %s, and the message may be too late",
			sentence.Count(n, "order expires", "orders expire"), what, at(until)), "launch it earlier, or leave old orders out with audience.since")
	}
	return nil
}
