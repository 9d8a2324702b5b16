package schedule

import (
	"context"
	"errors"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"campaignd/campaign"
	"campaignd/campaign/file"
	"campaignd/campaign/launch"
	"campaignd/campaign/sender"
)

// unnoted is a ledger that takes no firing.
type unnoted struct {
	campaign.Ledger
	fault error
}

func (l unnoted) NoteFiring(context.Context, campaign.Firing) (bool, error) { return false, l.fault }

// The launch fails too, so that both causes must be in the error.
func TestAFiringThatCannotBeNotedIsAnError(t *testing.T) {
	c, disk := newScene(t), errors.New("disk is full")
	c.schedule.o.Ledger = unnoted{c.ledger, disk}
	c.schedule.o.Service = silent{}
	c.schedule.o.Check = func(context.Context, string) func(*launch.Preflight) { return nil }
	s, at := hourly(t, ""), time.Date(2026, 11, 20, 9, 0, 0, 0, time.UTC)
	err := c.schedule.Fire(t.Context(), s, campaign.Firing{Campaign: "spring", Key: "2026-11-20T09:00:00Z", At: at}, &sender.Engine{})
	var failed *firingError
	if !errors.Is(err, disk) || !errors.As(err, &failed) {
		t.Errorf("got %v, want the failure of the launch, and that of the note: %v", err, disk)
	}
}

// rows is a ledger with one run and the rows that the test gives.
type rows struct {
	campaign.Ledger
	tallies []campaign.Tally
}

func (rows) Backlog(context.Context, campaign.RunNo) (map[string]int64, error) { return nil, nil }

func (l rows) Tallies(context.Context, campaign.RunNo) ([]campaign.Tally, campaign.Funnel, error) {
	return l.tallies, campaign.Funnel{}, nil
}

// A run whose rows are all decided ends within a moment. A firing waits for it, as it does for one
// that still sends; it passes a run of which doubts are left.
func TestOnlyARunWithDoubtsLeftIsPassed(t *testing.T) {
	run := campaign.Run{No: 3, Campaign: "spring", State: campaign.Running, Definition: []byte(springFile)}
	for _, tt := range []struct {
		name    string
		tallies []campaign.Tally
		want    bool
	}{
		{"all decided", []campaign.Tally{{Status: campaign.Accepted, N: 2}}, true},
		{"one in doubt", []campaign.Tally{{Status: campaign.Accepted, N: 2}, {Status: campaign.InDoubt, N: 1}}, false},
		{"one in doubt and one queued", []campaign.Tally{{Status: campaign.InDoubt, N: 1}, {Status: campaign.Queued, N: 1}}, true},
		{"one in doubt and one being sent", []campaign.Tally{{Status: campaign.InDoubt, N: 1}, {Status: campaign.Sending, N: 1}}, true},
	} {
		sending, err := New(Options{Ledger: rows{tallies: tt.tallies}}).sendingOf(t.Context(), []campaign.Run{run})
		if err != nil || len(sending) == 1 != tt.want {
			t.Errorf("%s: a firing waits for %d runs, %v; want it to wait: %v", tt.name, len(sending), err, tt.want)
		}
	}
}

// A file that was changed and changed back is as it was: the same change, seen again, may be half
// written again.
func TestAChangeIsTakenAfterTwoLooksInARow(t *testing.T) {
	dir := t.TempDir()
	path, d := filepath.Join(dir, "spring.yaml"), NewFolder(dir)
	nine, ten := []string{"spring 0 9 * * *"}, []string{"spring 0 10 * * *"}
	for i, look := range []struct {
		cron string
		want []string
	}{{"0 9 * * *", nine}, {"0 10 * * *", nine}, {"0 9 * * *", nine}, {"0 10 * * *", nine}, {"0 10 * * *", ten}} {
		put(t, path, named("spring", look.cron))
		if got, faults := looked(d); !slices.Equal(got, look.want) || faults != "" {
			t.Errorf("look %d: got %q and %q, want %q", i+1, got, faults, look.want)
		}
	}
}

// The folder may be written with a slash at its end or a dot before it. Callers of the API learn
// nothing of the folders of this machine.
func TestNoFindingNamesTheFolder(t *testing.T) {
	for _, dir := range []string{"/etc/campaigns", "/etc/campaigns/", "/etc//campaigns", "./campaigns"} {
		found := []file.Finding{
			{Where: dir + "/a.yaml:3", What: dir + "/a.yaml has no list", Remedy: "write " + dir + "/a.csv"},
			{Where: filepath.Clean(dir) + "/a.yaml:3"},
		}
		want := []file.Finding{{Where: "a.yaml:3", What: "a.yaml has no list", Remedy: "write a.csv"}, {Where: "a.yaml:3"}}
		if diff := cmp.Diff(want, WithoutFolder(dir, found)); diff != "" {
			t.Errorf("%s -want +got:\n%s", dir, diff)
		}
		if found[0].Where != dir+"/a.yaml:3" {
			t.Errorf("%s: the argument was changed to %+v", dir, found[0])
		}
	}
}
