package daemon

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"campaignd/campaign"
	"campaignd/internal/config"
	"campaignd/internal/numbers"
)

// crowded is a ledger with unfinished runs whose segments cannot be read.
type crowded struct {
	campaign.Ledger
	runs  int
	fault error
}

func (l crowded) Runs(context.Context, campaign.RunFilter) (all []campaign.Run, err error) {
	for i := range l.runs {
		all = append(all, campaign.Run{No: campaign.RunNo(i + 1), Campaign: "spring", State: campaign.Running})
	}
	return all, nil
}

func (l crowded) SegmentStates(context.Context, campaign.RunNo) ([]campaign.SegmentState, error) {
	return nil, l.fault
}

// The first lines of a large installation's log stay readable: 20 runs and 20 campaigns are named,
// and all are counted.
func TestAStartNamesTwentyRunsAndCampaigns(t *testing.T) {
	cfg, lines := config.Default(), &notes{}
	cfg.Campaigns = t.TempDir()
	for i := range 22 {
		name := fmt.Sprintf("spring-%d", i)
		put(t, filepath.Join(cfg.Campaigns, name+".yaml"), strings.Replace(springFile, "name: spring", "name: "+name, 1)+dailySchedule)
	}
	d := &Daemon{cfg: cfg, ledger: crowded{runs: 21}, log: logTo(lines)}
	d.takeOver(t.Context())
	for what, want := range map[string]int{"campaign loaded": 20, "unfinished run": 20, "unfinished=21 running=21 paused=0 campaigns=22": 1} {
		if got := lines.lines(what); len(got) != want {
			t.Errorf("%s: got %d lines, want %d", what, len(got), want)
		}
	}
}

// A run whose segments cannot be read is not said to be free: the command that waits for its end
// asks again.
func TestARunThatCannotBeReadIsNotFree(t *testing.T) {
	cfg, away := config.Default(), errors.New("the ledger is away")
	d := &Daemon{cfg: cfg, directory: numbers.NewDirectory(cfg), ledger: crowded{fault: away}}
	holds := []campaign.Hold{{Scope: campaign.HoldConnection, ID: "conn_1"}}
	if _, err := d.heldBack(t.Context(), campaign.Run{No: 1, Campaign: "spring"}, holds); !errors.Is(err, away) {
		t.Errorf("with a hold: got %v, want %v", err, away)
	}
	if _, err := d.heldBack(t.Context(), campaign.Run{No: 1, Campaign: "spring"}, nil); err != nil {
		t.Errorf("without holds: got %v, want no error, because nothing is read", err)
	}
}
