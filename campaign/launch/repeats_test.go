package launch_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"campaignd/campaign"
	"campaignd/campaign/launch"
	"campaignd/campaign/reception"
)

// send sends a run to its end: every message is accepted, but those with a seq in failed fail.
func (r *relaunch) send(run campaign.Run, failed ...int64) campaign.Run {
	r.Helper()
	as := map[int64]campaign.Status{}
	for _, seq := range failed {
		as[seq] = campaign.Failed
	}
	return r.sendAs(run, as)
}

// sendAs is send with rows that become failed or unknown.
func (r *relaunch) sendAs(run campaign.Run, as map[int64]campaign.Status) campaign.Run {
	r.Helper()
	leases, err := r.ledger.Claim(r.Context(), campaign.Claim{Owner: "a", Connection: "conn_1", Runs: []campaign.RunNo{run.No}, Max: 100,
		Lease: time.Hour})
	if err != nil {
		r.Fatal(err)
	}
	for _, l := range leases {
		in := campaign.Intent{Lease: l, Connection: "conn_1", From: l.Mark, To: l.Hi, LeaveOut: run.LeaveOut}
		granted, err := r.ledger.Intend(r.Context(), []campaign.Intent{in})
		if err != nil || granted[0].To != l.Hi {
			r.Fatalf("%s: granted %+v and %v, want all", run.ID(), granted, err)
		}
		now := time.Now()
		for seq := l.Mark; seq < l.Hi; seq++ {
			if _, skipped := granted[0].Skipped[seq]; skipped {
				continue
			}
			id := fmt.Sprintf("wamid.%d.%d", run.No, seq)
			result := campaign.Result{Run: run.No, Seq: seq, Connection: "conn_1", Attempt: 1, Kind: campaign.ResultAccepted, MessageID: id,
				At: now, IntentAt: now, Epoch: l.Epoch}
			if as[seq] == campaign.Unknown {
				result.Kind, result.MessageID = campaign.ResultDoubt, ""
			}
			if err := r.ledger.Record(r.Context(), []campaign.Result{result}); err != nil {
				r.Fatal(err)
			}
			if as[seq] == campaign.Failed {
				if _, err := r.ledger.Apply(r.Context(), campaign.Events{Statuses: []campaign.StatusEvent{{MessageID: id, Connection: "conn_1",
					Status: campaign.Failed, Code: "131026", At: now, ReceivedAt: now}}}); err != nil {
					r.Fatal(err)
				}
			}
		}
		if _, err := r.ledger.Resolve(r.Context(), l, reception.Span{Until: time.Now().Add(time.Hour)}, campaign.UncertainHold); err != nil {
			r.Fatal(err)
		}
		if _, err := r.ledger.Park(r.Context(), l, time.Time{}, nil); err != nil {
			r.Fatal(err)
		}
	}
	if _, err := r.ledger.FinishRuns(r.Context()); err != nil {
		r.Fatal(err)
	}
	ended, err := r.ledger.Run(r.Context(), run.No)
	if err != nil || ended.State != campaign.Finished {
		r.Fatalf("got %s and %v, want a finished run", ended.State, err)
	}
	return ended
}

// autumn makes the launches of another campaign with the same template, in German.
func (r *relaunch) autumn(change ...string) *relaunch {
	r.Helper()
	other := *r
	text := strings.NewReplacer("spring-sale", "autumn-sale").Replace(springFile)
	other.file = overwrite(r.T, r.dir+"/autumn.yaml", strings.NewReplacer(change...).Replace(text))
	return &other
}

// The list has two people of the first run and one more.
const (
	autumnList = "phone,first_name,discount,slug\n+2348031234501,Ada,20 %,a\n+2348031234502,Obi,20 %,b\n+2348031234777,Femi,20 %,x\n"
	sentOf     = "2 of 3 got this template since "
)

// People are compared by their template, whatever campaign and list: a launch by hand stops before
// anything is stored, and a person chooses.
func TestALaunchByHandStopsBeforeItSendsAgain(t *testing.T) {
	r := newRelaunch(t)
	first := r.send(start(t, r.of("list.csv", springList, "")).Run)
	autumn := r.autumn()
	out, err := autumn.of("autumn.csv", autumnList, "").Start(t.Context())
	var sent *launch.SentBeforeError
	if !errors.As(err, &sent) || sent.People != 2 || sent.Of != 3 || sent.Runs[0] != first.ID() || out.Run.No != 0 {
		t.Fatalf("got %+v and %v, want 2 of 3, of run 1, and no run", out.Run, err)
	}
	if text := err.Error(); !strings.HasPrefix(text, sentOf) || !strings.Contains(text, "--leave-out-sent") ||
		!strings.Contains(text, "--send-again") || strings.Contains(text, "about to") {
		t.Errorf("got %q, want how many, since when, and both ways out", text)
	}
	if reason, facts := launch.RefusalOf(err); reason != launch.RefusedRepeat || facts["run"] != first.ID() {
		t.Errorf("got the reason %q with %v, want sent_before and the run", reason, facts)
	}
	if runs, err := r.ledger.Runs(t.Context(), campaign.RunFilter{}); err != nil || len(runs) != 1 {
		t.Errorf("got %d runs and %v, want 1: nothing is stored", len(runs), err)
	}
	again := autumn.of("autumn.csv", autumnList, "")
	again.SendAgain = true
	if out := start(t, again); !out.Imported || out.Run.LeaveOut {
		t.Errorf("to all of them: got %+v, want a run that leaves out nobody", out.Run)
	}
}

