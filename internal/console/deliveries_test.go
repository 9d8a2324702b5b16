package console

import (
	"context"
	"strings"
	"testing"
	"time"

	"campaignd/campaign"
)

// late is a ledger on a busy machine: its first parts end before they have found a row.
type late struct {
	campaign.Ledger
	parts int
}

// far is added to the position at which a part goes on that has read nothing.
const far = 1 << 40

func (l *late) SelectLines(ctx context.Context, no campaign.RunNo, f campaign.LineFilter, from int64, n int) (
	page []campaign.Line, next int64, err error) {
	if l.parts > 0 {
		l.parts--
		time.Sleep(time.Millisecond)
		return nil, from%far + far, nil
	}
	return l.Ledger.SelectLines(ctx, no, f, from%far, n)
}

// A part of the rows is what is read in some milliseconds.
func TestAPageLooksOnUntilItHasARow(t *testing.T) {
	w := newWorld(t)
	w.outcomes(t)
	l := &late{Ledger: w.session.Ledger}
	w.Server.process.Session.Ledger = l
	const rows = "/console/runs/spring-1/deliveries"
	get := func(path string, parts int) string {
		l.parts = parts
		return w.request(path, "read", nil).Body.String()
	}
	for _, path := range []string{rows, rows + "?status=skipped", rows + "?reason=expired",
		"/console/runs/spring-1/recipient?to=%2B2348031234561"} {
		if got, want := get(path, 3), get(path, 0); got != want {
			t.Errorf("%s after 3 parts without a row: got %s, want %s", path, got, want)
		}
	}
	const on = "No row of this part matches; the next page goes on."
	if got := get(rows+"?reason=expired", 1<<20); !strings.Contains(got, on) {
		t.Errorf("parts without end: got %s, want %q", got, on)
	}
}
