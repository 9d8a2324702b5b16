package ledgertest

import (
	"context"
	"fmt"

	"campaignd/campaign"
)

var eventFaults = []faultyMethod{
	{"Apply", func(f *fixture, _ Faults) func(context.Context) error {
		f.ids++
		r, _ := f.accepted(4)
		f.suppresses(int64(8000 + f.ids))
		e := campaign.Events{
			Statuses: []campaign.StatusEvent{event(messageID(r.No, 0), key(0), campaign.Sent, at(5)),
				event(messageID(r.No, 1), key(1), campaign.Failed, at(5))},
			Suppressions: []campaign.Suppression{{Key: key(6000 + int64(f.ids)), Scope: campaign.ScopeMarketing, At: at(1)}},
			Lifted:       []campaign.Suppression{{Key: key(int64(8000 + f.ids)), Scope: campaign.ScopeMarketing, At: at(100)}},
		}
		return func(ctx context.Context) error {
			done, err := f.l.Apply(ctx, e)
			if want := (campaign.Applied{}); err != nil && done != want {
				f.Errorf("failed, and applied %+v; want %+v", done, want)
			}
			return err
		}
	}},
	{"ApplyOfStrangers", func(f *fixture, _ Faults) func(context.Context) error { // a backend may store orphans in a transaction of their own
		f.ids++
		first, again := fmt.Sprint("wamid.first.", f.ids), fmt.Sprint("wamid.again.", f.ids)
		f.apply(event(again, key(9001), campaign.Sent, at(9)))
		e := campaign.Events{Statuses: []campaign.StatusEvent{event(first, key(9000), campaign.Sent, at(5)),
			event(again, key(9001), campaign.Sent, at(5))}}
		return func(ctx context.Context) error { _, err := f.l.Apply(ctx, e); return err }
	}},
	{"ApplyHolds", func(f *fixture, _ Faults) func(context.Context) error {
		f.ids++
		// A cancelled call may have succeeded; then its status holds the connection.
		_, err := f.l.LiftHolds(f.ctx, []campaign.Lift{
			{Scope: campaign.HoldConnection, ID: "conn_1", By: campaign.HoldByOperator, At: minutes(-3)}})
		f.ok(err)
		r, _ := f.accepted(2)
		held, fresh := failedAccount(minutes(-2)), failedAccount(minutes(-1))
		held.ID, fresh.ID = fmt.Sprint("held", f.ids), fmt.Sprint("fresh", f.ids)
		f.holds(1, held)
		e := campaign.Events{
			Statuses: []campaign.StatusEvent{failure(messageID(r.No, 0), "131042", minutes(-1))},
			Holds:    []campaign.Hold{fresh},
			Lifts:    []campaign.Lift{{Scope: held.Scope, ID: held.ID, By: campaign.HoldByEvent, At: minutes(-1)}},
		}
		return func(ctx context.Context) error { _, err := f.l.Apply(ctx, e); return err }
	}},
	{"Suppress", func(f *fixture, _ Faults) func(context.Context) error {
		f.ids++
		f.suppresses(int64(f.ids))
		s := []campaign.Suppression{{Key: key(int64(f.ids)), Scope: campaign.ScopeMarketing, At: at(1)},
			{Key: key(5000 + int64(f.ids)), Scope: campaign.ScopeAll, At: at(1)}}
		return func(ctx context.Context) error {
			n, err := f.l.Suppress(ctx, s)
			return none(f, n, err)
		}
	}},
	{"Unsuppress", func(f *fixture, _ Faults) func(context.Context) error {
		f.ids++
		f.suppresses(int64(f.ids), int64(f.ids)+1)
		s := []campaign.Suppression{{Key: key(int64(f.ids)), Scope: campaign.ScopeMarketing},
			{Key: key(int64(f.ids) + 1), Scope: campaign.ScopeMarketing}}
		return func(ctx context.Context) error {
			n, err := f.l.Unsuppress(ctx, s)
			return none(f, n, err)
		}
	}},
	{"Suppressions", func(f *fixture, _ Faults) func(context.Context) error {
		f.suppresses(1, 2)
		return func(ctx context.Context) (last error) {
			for _, err := range f.l.Suppressions(ctx) {
				last = err
			}
			return last
		}
	}},
	{"SuppressedKeys", func(f *fixture, _ Faults) func(context.Context) error {
		f.suppresses(1)
		return func(ctx context.Context) error {
			_, err := f.l.SuppressedKeys(ctx, keys(0, 40), true, nil, at(1))
			return err
		}
	}},
	{"CappedKeys", func(f *fixture, _ Faults) func(context.Context) error {
		return func(ctx context.Context) error {
			_, err := f.l.CappedKeys(ctx, keys(0, 40), *capped(campaign.Lease{}, 0, 0, "").Cap, at(1))
			return err
		}
	}},
	{"AddHolds", func(f *fixture, _ Faults) func(context.Context) error {
		f.ids++
		held, fresh := failedAccount(minutes(-2)), failedAccount(minutes(-1))
		held.ID, fresh.ID = fmt.Sprint("held", f.ids), fmt.Sprint("fresh", f.ids)
		f.holds(1, held)
		held.Since = minutes(-1)
		return func(ctx context.Context) error {
			began, err := f.l.AddHolds(ctx, []campaign.Hold{held, fresh})
			return none(f, len(began), err)
		}
	}},
	{"LiftHolds", func(f *fixture, _ Faults) func(context.Context) error {
		f.ids++
		held := failedAccount(minutes(-2))
		held.ID = fmt.Sprint("held", f.ids)
		f.holds(1, held)
		return func(ctx context.Context) error {
			ended, err := f.l.LiftHolds(ctx, []campaign.Lift{{Scope: held.Scope, ID: held.ID, By: campaign.HoldByEvent, At: minutes(-1)}})
			return none(f, len(ended), err)
		}
	}},
	{"Holds", func(f *fixture, _ Faults) func(context.Context) error {
		f.ids++
		held := failedAccount(minutes(-2))
		held.ID = fmt.Sprint("held", f.ids)
		f.holds(1, held)
		return func(ctx context.Context) error {
			found, err := f.l.Holds(ctx, true)
			return none(f, len(found), err)
		}
	}},
}
