package ledgertest

import (
	"time"

	"campaignd/campaign"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

// listens records spans. Each pair of seconds after noon is the beginning and the end of one span.
func (f *fixture) listens(seconds ...int) {
	f.Helper()
	for i := 0; i < len(seconds); i += 2 {
		f.ok(f.l.Listen(f.ctx, campaign.Span{Since: at(seconds[i]), Until: at(seconds[i+1])}))
	}
}

// listened fails unless the spans that end after a second are those of want.
func (f *fixture) listened(after int, want ...int) {
	f.Helper()
	got, err := f.l.Listened(f.ctx, at(after))
	f.ok(err)
	var spans []campaign.Span
	for i := 0; i < len(want); i += 2 {
		spans = append(spans, campaign.Span{Since: at(want[i]), Until: at(want[i+1])})
	}
	byStart := cmpopts.SortSlices(func(a, b campaign.Span) bool { return a.Since.Before(b.Since) })
	if d := cmp.Diff(spans, got, byStart, cmpopts.EquateEmpty()); d != "" {
		f.Errorf("webhooks were taken (-want +got):\n%s", d)
	}
}

var listeningPromises = []promise{
	{"NobodyHasListenedAtFirst", func(f *fixture) { f.listened(-1000) }},
	{"ASpanGrowsAndNeverShrinks", func(f *fixture) {
		f.listens(0, 0, 0, 10, 0, 20, 0, 15)
		f.listened(-1000, 0, 20)
	}},
	{"SpansOfReplicasOverlap", func(f *fixture) {
		f.listens(0, 10, 5, 15, 0, 20)
		f.listened(-1000, 0, 20, 5, 15)
		f.listened(15, 0, 20)
		f.listened(20)
	}},
	{"OldSpansAreForgotten", func(f *fixture) {
		week := int(campaign.ListenKept / time.Second)
		f.listens(0, 10, 12, 20, week+20, week+20)
		f.listened(-1000, 12, 20, week+20, week+20)
	}},
	{"OnlyDoubtsOfTheSpanAreResolved", func(f *fixture) {
		r, l := f.begun(3, 3)
		for seq, began := range []int{10, 20, 30} {
			d := doubtful(l, int64(seq))
			d.At = at(began)
			f.record(d)
		}
		n, err := f.l.Resolve(f.ctx, l, campaign.Span{Since: at(20), Until: at(30)}, campaign.UncertainHold)
		f.ok(err)
		if n != 1 {
			f.Errorf("resolved %d doubts, want 1", n)
		}
		f.status(r.No, 0, campaign.InDoubt)
		f.status(r.No, 1, campaign.Unknown)
		f.status(r.No, 2, campaign.InDoubt)
	}},
}