// Messages count that were sent or may have been, of the template, within the time.
func TestWhoGotTheTemplateBefore(t *testing.T) {
	for name, c := range map[string]struct {
		change []string // of the second campaign
		failed bool     // the messages of the first run failed
		cancel bool     // the first run was cancelled before it began
		within time.Duration
		want   bool
	}{
		"another campaign":           {want: true},
		"another language":           {change: []string{"en_US", "en_GB"}, want: true},
		"another template":           {change: []string{"name: spring_sale", "name: other"}},
		"messages that failed":       {failed: true},
		"a run that never began":     {cancel: true},
		"messages of before its end": {within: time.Nanosecond},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRelaunch(t)
			run := start(t, r.of("list.csv", springList, "")).Run
			switch {
			case c.cancel:
				if _, err := r.ledger.SetWanted(t.Context(), run.No, campaign.WantCancel, ""); err != nil {
					t.Fatal(err)
				}
			case c.failed:
				r.send(run, 0, 1, 2, 3, 4)
			default:
				r.send(run)
			}
			time.Sleep(2 * time.Millisecond) // the ledger's times are in milliseconds
			l := r.autumn(c.change...).of("autumn.csv", autumnList, "")
			l.Service, l.SentWithin = nil, c.within
			_, err := l.Start(t.Context())
			if sent := (*launch.SentBeforeError)(nil); errors.As(err, &sent) != c.want {
				t.Errorf("got %v, want that it is refused: %v", err, c.want)
			}
		})
	}
}

// Whom a run of another campaign sends to only later is left out too: in the intent.
func TestPeopleAreLeftOutUntilTheirIntent(t *testing.T) {
	r := newRelaunch(t)
	r.send(start(t, r.of("list.csv", springList, "")).Run)
	l := r.autumn().of("autumn.csv", autumnList, "")
	l.LeaveOutSent = true
	var checked *launch.Preflight
	l.Checked = func(p *launch.Preflight) { checked = p }
	run := start(t, l).Run
	if !run.LeaveOut || checked.Skipped[campaign.SentBefore] != 2 || checked.Sendable != 1 {
		t.Errorf("got %+v, skipped %v, want a run that leaves out 2 and sends to 1", run, checked.Skipped)
	}
	late := newRelaunchIn(r, "winter-sale")
	w := late.of("winter.csv", "phone,first_name,discount,slug\n+2348031234777,Femi,20 %,x\n", "")
	w.SendAgain = true
	late.send(start(t, w).Run)
	run = r.send(run)
	lines := map[campaign.Status]int{}
	for line, err := range r.ledger.Lines(t.Context(), run.No) {
		if err != nil {
			t.Fatal(err)
		}
		if lines[line.Status]++; line.Reason != string(campaign.SentBefore) {
			t.Errorf("%s: got %s %q, want skipped as sent_before", line.To, line.Status, line.Reason)
		}
	}
	if lines[campaign.Skipped] != 3 {
		t.Errorf("got %v, want all 3 skipped: a later run has sent to the third", lines)
	}
}

func newRelaunchIn(r *relaunch, name string) *relaunch {
	other := *r
	other.file = overwrite(r.T, r.dir+"/"+name+".yaml", strings.Replace(springFile, "spring-sale", name, 1))
	return &other
}

