//go:build unix

package postgres

import (
	"testing"
	"time"

	"campaignd/campaign"
	"campaignd/internal/ledger"
	"campaignd/internal/ledger/ledgertest"
)

// A mark is remembered until its segment is done: the mark of a parked segment may still go back.
func TestAMarkIsRememberedUntilItsSegmentIsDone(t *testing.T) {
	t.Parallel()
	l := openShared(t, ledger.Options{Sender: true})
	r := ledgertest.Load(t, l, 10)
	lease := ledgertest.ClaimAll(t, l, r.No)[0]
	park := func(done bool) {
		t.Helper()
		p, err := l.Park(t.Context(), lease, time.Time{}, ledgertest.After(time.Hour))
		if err != nil || p.Done != done {
			t.Fatalf("parked %+v, %v; want done %v", p, err, done)
		}
	}
	intend := func(from, to int64) {
		t.Helper()
		g, err := l.Intend(t.Context(), []campaign.Intent{{Lease: lease, Connection: "conn_1", From: from, To: to}})
		if err != nil || g[0].To != to {
			t.Fatalf("got %+v, %v; want it granted to %d", g, err, to)
		}
		if err := l.Record(t.Context(), ledgertest.Acceptances(lease, from, to)); err != nil {
			t.Fatal(err)
		}
	}
	key := ledger.SegmentKey(r.No, lease.Index)
	intend(0, 6)
	park(false)
	if a, behind := l.marks.behind(key, 5); !behind || a.mark != 6 {
		t.Errorf("parked with four to send: mark %+v is remembered, want 6", a)
	}
	lease = ledgertest.ClaimAll(t, l, r.No)[0]
	intend(6, 10)
	park(true)
	if a, behind := l.marks.behind(key, 5); behind {
		t.Errorf("done: mark %+v is remembered, want none", a)
	}
}

func TestOnlyAMarkThatWentBackIsBehind(t *testing.T) {
	var m markMemory
	if a, lost := m.behind(1, 0); lost {
		t.Errorf("an unknown segment is behind %+v, want not", a)
	}
	m.keep(1, 8, 100)
	m.keep(1, 5, 200) // a late answer
	m.keep(2, 3, 300)
	for _, c := range []struct {
		id, mark int64
		lost     bool
		want     acknowledged
	}{
		{1, 9, false, acknowledged{8, 100}},
		{1, 8, false, acknowledged{8, 100}},
		{1, 7, true, acknowledged{8, 100}},
		{2, 2, true, acknowledged{3, 300}},
		{3, 0, false, acknowledged{}},
	} {
		if got, lost := m.behind(c.id, c.mark); lost != c.lost || got != c.want {
			t.Errorf("mark %d of segment %d: %+v, behind %v; want %+v, %v", c.mark, c.id, got, lost, c.want, c.lost)
		}
	}
	m.forget(1)
	if a, lost := m.behind(1, 0); lost {
		t.Errorf("a segment that is done is behind %+v, want it forgotten", a)
	}
}

// A mark that went back is raised and never lowered, and its owner is fenced. The deliveries that
// the owner may have posted since are in doubt.
func TestAMarkIsRaisedAndNeverLowered(t *testing.T) {
	t.Parallel()
	l := openShared(t, ledger.Options{Sender: true})
	for name, c := range map[string]struct {
		mark, since, known, knew, wantMark, wantSince int64
	}{
		"Raised":       {10, 700, 30, 900, 30, 700},
		"Earlier":      {10, 900, 30, 700, 30, 700},
		"NeverBegun":   {0, 0, 30, 700, 30, 700},
		"AlreadyAbove": {40, 700, 30, 900, 40, 700},
	} {
		r := ledgertest.Load(t, l, 100)
		id := ledger.SegmentKey(r.No, 0)
		var epoch, until, mark, since int64
		var owner string
		if err := l.change(t.Context(), l.sender, "", func(tx *tx) error {
			if err := tx.do(stmt(nil, `UPDATE segment SET mark = $2, intents_since = $3, epoch = 5, owner = 'test', lease_until = 99 WHERE id = $1`,
				id, c.mark, c.since)); err != nil {
				return err
			}
			return l.raise(tx, id, acknowledged{c.known, c.knew})
		}); err != nil {
			t.Fatalf("%s: raising: %v; want no error", name, err)
		}
		if err := l.read(t.Context(), l.sender, rowOf([]any{&epoch, &until, &mark, &since, &owner},
			`SELECT epoch, lease_until, mark, intents_since, owner FROM segment WHERE id = $1`, id)); err != nil {
			t.Fatalf("%s: reading: %v; want no error", name, err)
		}
		if mark != c.wantMark || since != c.wantSince || epoch != 6 || until != 0 || owner != "" {
			t.Errorf("%s: mark %d since %d, epoch %d of %q until %d; want mark %d since %d, epoch 6 of nobody until 0",
				name, mark, since, epoch, owner, until, c.wantMark, c.wantSince)
		}
	}
}

func TestAMarkThatWentBackIsRaisedAndDoubted(t *testing.T) {
	l := openShared(t, ledger.Options{Sender: true})
	r := ledgertest.Load(t, l, 100)
	lease := ledgertest.ClaimAll(t, l, r.No)[0]
	if _, err := l.Intend(t.Context(), []campaign.Intent{{Lease: lease, Connection: "conn_1", To: 30}}); err != nil {
		t.Fatal(err)
	}
	back := stmt(nil, `UPDATE segment SET mark = 10`)
	if err := l.read(t.Context(), l.sender, back); err != nil {
		t.Fatal(err)
	}
	g, err := l.Intend(t.Context(), []campaign.Intent{{Lease: lease, Connection: "conn_1", From: 10, To: 20}})
	if err != nil || !g[0].Fenced {
		t.Fatalf("sent again: %+v %v; want no error, Fenced", g, err)
	}
	if err := l.read(t.Context(), l.sender, back); err != nil {
		t.Fatal(err)
	}
	if ls := ledgertest.ClaimAll(t, l, r.No); len(ls) != 0 {
		t.Fatalf("claimed with a mark that is too low: %+v; want length 0", ls)
	}
	ls := ledgertest.ClaimAll(t, l, r.No)
	if len(ls) != 1 || ls[0].Mark != 30 || !ls[0].Recovered {
		t.Fatalf("got %+v; want length 1, Mark 30, Recovered", ls)
	}
	if n, err := l.Recover(t.Context(), ls[0], time.Now()); err != nil || n != 30 {
		t.Errorf("recovered %d %v; want no error, 30", n, err)
	}
}
