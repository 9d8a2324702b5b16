package schedule

import (
	"bytes"
	"context"
	"iter"
	"log/slog"
	"strings"
	"testing"
	"time"

	"campaignd/campaign"
	"campaignd/campaign/file"
	"campaignd/campaign/reception"
	"campaignd/campaign/sender"
)

// dayLater is a ledger a day after its first run ended with a row that failed.
type dayLater struct {
	campaign.Ledger
	lost []reception.LostTime
}

func (l *dayLater) LostTimes(context.Context) ([]reception.LostTime, error) { return l.lost, nil }

func (l *dayLater) Runs(ctx context.Context, f campaign.RunFilter) ([]campaign.Run, error) {
	runs, err := l.Ledger.Runs(ctx, f)
	for i := range runs {
		if r := &runs[i]; r.Parent == 0 {
			r.CreatedAt, r.EndedAt = r.CreatedAt.Add(-26*time.Hour), r.EndedAt.Add(-25*time.Hour)
		}
	}
	return runs, err
}

func (l *dayLater) Lines(ctx context.Context, no campaign.RunNo) iter.Seq2[campaign.Line, error] {
	if no != 1 {
		return l.Ledger.Lines(ctx, no)
	}
	return func(yield func(campaign.Line, error) bool) {
		yield(campaign.Line{Delivery: campaign.Delivery{Run: no, Row: 1, Key: 2348031234567, To: "+2348031234567"},
			Status: campaign.Failed, Code: "131026"}, nil)
	}
}

// The policy sends again what failed, but not after a quarantine of a ledger that may have lost the
// follow-up which was sent.
func TestTheScheduleMakesNoFollowUpThatMayBeLost(t *testing.T) {
	now := time.Now()
	for name, c := range map[string]struct {
		lost []reception.LostTime
		want int // runs
	}{
		"no time is lost": {nil, 2},
		"an hour is":      {[]reception.LostTime{{At: now, Since: now.Add(-time.Hour)}}, 1},
	} {
		s := newScene(t)
		run, err := s.ledger.CreateRun(t.Context(), campaign.Run{Campaign: "spring", ListHash: "1", Wanted: campaign.WantRun,
			Header: []string{"to"}, Definition: []byte(springFile + "policies: {follow_up: {codes: [131026]}}\n")})
		if err != nil {
			t.Fatal(err)
		}
		if err := s.ledger.FinishImport(t.Context(), run.No, 0, campaign.Ready); err != nil {
			t.Fatal(err)
		}
		if _, err := s.ledger.SetState(t.Context(), run.No, []campaign.State{campaign.Ready}, campaign.Finished, "", ""); err != nil {
			t.Fatal(err)
		}
		var log bytes.Buffer
		s.schedule.o.Ledger, s.schedule.o.Log = &dayLater{s.ledger, c.lost}, slog.New(slog.NewTextHandler(&log, nil))
		p := &policies{sc: s.schedule, engine: new(sender.Engine), defs: map[campaign.RunNo]*file.Definition{},
			again: map[campaign.RunNo]time.Time{}}
		for range 3 { // a wait of a minute is between two looks
			if err := p.followEach(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		runs, err := s.ledger.Runs(t.Context(), campaign.RunFilter{})
		if err != nil || len(runs) != c.want {
			t.Errorf("%s: got %d runs, %v, want %d", name, len(runs), err, c.want)
		}
		if got := strings.Count(log.String(), "may have lost"); got != 2-c.want {
			t.Errorf("%s: got %d warnings, want %d:\n%s", name, got, 2-c.want, log.String())
		}
	}
}
