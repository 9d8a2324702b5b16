package ledgertest

import (
	"campaignd/campaign"

	"github.com/google/go-cmp/cmp"
)

// marked is a status with the mark of an attempt.
func marked(e campaign.StatusEvent, run campaign.RunNo, seq int64, attempt int) campaign.StatusEvent {
	e.Mark = campaign.Post{Run: run, Seq: seq, Attempt: attempt}
	return e
}

var markPromises = []promise{
	{"TwoDoubtsOfOnePersonAreProvenByMarks", func(f *fixture) {
		a, b := f.imported(1), f.imported(1)
		la, lb := f.lease(a.No, long), f.lease(b.No, long)
		f.sent(la, 0, 1)
		f.sent(lb, 0, 1)
		f.record(doubtful(la, 0), doubtful(lb, 0))
		// The order and the times of the events are those of the other run.
		f.apply(marked(event("wamid.b", key(0), campaign.Delivered, at(2)), b.No, 0, 1),
			marked(event("wamid.a", key(0), campaign.Sent, at(9999)), a.No, 0, 1))
		for range 2 {
			f.sweep()
		}
		for id, r := range map[string]campaign.Run{"wamid.a": a, "wamid.b": b} {
			want := campaign.Sent
			if id == "wamid.b" {
				want = campaign.Delivered
			}
			if line := f.status(r.No, 0, want); line.MessageID != id || !line.Adopted {
				f.Errorf("got %+v; want the message %s, adopted", line, id)
			}
			f.sound(r.No)
		}
	}},
	{"AMarkNeedsNoTimeAndNoSpelling", func(f *fixture) {
		r, l := f.begun(1, 1)
		f.record(doubtful(l, 0))
		f.apply(marked(event("wamid.mine", key(1), campaign.Sent, at(-600)), r.No, 0, 1)) // the platform's own spelling of the number
		if d := cmp.Diff(campaign.Swept{Adopted: 1}, f.sweep()); d != "" {
			f.Errorf("-want +got:\n%s", d)
		}
		f.status(r.No, 0, campaign.Sent)
	}},
	{"AMarkProvesItsOwnAttemptOnly", func(f *fixture) {
		r, l := f.begun(2, 2)
		f.record(doubtful(l, 0), doubtful(l, 1))
		f.apply(marked(event("wamid.second", key(0), campaign.Sent, at(2)), r.No, 0, 2),
			marked(event("wamid.nobody", key(1), campaign.Sent, at(2)), r.No, 77, 1))
		if d := cmp.Diff(campaign.Swept{Left: 2}, f.sweep()); d != "" {
			f.Errorf("-want +got:\n%s", d)
		}
		f.status(r.No, 0, campaign.InDoubt)
		f.status(r.No, 1, campaign.InDoubt)
	}},
	// A message of another program to the same person, at the same time, looks like ours.
	{"AForeignMarkAdoptsNothing", func(f *fixture) {
		r, l := f.begun(1, 1)
		f.record(doubtful(l, 0))
		e := event("wamid.theirs", key(0), campaign.Sent, at(2))
		e.Mark = campaign.ForeignMark()
		f.apply(event("wamid.theirs", key(0), campaign.Sent, at(2)), e) // one of its statuses lacks the mark
		if d := cmp.Diff(campaign.Swept{Left: 1}, f.sweep()); d != "" {
			f.Errorf("-want +got:\n%s", d)
		}
		f.status(r.No, 0, campaign.InDoubt)
		f.apply(marked(event("wamid.ours", key(0), campaign.Sent, at(2)), r.No, 0, 1))
		if d := cmp.Diff(campaign.Swept{Adopted: 1, Left: 1}, f.sweep()); d != "" {
			f.Errorf("beside our own: -want +got:\n%s", d)
		}
	}},
	{"AMarkOfAnAttemptInFlightWaits", func(f *fixture) {
		r := f.imported(1)
		l := f.lease(r.No, long)
		f.sent(l, 0, 1)
		f.apply(marked(event("wamid.early", key(0), campaign.Sent, at(2)), r.No, 0, 1))
		if d := cmp.Diff(campaign.Swept{Left: 1}, f.sweep()); d != "" {
			f.Errorf("-want +got:\n%s", d)
		}
		f.record(doubtful(l, 0))
		if d := cmp.Diff(campaign.Swept{Adopted: 1}, f.sweep()); d != "" {
			f.Errorf("-want +got:\n%s", d)
		}
		f.status(r.No, 0, campaign.Sent)
	}},
	{"AMarkComesBackAsItWasMade", func(f *fixture) {
		want := campaign.Post{Run: 7, Seq: 42, Attempt: 3}
		m := f.l.Marks()
		if got, ok := m.Read(m.Make(want)); !ok || got != want {
			f.Errorf("got %+v, %v; want %+v", got, ok, want)
		}
		if got, ok := campaign.NewMarks(f.l.LedgerID(), make([]byte, 16)).Read(m.Make(want)); ok {
			f.Errorf("got %+v with another key, want nothing", got)
		}
	}},
}
