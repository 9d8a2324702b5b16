package ledgertest

import (
	"fmt"
	"testing"

	"campaignd/campaign"
	"campaignd/internal/ledger"
)

// erase erases the number of seq, and fails unless it did so much.
func erase(t *testing.T, l Tables, seq int64, want campaign.Erased) {
	t.Helper()
	if got, err := l.Erase(t.Context(), key(seq)); err != nil || got != want {
		t.Errorf("erased of seq %d: %+v, %v; want %+v", seq, got, err, want)
	}
}

// nowhere fails if a table that events write to has the number of seq.
func nowhere(t *testing.T, l Tables, seq int64) {
	t.Helper()
	for _, table := range []string{"orphan", "suppression", "opt_in", "moved", "inbound", "sender", "contact", "reach", "follow_up",
		"delivery", "attempt"} {
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
	if _, err := l.Intend(t.Context(), []campaign.Intent{{Lease: s, Connection: "conn_1", To: n}}); err != nil {
		t.Fatalf("intending: %v; want no error", err)
	}
	var rs []campaign.Result
	for seq := range n {
		rs = append(rs, doubtful(s, seq))
	}
	if err := l.Record(t.Context(), rs); err != nil {
		t.Fatalf("recording: %v; want no error", err)
	}
	return r, s
}

// A row that was in doubt at the first erasure takes its places again with the number.
func aSecondErasureMeetsTheFirst(t *testing.T, l Tables) {
	r, s := doubted(t, l, 1)
	rid := ledger.RowID(r.No, 0)
	alter(t, l, `INSERT INTO portfolio (id, taken) VALUES ('main', 0), ('other', 0)`)
	for i, portfolio := range []string{"'main'", "'main', 'other'"} {
		alter(t, l, fmt.Sprintf(`INSERT INTO reach (key, portfolio, rid, at) SELECT %d, id, %d, 1 FROM portfolio WHERE id IN (%s)`, key(0), rid, portfolio))
		alter(t, l, `UPDATE portfolio SET taken = (SELECT count(DISTINCT key) FROM reach WHERE portfolio = id)`)
		alter(t, l, fmt.Sprintf(`INSERT INTO follow_up (parent, key, rid) VALUES (7, %d, %d)`, key(0), rid+int64(i)))
		erase(t, l, 0, campaign.Erased{UnderWay: 1})
	}
	if err := l.Record(t.Context(), []campaign.Result{acceptance(s, 0)}); err != nil {
		t.Fatalf("recording: %v; want no error", err)
	}
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
