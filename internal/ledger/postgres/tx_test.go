//go:build unix

package postgres

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"campaignd/campaign"
	"campaignd/internal/ledger"
	"campaignd/internal/ledger/ledgertest"
)

// PostgreSQL answers the commit of a failed transaction with ROLLBACK and no error.
func TestARolledBackCommitIsNoSuccess(t *testing.T) {
	t.Parallel()
	l := openShared(t, ledger.Options{})
	r := ledgertest.Load(t, l, 1)
	err := l.change(t.Context(), l.sender, "", func(tx *tx) error {
		if err := tx.do(stmt(nil, `UPDATE run SET detail = 'changed' WHERE no = $1`, int64(r.No))); err != nil {
			return err
		}
		_ = tx.do(stmt(nil, `SELECT 1/0`)) // a caller that ignores the error
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

func TestAServersErrorInAnyLanguageIsNoUnknownCommit(t *testing.T) {
	wire := newBadWire(t)
	l := wire.open(t)
	wire.foreign.Store(true)
	tried := 0
	err := l.change(t.Context(), l.sender, "", func(t *tx) error {
		tried++
		t.last(stmt(nil, `SELECT 1 / $1::int`, 0))
		return nil
	})
	if err == nil || errors.Is(err, campaign.ErrUnknownCommit) || tried != 1 {
		t.Errorf("tried %d times: %v; want once, an error that is not ErrUnknownCommit", tried, err)
	}
}

func TestACommitWhoseAnswerIsLostIsReadBack(t *testing.T) {
	t.Parallel()
	dsn := migrated(t)
	wire := newCutter(t, server(t).Addr)
	l := openAt(t, wire.through(dsn), ledger.Options{Sender: true})
	r := ledgertest.Load(t, l, 100)
	ls := ledgertest.ClaimAll(t, l, r.No)
	from := int64(0)
	wasCut := func(what string) {
		t.Helper()
		if wire.cut.Load() != passes {
			t.Errorf("the commit of %s was not cut, want it cut", what)
		}
	}
	for i, how := range []int32{answerLost, requestLost, answerLost, requestLost} {
		wire.cut.Store(how)
		in := campaign.Intent{Lease: ls[0], Connection: "conn_1", From: from, To: from + 10}
		g, err := l.Intend(t.Context(), []campaign.Intent{in})
		if err != nil || g[0].Fenced || g[0].To != from+10 {
			t.Fatalf("cut %d: %+v %v; want no error, not Fenced, To %+v", i, g, err, from+10)
		}
		wasCut("an intent")
		from += 10
		wire.cut.Store(how)
		if err := l.Record(t.Context(), append(ledgertest.Acceptances(ls[0], from-10, from-1),
			campaign.Result{Run: r.No, Seq: from - 1, Attempt: 1, Kind: campaign.ResultDeferred, Counts: true})); err != nil {
			t.Fatal(err)
		}
		wasCut("results")
		wire.cut.Store(how)
		due, err := l.Due(t.Context(), ls[0], time.Now(), 10)
		if err != nil || len(due) != 1 || due[0].Tries != 1 {
			t.Fatalf("got %+v %v; want no error, length 1, Tries 1", due, err)
		}
		g, err = l.Intend(t.Context(), []campaign.Intent{{Lease: ls[0], Connection: "conn_1", From: from, To: from, Retries: due}})
		if err != nil || g[0].Fenced || g[0].Denied || len(g[0].Skipped) > 0 {
			t.Fatalf("a retry, cut %d: %+v %v; want no error, not Fenced, not Denied, none", i, g, err)
		}
		wasCut("a retry")
		second := campaign.Result{Run: r.No, Seq: from - 1, Attempt: 2, Kind: campaign.ResultAccepted, MessageID: fmt.Sprint("second", from)}
		if err := l.Record(t.Context(), []campaign.Result{second}); err != nil {
			t.Fatal(err)
		}
		wire.cut.Store(how)
		if a, err := l.Apply(t.Context(), statusOfMessage(ledgertest.MessageID(r.No, from-5), campaign.Sent)); err != nil {
			t.Fatalf("got %+v, %v; want no error", a, err)
		}
		wasCut("statuses")
		wire.cut.Store(how)
		if _, err := l.CreateRun(t.Context(), campaign.Run{Campaign: "spring", ListHash: fmt.Sprint("cut", i)}); err != nil {
			t.Fatal(err)
		}
		wasCut("a run")
	}
	imported, err := l.CreateRun(t.Context(), campaign.Run{Campaign: "spring", ListHash: "import"})
	if err != nil {
		t.Fatal(err)
	}
	for lo := int64(0); lo < 40; lo += 10 {
		wire.cut.Store([]int32{answerLost, requestLost}[lo/10%2])
		segments := []campaign.Segment{{Run: imported.No, Hi: lo + 10}}
		if err := l.AppendRows(t.Context(), imported.No, lo, ledgertest.Rows(lo, lo+10), segments); err != nil {
			t.Fatal(err)
		}
		wasCut("rows")
	}
	if err := l.FinishImport(t.Context(), imported.No, 40, campaign.Ready); err != nil {
		t.Fatal(err)
	}
	if got, err := l.Run(t.Context(), r.No); err != nil || got.Taken != 40 {
		t.Errorf("got %+v %v; want no error, Taken 40", got, err)
	}
	if ps, _, err := l.Audit(t.Context(), r.No, 5); err != nil || len(ps) > 0 {
		t.Errorf("got %+v %v; want no error, none", ps, err)
	}
}
