package ledgertest

import (
	"errors"
	"sync"
	"time"

	"campaignd/campaign"
	"campaignd/internal/ledger"
)

// wireLogPromises are about the wire log of a dead process, which says what it had posted.
var wireLogPromises = []promise{
	{"WhatWasNotPostedIsQueuedAgain", func(f *fixture) {
		r := f.imported(10)
		l := f.leaseOf("dead", r.No, long)
		f.sent(l, 0, 6)
		f.record(acceptance(l, 0))
		f.unposted("dead", 4, post(r.No, 1, 1))
		f.counted(r.No, map[campaign.Status]int64{campaign.Accepted: 1, campaign.InDoubt: 1, campaign.Queued: 8})
		if !f.intend(intent(l, 6, 7)).Fenced {
			f.Error("an intent of the dead owner: granted, want Fenced")
		}
		f.unposted("dead", 0, post(r.No, 1, 1))
		l = f.leaseOf("heir", r.No, long) // the next owner need not wait: the lease has ended
		due := f.due(l)
		if len(due) != 4 || due[0].Seq != 2 || due[0].Attempt != 1 || due[0].Tries != 0 {
			f.Errorf("due: %+v, want attempt 1 of 2 to 5", due)
		}
		f.status(r.No, 1, campaign.InDoubt)
		f.sound(r.No)
	}},
	{"ADoubtOfATakeOverIsQueuedAgain", func(f *fixture) {
		r := f.imported(10)
		dead := f.leaseOf("dead", r.No, gone)
		f.sent(dead, 0, 6)
		heir := f.leaseOf("heir", r.No, long)
		f.sent(heir, 6, 8)
		f.counted(r.No, map[campaign.Status]int64{campaign.InDoubt: 6, campaign.Sending: 2, campaign.Queued: 2})
		f.unposted("dead", 4, post(r.No, 0, 1), post(r.No, 5, 1))
		f.counted(r.No, map[campaign.Status]int64{campaign.InDoubt: 2, campaign.Sending: 2, campaign.Queued: 6})
		f.sent(heir, 8, 9) // the statement does not fence the new owner
		if due := f.due(heir); len(due) != 4 || due[0].Attempt != 1 {
			f.Errorf("due: %+v, want attempt 1 of four", due)
		}
		f.unposted("heir", 3)
		f.sound(r.No)
	}},
	{"NoEventProvesWhatWasNotPosted", func(f *fixture) {
		r := f.imported(2)
		f.sent(f.leaseOf("dead", r.No, gone), 0, 2)
		f.leaseOf("heir", r.No, long)
		f.unposted("dead", 1, post(r.No, 1, 1))
		e, mine := event("wamid.stranger", key(0), campaign.Sent, time.Time{}), event("wamid.mine", key(1), campaign.Sent, time.Time{})
		e.ReceivedAt, mine.ReceivedAt = time.Now(), time.Now()
		f.apply(e, mine)
		f.swept(campaign.Swept{Adopted: 1, Left: 1})
		f.status(r.No, 0, campaign.Queued)
		f.status(r.No, 1, campaign.Sent)
		f.sound(r.No)
	}},
	{"AClaimAloneTakesNothingOver", func(f *fixture) {
		r := f.imported(10)
		f.sent(f.leaseOf("dead", r.No, gone), 0, 6)
		if ls := f.claimAs("second", r.No, gone); len(ls) != 1 {
			f.Fatalf("claimed %d segments, want 1", len(ls))
		}
		f.unposted("second", 0) // the second owner died before its Recover: it was granted nothing
		f.unposted("dead", 5, post(r.No, 3, 1))
		if l := f.leaseOf("heir", r.No, long); len(f.due(l)) != 5 {
			f.Errorf("due: %d, want 5", len(f.due(l)))
		}
		f.status(r.No, 3, campaign.InDoubt)
		f.sound(r.No)
	}},
	{"OnlyTheAttemptThatWasPostedStays", func(f *fixture) {
		r := f.imported(4)
		l := f.leaseOf("dead", r.No, long)
		f.sent(l, 0, 4)
		f.record(deferral(l, 0, at(0)), deferral(l, 1, at(0)), acceptance(l, 2), acceptance(l, 3))
		f.sentRetry(l, 4, 0, 2)
		f.sentRetry(l, 4, 1, 2)
		// The first attempts were posted; their results are durable.
		f.unposted("dead", 1, post(r.No, 0, 1), post(r.No, 1, 1), post(r.No, 1, 2))
		f.status(r.No, 0, campaign.Queued)
		f.status(r.No, 1, campaign.InDoubt)
		l = f.leaseOf("heir", r.No, long)
		if due := f.due(l); len(due) != 1 || due[0].Attempt != 2 || due[0].Tries != 1 {
			f.Errorf("due: %+v, want attempt 2 of one, with one try", due)
		}
		f.sound(r.No)
	}},
	{"ARetryOfATakeOverIsQueuedAgain", func(f *fixture) {
		r := f.imported(2)
		l := f.leaseOf("dead", r.No, gone)
		f.sent(l, 0, 2)
		f.record(deferral(l, 0, at(0)), deferral(l, 1, at(0)))
		f.sentRetry(l, 2, 0, 2)
		f.sentRetry(l, 2, 1, 2)
		l = f.leaseOf("heir", r.No, long)
		f.counted(r.No, map[campaign.Status]int64{campaign.InDoubt: 2})
		f.unposted("dead", 1, post(r.No, 1, 2))
		if due := f.due(l); len(due) != 1 || due[0].Attempt != 2 {
			f.Errorf("due: %+v, want attempt 2 of one", due)
		}
		f.sound(r.No)
	}},
	{"AFactOrAnEndWins", func(f *fixture) {
		r := f.imported(8)
		dead := f.leaseOf("dead", r.No, gone)
		f.sent(dead, 0, 4)
		f.record(doubtful(dead, 0)) // this time-out is durable, so the wire log has used its slot again
		heir := f.leaseOf("heir", r.No, long)
		f.record(acceptance(dead, 1), refusal(dead, 2))
		f.resolved(heir, at(1000), campaign.UncertainHold, 2)
		f.unposted("dead", 0)
		f.counted(r.No, map[campaign.Status]int64{campaign.Accepted: 1, campaign.Refused: 1, campaign.Unknown: 2, campaign.Queued: 4})
		f.sound(r.No)
	}},
	{"AnAdoptedDoubtStaysAccepted", func(f *fixture) {
		r := f.imported(2)
		f.sent(f.leaseOf("dead", r.No, gone), 0, 2)
		if n, err := f.l.Recover(f.ctx, f.claimAs("heir", r.No, long)[0], time.Now()); err != nil || n != 2 {
			f.Fatalf("recovered %d, %v; want 2", n, err)
		}
		f.apply(event("wamid.mine", key(1), campaign.Sent, time.Now()))
		if _, err := f.l.Sweep(f.ctx, time.Now()); err != nil {
			f.Fatal(err)
		}
		f.status(r.No, 1, campaign.Sent)
		f.unposted("dead", 1)
		f.status(r.No, 0, campaign.Queued)
		f.status(r.No, 1, campaign.Sent)
		f.sound(r.No)
	}},
	{"ADoubtOfAResultIsNotTheTakeOvers", func(f *fixture) {
		r := f.imported(2)
		dead := f.leaseOf("dead", r.No, gone)
		f.sent(dead, 0, 2)
		heir := f.leaseOf("heir", r.No, long)
		noID := doubtful(dead, 0)
		noID.NoResend = true
		f.record(noID) // a late answer proves that it was posted
		f.unposted("dead", 1)
		f.status(r.No, 0, campaign.InDoubt)
		if due := f.due(heir); len(due) != 1 || due[0].Seq != 1 {
			f.Errorf("due: %+v, want seq 1", due)
		}
		f.sound(r.No)
	}},
	{"AResendThatWasNotPostedCanBeAdopted", func(f *fixture) {
		r := f.imported(1)
		l := f.leaseOf("first", r.No, long)
		f.sent(l, 0, 1)
		f.record(doubtful(l, 0))
		f.resolved(l, at(2), campaign.UncertainResend, 1)
		f.sentRetry(l, 1, 0, 2)
		f.unposted("first", 1, post(r.No, 0, 1))
		l = f.leaseOf("heir", r.No, long)
		if due := f.due(l); len(due) != 1 || due[0].Attempt != 2 {
			f.Fatalf("due: %+v, want attempt 2", due)
		}
		f.ok(f.l.Release(f.ctx, l, nil))
		l = f.leaseOf("heir", r.No, long)
		f.sentRetry(l, 1, 0, 2)
		f.record(result2(l, 0, campaign.ResultDoubt))
		f.apply(event("wamid.mine", key(0), campaign.Sent, at(0)))
		f.swept(campaign.Swept{Adopted: 1})
		f.sound(r.No)
	}},
	{"TheBudgetGetsBackWhatWasNotPosted", func(f *fixture) {
		r := f.imported(10, func(r *campaign.Run) { r.Budget = 4 })
		f.sent(f.leaseOf("dead", r.No, gone), 0, 4)
		heir := f.leaseOf("heir", r.No, long)
		if g := f.intend(intent(heir, 4, 5)); !g.Denied {
			f.Fatalf("beyond the budget: %+v, want Denied", g)
		}
		f.unposted("dead", 3, post(r.No, 0, 1))
		for seq := range int64(3) {
			f.sentRetry(heir, 4, seq+1, 1)
		}
		if g := f.intend(intent(heir, 4, 5)); !g.Denied {
			f.Errorf("beyond the budget: %+v, want Denied", g)
		}
		f.sound(r.No)
	}},
	{"AParkedSegmentWakes", func(f *fixture) {
		r := f.imported(3)
		f.sent(f.leaseOf("dead", r.No, gone), 0, 3)
		heir := f.leaseOf("heir", r.No, long)
		p, err := f.l.Park(f.ctx, heir, time.Time{}, After(1000*24*time.Hour))
		f.ok(err)
		if p.Done || !p.Wake.After(time.Now()) {
			f.Fatalf("parked: %+v, want until the doubts end", p)
		}
		f.unposted("dead", 2, post(r.No, 0, 1))
		if due := f.due(f.leaseOf("heir", r.No, long)); len(due) != 2 {
			f.Errorf("due: %+v, want 2", due)
		}
	}},
	{"APostWithoutAnIntentIsALostTransaction", func(f *fixture) {
		r := f.imported(10)
		f.sent(f.leaseOf("dead", r.No, long), 0, 6)
		for _, p := range []campaign.Post{post(r.No, 6, 1), post(r.No+1, 0, 1)} {
			_, err := f.l.Unposted(f.ctx, campaign.WireLog{Owner: "dead", Posts: []campaign.Post{p}})
			if !errors.Is(err, ledger.ErrRestored) {
				f.Errorf("%+v: %v, want %v", p, err, ledger.ErrRestored)
			}
		}
		f.counted(r.No, map[campaign.Status]int64{campaign.Sending: 6, campaign.Queued: 4})
	}},
	{"AStatementNeedsItsOwner", func(f *fixture) {
		if _, err := f.l.Unposted(f.ctx, campaign.WireLog{}); err == nil {
			f.Error("a statement without an owner: no error, want one")
		}
		if id := f.l.LedgerID(); len(id) != 16 {
			f.Errorf("the ledger's id is %q, want 16 digits", id)
		}
	}},
	{"AStatementBesideATakeOverLosesNobody", func(f *fixture) {
		const n = 200
		r := f.imported(n)
		f.sent(f.leaseOf("dead", r.No, gone), 0, n)
		var posts []campaign.Post
		for seq := int64(0); seq < n; seq += 4 {
			posts = append(posts, post(r.No, seq, 1))
		}
		var both sync.WaitGroup
		var heir campaign.Lease
		both.Go(func() {
			if _, err := f.l.Unposted(f.ctx, campaign.WireLog{Owner: "dead", Posts: posts}); err != nil {
				f.Error(err)
			}
		})
		both.Go(func() {
			ls, err := f.l.Claim(f.ctx, campaign.Claim{Owner: "heir", Connection: "conn_1", Runs: []campaign.RunNo{r.No}, Max: 1, Lease: long})
			if err == nil && len(ls) == 1 {
				heir = ls[0]
				_, err = f.l.Recover(f.ctx, heir, at(100))
			}
			if err != nil && !errors.Is(err, campaign.ErrFenced) {
				f.Error(err)
			}
		})
		both.Wait()
		if heir.Epoch == 0 { // the claim skipped the segment, which was locked
			heir = f.leaseOf("heir", r.No, long)
		}
		f.counted(r.No, map[campaign.Status]int64{campaign.InDoubt: n / 4, campaign.Queued: n - n/4})
		f.sound(r.No)
	}},
}

