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
)

// After an erasure no byte of the person is in the file or in its log: not in free pages, and not
// in the free space of pages. The ledger was written without any care for that.
func TestAnErasedNumberIsNotInTheFile(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "test.db")
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
	if err := check(t.Context(), path); err != nil {
		t.Errorf("the file after the erasure: %v; want no damage", err)
	}
}

// A page of which the description does not fit is left as it is.
func TestOnlyTheFreeSpaceOfAPageIsBlanked(t *testing.T) {
	t.Parallel()
	page := func(change func(p []byte)) []byte {
		p := bytes.Repeat([]byte{'x'}, 4096)
		p[0] = 13                                  // a leaf of a table
		binary.BigEndian.PutUint16(p[1:], 3000)    // its first free block
		binary.BigEndian.PutUint16(p[3:], 2)       // cells
		binary.BigEndian.PutUint16(p[5:], 2000)    // where the first of them begins
		binary.BigEndian.PutUint16(p[3000:], 3500) // the next free block
		binary.BigEndian.PutUint16(p[3002:], 100)
		binary.BigEndian.PutUint16(p[3500:], 0)
		binary.BigEndian.PutUint16(p[3502:], 40)
		if change != nil {
			change(p)
		}
		return p
	}
	set := func(at int, v uint16) func(p []byte) { return func(p []byte) { binary.BigEndian.PutUint16(p[at:], v) } }
	want := page(func(p []byte) {
		for _, free := range [][]byte{p[12:2000], p[3004:3100], p[3504:3540]} {
			clear(free)
		}
	})
	got := page(nil)
	if changed := blankTree(got, 2); !changed || !bytes.Equal(got, want) {
		t.Errorf("a page: changed %v, as wanted %v; want both", changed, bytes.Equal(got, want))
	}
	if changed := blankTree(got, 2); changed {
		t.Errorf("a page without anything in its free space: changed %v; want false", changed)
	}
	for name, change := range map[string]func(p []byte){
		"of a long row": func(p []byte) { p[0] = 0 }, "cells in the array": set(5, 11), "cells behind the page": set(5, 4097),
		"more cells than fit": set(3, 3000), "a free block in the array": set(1, 20), "a free block at the end": set(1, 4093),
		"a free block too short": set(3002, 3), "a free block too long": set(3502, 600), "free blocks in a circle": set(3500, 3000),
	} {
		want, got := page(change), page(change)
		if changed := blankTree(got, 2); changed || !bytes.Equal(got, want) {
			t.Errorf("%s: changed %v; want the page as it was", name, changed)
		}
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
