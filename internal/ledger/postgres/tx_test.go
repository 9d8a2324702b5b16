//go:build unix

package postgres

import (
	"errors"
	"strings"
	"testing"
	"time"

	"campaignd/campaign"
	"campaignd/internal/ledger"
	"campaignd/internal/ledger/ledgertest"
)

// PostgreSQL answers the commit of a failed transaction with ROLLBACK, and no error.
func TestARolledBackCommitIsNoSuccess(t *testing.T) {
	t.Parallel()
	l := openShared(t, ledger.Options{})
	r := ledgertest.Load(t, l, 1)
	err := l.change(t.Context(), l.sender, "", func(tx *tx) error {
		if err := tx.do(stmt(nil, `UPDATE run SET detail = 'changed' WHERE no = $1`, int64(r.No))); err != nil {
			return err
		}
		_ = tx.do(stmt(nil, `SELECT 1/0`)) // the mistake of a caller
		return nil
	})
	const want = "the transaction was rolled back"
	if err == nil || !strings.Contains(err.Error(), want) || errors.Is(err, campaign.ErrUnknownCommit) {
		t.Errorf("committed: %v; want an error with %q that is not ErrUnknownCommit", err, want)
	}
	if now, err := l.Run(t.Context(), r.No); err != nil || now.Detail != "" {
		t.Errorf("the run's detail is %q, %v; want none and no error", now.Detail, err)
	}
}

func TestAReaderOfPostgresQuarantinesNothing(t *testing.T) {
	t.Parallel()
	l := openAt(t, migrated(t), ledger.Options{ReadOnly: true})
	const want = "is open for reading only"
	if n, err := l.Quarantine(t.Context(), 1, time.Now()); err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("quarantined %d: %v; want an error with %q", n, err, want)
	}
	if n, err := l.Rehearse(t.Context(), 1, time.Now()); err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("rehearsed %d: %v; want an error with %q", n, err, want)
	}
}

// A chunk whose answer was lost is looked for: it is there, or another importer's is.
func TestALostChunkIsFoundByItsLastRow(t *testing.T) {
	t.Parallel()
	l := openShared(t, ledger.Options{})
	r := ledgertest.Load(t, l, 10)
	for name, c := range map[string]struct {
		change func(d *campaign.Delivery)
		want   error
	}{
		"There":        {func(*campaign.Delivery) {}, nil},
		"AnotherRow":   {func(d *campaign.Delivery) { d.Row++ }, campaign.ErrFenced},
		"AnotherPhone": {func(d *campaign.Delivery) { d.To += "1" }, campaign.ErrFenced},
		"None":         {func(d *campaign.Delivery) { d.Seq = 10 }, campaign.ErrFenced},
	} {
		ds := ledgertest.Rows(0, 10)
		c.change(&ds[9])
		err := l.change(t.Context(), l.sender, "", func(tx *tx) error { return (&chunk{no: r.No, rows: ds}).confirm(tx) })
		if !errors.Is(err, c.want) {
			t.Errorf("%s: %v; want %v", name, err, c.want)
		}
	}
}

func TestWhileAnotherSweepsNothingIsAdopted(t *testing.T) {
	t.Parallel()
	url := migrated(t)
	l, other := openAt(t, url, ledger.Options{Sender: true}), beside(t, url)
	r := ledgertest.Provable(t, l, 3)
	if _, err := other.Exec(t.Context(), `BEGIN; SELECT 1 FROM sweep FOR UPDATE`); err != nil {
		t.Fatalf("sweeping beside: %v; want no error", err)
	}
	for _, want := range []int{0, 3} {
		var done campaign.Swept
		mine, err := l.adoptPage(t.Context(), &done)
		if err != nil || mine != (want > 0) || done.Adopted != want {
			t.Errorf("adopted %d, mine %v, %v; want %d, %v and no error", done.Adopted, mine, err, want, want > 0)
		}
		if got := ledgertest.Totals(t, l, r.No)[campaign.Delivered]; got != int64(want) {
			t.Errorf("delivered: %d; want %d", got, want)
		}
		if _, err := other.Exec(t.Context(), `COMMIT`); err != nil {
			t.Fatalf("ending the other sweep: %v; want no error", err)
		}
	}
}
