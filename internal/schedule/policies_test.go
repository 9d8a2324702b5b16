package schedule

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"campaignd/campaign"
	"campaignd/campaign/sender"
)

// torn is a ledger that cannot read the segments of some runs.
type torn struct {
	campaign.Ledger
	faults map[campaign.RunNo]error
	asked  []campaign.RunNo
}

func (l *torn) SegmentStates(ctx context.Context, no campaign.RunNo) ([]campaign.SegmentState, error) {
	l.asked = append(l.asked, no)
	if err := l.faults[no]; err != nil {
		return nil, err
	}
	return l.Ledger.SegmentStates(ctx, no)
}

func TestARunThatFailsStopsNoOthersPolicies(t *testing.T) {
	s := newScene(t)
	for i := range 3 {
		run, err := s.ledger.CreateRun(t.Context(), campaign.Run{Campaign: "spring", ListHash: fmt.Sprint(i), Wanted: campaign.WantRun,
			Definition: []byte(springFile + "policies: {canary: {count: 1}}\n")})
		if err != nil {
			t.Fatal(err)
		}
		if err := s.ledger.FinishImport(t.Context(), run.No, 0, campaign.Ready); err != nil {
			t.Fatal(err)
		}
	}
	l, log := &torn{Ledger: s.ledger}, &notes{}
	s.schedule.o.Ledger, s.schedule.o.Log = l, logTo(log)
	p := newPolicies(s.schedule, new(sender.Engine), 0)
	ended, end := context.WithCancel(t.Context())
	end()
	for _, c := range []struct {
		ctx    context.Context
		faults map[campaign.RunNo]error
		lines  []string // of the log
	}{
		{t.Context(), map[campaign.RunNo]error{2: errors.New("no page")}, []string{"level=ERROR run=spring-2 no page"}},
		{t.Context(), map[campaign.RunNo]error{2: errors.New("no page")}, nil},
		{t.Context(), map[campaign.RunNo]error{2: campaign.ErrUnwritable}, nil},
		{t.Context(), map[campaign.RunNo]error{2: errors.New("no row"), 3: errors.New("no page")},
			[]string{"level=ERROR run=spring-3 no page", "level=ERROR run=spring-2 no row failures_before=2"}},
		{t.Context(), map[campaign.RunNo]error{3: errors.New("no page")}, []string{"level=INFO run=spring-2 failures=1"}},
		{ended, map[campaign.RunNo]error{1: context.Canceled}, nil},
	} {
		before := len(log.lines(""))
		l.faults, l.asked = c.faults, nil
		_ = p.look(c.ctx) // an ended context is an error
		if c.ctx.Err() == nil && fmt.Sprint(l.asked) != "[3 2 1]" {
			t.Errorf("with %v: got the runs %v, want each of 3, 2 and 1", c.faults, l.asked)
		}
		got := log.lines("")[before:]
		if len(got) != len(c.lines) {
			t.Errorf("with %v: got %d lines, want %d:\n%s", c.faults, len(got), len(c.lines), strings.Join(got, ""))
			continue
		}
		for i, line := range c.lines {
			for _, part := range strings.Split(line, " ") {
				if !strings.Contains(got[i], part) {
					t.Errorf("with %v: got the line %q, want one with %q", c.faults, got[i], line)
				}
			}
		}
	}
}
