package sender

import (
	"context"
	"testing"
	"time"

	"campaignd/campaign"
	"campaignd/campaign/launch"
)

// chainLedger has runs.
type chainLedger struct {
	parkLedger
	runs map[campaign.RunNo]campaign.Run
}

func (l *chainLedger) Run(_ context.Context, no campaign.RunNo) (campaign.Run, error) {
	r, ok := l.runs[no]
	if !ok {
		return r, campaign.ErrNoRun
	}
	return r, nil
}

// An automatic follow-up expires with the run that began its chain; that of an operator has a time
// of its own.
func TestAnAutomaticFollowUpExpiresWithItsFirstRun(t *testing.T) {
	launched := time.Date(2026, 3, 2, 9, 0, 0, 0, time.UTC)
	day := func(n int) time.Time { return launched.AddDate(0, 0, n) }
	l := &chainLedger{runs: map[campaign.RunNo]campaign.Run{
		1: {No: 1, CreatedAt: launched},
		2: {No: 2, CreatedAt: day(1), Parent: 1, Launch: launch.AutoFollowUp},
		3: {No: 3, CreatedAt: day(2), Parent: 2, Launch: launch.AutoFollowUp},
		4: {No: 4, CreatedAt: day(3), Parent: 1, Launch: "follow-up"},
		5: {No: 5, CreatedAt: day(4), Parent: 4, Launch: launch.AutoFollowUp},
	}}
	e, err := New(l, nil, nil, Options{Owner: "a"})
	if err != nil {
		t.Fatal(err)
	}
	for no, want := range map[campaign.RunNo]time.Time{1: launched, 2: launched, 3: launched, 4: day(3), 5: day(3)} {
		if got, err := e.launched(t.Context(), l.runs[no]); err != nil || !got.Equal(want) {
			t.Errorf("the time of run %d counts from %s, %v; want %s", no, got, err, want)
		}
	}
	if _, err := e.launched(t.Context(), campaign.Run{Parent: 9, Launch: launch.AutoFollowUp}); err == nil {
		t.Error("a follow-up of a run that is not there has a time, want an error")
	}
}
