package ledgertest

import (
	"slices"
	"time"

	"campaignd/campaign"
)

var parkPromises = []promise{
	{"ASegmentIsDoneWhenItsLastDoubtIsProven", func(f *fixture) {
		for name, proof := range map[string]func(l campaign.Lease){
			"by an event": func(campaign.Lease) {
				f.apply(event("wamid.mine", key(0), campaign.Sent, time.Now()))
				f.swept(campaign.Swept{Adopted: 1})
			},
			"by a late answer":  func(l campaign.Lease) { f.record(acceptance(l, 0)) },
			"by a late refusal": func(l campaign.Lease) { f.record(refusal(l, 0)) },
		} {
			r, l := f.begun(2, 2)
			inDoubt := doubtful(l, 0)
			inDoubt.IntentAt, inDoubt.At = time.Now(), time.Now()
			f.record(inDoubt, acceptance(l, 1))
			f.sleeps(l, 24*time.Hour)
			f.finishes()
			proof(l)
			f.finishes(r.No)
			if s, err := f.l.SegmentStates(f.ctx, r.No); err != nil || len(s) != 1 || !s[0].Done {
				f.Errorf("proven %s: segments %+v, %v; want one, Done", name, s, err)
			}
			f.sound(r.No)
		}
	}},
	{"ASegmentIsOpenWhileOneOfItIs", func(f *fixture) {
		r, l := f.begun(3, 3)
		first, second := doubtful(l, 0), doubtful(l, 1)
		first.IntentAt, first.At = time.Now(), time.Now()
		second.IntentAt, second.At = first.At, first.At
		f.record(first, second, deferral(l, 2, time.Now().Add(48*time.Hour)))
		f.sleeps(l, 24*time.Hour)
		f.record(acceptance(l, 0))
		f.finishes()
		f.record(acceptance(l, 1)) // seq 2 is deferred and not due yet
		f.finishes()
		f.record(acceptance(l, 2)) // the deferred delivery was sent after all
		f.finishes(r.No)
		f.sound(r.No)
	}},
	{"ParkIsDoneWhenNothingIsOpen", func(f *fixture) {
		r, l := f.begun(4, 4)
		f.record(acceptance(l, 0), refusal(l, 1), acceptance(l, 2), acceptance(l, 3))
		p, err := f.l.Park(f.ctx, l, time.Time{}, After(time.Minute))
		f.ok(err)
		if !p.Done {
			f.Errorf("got %+v; want Done", p)
		}
		f.none("of a finished segment", f.claim(r.No, long, 1))
		f.sound(r.No)
	}},
	{"ASegmentWithOpenDoubtsStaysClaimable", func(f *fixture) {
		r, l := f.begun(1, 1)
		f.record(doubtful(l, 0))
		p, err := f.l.Park(f.ctx, l, time.Time{}, After(time.Minute))
		f.ok(err)
		if p.Done || !p.Wake.Equal(at(61)) {
			f.Errorf("parked %+v, want its wake a window after the doubt began", p)
		}
		if ls := f.claim(r.No, long, 1); len(ls) != 1 {
			f.Error("its doubt would never be resolved")
		}
	}},
	{"ParkWakesForWhatIsNotRecordedYet", func(f *fixture) {
		r, l := f.begun(1, 1)
		p, err := f.l.Park(f.ctx, l, time.Now().Add(time.Hour), After(time.Minute))
		f.ok(err)
		if p.Done || p.Wake.After(time.Now()) {
			f.Errorf("got %+v; want not Done, Wake not after %+v", p, time.Now())
		}
		if ls := f.claim(r.No, long, 1); len(ls) != 1 {
			f.Error("nobody would find its doubt for an hour")
		}
	}},
	{"ParkSleepsUntilItsWakeTime", func(f *fixture) {
		r, l := f.begun(2, 1)
		soon := time.Now().Add(time.Hour)
		f.record(deferral(l, 0, soon))
		p, err := f.l.Park(f.ctx, l, soon, After(time.Minute))
		f.ok(err)
		if p.Done || p.Wake.Sub(soon).Abs() > time.Millisecond {
			f.Errorf("%+v, want %s", p, soon)
		}
		if g := f.intend(intent(l, 1, 2)); !g.Fenced {
			f.Errorf("an intent after Park: %+v; want Fenced", g)
		}
		f.none("before its time", f.claim(r.No, long, 1))
	}},
	{"ParkChoosesTheEarliestOfRetriesAndDoubts", func(f *fixture) {
		_, l := f.begun(3, 3)
		f.record(deferral(l, 0, at(500)), deferral(l, 1, at(400)), doubtful(l, 2))
		p, err := f.l.Park(f.ctx, l, time.Time{}, After(10*time.Minute))
		f.ok(err)
		if p.Done || !p.Wake.Equal(at(400)) {
			f.Errorf("got %+v; want not Done, Wake %+v", p, at(400))
		}
	}},
	{"ParkWakesForADoubtThatEndsBeforeTheRetry", func(f *fixture) {
		_, l := f.begun(2, 2)
		f.record(deferral(l, 0, at(602)), doubtful(l, 1))
		f.parked(l, time.Time{}, 10*time.Minute, at(601))
	}},
	{"ParkWakesAtOnceWhileThereIsWork", func(f *fixture) {
		r, l := f.begun(3, 1)
		f.record(deferral(l, 0, time.Now().Add(time.Hour)))
		f.parked(l, time.Time{}, time.Minute, time.Now()) // two above the mark
		l = f.lease(r.No, long)
		f.sent(l, 1, 3)
		f.record(acceptance(l, 1), deferral(l, 2, at(0)))
		f.sentRetry(l, 3, 2, 2)
		f.parked(l, time.Now().Add(time.Hour), time.Minute, time.Now()) // a retry in flight
		if ls := f.claim(r.No, long, 1); len(ls) != 1 {
			f.Errorf("claimed %d segments, want the one whose retry is in flight", len(ls))
		}
	}},
}

// parked fails unless Park leaves the segment open and to wake at want. It allows for the time that
// the test takes.
func (f *fixture) parked(l campaign.Lease, wake time.Time, window time.Duration, want time.Time) {
	f.Helper()
	p, err := f.l.Park(f.ctx, l, wake, After(window))
	f.ok(err)
	if p.Done || p.Wake.Before(want.Add(-instant)) || p.Wake.After(want) && p.Wake.After(time.Now()) {
		f.Errorf("parked until %s, done %v; want %s, not done", p.Wake, p.Done, want)
	}
}

// sleeps parks a segment with an open doubt, and fails unless it stays open and is to wake later.
func (f *fixture) sleeps(l campaign.Lease, doubtWindow time.Duration) {
	f.Helper()
	if p, err := f.l.Park(f.ctx, l, time.Time{}, After(doubtWindow)); err != nil || p.Done || !p.Wake.After(time.Now()) {
		f.Fatalf("parked %+v, %v; want it open, and to wake later", p, err)
	}
}

// finishes fails unless FinishRuns ends these runs.
func (f *fixture) finishes(want ...campaign.RunNo) {
	f.Helper()
	ended, err := f.l.FinishRuns(f.ctx)
	f.ok(err)
	var got []campaign.RunNo
	for _, r := range ended {
		got = append(got, r.No)
	}
	if !slices.Equal(got, want) {
		f.Errorf("ended runs %v, want %v", got, want)
	}
}
