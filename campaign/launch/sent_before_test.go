package launch_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"campaignd/campaign"
	"campaignd/campaign/launch"
	"campaignd/recipients"
)

// relaunch is a ledger with the spring campaign, and a folder for lists.
type relaunch struct {
	*testing.T
	dir, file string
	ledger    campaign.Ledger
}

func newRelaunch(t *testing.T) *relaunch {
	t.Helper()
	dir := t.TempDir()
	return &relaunch{t, dir, overwrite(t, filepath.Join(dir, "spring.yaml"), springFile), openLedger(t)}
}

// of is a launch of a list with the content text.
func (r *relaunch) of(name, text, key string) launch.Request {
	return launch.Request{Ledger: r.ledger, Service: service(), File: r.file, List: overwrite(r.T, filepath.Join(r.dir, name), text),
		Key: key, Owner: name, NoWait: key != ""}
}

// end brings a run to state.
func (r *relaunch) end(run campaign.Run, state campaign.State) {
	r.Helper()
	if moved, err := r.ledger.SetState(r.Context(), run.No, []campaign.State{run.State}, state, "", ""); err != nil || !moved {
		r.Fatalf("%s: moved to %s %v and %v, want true and no error", run.ID(), state, moved, err)
	}
}

// A list whose bytes changed and whose numbers did not is refused by one rule, however it comes.
func TestAReSavedListIsRefusedHoweverItComes(t *testing.T) {
	crlf := strings.ReplaceAll(springList, "\n", "\r\n")
	const others = "phone,first_name,discount,slug\n+2348031234777,Femi,20 %,x\n"
	for name, key := range map[string]string{"run and launch": "", "a watched folder": campaign.DropKey + "2"} {
		t.Run(name, func(t *testing.T) {
			r := newRelaunch(t)
			first := start(t, r.of("list.csv", springList, campaign.DropKey+"1")).Run
			launched, err := r.of("crlf.csv", crlf, key).Start(t.Context())
			var unfinished *launch.UnfinishedError
			if !errors.As(err, &unfinished) || unfinished.Run.No != first.No || unfinished.Difference.Both != 5 {
				t.Fatalf("beside the unfinished run: got %+v and %v, want run 1 and 5 numbers in both", launched.Run, err)
			}
			r.send(first)
			launched, err = r.of("crlf.csv", crlf, key).Start(t.Context())
			var repeat *launch.RepeatError
			var sent *launch.SentBeforeError
			if key == "" {
				if !errors.As(err, &sent) || sent.People != 5 || sent.Runs[0] != first.ID() {
					t.Fatalf("after the run: got %+v and %v, want run 1 and 5 people", launched.Run, err)
				}
			} else if !errors.As(err, &repeat) || repeat.Run.No != first.No || repeat.Difference.Both != 5 || repeat.Difference.Changed != 0 {
				t.Fatalf("after the run: got %+v and %v, want run 1 and 5 numbers in both", launched.Run, err)
			}
			second := start(t, r.of("others.csv", others, key))
			third := start(t, r.of("more.csv", strings.Replace(others, "777", "778", 1), campaign.DropKey+"3"))
			if !second.Imported || !third.Imported {
				t.Errorf("lists of other people, one beside the other: got %+v and %+v, want both launched", second, third)
			}
			again := r.of("crlf.csv", crlf, campaign.DropKey+"4")
			again.Again = true
			if fourth := start(t, again); !fourth.Imported {
				t.Errorf("with again: got %+v, want a run", fourth)
			}
		})
	}
}

// earlierVersion is a ledger whose rows an earlier version stored under the other key of a number.
type earlierVersion struct{ campaign.Ledger }

func (l earlierVersion) SentRows(ctx context.Context, no campaign.RunNo, f campaign.SentFilter) iter.Seq2[campaign.SentRow, error] {
	return func(yield func(campaign.SentRow, error) bool) {
		for row, err := range l.Ledger.SentRows(ctx, no, f) {
			row.Key = recipients.Other(row.Key)
			if !yield(row, err) {
				return
			}
		}
	}
}

func (l earlierVersion) Lines(ctx context.Context, no campaign.RunNo) iter.Seq2[campaign.Line, error] {
	return func(yield func(campaign.Line, error) bool) {
		for line, err := range l.Ledger.Lines(ctx, no) {
			line.Key = recipients.Other(line.Key)
			if !yield(line, err) {
				return
			}
		}
	}
}

