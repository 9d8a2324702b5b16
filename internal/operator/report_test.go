package operator_test

import (
	"bytes"
	"context"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"campaignd/campaign"
	"campaignd/internal/ledger"
	"campaignd/internal/ledger/sqlite"
	"campaignd/internal/operator"
)

// counting records each time that the rows of a run are counted.
type counting struct {
	campaign.Ledger
	calls []string
}

func (l *counting) Tallies(ctx context.Context, no campaign.RunNo) ([]campaign.Tally, campaign.Funnel, error) {
	l.calls = append(l.calls, "tallies")
	return l.Ledger.Tallies(ctx, no)
}

func (l *counting) Summary(ctx context.Context, no campaign.RunNo) (campaign.Summary, error) {
	l.calls = append(l.calls, "summary")
	return l.Ledger.Summary(ctx, no)
}

func (l *counting) Audit(ctx context.Context, no campaign.RunNo, most int) ([]campaign.Problem, campaign.AuditCounts, error) {
	l.calls = append(l.calls, "audit")
	return l.Ledger.Audit(ctx, no, most)
}

// A long list that nobody has counted yet takes seconds. The audit that follows compares the rows
// with figures of its own.
func TestAReportPageCountsTheRowsOnce(t *testing.T) {
	l, err := sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "test.db"), ledger.Options{Sender: true})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	r := runOf(t, l, "conn_1", 2348030000001, 2348030000002, 2348030000001)
	c := &counting{Ledger: l}
	d := &operator.Session{Ledger: c, Origins: func(context.Context, []campaign.Hold) func(string) campaign.Origin { return nil }}
	write, err := d.ReportHTML(t.Context(), r.ID(), false)
	if err != nil {
		t.Fatal(err)
	}
	if before := c.calls[:slices.Index(c.calls, "audit")]; strings.Join(before, " ") != "summary tallies" {
		t.Errorf("counted by %v before the audit; want the summary, and the tallies of the audit", before)
	}
	var page bytes.Buffer
	if err := write(&page); err != nil || !strings.Contains(page.String(), ", of 2 to whom it can be sent.") {
		t.Errorf("%v, got a page that does not tell of 2 people:\n%s", err, page.String())
	}
}
