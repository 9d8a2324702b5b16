package ledgertest

import (
	"time"

	"campaignd/campaign"
	"campaignd/campaign/reception"
)

// doubtPromises are about the time in which a delivery may have been sent: only a message of that
// time is adopted for it.
var doubtPromises = []promise{
	{"EvidenceIsAStatusOfALaterMessage", func(f *fixture) {
		_, l := f.begun(4, 3)
		heard := func(connection string, since int) bool {
			f.Helper()
			ok, err := f.l.Heard(f.ctx, connection, at(since))
			f.ok(err)
			return ok
		}
		accepted := acceptance(l, 1)
		accepted.At = at(60)
		f.record(acceptance(l, 0), accepted)
		if heard("conn_1", 0) {
			f.Error("heard before a status came, want not")
		}
		f.apply(campaign.StatusEvent{MessageID: accepted.MessageID, Connection: "conn_1", Status: campaign.Sent, At: at(61), ReceivedAt: at(61)})
		for since, want := range map[int]bool{0: true, 60: true, 61: false} {
			if got := heard("conn_1", since); got != want {
				f.Errorf("a status of a message accepted at 60: heard since %d is %v, want %v", since, got, want)
			}
		}
		if heard("conn_2", 0) {
			f.Error("heard of a connection that sent nothing, want not")
		}
	}},
	{"AResendGivenBackKeepsItsFirstIntent", func(f *fixture) {
		r, l := f.resendGivenBack()
		f.sentRetry(l, 1, 0, 2)
		again := doubtful(l, 0)
		again.Attempt, again.IntentAt, again.At = 2, at(300), at(301)
		f.record(again)
		f.apply(event("wamid.stranger", key(0), campaign.Sent, at(-6*3600)))
		f.swept(campaign.Swept{Left: 1})
		f.status(r.No, 0, campaign.InDoubt)
		f.apply(event("wamid.mine", key(0), campaign.Sent, at(-2)))
		f.swept(campaign.Swept{Adopted: 1, Left: 1})
		f.status(r.No, 0, campaign.Sent)
		f.sound(r.No)
	}},
	{"AResendGivenBackKeepsWhenItsDoubtBegan", func(f *fixture) {
		r, l := f.resendGivenBack()
		n, err := f.l.SkipQueued(f.ctx, l, campaign.Expired)
		f.ok(err)
		if n != 1 {
			f.Errorf("skipped %d, want 1", n)
		}
		f.status(r.No, 0, campaign.Unknown)
		f.apply(event("wamid.stranger", key(0), campaign.Sent, at(72)))
		f.swept(campaign.Swept{Left: 1})
		f.status(r.No, 0, campaign.Unknown)
		f.apply(event("wamid.mine", key(0), campaign.Sent, at(71)))
		f.swept(campaign.Swept{Adopted: 1, Left: 1})
		f.status(r.No, 0, campaign.Sent)
		f.sound(r.No)
	}},
}

// resendGivenBack makes a run of one delivery that may have been sent between at(0) and at(1). The
// policy let it be granted again, and it was given back unposted. Its next attempt is the second.
func (f *fixture) resendGivenBack() (campaign.Run, campaign.Lease) {
	f.Helper()
	r, l := f.begun(1, 1)
	f.record(doubtful(l, 0))
	f.resolved(l, at(2), campaign.UncertainResend, 1)
	f.sentRetry(l, 1, 0, 2)
	f.ok(f.l.Release(f.ctx, l, []int64{0}))
	l = f.lease(r.No, long)
	due, err := f.l.Due(f.ctx, l, time.Now(), 9)
	f.ok(err)
	if len(due) != 1 || due[0].Attempt != 2 {
		f.Fatalf("due = %+v, want attempt 2 of one delivery", due)
	}
	return r, l
}

// resolved applies a policy to the doubts that began before a time, and fails unless there are want
// such doubts.
func (f *fixture) resolved(l campaign.Lease, before time.Time, p campaign.OnUncertain, want int) {
	f.Helper()
	n, err := f.l.Resolve(f.ctx, l, reception.Span{Until: before}, p)
	f.ok(err)
	if n != want {
		f.Errorf("%s resolved %d doubts from before %s, want %d", p, n, before.Format(time.TimeOnly), want)
	}
}

// swept sweeps once and fails unless the sweep returns want.
func (f *fixture) swept(want campaign.Swept) {
	f.Helper()
	f.sweptAt(at(200), want)
}

func (f *fixture) sweptAt(now time.Time, want campaign.Swept) {
	f.Helper()
	got, err := f.l.Sweep(f.ctx, now)
	f.ok(err)
	if got != want {
		f.Errorf("swept %+v, want %+v", got, want)
	}
}
