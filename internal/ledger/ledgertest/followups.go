package ledgertest

import (
	"errors"
	"testing"

	"campaignd/campaign"
)

// FollowedTwice makes two follow-up runs of one parent and puts the same recipient into both. It
// reports whether the ledger stored both.
func FollowedTwice(t *testing.T, l campaign.Ledger) bool {
	t.Helper()
	f := &fixture{T: t, l: l, ctx: t.Context()}
	parent := f.imported(2)
	for range 2 {
		r := f.create(func(r *campaign.Run) { r.Parent = parent.No })
		switch err := f.l.AppendRows(f.ctx, r.No, 0, deliveries(0, 1), oneSegment(r.No, 1)); {
		case errors.Is(err, campaign.ErrFollowedUp):
			return false
		case err != nil:
			t.Fatal(err)
		}
	}
	return true
}

var followUpPromises = []promise{
	{"ARecipientIsInOneFollowUpOfAParent", func(f *fixture) {
		if FollowedTwice(f.T, f.l) {
			f.Error("two follow-ups have one recipient: true; want false")
		}
	}},
	{"ARefusedChunkOfAFollowUpLeavesNothing", func(f *fixture) {
		parent, other := f.imported(4), f.imported(4)
		of := func(p campaign.Run) campaign.Run { return f.create(func(r *campaign.Run) { r.Parent = p.No }) }
		first, second, elsewhere := of(parent), of(parent), of(other)
		f.ok(f.l.AppendRows(f.ctx, first.No, 0, deliveries(0, 2), oneSegment(first.No, 2)))
		if err := f.l.AppendRows(f.ctx, second.No, 0, deliveries(1, 4), oneSegment(second.No, 4)); !errors.Is(err, campaign.ErrFollowedUp) {
			f.Errorf("a chunk with a recipient of another follow-up: %v; want ErrFollowedUp", err)
		}
		if n := len(f.lines(second.No)); n != 0 || f.run(second.No).Rows != 0 {
			f.Errorf("%d rows stayed; want 0", n)
		}
		rest := deliveries(0, 2)
		for i := range rest {
			rest[i].Key, rest[i].To = key(int64(i+2)), deliveries(int64(i+2), int64(i+3))[0].To
		}
		f.ok(f.l.AppendRows(f.ctx, second.No, 0, rest, oneSegment(second.No, 2)))
		f.ok(f.l.AppendRows(f.ctx, elsewhere.No, 0, deliveries(0, 4), oneSegment(elsewhere.No, 4)))
		f.ok(f.l.FinishImport(f.ctx, second.No, 2, campaign.Ready))
		f.sound(second.No)
	}},
	{"ARecipientThatAFollowUpSkippedIsFree", func(f *fixture) {
		parent := f.imported(1)
		of := func(r *campaign.Run) { r.Parent = parent.No }
		first := f.imported(1, of)
		f.cancel(first.No)
		l := f.claimCancelled(false, first.No)[0]
		f.done(f.l.SkipQueued(f.ctx, l, campaign.RunCancelled))
		second, third := f.imported(1, of), f.create(of)
		if err := f.l.AppendRows(f.ctx, third.No, 0, deliveries(0, 1), oneSegment(third.No, 1)); !errors.Is(err, campaign.ErrFollowedUp) {
			f.Errorf("a recipient of follow-up %d: %v; want ErrFollowedUp", second.No, err)
		}
	}},
}
