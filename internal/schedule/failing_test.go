package schedule

import (
	"context"
	"fmt"
	"testing"
	"time"

	"campaignd/campaign"
	"campaignd/campaign/sender"
)

// talliedOf is a ledger whose rows became what a test says: of each run its delivered ones, and
// those that failed with one code.
type talliedOf struct {
	campaign.Ledger
	delivered, failed map[campaign.RunNo]int64
	code              string
}

func (l *talliedOf) Tallies(_ context.Context, no campaign.RunNo) ([]campaign.Tally, campaign.Funnel, error) {
	return []campaign.Tally{{Status: campaign.Accepted, N: 500}, {Status: campaign.Delivered, N: l.delivered[no]},
		{Status: campaign.Failed, Reason: l.code, N: l.failed[no]}}, campaign.Funnel{}, nil
}

// failingScene has runs that send, and the policies of a process.
func failingScene(t *testing.T, runs int) (*talliedOf, *policies) {
	t.Helper()
	s := newScene(t)
	for i := range runs {
		run, err := s.ledger.CreateRun(t.Context(), campaign.Run{Campaign: "spring", ListHash: fmt.Sprint(i), Template: "spring_sale",
			Language: "en_US", Definition: []byte(springFile)})
		if err != nil {
			t.Fatal(err)
		}
		rows := []campaign.Delivery{{Row: 2, Key: 2348030000000 + int64(i), To: fmt.Sprint("+", 2348030000000+i)}}
		if err := s.ledger.AppendRows(t.Context(), run.No, 0, rows, []campaign.Segment{{Run: run.No, Hi: 1}}); err != nil {
			t.Fatal(err)
		}
		if err := s.ledger.FinishImport(t.Context(), run.No, 1, campaign.Ready); err != nil {
			t.Fatal(err)
		}
		if _, err := s.ledger.Claim(t.Context(), campaign.Claim{Owner: "a", Connection: "conn_1", Runs: []campaign.RunNo{run.No}, Max: 1,
			Lease: time.Minute}); err != nil {
			t.Fatal(err)
		}
	}
	l := &talliedOf{s.ledger, map[campaign.RunNo]int64{}, map[campaign.RunNo]int64{}, "131053"}
	s.schedule.o.Ledger = l
	return l, newPolicies(s.schedule, new(sender.Engine), 0)
}

// look applies the policies, however soon after the last time.
func look(t *testing.T, p *policies) {
	t.Helper()
	for no, f := range p.fails {
		f.next = time.Time{}
		p.fails[no] = f
	}
	if err := p.look(t.Context()); err != nil {
		t.Fatal(err)
	}
}

func stateOf(t *testing.T, l campaign.Ledger, no campaign.RunNo) campaign.Run {
	t.Helper()
	run, err := l.Run(t.Context(), no)
	if err != nil {
		t.Fatal(err)
	}
	return run
}

// The answers were acceptances, so only the statuses can tell. It does not matter who took them.
func TestARunWhoseMessagesFailLaterIsPaused(t *testing.T) {
	for _, c := range []struct {
		code              string
		delivered, failed int64
		paused            bool
	}{
		{"131053", 0, 24, false}, {"131053", 0, 25, true}, {"131053", 6, 20, false}, {"131053", 5, 20, true}, {"132012", 5, 20, true},
		{"131000", 5, 20, true}, {"", 5, 20, true}, {"999999", 5, 20, true}, // the platform's fault, and unknown ones
		{"131026", 0, 500, false}, {"131049", 0, 500, false}, {"131050", 0, 500, false}, // of one person
		{"130429", 0, 500, false}, {"131042", 0, 500, false}, // these hold by themselves
	} {
		l, p := failingScene(t, 1)
		l.code, l.delivered[1], l.failed[1] = c.code, c.delivered, c.failed
		look(t, p)
		if run := stateOf(t, l, 1); (run.State == campaign.Paused) != c.paused || c.paused && run.Reason != campaign.PausedByBreaker {
			t.Errorf("%d failed with %q, %d delivered: got %s (%s) %s, want paused %v", c.failed, c.code, c.delivered, run.State, run.Reason,
				run.Detail, c.paused)
		}
	}
}

// What an operator has seen does not pause a run again, in this process or in another.
func TestOldFailuresPauseNoRunAgain(t *testing.T) {
	l, p := failingScene(t, 1)
	l.failed[1] = 100
	look(t, p)
	if got, want := stateOf(t, l, 1).Detail, "100 of the last 100 messages were accepted and failed later with 131053: the media could "+
		"not be processed, most often because its type does not match"; got != want {
		t.Errorf("got the detail %q, want %q", got, want)
	}
	l.failed[1] = 120 // the last of them come while it is paused
	look(t, p)
	if _, err := l.SetWanted(t.Context(), 1, campaign.WantRun, "ada"); err != nil {
		t.Fatal(err)
	}
	other := newPolicies(p.sc, new(sender.Engine), 0)
	for range 2 {
		look(t, p)
		look(t, other)
	}
	if run := stateOf(t, l, 1); run.State == campaign.Paused {
		t.Errorf("got %s (%s), want it to go on", run.State, run.Detail)
	}
	l.failed[1] = 145
	look(t, other)
	if run := stateOf(t, l, 1); run.State != campaign.Paused {
		t.Errorf("after 25 more: got %s, want it paused", run.State)
	}
}

// Many small runs of one template have too few messages each.
func TestATemplateThatFailsInSeveralRunsIsHeld(t *testing.T) {
	for runs, held := range map[int]bool{1: false, 3: true} {
		l, p := failingScene(t, runs)
		for no := range runs {
			l.failed[campaign.RunNo(no+1)] = 10
		}
		look(t, p)
		holds, err := l.Holds(t.Context(), false)
		if err != nil {
			t.Fatal(err)
		}
		want := fmt.Sprint(held, " /spring_sale/en_US 131053 true")
		got := "false /spring_sale/en_US 131053 true"
		if len(holds) == 1 {
			got = fmt.Sprint(holds[0].Scope == campaign.HoldTemplate, " ", holds[0].ID, " ", holds[0].Reason, " ", holds[0].Manual)
		}
		if got != want {
			t.Errorf("10 messages of each of %d runs failed: got %q, %+v; want %q", runs, got, holds, want)
		}
	}
}
