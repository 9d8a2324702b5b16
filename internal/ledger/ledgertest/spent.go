package ledgertest

import (
	"testing"
	"time"

	"campaignd/campaign"

	"github.com/google/go-cmp/cmp"
)

// spent counts what was sent since a time.
func (f *fixture) spent(since time.Time) map[string]int64 {
	f.Helper()
	got, err := f.l.Spent(f.ctx, since)
	f.ok(err)
	return got
}

var spentPromises = []promise{
	{"SpentCountsWhatWasOrMayHaveBeenSent", func(f *fixture) {
		_, l := f.begun(12, 8)
		again := result(l, 5, campaign.ResultDeferred)
		again.NotBefore = at(0)
		f.record(acceptance(l, 0), acceptance(l, 1), acceptance(l, 2), refusal(l, 3), doubtful(l, 4), again)
		for _, c := range []struct {
			since time.Time
			want  int64
			why   string
		}{
			{time.Time{}, 6, "three accepted, one in doubt, two without an answer"},
			{noon, 6, "the answers came in this quarter of an hour"},
			{noon.Add(15 * time.Minute), 2, "two without an answer, which may come now"},
		} {
			if got := f.spent(c.since); !cmp.Equal(got, map[string]int64{"conn_1": c.want}) {
				f.Errorf("spent since %v: %v, want %d: %s", c.since, got, c.want, c.why)
			}
		}
		f.sentRetry(l, 8, 5, 2)
		if got := f.spent(noon.Add(time.Hour))["conn_1"]; got != 3 {
			f.Errorf("spent with a retry under way: %d, want 3", got)
		}
	}},
	{"SpentIsCountedByConnectionAndRun", func(f *fixture) {
		for _, connection := range []string{"conn_1", "conn_1", "conn_2"} {
			r := f.imported(3)
			ls, err := f.l.Claim(f.ctx, campaign.Claim{Owner: "a", Connection: connection, Runs: []campaign.RunNo{r.No}, Max: 1, Lease: long})
			f.ok(err)
			in := intent(ls[0], 0, 3)
			in.Connection = connection
			f.intend(in)
			f.record(acceptance(ls[0], 0), acceptance(ls[0], 1), acceptance(ls[0], 2))
		}
		f.imported(3) // nothing of it was sent
		for range 2 {
			if d := cmp.Diff(map[string]int64{"conn_1": 6, "conn_2": 3}, f.spent(noon)); d != "" {
				f.Errorf("spent (-want +got):\n%s", d)
			}
		}
	}},
	{"SpentOfManySegmentsIsTheSum", func(f *fixture) {
		for range 40 { // more than a page
			_, l := f.begun(2, 2)
			f.record(acceptance(l, 0), refusal(l, 1))
			if _, err := f.l.Park(f.ctx, l, time.Time{}, After(time.Minute)); err != nil {
				f.Fatalf("park: %v; want no error", err)
			}
		}
		for range 2 {
			if got := f.spent(noon)["conn_1"]; got != 40 {
				f.Errorf("spent: %d, want 40", got)
			}
		}
	}},
	{"ARampMovesFromTheStateThatIsStored", func(f *fixture) {
		one, two := campaign.RampState{Day: 7, Steps: 1}, campaign.RampState{Day: 8, Steps: 2, Cut: true}
		for _, c := range []struct {
			connection string
			from, to   campaign.RampState
			want       bool
		}{
			{"a", one, two, false}, {"a", campaign.RampState{}, one, true}, {"a", campaign.RampState{}, two, false},
			{"b", campaign.RampState{}, one, true}, {"a", two, one, false}, {"a", one, two, true}, {"a", one, two, false},
		} {
			if got, err := f.l.SetRamp(f.ctx, c.connection, c.from, c.to); got != c.want || err != nil {
				f.Errorf("ramp of %s from %+v to %+v: moved %v, %v; want %v and no error", c.connection, c.from, c.to, got, err, c.want)
			}
		}
		got, err := f.l.Ramps(f.ctx)
		f.ok(err)
		if d := cmp.Diff(map[string]campaign.RampState{"a": two, "b": one}, got); d != "" {
			f.Errorf("ramps (-want +got):\n%s", d)
		}
	}},
	{"ThePlanIsWhatWasConfiguredLast", func(f *fixture) {
		before := int64(0)
		for _, n := range []int64{1000, 1000, 0, 2000} {
			got, err := f.l.SetPlan(f.ctx, n)
			if f.ok(err); got != before {
				f.Errorf("before %d the plan had %d messages, want %d", n, got, before)
			}
			before = n
		}
	}},
}

// The messages of a done segment are counted once, and not read again.
func aDoneSegmentIsCountedOnce(t *testing.T, l Tables) {
	r := budgeted(t, l, 4, 0)
	lease := ClaimAll(t, l, r.No)[0]
	mustIntend(t, l, campaign.Intent{Lease: lease, Connection: "conn_1", To: 4})
	answers := []campaign.Result{acceptance(lease, 0), acceptance(lease, 1), refusal(lease, 2), acceptance(lease, 3)}
	mustRecord(t, l, answers)
	if p, err := l.Park(t.Context(), lease, time.Time{}, After(time.Minute)); err != nil || !p.Done {
		t.Fatalf("park: %+v, %v; want done and no error", p, err)
	}
	for _, forget := range []string{"", `DELETE FROM outcome`} {
		if forget != "" {
			alter(t, l, forget)
		}
		for since, want := range map[time.Time]int64{noon: 3, noon.Add(time.Hour): 0} {
			if got, err := l.Spent(t.Context(), since); err != nil || got["conn_1"] != want {
				t.Errorf("%q: spent since %v: %v, %v; want %d", forget, since, got, err, want)
			}
		}
	}
}
