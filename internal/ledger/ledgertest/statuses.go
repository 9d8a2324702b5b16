package ledgertest

import (
	"math/rand/v2"
	"slices"
	"time"

	"campaignd/campaign"

	"github.com/google/go-cmp/cmp"
)

// accepted makes a run whose n deliveries are all accepted.
func (f *fixture) accepted(n int64) (campaign.Run, campaign.Lease) {
	f.Helper()
	r, l := f.begun(n, n)
	var rs []campaign.Result
	for seq := range n {
		rs = append(rs, acceptance(l, seq))
	}
	f.record(rs...)
	return r, l
}

var statusPromises = []promise{
	{"StatusesMoveForwardOnly", func(f *fixture) {
		r, _ := f.accepted(1)
		id := messageID(r.No, 0)
		for _, step := range []struct {
			event campaign.Status
			shown campaign.Status
		}{
			{campaign.Sent, campaign.Sent}, {campaign.Failed, campaign.Failed}, {campaign.Sent, campaign.Failed},
			{campaign.Delivered, campaign.Delivered}, {campaign.Failed, campaign.Delivered},
			{campaign.Read, campaign.Read}, {campaign.Delivered, campaign.Read}, {campaign.Sent, campaign.Read},
		} {
			f.apply(event(id, key(0), step.event, at(10)))
			f.status(r.No, 0, step.shown)
		}
		f.sound(r.No)
	}},
	{"TheEarliestTimeOfEachStatusStays", func(f *fixture) {
		r, _ := f.accepted(1)
		id := messageID(r.No, 0)
		f.apply(event(id, key(0), campaign.Read, at(40)), event(id, key(0), campaign.Sent, at(20)), event(id, key(0), campaign.Delivered, at(30)))
		f.apply(event(id, key(0), campaign.Sent, at(21)), event(id, key(0), campaign.Delivered, at(29)), event(id, key(0), campaign.Read, at(41)))
		got := f.status(r.No, 0, campaign.Read)
		if !got.SentAt.Equal(at(20)) || !got.DeliveredAt.Equal(at(29)) || !got.ReadAt.Equal(at(40)) || !got.FailedAt.IsZero() ||
			!got.AcceptedAt.Equal(at(1)) {
			f.Errorf("got %+v; want SentAt %+v, DeliveredAt %+v, ReadAt %+v, FailedAt zero, AcceptedAt %+v", got, at(20), at(29), at(40), at(1))
		}
	}},
	{"AFailureKeepsItsCode", func(f *fixture) {
		r, _ := f.accepted(1)
		fail := func(code string, s int) campaign.StatusEvent {
			e := event(messageID(r.No, 0), key(0), campaign.Failed, at(s))
			e.Code = code
			return e
		}
		f.apply(fail("131049", 20))
		f.apply(fail("131026", 30), fail("131053", 20))
		f.apply(fail("131053", 20), fail("131026", 30)) // the order within a batch does not matter
		if got := f.status(r.No, 0, campaign.Failed); got.Code != "131049" || !got.FailedAt.Equal(at(20)) {
			f.Errorf(`got %+v; want Code "131049", FailedAt %+v`, got, at(20))
		}
		f.apply(fail("131040", 20)) // of two codes of the same time, the smaller one counts
		if got := f.status(r.No, 0, campaign.Failed); got.Code != "131040" {
			f.Errorf("code = %s, want 131040", got.Code)
		}
		f.apply(fail("131000", 10))
		if got := f.status(r.No, 0, campaign.Failed); got.Code != "131000" || !got.FailedAt.Equal(at(10)) {
			f.Errorf(`got %+v; want Code "131000", FailedAt %+v`, got, at(10))
		}
	}},
	{"RepetitionsAreCountedApart", func(f *fixture) {
		r, _ := f.accepted(2)
		a := f.apply(event(messageID(r.No, 0), key(0), campaign.Sent, at(2)), event("wamid.nobody", 0, campaign.Sent, at(2)))
		if d := cmp.Diff(campaign.Applied{Matched: 1, Orphaned: 1}, a); d != "" {
			f.Errorf("-want +got:\n%s", d)
		}
		a = f.apply(event(messageID(r.No, 0), key(0), campaign.Sent, at(2)), event("wamid.nobody", 0, campaign.Sent, at(2)),
			event(messageID(r.No, 1), 0, campaign.Read, at(2)))
		if d := cmp.Diff(campaign.Applied{Matched: 1, Repeated: 2}, a); d != "" {
			f.Errorf("-want +got:\n%s", d)
		}
	}},
	{"AnyOrderOfEventsTellsTheSame", func(f *fixture) {
		r, _ := f.accepted(24)
		var es []campaign.StatusEvent
		for seq := range int64(24) {
			for i, s := range []campaign.Status{campaign.Sent, campaign.Failed, campaign.Delivered, campaign.Read} {
				if seq>>i&1 == 1 {
					e := event(messageID(r.No, seq), key(seq), s, at(2+i))
					e.Code = "131000"
					if s != campaign.Failed {
						e.Code = ""
					}
					es = append(es, e, e)
				}
			}
		}
		f.apply(es...)
		want := f.lines(r.No)
		r2, _ := f.accepted(24)
		rng := rand.New(rand.NewPCG(1, 2))
		rng.Shuffle(len(es), func(i, j int) { es[i], es[j] = es[j], es[i] })
		for chunk := range slices.Chunk(es, 5) {
			for i := range chunk {
				var seq int64
				for s := range int64(24) {
					if chunk[i].MessageID == messageID(r.No, s) {
						seq = s
					}
				}
				chunk[i].MessageID = messageID(r2.No, seq)
			}
			f.apply(chunk...)
		}
		got := f.lines(r2.No)
		for seq := range got {
			a, b := want[seq], got[seq]
			b.Run, b.MessageID = a.Run, a.MessageID
			if d := cmp.Diff(a, b); d != "" {
				f.Errorf("seq %d: %s", seq, d)
			}
		}
		f.sound(r2.No)
	}},
	{"WhatWaitsForItsReceiptFoldsAlike", func(f *fixture) {
		r, l := f.begun(2, 2)
		f.record(acceptance(l, 0))
		for _, e := range []struct {
			status campaign.Status
			code   string
			at     int
		}{{campaign.Failed, "131026", 30}, {campaign.Failed, "131053", 20}, {campaign.Failed, "131049", 20}, {campaign.Failed, "131000", 25},
			{campaign.Failed, "131051", 20},
			{campaign.Sent, "", 12}, {campaign.Sent, "", 11}, {campaign.Sent, "", 13}} {
			for seq := range int64(2) { // the second is an orphan
				x := event(messageID(r.No, seq), key(seq), e.status, at(e.at))
				x.Code = e.code
				f.apply(x)
			}
		}
		f.record(acceptance(l, 1))
		for seq := range int64(2) {
			if got := f.status(r.No, seq, campaign.Failed); got.Code != "131049" || !got.FailedAt.Equal(at(20)) || !got.SentAt.Equal(at(11)) {
				f.Errorf("seq %d sent at %s, failed at %s with %s; want %s, %s with 131049", seq, got.SentAt, got.FailedAt, got.Code, at(11), at(20))
			}
		}
	}},
	{"AWebhookThatIsEarlierThanTheReceiptIsKept", func(f *fixture) {
		r, l := f.begun(20, 20)
		var rs []campaign.Result
		for seq := range int64(20) {
			a := f.apply(event(messageID(r.No, seq), key(seq), campaign.Delivered, at(3)),
				event(messageID(r.No, seq), key(seq), campaign.Sent, at(2)))
			if a.Orphaned != 2 {
				f.Errorf("got %+v; want Orphaned 2", a)
			}
			rs = append(rs, acceptance(l, seq))
		}
		f.record(rs...)
		for seq := range int64(20) {
			if line := f.status(r.No, seq, campaign.Delivered); !line.SentAt.Equal(at(2)) || line.Adopted {
				f.Errorf("got %+v; want SentAt %+v, not Adopted", line, at(2))
			}
		}
		if s := f.sweep(); s != (campaign.Swept{}) {
			f.Errorf("after all receipts the sweeper finds %+v; want %+v", s, campaign.Swept{})
		}
		at, err := f.l.LastEventAt(f.ctx, r.No)
		f.ok(err)
		if time.Since(at).Abs() > time.Minute {
			f.Errorf("last event at %s; want it at most %s ago", at, time.Minute)
		}
	}},
	{"LastEventAtIsWhenAStatusWasApplied", func(f *fixture) {
		r, _ := f.accepted(1)
		other, _ := f.accepted(1)
		if when, err := f.l.LastEventAt(f.ctx, r.No); err != nil || !when.IsZero() {
			f.Errorf("got %s %v; want no error, zero", when, err)
		}
		f.apply(event(messageID(r.No, 0), key(0), campaign.Sent, at(2)))
		when, err := f.l.LastEventAt(f.ctx, r.No)
		f.ok(err)
		none, err := f.l.LastEventAt(f.ctx, other.No)
		f.ok(err)
		if time.Since(when).Abs() > time.Minute || !none.IsZero() {
			f.Errorf("%s, of another run %s; want the first at most %s ago, the other zero", when, none, time.Minute)
		}
	}},
	{"AnEventFromTheFutureIsBroughtBack", func(f *fixture) {
		r, _ := f.accepted(1)
		for _, c := range []struct{ told, want time.Time }{
			{at(330).Add(instant), at(30)}, // more than five minutes after its receipt
			{time.Time{}, at(30)},          // it has no time
			{at(29), at(29)},
			{time.Unix(0, 0), time.UnixMilli(1)},
		} {
			e := event(messageID(r.No, 0), key(0), campaign.Sent, c.told)
			e.ReceivedAt = at(30)
			f.apply(e)
			if got := f.status(r.No, 0, campaign.Sent).SentAt; !got.Equal(c.want) {
				f.Errorf("told as sent at %s: sent at %s, want %s", c.told, got, c.want)
			}
		}
		ahead := event(messageID(r.No, 0), key(0), campaign.Delivered, at(330)) // five minutes are allowed
		ahead.ReceivedAt = at(30)
		f.apply(ahead)
		if got := f.status(r.No, 0, campaign.Delivered).DeliveredAt; !got.Equal(at(330)) {
			f.Errorf("delivered at %s, want %s", got, at(330))
		}
	}},
	{"OrphansAreDroppedWhenTheyAreOld", func(f *fixture) {
		f.apply(event("wamid.old", 0, campaign.Sent, at(0)), event("wamid.new", 0, campaign.Sent, at(0).Add(instant)))
		const week = 7 * 24 * time.Hour
		f.sweptAt(at(0).Add(week), campaign.Swept{Left: 2})
		f.sweptAt(at(0).Add(week+instant), campaign.Swept{Expired: 1, Left: 1})
	}},
}