// Without a person, runs of other campaigns cause a warning in the history and a notification, and
// the policy of the campaign decides.
func TestALaunchWithoutAPersonWarnsOrDoesAsItsPolicySays(t *testing.T) {
	for policy, c := range map[string]struct{ launched, leftOut, noted bool }{
		"": {true, false, true}, "leave_out": {true, true, false}, "refuse": {},
	} {
		for _, key := range []string{campaign.FiringKey + "2026-11-02T09:00", campaign.DropKey + "7"} {
			t.Run(policy+" "+key[:4], func(t *testing.T) {
				r := newRelaunch(t)
				r.send(start(t, r.of("list.csv", springList, "")).Run)
				file := springFile
				if policy != "" {
					file += "policies: {sent_before: " + policy + "}\n"
				}
				autumn := *r
				autumn.file = overwrite(t, r.dir+"/autumn.yaml", strings.Replace(file, "spring-sale", "autumn-sale", 1))
				out, err := autumn.of("autumn.csv", autumnList, key).Start(t.Context())
				var sent *launch.SentBeforeError
				if errors.As(err, &sent) == c.launched || c.launched && err != nil || out.Run.LeaveOut != c.leftOut {
					t.Fatalf("got %+v and %v, want launched %v and left out %v", out.Run, err, c.launched, c.leftOut)
				}
				if !c.launched {
					return
				}
				h, err := r.ledger.History(t.Context(), out.Run.No)
				if err != nil {
					t.Fatal(err)
				}
				noted := ""
				for _, e := range h.Entries {
					if e.Kind == campaign.HistoryRepeats {
						noted += e.Detail
					}
				}
				if strings.HasPrefix(noted, sentOf) != c.noted {
					t.Errorf("got the history %q, want a warning: %v", noted, c.noted)
				}
			})
		}
	}
}

// A recurring campaign sends its template to the same people each time.
func TestARecurringCampaignSendsToItsPeopleAgain(t *testing.T) {
	r := newRelaunch(t)
	r.file = overwrite(t, r.file, springFile+"policies: {sent_before: refuse}\n")
	r.send(start(t, r.of("list.csv", springList, campaign.FiringKey+"1")).Run)
	if out := start(t, r.of("list.csv", springList, campaign.FiringKey+"2")); !out.Imported {
		t.Errorf("got %+v, want a second run", out)
	}
}

// A follow-up sends the template of its parent to people of its parent, and that is no repetition.
// A message that another campaign sent them meanwhile is one.
func TestAFollowUpIsNotComparedWithItsParents(t *testing.T) {
	r := newRelaunch(t)
	parent := r.send(start(t, r.of("list.csv", springList, "")).Run, 0, 1)
	in := launch.FollowUpInput{Ledger: r.ledger, Parent: parent, Where: []launch.Where{{Status: campaign.Failed}}}
	all := springList // every person of it
	other := r.autumn().of("autumn.csv", all, "")
	other.SendAgain = true
	sent := r.send(start(t, other).Run)
	var repeats *launch.SentBeforeError
	if f, err := launch.StartFollowUp(t.Context(), in); !errors.As(err, &repeats) || repeats.People != 2 || repeats.Runs[0] != sent.ID() {
		t.Fatalf("got %+v and %v, want 2 of 2 of %s", f.Run, err, sent.ID())
	}
	in.DryRun = true
	if f, err := launch.StartFollowUp(t.Context(), in); err != nil || f.SentBefore.People != 2 {
		t.Errorf("a dry run: got %+v and %v, want that 2 got it", f.SentBefore, err)
	}
	in.DryRun, in.LeaveOutSent = false, true
	f, err := launch.StartFollowUp(t.Context(), in)
	if err != nil || !f.Run.LeaveOut {
		t.Fatalf("left out: got %+v and %v, want a run that leaves them out", f.Run, err)
	}
	ended := r.send(f.Run)
	where, err := launch.ParseWhere("skipped=sent_before")
	if err != nil {
		t.Fatal(err)
	}
	in = launch.FollowUpInput{Ledger: r.ledger, Parent: ended, Where: []launch.Where{{Status: campaign.Skipped}}}
	if f, err := launch.StartFollowUp(t.Context(), in); !errors.Is(err, launch.ErrNobody) {
		t.Errorf("--where skipped: got %+v and %v, want nobody: the reason must be named", f.Run, err)
	}
	in.Where, in.SendAgain = []launch.Where{where}, true
	if f, err := launch.StartFollowUp(t.Context(), in); err != nil || f.Chosen != 2 {
		t.Errorf("--where skipped=sent_before: got %+v and %v, want 2 rows", f.Run, err)
	}
}

// The parent itself, and its own parent, may have sent to the same people: the rows are unknown.
func TestRowsThatAreUnknownInAParentAreNoRepeats(t *testing.T) {
	r := newRelaunch(t)
	run := start(t, r.of("list.csv", springList, "")).Run
	where := []launch.Where{{Status: campaign.Unknown}}
	for generation := range 2 {
		ended := r.sendAs(run, map[int64]campaign.Status{0: campaign.Unknown, 1: campaign.Unknown})
		f, err := launch.StartFollowUp(t.Context(), launch.FollowUpInput{Ledger: r.ledger, Parent: ended, Where: where})
		if err != nil || f.Chosen != 2 {
			t.Fatalf("follow-up %d: got %d rows and %v, want 2", generation+1, f.Chosen, err)
		}
		run = f.Run
	}
}