// post is attempt n of a delivery, in a wire log.
func post(no campaign.RunNo, seq int64, n int) campaign.Post {
	return campaign.Post{Run: no, Seq: seq, Attempt: n}
}

// result2 is what attempt 2 of seq proved.
func result2(l campaign.Lease, seq int64, kind campaign.ResultKind) campaign.Result {
	r := result(l, seq, kind)
	r.Attempt, r.Code, r.At, r.IntentAt = 2, "time_out", at(301), at(300)
	return r
}

// unposted gives the ledger the wire log of an owner, and fails unless that queues n deliveries
// again.
func (f *fixture) unposted(owner string, n int, posts ...campaign.Post) {
	f.Helper()
	got, err := f.l.Unposted(f.ctx, campaign.WireLog{Owner: owner, Posts: posts})
	f.ok(err)
	if got != n {
		f.Errorf("%s had not posted %d, want %d", owner, got, n)
	}
}

// claimAs claims a segment of a run for an owner.
func (f *fixture) claimAs(owner string, no campaign.RunNo, d time.Duration) []campaign.Lease {
	f.Helper()
	ls, err := f.l.Claim(f.ctx, campaign.Claim{Owner: owner, Connection: "conn_1", Runs: []campaign.RunNo{no}, Max: 1, Lease: d})
	f.ok(err)
	return ls
}

// leaseOf claims a segment for an owner, and recovers it if it had an owner before.
func (f *fixture) leaseOf(owner string, no campaign.RunNo, d time.Duration) campaign.Lease {
	f.Helper()
	ls := f.claimAs(owner, no, d)
	if len(ls) != 1 {
		f.Fatalf("%s claimed %d segments of run %d, want 1", owner, len(ls), no)
	}
	if ls[0].Recovered {
		f.done(f.l.Recover(f.ctx, ls[0], at(100)))
	}
	return ls[0]
}

// due are the deliveries of a lease that may be tried now.
func (f *fixture) due(l campaign.Lease) []campaign.Retry {
	f.Helper()
	due, err := f.l.Due(f.ctx, l, time.Now(), 1000)
	f.ok(err)
	return due
}
