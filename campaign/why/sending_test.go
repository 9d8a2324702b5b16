package why

import (
	"context"
	"errors"
	"testing"
	"time"

	"campaignd/campaign"
	"campaignd/campaign/wording"
)

// seen is a ledger with one run.
type seen struct {
	Ledger
	run      campaign.Run
	segments []campaign.SegmentState
	lanes    []campaign.LaneReport
	fault    error
}

func (s *seen) SegmentStates(context.Context, campaign.RunNo) ([]campaign.SegmentState, error) {
	return s.segments, s.fault
}

func (s *seen) Lanes(context.Context, campaign.RunNo) ([]campaign.LaneReport, error) {
	return s.lanes, s.fault
}

func TestASenderNamesWhatItsRunWaitsFor(t *testing.T) {
	now := time.Now()
	opens := now.Add(time.Hour)
	lane := func(limitedBy campaign.LimitedBy, age time.Duration) campaign.LaneReport {
		return campaign.LaneReport{Connection: "conn_1", LimitedBy: limitedBy, Detail: string(limitedBy) + " limits it", At: now.Add(-age)}
	}
	closed := campaign.SegmentState{Segment: campaign.Segment{Hi: 5}, WakeAt: opens}
	running := campaign.Run{No: 3, Campaign: "spring", State: campaign.Running}
	paused, approval := running, running
	hold := campaign.Hold{Scope: campaign.HoldConnection, ID: "conn_1", Reason: "operator", Source: campaign.HoldByOperator, Since: now}
	paused.State, paused.Reason, paused.Detail = campaign.Paused, campaign.PausedByBreaker, "it is refused"
	approval.State = campaign.WaitingApproval
	refused := "it is paused (breaker): it is refused; " + wording.Remedy("spring-3")
	for _, tt := range []struct {
		name string
		seen seen
		open int64
		want string
		held campaign.Hold
	}{
		{name: "a hold", seen: seen{run: running}, open: 5, want: wording.Hold(hold, now), held: hold},
		{name: "a pause", seen: seen{run: paused}, open: 5, want: refused},
		{name: "a pause with nothing open", seen: seen{run: paused}, open: 0, want: refused},
		{name: "approval", seen: seen{run: approval}, open: 5, want: "it waits for approval: `campaignd approve spring-3`"},
		{name: "nothing is open", seen: seen{run: running, lanes: []campaign.LaneReport{lane("ledger", 0)}}, open: 0, want: ""},
		{name: "a window", seen: seen{run: running, segments: []campaign.SegmentState{closed}, lanes: []campaign.LaneReport{lane("ledger", 0)}},
			open: 5,
			want: "its sending window is closed until " + opens.UTC().Format("2006-01-02 15:04") + " UTC"},
		{name: "a limit", seen: seen{run: running, lanes: []campaign.LaneReport{
			lane("throughput", 0), lane("none", 0), lane("limiter", 0), lane("ledger", 0),
		}}, open: 1, want: "conn_1: limiter limits it"},
		{name: "a sender that is gone", seen: seen{run: running, lanes: []campaign.LaneReport{lane("limiter", time.Hour), lane("ledger", 0)}},
			open: 5,
			want: "conn_1: ledger limits it"},
		{name: "only the pace", seen: seen{run: running, lanes: []campaign.LaneReport{lane("throughput", 0), lane("none", 0)}}, open: 5},
	} {
		got, err := Sending(t.Context(), &tt.seen, tt.seen.run, map[campaign.Status]int64{campaign.Queued: tt.open}, tt.held, now)
		if err != nil || got != tt.want {
			t.Errorf("%s: got %q and %v, want %q", tt.name, got, err, tt.want)
		}
	}
	away := errors.New("away")
	if _, err := Sending(t.Context(), &seen{fault: away}, running, map[campaign.Status]int64{campaign.Queued: 5},
		campaign.Hold{}, now); !errors.Is(err, away) {
		t.Errorf("a ledger that is away: got %v, want %v", err, away)
	}
}
