package ledgertest

import (
	"slices"
	"testing"
	"time"

	"campaignd/campaign"
)

// Clock controls the clock of a ledger's leases.
type Clock struct {
	Now  func() time.Time
	Pass func(time.Duration)
}

// RunClock runs the promises about exact milliseconds: when a lease ends, and how old the
// deliveries are that dead owners left. They need a clock that only the test moves; each runs a
// test on an empty ledger with such a clock.
func RunClock(t *testing.T, each func(*testing.T, func(*testing.T, campaign.Ledger, Clock))) {
	for _, p := range slices.Concat(clockPromises, peopleClockPromises, eventClockPromises) {
		t.Run(p.name, func(t *testing.T) {
			each(t, func(t *testing.T, l campaign.Ledger, c Clock) {
				p.test(&clockFixture{fixture: newFixture(t, func(*testing.T) campaign.Ledger { return l }), Clock: c})
			})
		})
	}
}

type clockFixture struct {
	*fixture
	Clock
}

// instant is the smallest difference between two times in a ledger.
const instant = time.Millisecond

// early is the longest time that an event may be before the intent of the doubt that it proves.
// late is the longest time that it may be after the beginning of that doubt.
const (
	early = 2 * time.Second
	late  = 70 * time.Second
)

// clockPromise is one subtest.
type clockPromise struct {
	name string
	test func(*clockFixture)
}

