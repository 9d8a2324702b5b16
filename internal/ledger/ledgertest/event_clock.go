package ledgertest

import (
	"time"

	"campaignd/campaign"
)

// What stops sending counts by its own time and the clock of the ledger, whatever the clock of the
// process that took the event (docs/protocol.md#lifts). On PostgreSQL, Pass leaves the clock of
// this process behind.
var eventClockPromises = []clockPromise{
	{"AStopAfterALiftCountsBesideAWrongClock", func(f *clockFixture) {
		f.Pass(time.Hour)
		now := f.Now()
		n := int64(0)
		for _, ahead := range []time.Duration{0, 4 * time.Minute, 10 * time.Minute, 24 * time.Hour} {
			n++
			f.resumed(n, now.Add(ahead-time.Minute))
			f.stopped(n, now.Add(ahead), 1, "after its lift")
			f.stopped(n, now.Add(ahead-2*time.Minute), 1, "delivered late")
		}
	}},
	{"ALateStopHasNoEffectBesideAWrongClock", func(f *clockFixture) {
		f.Pass(time.Hour)
		now := f.Now()
		n := int64(0)
		for _, ahead := range []time.Duration{-30 * time.Minute, -time.Second, 0, 4 * time.Minute} {
			n++
			f.resumed(n, now.Add(ahead))
			f.stopped(n, now.Add(ahead-time.Minute), 0, "before its lift")
		}
	}},
	{"AStopWithoutATimeIsNewerThanEveryLift", func(f *clockFixture) {
		f.Pass(time.Hour)
		f.resumed(1, f.Now().Add(4*time.Minute))
		f.stopped(1, time.Time{}, 1, "without a time")
	}},
	{"AStopAndAResumeOfOneBatchCountByTheirTimes", func(f *clockFixture) {
		f.Pass(time.Hour)
		wish := func(key int64, at time.Time) campaign.Suppression {
			return campaign.Suppression{Key: key, Scope: campaign.ScopeMarketing, Source: "stop", At: at, ReceivedAt: at}
		}
		n := int64(0)
		for _, c := range []struct {
			stop, resume time.Duration
			want         int
		}{{0, time.Second, 0}, {0, 0, 1}, {time.Second, 0, 1}, {-time.Minute, -time.Second, 0}} {
			n++
			f.done(f.l.Apply(f.ctx, campaign.Events{Suppressions: []campaign.Suppression{wish(n, f.Now().Add(c.stop))},
				Lifted: []campaign.Suppression{wish(n, f.Now().Add(c.resume))}}))
			f.suppressions(n, c.want, "a stop at %s and a resume at %s", c.stop, c.resume)
		}
	}},
	{"AHoldAfterALiftCountsBesideAWrongClock", func(f *clockFixture) {
		f.Pass(time.Hour)
		now := f.Now()
		for id, c := range map[string]struct {
			at   time.Duration
			want bool
		}{"now": {0, true}, "ahead": {time.Hour, true}, "late": {-11 * time.Minute, false}, "late, behind": {-61 * time.Minute, false}} {
			lifted := now.Add(-10 * time.Minute)
			h := campaign.Hold{Scope: campaign.HoldConnection, ID: id, Reason: "DISCONNECTED", Source: campaign.HoldByEvent, Since: now.Add(c.at)}
			f.done(f.l.Apply(f.ctx, campaign.Events{Lifts: []campaign.Lift{
				{Scope: h.Scope, ID: id, At: lifted, ReceivedAt: lifted, By: campaign.HoldByEvent}}}))
			f.done(f.l.Apply(f.ctx, campaign.Events{Holds: []campaign.Hold{h}}))
			f.holding(id, c.want)
		}
		h := campaign.Hold{Scope: campaign.HoldConnection, ID: "untimed", Reason: "DISCONNECTED", Source: campaign.HoldByEvent}
		later := now.Add(10 * time.Minute)
		f.done(f.l.Apply(f.ctx, campaign.Events{Lifts: []campaign.Lift{
			{Scope: h.Scope, ID: h.ID, At: later, ReceivedAt: later, By: campaign.HoldByEvent}}}))
		f.done(f.l.Apply(f.ctx, campaign.Events{Holds: []campaign.Hold{h}}))
		f.holding(h.ID, true)
	}},
}

// stopped applies a STOP and compares how many suppressions its number has then.
func (f *clockFixture) stopped(key int64, at time.Time, want int, what string) {
	f.Helper()
	f.done(f.l.Apply(f.ctx, campaign.Events{Suppressions: []campaign.Suppression{
		{Key: key, Scope: campaign.ScopeMarketing, Source: "stop", At: at}}}))
	f.suppressions(key, want, "a stop of %s, %s", at.Sub(f.Now()), what)
}

// resumed applies an opt-in that came at its own time.
func (f *clockFixture) resumed(key int64, at time.Time) {
	f.Helper()
	f.done(f.l.Apply(f.ctx, campaign.Events{Lifted: []campaign.Suppression{{Key: key, At: at, ReceivedAt: at}}}))
	f.suppressions(key, 0, "a resume of %s", at.Sub(f.Now()))
}

// suppressions compares how many suppressions a number has.
func (f *clockFixture) suppressions(key int64, want int, what string, args ...any) {
	f.Helper()
	all, err := f.l.SuppressionsOf(f.ctx, key)
	if err != nil || len(all) != want {
		f.Errorf(what+": %d suppressions (%v), want %d", append(args, len(all), err, want)...)
	}
}

// holding compares whether a connection has a hold in force.
func (f *clockFixture) holding(id string, want bool) {
	f.Helper()
	all, err := f.l.Holds(f.ctx, false)
	got := false
	for _, h := range all {
		got = got || h.ID == id
	}
	if err != nil || got != want {
		f.Errorf("%s: held %v (%v), want %v", id, got, err, want)
	}
}
