package ledgertest

import (
	"time"

	"campaignd/campaign"
)

var parkPromises = []promise{
	{"ParkIsDoneWhenNothingIsOpen", func(f *fixture) {
		r := f.imported(4)
		l := f.lease(r.No, long)
		f.sent(l, 0, 4)
		f.record(acceptance(l, 0), refusal(l, 1), acceptance(l, 2), acceptance(l, 3))
		p, err := f.l.Park(f.ctx, l, time.Time{}, time.Minute)
		f.ok(err)
		if !p.Done {
			f.Errorf("got %+v; want Done", p)
		}
		if ls := f.claim(r.No, long, 1); len(ls) != 0 {
			f.Errorf("a finished segment was claimed: %+v; want length 0", ls)
		}
		f.sound(r.No)
	}},
	{"ASegmentWithOpenDoubtsStaysClaimable", func(f *fixture) {
		r := f.imported(1)
		l := f.lease(r.No, long)
		f.sent(l, 0, 1)
		f.record(doubtful(l, 0))
		p, err := f.l.Park(f.ctx, l, time.Time{}, time.Minute)
		f.ok(err)
		if p.Done || !p.Wake.Equal(at(61)) {
			f.Errorf("parked %+v, want its wake a window after the doubt began", p)
		}
		if ls := f.claim(r.No, long, 1); len(ls) != 1 {
			f.Error("its doubt would never be resolved")
		}
	}},
	{"ParkWakesForWhatIsNotRecordedYet", func(f *fixture) {
		r := f.imported(1)
		l := f.lease(r.No, long)
		f.sent(l, 0, 1)
		p, err := f.l.Park(f.ctx, l, time.Now().Add(time.Hour), time.Minute)
		f.ok(err)
		if p.Done || p.Wake.After(time.Now()) {
			f.Errorf("got %+v; want not Done, Wake not after %+v", p, time.Now())
		}
		if ls := f.claim(r.No, long, 1); len(ls) != 1 {
			f.Error("nobody would find its doubt for an hour")
		}
	}},
	{"ParkSleepsUntilItsWakeTime", func(f *fixture) {
		r := f.imported(2)
		l := f.lease(r.No, long)
		f.sent(l, 0, 1)
		soon := time.Now().Add(time.Hour)
		f.record(deferral(l, 0, soon))
		p, err := f.l.Park(f.ctx, l, soon, time.Minute)
		f.ok(err)
		if p.Done || p.Wake.Sub(soon).Abs() > time.Millisecond {
			f.Errorf("%+v, want %s", p, soon)
		}
		if g := f.intend(intent(l, 1, 2)); !g.Fenced {
			f.Errorf("an intent after Park: %+v; want Fenced", g)
		}
		if ls := f.claim(r.No, long, 1); len(ls) != 0 {
			f.Errorf("claimed before its time: %+v; want length 0", ls)
		}
	}},
	{"ParkChoosesTheEarliestOfRetriesAndDoubts", func(f *fixture) {
		r := f.imported(3)
		l := f.lease(r.No, long)
		f.sent(l, 0, 3)
		f.record(deferral(l, 0, at(500)), deferral(l, 1, at(400)), doubtful(l, 2))
		p, err := f.l.Park(f.ctx, l, time.Time{}, 10*time.Minute)
		f.ok(err)
		if p.Done || !p.Wake.Equal(at(400)) {
			f.Errorf("got %+v; want not Done, Wake %+v", p, at(400))
		}
	}},
	{"ParkWakesForADoubtThatEndsBeforeTheRetry", func(f *fixture) {
		r := f.imported(2)
		l := f.lease(r.No, long)
		f.sent(l, 0, 2)
		f.record(deferral(l, 0, at(602)), doubtful(l, 1))
		f.parked(l, time.Time{}, 10*time.Minute, at(601))
	}},
	{"ParkWakesAtOnceWhileThereIsWork", func(f *fixture) {
		r := f.imported(3)
		l := f.lease(r.No, long)
		f.sent(l, 0, 1)
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

// parked fails unless Park leaves the segment open until want. It allows for the time of the test.
func (f *fixture) parked(l campaign.Lease, wake time.Time, window time.Duration, want time.Time) {
	f.Helper()
	p, err := f.l.Park(f.ctx, l, wake, window)
	f.ok(err)
	if p.Done || p.Wake.Before(want.Add(-instant)) || p.Wake.After(want) && p.Wake.After(time.Now()) {
		f.Errorf("parked until %s, done %v; want %s, not done", p.Wake, p.Done, want)
	}
}
