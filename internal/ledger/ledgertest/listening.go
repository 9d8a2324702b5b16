package ledgertest

import (
	"time"

	"campaignd/campaign"
	"campaignd/campaign/reception"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

// listens records spans. Each pair of seconds after noon is the beginning and the end of one span.
func (f *fixture) listens(seconds ...int) {
	f.Helper()
	for i := 0; i < len(seconds); i += 2 {
		f.ok(f.l.Listen(f.ctx, reception.Span{Since: at(seconds[i]), Until: at(seconds[i+1])}))
	}
}

// listened fails unless the spans that end after a second are those of want.
func (f *fixture) listened(after int, want ...int) {
	f.Helper()
	got, err := f.l.Listened(f.ctx, at(after))
	f.ok(err)
	var spans []reception.Span
	for i := 0; i < len(want); i += 2 {
		spans = append(spans, reception.Span{Since: at(want[i]), Until: at(want[i+1])})
	}
	byStart := cmpopts.SortSlices(func(a, b reception.Span) bool { return a.Since.Before(b.Since) })
	if d := cmp.Diff(spans, got, byStart, cmpopts.EquateEmpty()); d != "" {
		f.Errorf("webhooks were taken (-want +got):\n%s", d)
	}
}

var listeningPromises = []promise{
	{"SignaturesAreKeptOverAllProcesses", func(f *fixture) {
		if s, err := f.l.Signatures(f.ctx); err != nil || s.Count != 0 || len(s.Verified) != 0 {
			f.Errorf("a new ledger has the signatures %+v, %v; want none, no error", s, err)
		}
		for i, n := range []reception.SignatureNote{
			{Verified: map[string]time.Time{"aa": at(0)}, Endpoints: map[string]string{"aa": "whk_1"}},
			{Wrong: 3, First: at(10), Last: at(30)}, {Wrong: 2, First: at(20), Last: at(25)},
			{Verified: map[string]time.Time{"bb": at(400)}},
		} {
			_, replay, err := f.l.NoteSignatures(f.ctx, n, at(500))
			f.ok(err)
			if want := i == 3; replay.IsZero() == want || want && !replay.Equal(at(10)) {
				f.Errorf("note %d: replay since %v, want one with the last note alone, since %v", i, replay, at(10))
			}
		}
		want := reception.Signatures{Since: at(10), Last: at(30), Count: 5, Verified: map[string]time.Time{"aa": at(0), "bb": at(400)},
			Endpoints: map[string]string{"aa": "whk_1"}, Mended: at(400), Asked: at(500)}
		got, err := f.l.Signatures(f.ctx)
		f.ok(err)
		if d := cmp.Diff(want, got); d != "" {
			f.Errorf("signatures (-want +got):\n%s", d)
		}
	}},
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
		week := int(reception.ListenKept / time.Second)
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
		n, err := f.l.Resolve(f.ctx, l, reception.Span{Since: at(20), Until: at(30)}, campaign.UncertainHold)
		f.ok(err)
		if n != 1 {
			f.Errorf("resolved %d doubts, want 1", n)
		}
		f.status(r.No, 0, campaign.InDoubt)
		f.status(r.No, 1, campaign.Unknown)
		f.status(r.No, 2, campaign.InDoubt)
	}},
}
