package sqlite

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"campaignd/campaign"
	"campaignd/campaign/conversion"
	"campaignd/internal/ledger"
	"campaignd/internal/ledger/ledgertest"
	"campaignd/internal/ledger/sqlite/dbfile"
)

// After an erasure no byte of the person is in the file or in its log: not in free pages, and not
// in the free space of pages. The ledger was written without any care for that.
func TestAnErasedNumberIsNotInTheFile(t *testing.T) {
	t.Parallel()
	path := filepath.Join(ledgertest.Folder(t), "test.db")
	l, err := Open(t.Context(), path, ledger.Options{Sender: true})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	const rows, seq = 6000, 1234
	var runs []campaign.Run
	for range 3 {
		r := ledgertest.Load(t, l, rows)
		runs = append(runs, r)
		for _, lease := range ledgertest.ClaimAll(t, l, r.No) {
			if _, err := l.Intend(t.Context(), []campaign.Intent{{Lease: lease, Connection: "conn_1", From: lease.Lo, To: lease.Hi}}); err != nil {
				t.Fatal(err)
			}
			for to := lease.Hi; to > lease.Lo; to -= min(50, to-lease.Lo) { // from the end, so that pages are split
				if err := l.Record(t.Context(), ledgertest.Acceptances(lease, to-min(50, to-lease.Lo), to)); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
	// The rows of a run are gone, and their pages are free.
	for _, table := range []string{"delivery", "outcome", "attempt"} {
		if _, err := beside(t, path).ExecContext(t.Context(), "DELETE FROM "+table+" WHERE rid >> 32 = ?", int64(runs[0].No)); err != nil {
			t.Fatal(err)
		}
	}
	d := ledgertest.Rows(seq, seq+1)[0]
	_, err = l.Suppress(t.Context(), []campaign.Suppression{{Key: d.Key, To: d.To, Scope: campaign.ScopeMarketing, Source: "stop",
		At: time.Now(), Proof: campaign.Proof{Text: "STOP, says " + d.Cells[0]}}})
	if err != nil {
		t.Fatal(err)
	}
	var orders []conversion.Order
	for i, d := range ledgertest.Rows(0, 3000) { // and two changes of each, which move its row
		for version := range 3 {
			orders = append(orders, conversion.Order{ID: fmt.Sprint("01J", (i*7919)%3000), Key: d.Key, Amount: strings.Repeat("1", 1+9*version),
				Currency: "EUR", UpdatedAt: time.UnixMilli(int64(1 + version))})
		}
	}
	if err := l.StorePurchases(t.Context(), orders); err != nil {
		t.Fatal(err)
	}
	needles := map[string][]byte{"number": []byte(d.To), "first variable": []byte(`"` + d.Cells[0] + `"`),
		"key": binary.BigEndian.AppendUint64(nil, uint64(d.Key))[2:], "proof": []byte("STOP, says " + d.Cells[0])}
	for _, r := range runs {
		needles["message id of "+r.ID()] = []byte(ledgertest.MessageID(r.No, seq))
	}
	found := func() string {
		t.Helper()
		var all strings.Builder
		for _, suffix := range []string{"", "-wal"} {
			b, err := os.ReadFile(path + suffix)
			if err != nil {
				t.Fatal(err)
			}
			for name, needle := range needles {
				// Another number may begin with the same digits.
				for at := 0; ; at++ {
					i := bytes.Index(b[at:], needle)
					if i < 0 {
						break
					}
					if at += i; at+len(needle) == len(b) || b[at+len(needle)] < '0' || b[at+len(needle)] > '9' {
						fmt.Fprintf(&all, "%s%s page %d: %s; ", filepath.Base(path), suffix, at/4096+1, name)
					}
				}
			}
		}
		return all.String()
	}
	before := found()
	for name := range needles {
		if !strings.Contains(before, name) {
			t.Errorf("before the erasure the file has %q; want the %s among them", before, name)
		}
	}
	if done, err := l.Erase(t.Context(), d.Key); err != nil || done.Rows != 2 {
		t.Fatalf("erased %+v, %v; want 2 rows, no error", done, err)
	}
	if got := found(); got != "" {
		t.Errorf("after the erasure the file has %s; want nothing of the person", got)
	}
	// The rest is as it was.
	for _, r := range runs[1:] {
		if ps, _, err := l.Audit(t.Context(), r.No, 5); err != nil || len(ps) > 0 {
			t.Errorf("audit of %s: %+v %v; want no problem, no error", r.ID(), ps, err)
		}
	}
	if err := dbfile.Check(t.Context(), path); err != nil {
		t.Errorf("the file after the erasure: %v; want no damage", err)
	}
}

// A reader that holds the log makes the command fail, because the log still has the number.
func TestAnErasureSaysWhenALogIsHeld(t *testing.T) {
	t.Parallel()
	l := openTest(t, ledger.Options{})
	ledgertest.Load(t, l, 10)
	reader, err := beside(t, l.Path()).BeginTx(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	var n int
	if err := reader.QueryRowContext(t.Context(), "SELECT count(*) FROM delivery").Scan(&n); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	if _, err := l.Erase(ctx, 2348030000001); err == nil {
		t.Errorf("erased while a reader holds the log: %v; want an error", err)
	}
	if err := reader.Rollback(); err != nil {
		t.Fatal(err)
	}
	if _, err := l.Erase(t.Context(), 2348030000001); err != nil {
		t.Errorf("erased again: %v; want no error", err)
	}
}
