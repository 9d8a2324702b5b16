package ledgertest

import (
	"fmt"
	"slices"
	"sync"
	"testing"

	"campaignd/campaign"
	"campaignd/internal/ledger"
)

// erase erases the phone number of seq, and fails unless the erasure reports want.
func erase(t *testing.T, l Tables, seq int64, want campaign.Erased) {
	t.Helper()
	if got, err := l.Erase(t.Context(), key(seq)); err != nil || got != want {
		t.Errorf("erased of seq %d: %+v, %v; want %+v", seq, got, err, want)
	}
}

// nowhere fails if a table that events write to has the phone number of seq.
func nowhere(t *testing.T, l Tables, seq int64) {
	t.Helper()
	for _, table := range []string{"orphan", "suppression", "opt_in", "first_receipt", "user_pair", "moved", "inbound", "reply",
		"sender", "contact", "reach", "follow_up", "delivery", "attempt", "purchase"} {
		if got := stored(t, l, fmt.Sprintf(`SELECT CAST(count(*) AS text) FROM %s WHERE key = %d`, table, key(seq))); got != "0" {
			t.Errorf("%s rows of %s have the erased number of seq %d; want 0", got, table, seq)
		}
	}
}

// doubted makes a run of n deliveries that are all in doubt.
func doubted(t *testing.T, l Tables, n int64) (campaign.Run, campaign.Lease) {
	t.Helper()
	r := Load(t, l, n)
	s := ClaimAll(t, l, r.No)[0]
	mustIntend(t, l, campaign.Intent{Lease: s, Connection: "conn_1", To: n})
	var rs []campaign.Result
	for seq := range n {
		rs = append(rs, doubtful(s, seq))
	}
	mustRecord(t, l, rs)
	return r, s
}

// An orphan keeps its recipient's phone number while it may prove a delivery that is under way,
// and loses it afterwards.
func aStrangersStatusNamesNoErasedNumber(t *testing.T, l Tables) {
	r, _ := doubted(t, l, 2)
	status := func(id string, seq int64) {
		t.Helper()
		e := campaign.Events{Statuses: []campaign.StatusEvent{event(id, key(seq), campaign.Sent, at(1))}}
		if _, err := l.Apply(t.Context(), e); err != nil {
			t.Fatalf("applying: %v; want no error", err)
		}
	}
	erase(t, l, 0, campaign.Erased{UnderWay: 1})
	erase(t, l, 5, campaign.Erased{})
	for _, seq := range []int64{0, 1, 5} {
		status(fmt.Sprint("wamid.", seq), seq)
	}
	if got := stored(t, l, `SELECT CAST(count(*) AS text) FROM orphan`); got != "2" {
		t.Errorf("%s events wait; want that of the row under way and that of a number not erased", got)
	}
	if _, err := l.Sweep(t.Context(), at(200)); err != nil {
		t.Fatalf("sweeping: %v; want no error", err)
	}
	if got := Totals(t, l, r.No); got[campaign.Sent] != 2 {
		t.Errorf("totals: %v; want both doubts proven", got)
	}
	erase(t, l, 0, campaign.Erased{Rows: 1})
	status("wamid.late", 0)
	status("wamid.0", 0)
	for _, seq := range []int64{0, 5} {
		nowhere(t, l, seq)
	}
	Audited(t, l, r.No)
}

// A delivery is in doubt at two erasures of its phone number. The places and the follow-up that the
// number took between them are merged with those of the first erasure.
func aSecondErasureMeetsTheFirst(t *testing.T, l Tables) {
	r, s := doubted(t, l, 1)
	rid := ledger.RowID(r.No, 0)
	alter(t, l, `INSERT INTO portfolio (id, taken) VALUES ('main', 0), ('other', 0)`)
	for i, portfolio := range []string{"'main'", "'main', 'other'"} {
		alter(t, l, fmt.Sprintf(`INSERT INTO reach (key, portfolio, rid, at)
			SELECT %d, id, %d, 1 FROM portfolio WHERE id IN (%s)`, key(0), rid, portfolio))
		alter(t, l, `UPDATE portfolio SET taken = (SELECT count(DISTINCT key) FROM reach WHERE portfolio = id)`)
		alter(t, l, fmt.Sprintf(`INSERT INTO follow_up (parent, key, rid) VALUES (7, %d, %d)`, key(0), rid+int64(i)))
		erase(t, l, 0, campaign.Erased{UnderWay: 1})
	}
	mustRecord(t, l, []campaign.Result{acceptance(s, 0)})
	erase(t, l, 0, campaign.Erased{Rows: 1})
	nowhere(t, l, 0)
	for _, c := range []struct{ query, want string }{
		{`SELECT CAST(count(*) AS text) FROM reach WHERE key < 0`, "2"},
		{`SELECT CAST(max(taken) AS text) FROM portfolio`, "1"},
		{`SELECT CAST(max(rid) AS text) FROM follow_up WHERE key < 0`, fmt.Sprint(rid + 1)},
	} {
		if got := stored(t, l, c.query); got != c.want {
			t.Errorf("%s: %s; want %s", c.query, got, c.want)
		}
	}
}

