package ledgertest

import (
	"context"
	"time"

	"campaignd/campaign"
	"campaignd/campaign/conversion"
	"campaignd/campaign/reception"
)

// hinted adds a hint, and returns it as the ledger has it.
func (f *fixture) hinted(order string) campaign.OrderHint {
	f.Helper()
	h := campaign.OrderHint{Order: order, At: at(1), Received: at(1), Events: 1}
	f.ok(f.l.AddHints(f.ctx, []campaign.OrderHint{h}))
	return h
}

var purchaseFaults = []faultyMethod{
	{"AddHints", func(f *fixture, _ Faults) func(context.Context) error {
		return func(ctx context.Context) error {
			return f.l.AddHints(ctx, []campaign.OrderHint{{Order: "f1", At: at(1)}, {Order: "f2", At: at(1)}})
		}
	}},
	{"Hints", func(f *fixture, _ Faults) func(context.Context) error {
		return func(ctx context.Context) error { _, err := f.l.Hints(ctx, 1); return err }
	}},
	{"HintBacklog", func(f *fixture, _ Faults) func(context.Context) error {
		return func(ctx context.Context) error { _, _, err := f.l.HintBacklog(ctx); return err }
	}},
	{"EndHint", func(f *fixture, _ Faults) func(context.Context) error {
		h := f.hinted("f3")
		return func(ctx context.Context) error { return f.l.EndHint(ctx, h) }
	}},
	{"PolledUntil", func(f *fixture, _ Faults) func(context.Context) error {
		return func(ctx context.Context) error { _, err := f.l.PolledUntil(ctx); return err }
	}},
	{"SetPolledUntil", func(f *fixture, _ Faults) func(context.Context) error {
		return func(ctx context.Context) error { return f.l.SetPolledUntil(ctx, at(f.ids)) }
	}},
	{"StorePurchases", func(f *fixture, _ Faults) func(context.Context) error {
		r := f.toldAndHeld(2, 0)
		f.store(order("f4", 0, 5, 5))
		f.match(r.No)
		f.hinted("f4")
		return func(ctx context.Context) error {
			return f.l.StorePurchases(ctx, []conversion.Order{order("f4", 1, 5, 6), order("f5", 0, 5, 6)})
		}
	}},
	{"StoreUnread", func(f *fixture, _ Faults) func(context.Context) error {
		return func(ctx context.Context) error { return f.l.StoreUnread(ctx, []string{"f9", "f10"}, at(1)) }
	}},
	{"AskAgain", func(f *fixture, _ Faults) func(context.Context) error {
		r := f.toldAndHeld(1, 0)
		f.store(order("f11", 0, 5, 5))
		f.match(r.No)
		later := time.Now().Add(time.Hour)
		return func(ctx context.Context) error { return f.l.AskAgain(ctx, at(0), later, later, 1) }
	}},
	{"RemovePurchase", func(f *fixture, _ Faults) func(context.Context) error {
		f.store(order("f12", 0, 5, 5))
		h := f.hinted("f12")
		return func(ctx context.Context) error { _, err := f.l.RemovePurchase(ctx, h); return err }
	}},
	{"MatchPurchases", func(f *fixture, _ Faults) func(context.Context) error {
		r := f.toldAndHeld(2, 0)
		f.store(order("f6", 0, 5, 5), order("f7", 1, 5, 5))
		segments, err := f.l.SegmentStates(f.ctx, r.No)
		f.ok(err)
		return func(ctx context.Context) error {
			n, err := f.l.MatchPurchases(ctx, segments[0], reception.Span{Since: at(0), Until: at(60)}, paidWithin)
			return none(f, n, err)
		}
	}},
	{"CountPurchases", func(f *fixture, _ Faults) func(context.Context) error {
		r := f.toldAndHeld(1, 0)
		f.store(order("f8", 0, 5, 5))
		f.match(r.No)
		return func(ctx context.Context) error {
			_, err := f.l.CountPurchases(ctx, conversion.Tally{Run: int64(r.No), Rule: paidWithin})
			return err
		}
	}},
}
