package launch_test

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"campaignd/campaign"
	"campaignd/campaign/launch"
)

// A launch that waits for another one of the campaign looks again: the other one may have made a
// run of the same bytes, under a launch key of its own.
func TestALaunchFindsTheRunThatWasMadeWhileItWaited(t *testing.T) {
	named := fmt.Sprintf("new %x", sha256.Sum256([]byte("k")))
	unfinished := func(_ launch.Outcome, err error) bool { return errors.As(err, new(*launch.UnfinishedError)) }
	resumed := func(out launch.Outcome, err error) bool { return err == nil && out.Run.No == 1 && out.Resumed }
	for name, c := range map[string]struct {
		key, other string // the launch keys of the launch and of the run that was made
		new, ended bool
		another    bool // the run has another list
		want       func(launch.Outcome, error) bool
	}{
		"--new beside run and launch": {new: true, want: unfinished},
		"--new beside a firing":       {other: campaign.FiringKey + "9", new: true, want: unfinished},
		"the same request":            {other: named, new: true, want: resumed},
		"its key with another list": {other: named, new: true, another: true,
			want: func(_ launch.Outcome, err error) bool { return errors.Is(err, launch.ErrKeyUsed) }},
		"beside --new": {other: named, want: resumed},
		"after a dropped file": {other: campaign.DropKey + "1", ended: true,
			want: func(out launch.Outcome, err error) bool { return err == nil && out.Run.No == 1 && out.Ended }},
		"a dropped file": {key: campaign.DropKey + "1",
			want: func(_ launch.Outcome, err error) bool {
				return err != nil && strings.HasSuffix(err.Error(), "-1 has the same content and was launched meanwhile")
			}},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRelaunch(t)
			lease, ok, err := r.ledger.AcquireJob(t.Context(), "launch spring-sale", "another", time.Minute)
			if err != nil || !ok {
				t.Fatalf("got %v and %v, want the job", ok, err)
			}
			l := r.of("list.csv", springList, c.key)
			l.New, l.NewKey = c.new, "k"
			var once sync.Once
			l.Progress = func(phase string, _ int64) {
				if phase == "waiting" {
					once.Do(func() {
						list := springList
						if c.another {
							list += "\n"
						}
						r.made(list, c.other, c.ended)
						if err := r.ledger.ReleaseJob(t.Context(), lease); err != nil {
							t.Error(err)
						}
					})
				}
			}
			out, err := l.Start(t.Context())
			if !c.want(out, err) {
				t.Errorf("got %+v and %v", out, err)
			}
			if runs, err := r.ledger.Runs(t.Context(), campaign.RunFilter{}); err != nil || len(runs) != 1 {
				t.Errorf("got %d runs and %v, want one: two would send to everybody twice", len(runs), err)
			}
		})
	}
}

// made makes a run of a list, as another process does.
func (r *relaunch) made(list, key string, ended bool) {
	r.Helper()
	run, err := r.ledger.CreateRun(r.Context(), campaign.Run{Campaign: "spring-sale", Launch: key, Wanted: campaign.WantRun,
		ListHash: fmt.Sprintf("%x", sha256.Sum256([]byte(list))), Definition: []byte(springFile)})
	if err == nil {
		err = r.ledger.FinishImport(r.Context(), run.No, 0, campaign.Ready)
	}
	if err != nil {
		r.Fatal(err)
	}
	if run.State = campaign.Ready; ended {
		r.end(run, campaign.Finished)
	}
}
