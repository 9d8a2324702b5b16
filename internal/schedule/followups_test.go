package schedule

import (
	"bytes"
	"context"
	"errors"
	"iter"
	"log/slog"
	"strings"
	"testing"
	"time"

	"campaignd/campaign"
	"campaignd/campaign/file"
	"campaignd/campaign/launch"
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

// ended makes the first run of the ledger, which has ended.
func (s *scene) ended(policies string) campaign.Run {
	s.Helper()
	run, err := s.ledger.CreateRun(s.Context(), campaign.Run{Campaign: "spring", ListHash: "1", Wanted: campaign.WantRun,
		Header: []string{"to"}, Definition: []byte(springFile + policies)})
	if err != nil {
		s.Fatal(err)
	}
	if err := s.ledger.FinishImport(s.Context(), run.No, 0, campaign.Ready); err != nil {
		s.Fatal(err)
	}
	if _, err := s.ledger.SetState(s.Context(), run.No, []campaign.State{campaign.Ready}, campaign.Finished, "", ""); err != nil {
		s.Fatal(err)
	}
	if run, err = s.ledger.Run(s.Context(), run.No); err != nil {
		s.Fatal(err)
	}
	return run
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
		s.ended("policies: {follow_up: {codes: [131026]}}\n")
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

// dying is a ledger whose process dies before it has stored a row.
type dying struct{ campaign.Ledger }

func (dying) AppendRows(context.Context, campaign.RunNo, int64, []campaign.Delivery, []campaign.Segment) error {
	return errors.New("killed")
}

func TestAFollowUpOfADeadProcessIsFinished(t *testing.T) {
	s := newScene(t)
	parent, log := s.ended(""), &notes{}
	l := &dayLater{Ledger: s.ledger}
	_, err := launch.StartFollowUp(t.Context(), launch.FollowUpInput{Ledger: dying{l}, Parent: parent,
		Where: []launch.Where{{Status: campaign.Failed}}})
	if err == nil {
		t.Fatal("the process that dies: got no error, want one")
	}
	s.schedule.o.Ledger, s.schedule.o.Log, s.schedule.o.Config.Sending.Lease = l, logTo(log), 0
	for range 2 {
		launches := NewLauncher(s.schedule)
		s.schedule.ResumeImports(t.Context(), launches, new(sender.Engine), nil)
		launches.Wait()
	}
	run, err := s.ledger.Run(t.Context(), 2)
	if err != nil || run.State != campaign.Ready || run.Rows != 1 || run.Parent != parent.No {
		t.Errorf("got a run of %d that is %s with %d rows and %v, want a follow-up that is ready with 1 row",
			run.Parent, run.State, run.Rows, err)
	}
	if n := len(log.lines("interrupted import finished")); n != 1 {
		t.Errorf("got %d lines of the end of its import, want 1:\n%s", n, strings.Join(log.lines(""), ""))
	}
}
