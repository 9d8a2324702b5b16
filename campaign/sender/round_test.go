package sender

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"campaignd/campaign"
)

// desk is a ledger that grants every intent, by its From, and notes which numbers came together and when.
type desk struct {
	Ledger
	began time.Time
	err   error

	mu     sync.Mutex
	rounds []string
}

func (l *desk) Intend(_ context.Context, in []campaign.Intent) ([]campaign.Granted, error) {
	said := time.Since(l.began).String()
	var granted []campaign.Granted
	for _, i := range in {
		said += " " + i.Connection
		granted = append(granted, campaign.Granted{To: i.To})
	}
	l.mu.Lock()
	l.rounds = append(l.rounds, said)
	l.mu.Unlock()
	time.Sleep(3 * time.Millisecond)
	return granted, l.err
}

// gathering is an engine of n numbers that all have something to send, at 100/s: groups of five.
func gathering(t *testing.T, l *desk, n int) (*Engine, []*worker) {
	t.Helper()
	e, err := New(l, nil, nil, Options{Owner: "a", Pace: func(string) float64 { return 100 }})
	if err != nil {
		t.Fatal(err)
	}
	var all []*worker
	for i := range n {
		p := newWorker(e, fmt.Sprintf("conn_%d", i+1))
		p.planner.working = map[campaign.RunNo]bool{1: true}
		e.workers[p.number.connection] = p
		all = append(all, p)
	}
	l.began = time.Now()
	return e, all
}

// blank are shots that may be posted now.
func blank(n int) []*attempt {
	all := make([]*attempt, n)
	for i := range all {
		all[i] = &attempt{segment: newSegment(&run{}, campaign.Lease{}, nil)}
	}
	return all
}

func (p *worker) asks(from int64) []campaign.Intent {
	return []campaign.Intent{{Connection: p.number.connection, From: from, To: from + 5}}
}

func TestNumbersThatHaveRoomShareATransaction(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := &desk{}
		e, all := gathering(t, l, 4)
		all[3].queue.push(blank(8)) // room for two: less than half a group
		var others sync.WaitGroup
		for i, p := range all[1:3] {
			others.Go(func() {
				<-p.planner.poke // it is asked to come along
				if got, err := e.together(t.Context(), p.planner, p.asks(int64(100*i))); err != nil || len(got) != 1 || got[0].To != int64(100*i+5) {
					t.Errorf("%s was granted %+v %v", p.number.connection, got, err)
				}
			})
		}
		if got, err := e.together(t.Context(), all[0].planner, all[0].asks(7)); err != nil || len(got) != 1 || got[0].To != 12 {
			t.Errorf("granted %+v %v", got, err)
		}
		others.Wait()
		if want := []string{"0s conn_1 conn_2 conn_3"}; !slices.Equal(l.rounds, want) {
			t.Errorf("transactions %q, want %q", l.rounds, want)
		}
		if len(all[3].planner.poke) > 0 {
			t.Error("a number without room was asked to come along")
		}
	})
}

func TestARoundDoesNotWaitForWhoDoesNotCome(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := &desk{}
		e, all := gathering(t, l, 2)
		if _, err := e.together(t.Context(), all[0].planner, all[0].asks(0)); err != nil {
			t.Error(err)
		}
		time.Sleep(time.Second - time.Since(l.began))
		if _, err := e.together(t.Context(), all[1].planner, all[1].asks(0)); err != nil { // the round before is over
			t.Error(err)
		}
		if want := []string{"1ms conn_1", "1.001s conn_2"}; !slices.Equal(l.rounds, want) {
			t.Errorf("transactions %q, want %q", l.rounds, want)
		}
	})
}

func TestOneNumberAloneDoesNotWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := &desk{}
		e, all := gathering(t, l, 1)
		if _, err := e.together(t.Context(), all[0].planner, all[0].asks(0)); err != nil {
			t.Error(err)
		}
		if want := []string{"0s conn_1"}; !slices.Equal(l.rounds, want) {
			t.Errorf("transactions %q, want %q", l.rounds, want)
		}
	})
}

// A commit whose answer is lost is doubt for everybody who was in it: nobody may post.
func TestAFailedRoundFailsForEachOfIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := &desk{err: campaign.ErrUnknownCommit}
		e, all := gathering(t, l, 3)
		var asking sync.WaitGroup
		for _, p := range all {
			asking.Go(func() {
				if got, err := e.together(t.Context(), p.planner, p.asks(0)); !errors.Is(err, campaign.ErrUnknownCommit) || got != nil {
					t.Errorf("%s was granted %+v %v", p.number.connection, got, err)
				}
			})
		}
		asking.Wait()
		if len(l.rounds) != 1 {
			t.Errorf("transactions %q, want one", l.rounds)
		}
	})
}

// A number that other replicas send over too is short of shots later: at its own rate.
func TestWhoHasAShareOfTheRateAsksLessOften(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, all := gathering(t, &desk{}, 1)
		p := all[0]
		p.queue.push(blank(1))
		low := p.planner.ahead(time.Now(), 100) // its own rate is not known
		if got := low; got != 5 {
			t.Errorf("at first it is woken at %d shots, want a group of 5", got)
		}
		p.queue.push(blank(3))
		time.Sleep(time.Second)
		p.number.counts.posted.Add(25)
		low = p.planner.ahead(time.Now(), 100)
		if got := low; got != 2 {
			t.Errorf("at a quarter of the rate it is woken at %d shots, want 2", got)
		}
		time.Sleep(time.Second)
		p.number.counts.posted.Add(500)
		low = p.planner.ahead(time.Now(), 100)
		if got := low; got != 5 {
			t.Errorf("at all of the rate it is woken at %d shots, want a group of 5", got)
		}
		time.Sleep(2 * time.Second)
		p.number.counts.posted.Add(50)
		low = p.planner.ahead(time.Now(), 100)
		if got := low; got != 2 {
			t.Errorf("at a quarter of the rate for two seconds it is woken at %d shots, want 2", got)
		}
		time.Sleep(time.Second)
		p.number.counts.posted.Add(25)
		p.queue.remove(func(*attempt) bool { return true })
		low = p.planner.ahead(time.Now(), 100)
		if got := low; got != 5 {
			t.Errorf("when the queue ran empty it is woken at %d shots, want a group of 5", got)
		}
	})
}

// A ledger that takes longer for a commit than a group lasts would hold up every group.
func TestAGroupCoversWhatTheLedgerTakesForACommit(t *testing.T) {
	_, all := gathering(t, &desk{}, 1)
	p := all[0]
	p.planner.took(3 * time.Millisecond)
	if got := p.planner.group(100); got != 5 {
		t.Errorf("with commits of 3 ms a group is %d, want 5", got)
	}
	p.planner.took(100 * time.Millisecond)
	if got := p.planner.group(100); got != 20 {
		t.Errorf("after a commit of 100 ms a group is %d, want 20", got)
	}
	p.planner.took(3 * time.Second)
	if got := p.planner.group(100); got != 25 {
		t.Errorf("after a commit of 3 s a group is %d, want 25, a quarter of a second", got)
	}
	for range 20 {
		p.planner.took(3 * time.Millisecond)
	}
	if got := p.planner.group(100); got != 5 {
		t.Errorf("when commits are quick again a group is %d, want 5", got)
	}
}
