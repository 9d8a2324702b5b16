package reporting

import (
	"context"
	"errors"
	"io"
	"slices"
	"strings"
	"testing"

	"campaignd/campaign"
)

func TestAuditReadsTheListThreeTimesAtMost(t *testing.T) {
	run, m := sample()
	m.tallies, _, _ = m.Tallies(context.Background(), run.No)
	m.lines[15].Status = campaign.Sending
	if a := audited(t, run, m); a.Balanced || m.reads != 3 {
		t.Errorf("balanced %v after %d readings, want false after 3", a.Balanced, m.reads)
	}
}

// failing is a ledger in which one read fails.
type failing struct {
	*memory
	tallies int // the call of Tallies that fails; 0: none
	audit   bool
	err     error
}

func (f *failing) Tallies(ctx context.Context, no campaign.RunNo) ([]campaign.Tally, campaign.Funnel, error) {
	if f.tallies--; f.tallies == 0 {
		return nil, campaign.Funnel{}, f.err
	}
	return f.memory.Tallies(ctx, no)
}

func (f *failing) Audit(ctx context.Context, no campaign.RunNo, limit int) ([]campaign.Problem, campaign.AuditCounts, error) {
	if f.audit {
		return nil, campaign.AuditCounts{}, f.err
	}
	return f.memory.Audit(ctx, no, limit)
}

func TestAuditPassesEveryErrorOfTheLedgerOn(t *testing.T) {
	fire := errors.New("disk on fire")
	for name, f := range map[string]failing{
		"totals before": {tallies: 1, err: fire}, "totals after": {tallies: 2, err: fire}, "the ledger's own": {audit: true, err: fire},
	} {
		run, m := sample()
		f.memory = m
		if a, err := Audit(context.Background(), &f, run); !errors.Is(err, fire) || a != nil {
			t.Errorf("%s: got %v, %v, want %v", name, a, err, fire)
		} else if !strings.Contains(err.Error(), "audit of run spring-sale-3") {
			t.Errorf("%s: got %q, want the run's id in it", name, err)
		}
	}
}

func TestTextAndTablePassTheWritersErrorOn(t *testing.T) {
	run, m := sample()
	if err := audited(t, run, m).Text(brokenPipe{}); !errors.Is(err, io.ErrClosedPipe) {
		t.Errorf("Text: got %v, want %v", err, io.ErrClosedPipe)
	}
	if err := built(t, run, m).Table(brokenPipe{}, 0); !errors.Is(err, io.ErrClosedPipe) {
		t.Errorf("Table: got %v, want %v", err, io.ErrClosedPipe)
	}
}

func TestAuditOfARunThatMovesRaisesNoFalseAlarm(t *testing.T) {
	run, m := sample()
	moves := 0
	m.between = func(int) { // a row that was read as queued is now being sent; the sum is the same
		moves++
		m.lines[15].Status = campaign.Sending
	}
	if a := audited(t, run, m); !a.Balanced || !a.Moving || moves != 1 {
		t.Errorf("%d readings, %+v; want one, balanced and moving", moves, a)
	}
}

func TestAuditReadsAgainBeforeItReportsAFault(t *testing.T) {
	run, m := sample()
	stale := slices.Clone(m.lines)
	m.lines[14].Status, m.lines[13].Status = campaign.Sending, campaign.Queued // two moves that leave the totals unchanged
	current := m.lines
	m.tallies, _, _ = m.Tallies(context.Background(), run.No)
	m.lines = stale
	m.lines[12].Status = campaign.InDoubt
	m.between = func(int) { m.lines = current }
	if a := audited(t, run, m); !a.Balanced || m.reads != 2 {
		t.Errorf("%d readings, %+v; want 2, balanced", m.reads, a)
	}
}

func TestAuditWhileImportingCountsRowsAddedSince(t *testing.T) {
	run, m := sample()
	run.State, run.Rows = campaign.Importing, 10
	a := audited(t, run, m)
	if !a.Balanced || a.Rows != 16 {
		t.Errorf("got %+v, want a balanced sum of 16 rows", a)
	}
	var text strings.Builder
	if err := a.Text(&text); err != nil || !strings.Contains(text.String(), "16 rows so far (the import is unfinished) = ") {
		t.Errorf("got %q and %v, want that the import is unfinished", &text, err)
	}
}

func TestAuditThatCannotReadIsAnError(t *testing.T) {
	run, m := sample()
	m.fail = errors.New("disk on fire")
	if _, err := Audit(context.Background(), m, run); !errors.Is(err, m.fail) {
		t.Errorf("got %v, want %v", err, m.fail)
	}
}
