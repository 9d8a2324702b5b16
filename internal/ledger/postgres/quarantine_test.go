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

// A quarantine moves every mark, so it does not run again when the answer to its commit is lost.
func TestAQuarantineWhoseAnswerIsLostIsNotRepeated(t *testing.T) {
	t.Parallel()
	wire := newCutter(t, server(t).Addr)
	l := openAt(t, wire.through(migrated(t)), ledger.Options{Sender: true})
	r := ledgertest.Load(t, l, 100)
	lease := ledgertest.ClaimAll(t, l, r.No)[0]
	if _, err := l.Intend(t.Context(), []campaign.Intent{{Lease: lease, Connection: "conn_1", To: 10}}); err != nil {
		t.Fatal(err)
	}
	wire.cut.Store(answerLost)
	if n, err := l.Quarantine(t.Context(), 5, nil, time.Now()); n != 0 || !errors.Is(err, campaign.ErrUnknownCommit) {
		t.Errorf("got %d, %v; want 0 and ErrUnknownCommit", n, err)
	}
	if wire.cut.Load() != passes {
		t.Error("the commit was not cut; want it cut")
	}
	s, err := l.SegmentStates(t.Context(), r.No)
	if err != nil || len(s) != 1 || s[0].Mark != 15 {
		t.Errorf("got segments %+v, %v; want one whose mark moved once, from 10 to 15", s, err)
	}
}

func TestAReaderOfPostgresQuarantinesNothing(t *testing.T) {
	t.Parallel()
	l := openAt(t, migrated(t), ledger.Options{ReadOnly: true})
	const want = "is open for reading only"
	if n, err := l.Quarantine(t.Context(), 1, nil, time.Now()); err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("quarantined %d: %v; want an error with %q", n, err, want)
	}
	if n, err := l.Rehearse(t.Context(), 1, nil, time.Now()); err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("rehearsed %d: %v; want an error with %q", n, err, want)
	}
}