// Each table has a number that no other table has.
func aNumberIsFoundByItsPseudonymWhereverItIs(t *testing.T, l Tables) {
	r := Load(t, l, 1)
	inserts := []string{
		`suppression (key, scope, until, at, dest, source, proof) VALUES (%d, 'all', 0, 1, '', 'x', '')`,
		`moved (key, dest, target, new, at) VALUES (%d, '+1', 2, '+2', 1)`,
		`moved (target, dest, key, new, at) VALUES (%d, '+3', 3, '+4', 1)`,
		`inbound (key, connection, at) VALUES (%d, 'c', 1)`,
		`contact (key, rid, at, until, capped, connection) VALUES (%d, 1, 1, 1, false, 'c')`,
		`opt_in (key, scope, at) VALUES (%d, 'all', 1)`,
		`first_receipt (key, own, at, what) VALUES (%d, 1, 1, 'all')`,
		`sender (key, connection, at) VALUES (%d, 'c', 1)`,
		`reach (key, rid, at, portfolio) VALUES (%d, 1, 1, 'p')`,
		`follow_up (parent, key, rid) VALUES (7, %d, 1)`,
		`purchase (key, created_at, updated_at, due, ended, was_paid, id, amount, currency) VALUES (%d, 1, 1, 0, 0, 1, 'o', '1', 'EUR')`,
	}
	alter(t, l, `INSERT INTO portfolio (id, taken) VALUES ('p', 1)`)
	want := []int64{key(0)}
	for i, insert := range inserts {
		seq := int64(i + 1)
		alter(t, l, fmt.Sprintf("INSERT INTO "+insert, key(seq)))
		want = append(want, key(seq))
	}
	seq := int64(len(want))
	orphan, reply := event("wamid.x", key(seq), campaign.Sent, at(1)), campaign.Reply{Key: key(seq + 1), At: at(1)}
	want = append(want, key(seq), key(seq+1), key(seq+2))
	if _, err := l.Apply(t.Context(), campaign.Events{Statuses: []campaign.StatusEvent{orphan}, Replies: []campaign.Reply{reply},
		Pairs: has("US.1", seq+2).Pairs}); err != nil {
		t.Fatal(err)
	}
	var pseudonyms []int64
	for _, k := range append(want, key(99)) {
		pseudonyms = append(pseudonyms, l.Pseudonyms(k)...)
	}
	if got, err := l.Named(t.Context(), pseudonyms); err != nil || !slices.Equal(got, want) {
		t.Errorf("found %v, %v; want %v", got, err, want)
	}
	if got, err := l.Named(t.Context(), l.Pseudonyms(key(1))); err != nil || !slices.Equal(got, []int64{key(1)}) {
		t.Errorf("found %v, %v; want only %d", got, err, key(1))
	}
	if got, err := l.Named(t.Context(), nil); err != nil || len(got) != 0 {
		t.Errorf("found %v, %v without a pseudonym; want none", got, err)
	}
	erase(t, l, 0, campaign.Erased{Rows: 1})
	if got := stored(t, l, `SELECT CAST(key AS text) FROM delivery`); got != fmt.Sprint(l.Pseudonyms(key(0))[0]) {
		t.Errorf("the key of the erased row of %s is %s; want the pseudonym %v", r.ID(), got, l.Pseudonyms(key(0)))
	}
}

// An erasure and events of the same phone number, at the same time, leave no trace of the number.
func eventsBesideAnErasureStoreNothing(t *testing.T, l Tables) {
	for seq := range int64(20) {
		number := fmt.Sprintf("+%d", key(seq))
		stop := campaign.Suppression{Key: key(seq), To: number, Scope: campaign.ScopeMarketing, Source: "stop", At: at(1)}
		resume := stop
		resume.ReceivedAt = at(0) // before its own time, so the ledger keeps the receipt
		var all sync.WaitGroup
		for _, e := range []campaign.Events{
			{Suppressions: []campaign.Suppression{stop}},
			{Lifted: []campaign.Suppression{resume}},
			{Moved: []campaign.Move{{From: key(seq), FromPhone: number, To: 2, ToPhone: "+2", At: at(2)}}},
			has(fmt.Sprint("US.", seq), seq),
			{Inbound: []campaign.Inbound{{Key: key(seq), Connection: "conn_1", At: at(1)}}},
			{Replies: []campaign.Reply{{Key: key(seq), At: at(1)}}},
			{Statuses: []campaign.StatusEvent{event(fmt.Sprint("wamid.", seq), key(seq), campaign.Sent, at(1))}},
		} {
			all.Go(func() {
				if _, err := l.Apply(t.Context(), e); err != nil {
					t.Errorf("applying %+v: %v; want no error", e, err)
				}
			})
		}
		all.Go(func() {
			if _, err := l.Suppress(t.Context(), []campaign.Suppression{stop}); err != nil {
				t.Errorf("suppressing: %v; want no error", err)
			}
		})
		all.Go(func() { erase(t, l, seq, campaign.Erased{}) })
		all.Wait()
		nowhere(t, l, seq)
	}
}
