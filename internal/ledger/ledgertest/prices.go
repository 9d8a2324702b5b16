package ledgertest

import (
	"campaignd/campaign"

	"github.com/google/go-cmp/cmp"
)

// priced is a status that tells a price.
func priced(e campaign.StatusEvent, p campaign.Price) campaign.StatusEvent {
	e.Price = p
	return e
}

// prices reads the prices of a run.
func (f *fixture) prices(no campaign.RunNo) (all []campaign.Priced) {
	f.Helper()
	f.ok(f.l.Prices(f.ctx, no, func(p campaign.Priced) { all = append(all, p) }))
	return all
}

var pricePromises = []promise{
	{"APriceIsToldOnceForEachMessage", func(f *fixture) {
		r, l := f.begun(3, 3)
		f.record(acceptance(l, 0), acceptance(l, 1), acceptance(l, 2))
		const marketing = "regular/marketing"
		id := func(seq int64) string { return messageID(r.No, seq) }
		f.apply(priced(event(id(1), key(1), campaign.Sent, at(2)), marketing), priced(event(id(0), key(0), campaign.Sent, at(2)), marketing))
		f.apply(priced(event(id(0), key(0), campaign.Delivered, at(3)), "regular/utility"), event(id(2), key(2), campaign.Delivered, at(3)))
		f.apply(priced(event(id(0), key(0), campaign.Delivered, at(3)), marketing)) // a repetition
		want := []campaign.Priced{
			{To: f.lines(r.No)[0].To, Price: marketing, Delivered: at(3)},
			{To: f.lines(r.No)[1].To, Price: marketing},
		}
		if d := cmp.Diff(want, f.prices(r.No)); d != "" {
			f.Errorf("-want +got:\n%s", d)
		}
		// Lines and selected lines tell the same.
		var inLines []campaign.Priced
		selected, _, err := f.l.SelectLines(f.ctx, r.No, campaign.LineFilter{}, 0, 9)
		f.ok(err)
		for n, l := range selected {
			if d := cmp.Diff(f.lines(r.No)[int64(n)], l); d != "" {
				f.Errorf("row %d: -Lines +SelectLines:\n%s", n, d)
			}
			inLines = append(inLines, l.Priced())
		}
		if d := cmp.Diff(append(want, campaign.Priced{To: selected[2].To, Delivered: at(3)}), inLines); d != "" {
			f.Errorf("lines: -want +got:\n%s", d)
		}
		if other := f.imported(1); len(f.prices(other.No)) != 0 {
			f.Errorf("got prices of a run without messages, want none")
		}
	}},
	{"APriceBeforeItsReceiptCounts", func(f *fixture) {
		r, l := f.begun(1, 1)
		f.apply(priced(event(messageID(r.No, 0), key(0), campaign.Sent, at(2)), "regular/utility"))
		f.record(acceptance(l, 0))
		f.sweep()
		if got := f.prices(r.No); len(got) != 1 || got[0].Price != "regular/utility" {
			f.Errorf("got %+v, want one price of regular/utility", got)
		}
	}},
	{"RetentionTakesPricesAlong", func(f *fixture) {
		r := f.over(10)
		f.apply(priced(event(messageID(r.No, 9), key(9), campaign.Read, at(6)), "regular/utility"))
		if got := f.prices(r.No); len(got) != 1 {
			f.Errorf("got %+v, want one price", got)
		}
		f.between()
		f.retires(f.between(), 10)
		if got := f.prices(r.No); len(got) != 0 {
			f.Errorf("got %+v of deleted deliveries, want none", got)
		}
	}},
}