var clockPromises = []clockPromise{
	{"ALeaseHoldsToItsLastMillisecond", func(f *clockFixture) {
		r := f.imported(2)
		f.sent(f.lease(r.No, 10*time.Second), 0, 1)
		f.Pass(10*time.Second - instant)
		f.claims(r.No, 0)
		f.status(r.No, 0, campaign.Sending)
		f.counted(r.No, map[campaign.Status]int64{campaign.Sending: 1, campaign.Queued: 1})
		f.Pass(instant)
		f.status(r.No, 0, campaign.InDoubt)
		f.counted(r.No, map[campaign.Status]int64{campaign.InDoubt: 1, campaign.Queued: 1})
		f.claims(r.No, 1)
	}},
	{"ARenewedLeaseHoldsAsLongAgain", func(f *clockFixture) {
		r := f.imported(1)
		l := f.lease(r.No, 10*time.Second)
		f.Pass(6 * time.Second)
		if ls, err := f.l.Renew(f.ctx, []campaign.Lease{l}, 10*time.Second); err != nil || len(ls) != 1 {
			f.Fatalf("renewed %d leases, %v; want 1", len(ls), err)
		}
		f.Pass(10*time.Second - instant)
		f.claims(r.No, 0)
		f.Pass(instant)
		f.claims(r.No, 1)
	}},
	{"AParkedSegmentWakesAtItsTime", func(f *clockFixture) {
		r, l := f.leased(1, long)
		if p, err := f.l.Park(f.ctx, l, f.Now().Add(time.Hour), After(time.Minute)); err != nil || p.Done {
			f.Fatalf("parked %+v, %v; want it open", p, err)
		}
		f.Pass(time.Hour - instant)
		f.claims(r.No, 0)
		f.Pass(instant)
		f.claims(r.No, 1)
	}},
	{"TheClockOfAllReplicasIsTold", func(f *clockFixture) {
		for range 2 {
			if got, err := f.l.Clock(f.ctx); err != nil || !got.Equal(f.Now().Truncate(instant)) {
				f.Errorf("the clock: %s and %v, want %s", got, err, f.Now())
			}
			f.Pass(time.Hour)
		}
	}},
	{"AJobIsFreeAtTheEndOfItsLease", func(f *clockFixture) {
		a, _ := f.job("sweep", "a", 10*time.Second)
		f.Pass(4 * time.Second)
		if _, err := f.l.RenewJob(f.ctx, a, 10*time.Second); err != nil {
			f.Fatalf("renewed: %v, want no error", err)
		}
		f.Pass(10*time.Second - instant)
		if _, ok := f.job("sweep", "b", long); ok {
			f.Error("b acquired the job before a's lease ended")
		}
		f.Pass(instant)
		if b, ok := f.job("sweep", "b", long); !ok || b.Epoch != a.Epoch+1 {
			f.Errorf("b acquired epoch %d, %v; want epoch %d", b.Epoch, ok, a.Epoch+1)
		}
	}},
	{"ADoubtIsAsOldAsTheFirstClaim", func(f *clockFixture) {
		r := f.imported(3)
		first := f.Now()
		f.sent(f.lease(r.No, time.Second), 0, 1)
		f.Pass(time.Hour)
		f.claims(r.No, 1) // this owner dies before its Recover: the deliveries in flight keep their age
		f.Pass(time.Hour)
		second, found := f.Now(), f.Now().Add(instant)
		l := f.claim(r.No, time.Second, 1)[0]
		f.recovers(l, found, 1)
		f.sent(l, 1, 2)
		f.Pass(time.Hour)
		l = f.claim(r.No, time.Second, 1)[0]
		f.recovers(l, f.Now(), 1)
		f.apply(event("wamid.0.before", key(0), campaign.Sent, first.Add(-early-instant)),
			event("wamid.0.after", key(0), campaign.Sent, found.Add(late+instant)),
			event("wamid.1.before", key(1), campaign.Sent, second.Add(-early-instant)),
			event("wamid.1.after", key(1), campaign.Sent, f.Now().Add(late+instant)))
		f.swept(campaign.Swept{Left: 4})
		f.apply(event("wamid.0", key(0), campaign.Sent, first.Add(-early)), event("wamid.1", key(1), campaign.Sent, f.Now().Add(late)))
		f.swept(campaign.Swept{Adopted: 2, Left: 4})
		f.status(r.No, 0, campaign.Sent)
		f.status(r.No, 1, campaign.Sent)
		f.sound(r.No)
	}},
	{"ARetryIsAsOldAsItsIntent", func(f *clockFixture) {
		r := f.imported(1)
		l := f.lease(r.No, time.Second)
		f.sent(l, 0, 1)
		f.record(deferral(l, 0, f.Now())) // attempt 1 was not sent
		f.Pass(time.Hour)
		l = f.claim(r.No, time.Second, 1)[0]
		f.recovers(l, f.Now(), 0)
		intended := time.Now() // intents use the clock of the process, not that of leases
		f.sentRetry(l, 1, 0, 2)
		f.Pass(time.Hour)
		l = f.claim(r.No, time.Second, 1)[0]
		f.recovers(l, f.Now(), 1)
		f.apply(event("wamid.before", key(0), campaign.Sent, intended.Add(-early-time.Second)))
		f.swept(campaign.Swept{Left: 1})
		f.apply(event("wamid.mine", key(0), campaign.Sent, intended.Add(-early+time.Second)))
		f.swept(campaign.Swept{Adopted: 1, Left: 1})
	}},
	{"OnlyWhatWasInFlightByThenIsWaitedFor", func(f *clockFixture) {
		a, b := f.imported(1), f.imported(1)
		doubted := f.lease(a.No, 2*time.Hour)
		f.sent(doubted, 0, 1)
		x := doubtful(doubted, 0)
		x.IntentAt, x.At = f.Now(), f.Now().Add(time.Hour)
		f.record(x)
		f.Pass(time.Hour)
		f.sent(f.lease(b.No, long), 0, 1) // a later event may be about this delivery
		f.apply(event("wamid.both", key(0), campaign.Sent, f.Now().Add(-early)))
		f.swept(campaign.Swept{Left: 1})
		f.apply(event("wamid.mine", key(0), campaign.Sent, f.Now().Add(-early-instant)))
		f.swept(campaign.Swept{Adopted: 1, Left: 1})
		f.status(a.No, 0, campaign.Sent)
		f.status(b.No, 0, campaign.Sending)
	}},
}

// claims claims segments for a second, and fails unless it gets want of them.
func (f *clockFixture) claims(no campaign.RunNo, want int) {
	f.Helper()
	if ls := f.claim(no, time.Second, 9); len(ls) != want {
		f.Errorf("claimed %d segments of run %d, want %d", len(ls), no, want)
	}
}

// recovers recovers a lease, and fails unless that writes want doubts.
func (f *clockFixture) recovers(l campaign.Lease, at time.Time, want int) {
	f.Helper()
	if !l.Recovered {
		f.Errorf("epoch %d is leased as if it was nobody's before; want Recovered", l.Epoch)
	}
	n, err := f.l.Recover(f.ctx, l, at)
	f.ok(err)
	if n != want {
		f.Errorf("recovered %d doubts, want %d", n, want)
	}
}

// swept sweeps at the time of the ledger's clock, which in a synctest bubble begins in 2000.
func (f *clockFixture) swept(want campaign.Swept) {
	f.Helper()
	f.sweptAt(f.Now(), want)
}
