package operator_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"campaignd/campaign"
	"campaignd/internal/ledger"
	"campaignd/internal/ledger/ledgertest"
	"campaignd/internal/ledger/sqlite"
	"campaignd/internal/ledger/sqlite/sqlitetest"
	"campaignd/internal/operator"
)

// A backup is restored in which two people are that were erased later. What is noted of them names
// nobody, and the restored ledger finds them all the same.
func TestAnErasureIsRepeatedInARestoredBackup(t *testing.T) {
	dir, noted := t.TempDir(), filepath.Join(t.TempDir(), "noted")
	l, err := sqlite.Open(t.Context(), filepath.Join(dir, "a.db"), ledger.Options{Sender: true})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	run := ledgertest.Load(t, l, 3)
	restored := filepath.Join(dir, "b.db")
	if err := l.Backup(t.Context(), restored); err != nil {
		t.Fatal(err)
	}
	began := time.Now()
	d := &operator.Session{Ledger: l, ErasuresIn: noted}
	for _, number := range []string{"+2348030000000", "+2348030000001", "+2348030000001", "+5491123456789"} {
		if _, err := d.Erase(t.Context(), number); err != nil {
			t.Fatal(err)
		}
	}
	if text, err := os.ReadFile(noted); err != nil || strings.Contains(string(text), "803000") || strings.Contains(string(text), "112345") {
		t.Errorf("got the file %q and %v, want no number in it", text, err)
	}
	again, err := sqlite.Open(t.Context(), restored, ledger.Options{Sender: true, AcceptRestored: true})
	if err != nil {
		t.Fatal(err)
	}
	defer again.Close()
	pseudonyms, numbers, err := operator.NotedErasures(noted, again.LedgerID(), began)
	if err != nil || numbers != 3 || len(pseudonyms) != 4 { // a number of Argentina has two spellings
		t.Fatalf("got %d pseudonyms of %d numbers and %v, want 4 of 3", len(pseudonyms), numbers, err)
	}
	s := &operator.Session{Ledger: again, By: "u"}
	if done, err := s.EraseAgain(t.Context(), pseudonyms, numbers); err != nil || done != (campaign.Erased{Rows: 2}) {
		t.Errorf("got %+v and %v, want 2 rows erased", done, err)
	}
	var left []string
	for line, err := range again.Lines(t.Context(), run.No) {
		if err != nil {
			t.Fatal(err)
		}
		left = append(left, line.To)
	}
	if want := []string{campaign.ErasedNumber, campaign.ErasedNumber, "+2348030000002"}; !slices.Equal(left, want) {
		t.Errorf("the rows are of %q, want %q", left, want)
	}
	// The person who was in no row is never sent to either.
	key := int64(5491123456789)
	if found, err := again.SuppressedKeys(t.Context(), []int64{key}, false, nil, time.Now()); err != nil || found[key] != campaign.Suppressed {
		t.Errorf("got %v and %v, want that nothing is sent to an erased number", found, err)
	}
	if all, err := again.Actions(t.Context(), campaign.ActionFilter{Limit: 1}); err != nil || len(all) != 1 || all[0].What != "erase" ||
		all[0].On != "3 numbers" || all[0].Detail != "again, after a restore" {
		t.Errorf("the last action: got %+v and %v, want that 3 numbers are erased again", all, err)
	}
}

func TestTheFileOfErasuresIsReadLineByLine(t *testing.T) {
	path := filepath.Join(t.TempDir(), "noted")
	since := time.Date(2026, 3, 2, 9, 0, 0, 500, time.UTC)
	for _, tt := range []struct{ name, text, want string }{
		{"empty", "", "[] 0 <nil>"},
		{"before, at and after the time", "\n2026-03-02T08:59:59Z a -1\n\n2026-03-02T09:00:00Z a -2\n\n2026-03-02T11:00:00+01:00 a -3\n",
			"[-2 -3] 2 <nil>"},
		{"another ledger", "2026-03-02T09:00:00Z b -1\n", "[] 0 <nil>"},
		{"two spellings, erased twice", "2026-03-02T09:00:00Z a -1 -2\n2026-03-02T09:00:01Z a -1 -2\n", "[-1 -2] 1 <nil>"},
		{"cut off by a crash", "2026-03-02T09:0\n2026-03-02T09:00:00Z a -1\n2026-03-02T09:00:00Z a", "[-1] 1 <nil>"},
		{"no time", "yesterday a -1\n", "line 1 is damaged"},
		{"a number", "\n2026-03-02T09:00:00Z a 2348030000001\n", "line 2 is damaged"},
		{"no hash", "2026-03-02T09:00:00Z a x\n", "line 1 is damaged"},
	} {
		if err := os.WriteFile(path, []byte(tt.text), 0o600); err != nil {
			t.Fatal(err)
		}
		pseudonyms, numbers, err := operator.NotedErasures(path, "a", since)
		if got := fmt.Sprint(pseudonyms, " ", numbers, " ", err); !strings.Contains(got, tt.want) {
			t.Errorf("%s: got %s, want %s", tt.name, got, tt.want)
		}
	}
	if pseudonyms, numbers, err := operator.NotedErasures(path+"-absent", "a", since); len(pseudonyms) > 0 || numbers > 0 || err != nil {
		t.Errorf("a file that does not exist: got %v, %d, %v; want none", pseudonyms, numbers, err)
	}
	if _, _, err := operator.NotedErasures(filepath.Dir(path), "a", since); err == nil {
		t.Error("a folder: got no error, want one")
	}
}

// refusing is a ledger that suppresses, names or erases nothing.
type refusing struct {
	campaign.Ledger
	at string
}

var errRefused = errors.New("refused")

func (r refusing) Named(context.Context, []int64) ([]int64, error) {
	if r.at == "named" {
		return nil, errRefused
	}
	return []int64{1}, nil
}

func (r refusing) Suppress(ctx context.Context, s []campaign.Suppression) (int, error) {
	if r.at == "suppress" {
		return 0, errRefused
	}
	return r.Ledger.Suppress(ctx, s)
}

func (r refusing) Erase(context.Context, int64) (campaign.Erased, error) {
	return campaign.Erased{Rows: 1}, errRefused
}

func TestAnErasureThatCannotBeNotedIsNotMade(t *testing.T) {
	l := sqlitetest.Open(t, ledger.Options{})
	run := ledgertest.Load(t, l, 1)
	d := &operator.Session{Ledger: l, ErasuresIn: filepath.Join(t.TempDir(), "no folder", "noted")}
	if _, err := d.Erase(t.Context(), "+2348030000000"); err == nil || !strings.Contains(err.Error(), "nothing is erased") {
		t.Errorf("got %v, want an error that says that nothing is erased", err)
	}
	for line, err := range l.Lines(t.Context(), run.No) {
		if err != nil || line.To == campaign.ErasedNumber {
			t.Errorf("got the row of %s and %v, want that it is not erased", line.To, err)
		}
	}
	for _, at := range []string{"suppress", "named", "erase"} {
		s := &operator.Session{Ledger: refusing{l, at}}
		if _, err := s.EraseAgain(t.Context(), []int64{-1}, 1); !errors.Is(err, errRefused) {
			t.Errorf("erased again although the ledger refuses to %s: %v, want its error", at, err)
		}
	}
}