// A number with two spellings is the same person, whichever version sent to it.
func TestTheOtherSpellingOfANumberWasSentTo(t *testing.T) {
	const long = "phone,first_name,discount,slug\n+5491123456789,Ada,20 %,x\n"
	const other = "phone,first_name,discount,slug\n+541123456789,Ada,20 %,x\n"
	r := newRelaunch(t)
	first := start(t, r.of("list.csv", long, "")).Run
	r.send(first)
	r.ledger = earlierVersion{r.ledger}
	for name, text := range map[string]string{"same.csv": strings.ReplaceAll(long, "\n", "\r\n"), "short.csv": other} {
		var sent *launch.SentBeforeError
		if out, err := r.of(name, text, "").Start(t.Context()); !errors.As(err, &sent) || sent.People != 1 {
			t.Errorf("%s: got the run %+v and %v, want that %s sent to its number", name, out.Run, err, first.ID())
		}
		var repeat *launch.RepeatError
		if out, err := r.of(name, text, campaign.DropKey+"9").Start(t.Context()); !errors.As(err, &repeat) || repeat.Run.No != first.No {
			t.Errorf("%s, dropped: got the run %+v and %v, want that %s had its number", name, out.Run, err, first.ID())
		}
	}
}

// Two lists with the same numbers that are launched at once find each other's run.
func TestTwoListsWithOneNumberAtOnceAreOneRun(t *testing.T) {
	r := newRelaunch(t)
	var launches sync.WaitGroup
	results := make([]error, 4)
	for i := range results {
		l := r.of(fmt.Sprintf("list%d.csv", i), springList+strings.Repeat("\n", i), fmt.Sprint(campaign.DropKey, i+1))
		launches.Go(func() { _, results[i] = l.Start(t.Context()) })
	}
	launches.Wait()
	launched := 0
	for i, err := range results {
		var unfinished *launch.UnfinishedError
		if err == nil {
			launched++
		} else if !errors.As(err, &unfinished) {
			t.Errorf("list %d: got %v, want a run or that another list has its numbers", i, err)
		}
	}
	runs, err := r.ledger.Runs(t.Context(), campaign.RunFilter{})
	if err != nil || launched != 1 || len(runs) != 1 {
		t.Errorf("got %d launches, %d runs and %v, want one of each", launched, len(runs), err)
	}
}

// A list is not compared with the few runs before it alone.
func TestAListIsComparedWithMoreThanTwentyRuns(t *testing.T) {
	r := newRelaunch(t)
	const list = "phone,first_name,discount,slug\n+2348031230%03d,Femi,20 %%,x\n"
	for i := range 30 {
		r.end(start(t, r.of("list.csv", fmt.Sprintf(list, i), fmt.Sprint(campaign.DropKey, i+1))).Run, campaign.Finished)
	}
	launched, err := r.of("list.csv", fmt.Sprintf(list, 2)+"\n", campaign.DropKey+"99").Start(t.Context())
	var repeat *launch.RepeatError
	if !errors.As(err, &repeat) || repeat.Run.No != 3 {
		t.Errorf("got %+v and %v, want that run 3 had its number", launched.Run, err)
	}
}

// The rows of a cancelled run that a follow-up run sent are rows of an earlier run.
func TestPeopleOfAFollowUpWereSentTo(t *testing.T) {
	r := newRelaunch(t)
	first := start(t, r.of("list.csv", springList, "")).Run
	leases, err := r.ledger.Claim(t.Context(), campaign.Claim{Owner: "test", Connection: "conn_1", Runs: []campaign.RunNo{first.No}, Max: 9,
		Lease: time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	for _, lease := range leases {
		if _, err := r.ledger.SkipQueued(t.Context(), lease, campaign.RunCancelled); err != nil {
			t.Fatal(err)
		}
	}
	first.State = campaign.Running
	r.end(first, campaign.Cancelled)
	run, err := r.ledger.Run(t.Context(), first.No)
	if err != nil {
		t.Fatal(err)
	}
	where, err := launch.ParseWhere("skipped=cancelled")
	if err != nil {
		t.Fatal(err)
	}
	follow, err := launch.StartFollowUp(t.Context(), launch.FollowUpInput{Ledger: r.ledger, Parent: run, Where: []launch.Where{where}})
	if err != nil || follow.Chosen != 5 {
		t.Fatalf("the follow-up: got %d rows and %v, want 5", follow.Chosen, err)
	}
	launched, err := r.of("crlf.csv", strings.ReplaceAll(springList, "\n", "\r\n"), "").Start(t.Context())
	var sent *launch.SentBeforeError
	if !errors.As(err, &sent) || sent.Runs[0] != follow.Run.ID() {
		t.Errorf("got %+v and %v, want that %s had its numbers", launched.Run, err, follow.Run.ID())
	}
}

func TestALaunchSaysThatItWaits(t *testing.T) {
	r := newRelaunch(t)
	lease, ok, err := r.ledger.AcquireJob(t.Context(), "launch spring-sale", "another", time.Minute)
	if err != nil || !ok {
		t.Fatalf("got %v and %v, want the job", ok, err)
	}
	l := r.of("list.csv", springList, "")
	var once sync.Once
	l.Progress = func(phase string, _ int64) {
		if phase == "waiting" {
			once.Do(func() {
				if err := r.ledger.ReleaseJob(t.Context(), lease); err != nil {
					t.Error(err)
				}
			})
		}
	}
	if launched := start(t, l); !launched.Imported {
		t.Errorf("got %+v, want a run after the other launch", launched)
	}
}
