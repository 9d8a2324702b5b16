package daemon

import (
	"context"
	"errors"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"campaignd/campaign"
	"campaignd/internal/config"
)

// facts is a ledger with two runs, of which nobody sends the second, a missed firing and a wish.
type facts struct {
	campaign.Ledger
	missed time.Time
	fault  error
}

func (f facts) LastMissed(context.Context) (time.Time, error) { return f.missed, f.fault }

func (f facts) Unattributed(context.Context) (campaign.Unattributed, error) {
	return campaign.Unattributed{N: 3}, f.fault
}

func (f facts) Runs(_ context.Context, w campaign.RunFilter) ([]campaign.Run, error) {
	if !w.Unfinished {
		return nil, errors.New("got every run, want the unfinished ones")
	}
	return []campaign.Run{
		{No: 1, State: campaign.Running, Wanted: campaign.WantRun}, {No: 2, State: campaign.Ready, Wanted: campaign.WantRun},
		{No: 3, State: campaign.Paused, Wanted: campaign.WantPause},
	}, f.fault
}

func (f facts) Lanes(_ context.Context, no campaign.RunNo) ([]campaign.LaneReport, error) {
	if no == 1 {
		return []campaign.LaneReport{{Connection: "conn_1", LimitedBy: campaign.ByThroughput, At: time.Now()}}, f.fault
	}
	return nil, f.fault
}

func (f facts) SegmentStates(context.Context, campaign.RunNo) ([]campaign.SegmentState, error) {
	return []campaign.SegmentState{{Segment: campaign.Segment{Hi: 5}}}, f.fault
}

// A process that has just started has the same facts as any other: nothing is counted in it.
func TestFactsOfTheLedgerAreMeasuredAnywhere(t *testing.T) {
	t.Parallel()
	differ(t, scrape(t, factMetrics(facts{missed: time.Unix(1_900_000_000, 0)})), []string{
		"campaignd_firing_missed_timestamp_seconds gauge", "campaignd_firing_missed_timestamp_seconds 1.9e+09",
		"campaignd_runs_without_sender gauge", "campaignd_runs_without_sender 1",
		"campaignd_wishes_without_number gauge", "campaignd_wishes_without_number 3",
	})
	differ(t, scrape(t, factMetrics(facts{})), []string{
		"campaignd_runs_without_sender gauge", "campaignd_runs_without_sender 1",
		"campaignd_wishes_without_number gauge", "campaignd_wishes_without_number 3",
	})
	differ(t, scrape(t, factMetrics(facts{fault: campaign.ErrNoRun})), nil) // no value is not 0
}

func TestTheFreeSpaceOfEachDiskIsMeasured(t *testing.T) {
	t.Parallel()
	cfg := config.Default()
	cfg.Ledger, cfg.DataDir = "sqlite:"+filepath.Join(t.TempDir(), "l.db"), t.TempDir()
	page := strings.Join(scrape(t, diskMetrics(cfg)), "\n")
	for _, want := range []string{`{folder="ledger"} `, `{folder="data_dir"} `} {
		if !strings.Contains(page, "campaignd_disk_free_bytes"+want) {
			t.Errorf("got\n%s\nwant the folder %s", page, want)
		}
	}
	cfg.Ledger, cfg.DataDir = "postgres://db/c", ""
	differ(t, scrape(t, diskMetrics(cfg)), nil)
}
