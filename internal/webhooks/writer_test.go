package webhooks

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"campaignd/campaign"
)

// A 2xx means that the event is durable (docs/protocol.md#invariants).
func TestNothingIsAnsweredBeforeTheCommit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := &memory{gate: make(chan struct{})}
		i := newIntake(t, m, Options{})
		stop := start(t, i)
		answered := make(chan int, 1)
		go func() { answered <- post(i, status(1, "delivered", time.Now())).Code }()
		synctest.Wait()
		select {
		case code := <-answered:
			t.Fatalf("answered %d before the commit, want nothing yet", code)
		default:
		}
		m.gate <- struct{}{}
		if code := <-answered; code != http.StatusNoContent {
			t.Errorf("answered %d, want 204", code)
		}
		if got := m.all().Statuses; len(got) != 1 || got[0].MessageID != wamid(1) || got[0].Status != campaign.Delivered {
			t.Errorf("stored %+v, want %s delivered", got, wamid(1))
		}
		if err := stop(); err != nil {
			t.Error(err)
		}
	})
}

// A ledger that takes no writes says so itself.
func TestAFullLedgerIsNotSaidByTheIntake(t *testing.T) {
	var log strings.Builder
	m := &memory{fail: fmt.Errorf("disk full: %w", campaign.ErrUnwritable)}
	i := newIntake(t, m, Options{Log: slog.New(slog.NewTextHandler(&log, nil))})
	stop := start(t, i)
	for _, want := range []int{http.StatusServiceUnavailable, http.StatusServiceUnavailable, http.StatusNoContent} {
		if want == http.StatusNoContent {
			m.setFail(nil)
		}
		if got := post(i, status(1, "sent", time.Now())).Code; got != want {
			t.Errorf("a webhook: answered %d, want %d", got, want)
		}
	}
	if err := stop(); err != nil || log.Len() > 0 {
		t.Errorf("got %v and the lines below, want no error and none:\n%s", err, &log)
	}
}

// The requests of a failed commit are answered 503, and no other requests.
func TestTheAnswerIsThatOfItsOwnCommit(t *testing.T) {
	for failing := range 4 {
		var log strings.Builder
		m := &memory{}
		i := newIntake(t, m, Options{Log: slog.New(slog.NewTextHandler(&log, nil))})
		stop := start(t, i)
		for n := range 4 {
			want := http.StatusNoContent
			m.setFail(nil)
			if n == failing {
				m.setFail(errors.New("disk full"))
				want = http.StatusServiceUnavailable
			}
			if got := post(i, status(n, "sent", time.Now())).Code; got != want {
				t.Errorf("commit %d of which %d fails: answered %d, want %d", n, failing, got, want)
			}
		}
		if err := stop(); err != nil {
			t.Errorf("Run: %v, want no error", err)
		}
		c := i.Counts()
		if got := len(m.all().Statuses); got != 3 || c.Commits != 4 || c.CommitsFailed != 1 {
			t.Errorf("%d stored, %d commits, %d failed; want 3, 4, 1", got, c.Commits, c.CommitsFailed)
		}
		again := map[bool]int{true: 0, false: 1}[failing == 3]
		if e, a := strings.Count(log.String(), "disk full"), strings.Count(log.String(), "stored again"); e != 1 || a != again {
			t.Errorf("the log says %d times that it fails, %d times that it is over; want 1 and %d:\n%s", e, a, again, &log)
		}
	}
}

func TestALedgerThatFailsIsA503AtOnce(t *testing.T) {
	m := &memory{fail: errors.New("disk full")}
	i := newIntake(t, m, Options{})
	start(t, i)
	w := post(i, status(1, "sent", time.Now()))
	if w.Code != http.StatusServiceUnavailable || w.Header().Get("Retry-After") != "5" {
		t.Errorf("answered %d, Retry-After %q; want 503 and 5", w.Code, w.Header().Get("Retry-After"))
	}
	m.setFail(nil)
	if w := post(i, status(1, "sent", time.Now())); w.Code != http.StatusNoContent {
		t.Errorf("after the repair: answered %d, want 204", w.Code)
	}
	if c := i.Counts(); c.CommitsFailed != 1 || c.Commits != 2 || c.Taken != 1 || c.Rejected[RejectedCommit] != 1 || c.Waiting != 0 {
		t.Errorf("counts %+v, want 2 commits of which 1 failed, 1 taken, 1 rejected, none waiting", c)
	}
}

// Callers that were answered together share the next commit too, although they post at different
// instants. A caller that posts alone waits for no other.
func TestCallersOfACommitShareTheNextOne(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := &memory{}
		i := newIntake(t, m, Options{})
		stop := start(t, i)
		var took [4]time.Duration
		together := func(after ...time.Duration) (batches []int) {
			t.Helper()
			before := len(m.sizes())
			var all sync.WaitGroup
			for n, wait := range after {
				all.Go(func() {
					time.Sleep(wait)
					began := time.Now()
					if code := post(i, status(n, "sent", began)).Code; code != http.StatusNoContent {
						t.Errorf("answered %d, want 204", code)
					}
					took[n] = time.Since(began)
				})
			}
			all.Wait()
			return m.sizes()[before:]
		}
		for _, c := range []struct {
			after []time.Duration
			want  []int
			took  time.Duration // of the first
		}{
			{[]time.Duration{0}, []int{1}, 0},
			{[]time.Duration{0, 500 * time.Microsecond}, []int{1, 1}, 0}, // strangers to each other
		} {
			if got := together(c.after...); !slices.Equal(got, c.want) || took[0] != c.took {
				t.Errorf("after %v: commits of %v, the first within %v; want %v and %v", c.after, got, took[0], c.want, c.took)
			}
		}
		m.gate = make(chan struct{})
		go func() { // a commit during which three more wait
			time.Sleep(5 * time.Millisecond)
			close(m.gate)
		}()
		if got, want := together(0, time.Millisecond, time.Millisecond, time.Millisecond), []int{1, 3}; !slices.Equal(got, want) {
			t.Fatalf("commits of %v, want %v", got, want)
		}
		for _, c := range []struct {
			after []time.Duration
			want  []int
			took  time.Duration
		}{
			{[]time.Duration{0, 300 * time.Microsecond, 900 * time.Microsecond}, []int{3}, 900 * time.Microsecond}, // as many as before
			{[]time.Duration{0, 600 * time.Microsecond, 1500 * time.Microsecond}, []int{2, 1}, time.Millisecond},   // one comes too late
			{[]time.Duration{0}, []int{1}, 0},
		} {
			if got := together(c.after...); !slices.Equal(got, c.want) || took[0] != c.took {
				t.Errorf("after %v: commits of %v, the first within %v; want %v and %v", c.after, got, took[0], c.want, c.took)
			}
		}
		if err := stop(); err != nil {
			t.Error(err)
		}
	})
}

func TestACommitHasADeadline(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := &memory{gate: make(chan struct{})}
		i := newIntake(t, m, Options{})
		stop := start(t, i)
		began := time.Now()
		if w := post(i, status(1, "sent", time.Now())); w.Code != http.StatusServiceUnavailable || time.Since(began) != 5*time.Second {
			t.Errorf("answered %d after %v, want 503 after 5s", w.Code, time.Since(began))
		}
		stop()
	})
}

func TestABatchFormsWhileTheOneBeforeItIsCommitted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := &memory{gate: make(chan struct{})}
		i := newIntake(t, m, Options{})
		i.maxBatch = 50
		stop := start(t, i)
		var wait sync.WaitGroup
		send := func(n int) {
			wait.Go(func() {
				if code := post(i, status(n, "sent", time.Now())).Code; code != http.StatusNoContent {
					t.Errorf("answered %d, want 204", code)
				}
			})
		}
		send(0)
		synctest.Wait()
		for n := range 120 {
			send(1 + n)
		}
		synctest.Wait()
		for range 4 {
			m.gate <- struct{}{}
		}
		wait.Wait()
		sizes := []int{}
		for _, batch := range m.applied() {
			sizes = append(sizes, len(batch.Statuses))
		}
		if want := "[1 50 50 20]"; fmt.Sprint(sizes) != want {
			t.Errorf("batches of %v, want %v", sizes, want)
		}
		seen := map[string]bool{}
		for _, s := range m.all().Statuses {
			seen[s.MessageID] = true
		}
		if len(seen) != 121 {
			t.Errorf("%d events stored, want 121", len(seen))
		}
		if c := i.Counts(); c.Commits != 4 || c.Matched != 121 || c.Events["status"] != 121 {
			t.Errorf("counts %+v, want 4 commits, and 121 matched and of kind status", c)
		}
		stop()
	})
}

func TestStoppingStoresWhatWaitsAndTurnsAwayTheRest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := &memory{gate: make(chan struct{})}
		i := newIntake(t, m, Options{})
		i.maxBatch = 1
		stop := start(t, i)
		codes := make(chan int, 5)
		for n := range 5 {
			go func() { codes <- post(i, status(n, "sent", time.Now())).Code }()
		}
		synctest.Wait()
		stopped := make(chan error, 1)
		go func() { stopped <- stop() }()
		synctest.Wait()
		m.gate <- struct{}{} // the stop does not undo the commit under way
		synctest.Wait()
		if w := post(i, status(9, "sent", time.Now())); w.Code != http.StatusServiceUnavailable || i.Counts().Rejected[RejectedStopping] != 1 {
			t.Errorf("while stopping: answered %d, want 503, counted once", w.Code)
		}
		for range 4 {
			m.gate <- struct{}{}
		}
		if err := <-stopped; err != nil {
			t.Error(err)
		}
		for range 5 {
			if code := <-codes; code != http.StatusNoContent {
				t.Errorf("answered %d, want 204", code)
			}
		}
		if got := len(m.all().Statuses); got != 5 {
			t.Errorf("%d stored, want 5", got)
		}
		if err := i.Run(context.Background()); err == nil {
			t.Error("got no error of a second Run, want one")
		}
	})
}

func TestStoppingDoesNotWaitForALedgerForEver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := &memory{gate: make(chan struct{})}
		i := newIntake(t, m, Options{})
		i.maxBatch, i.drainTime = 1, 3*time.Second
		stop := start(t, i)
		codes := make(chan int, 3)
		for n := range 3 {
			go func() { codes <- post(i, status(n, "sent", time.Now())).Code }()
		}
		synctest.Wait()
		began := time.Now()
		err := stop()
		if took := time.Since(began); err == nil || took > 8*time.Second { // 5 s commit under way + 3 s drain
			t.Errorf("%v after %v, want an error within 8s", err, took)
		}
		if want := "webhooks: 1 events were not stored within 3s of stopping; the service will repeat them"; err != nil && err.Error() != want {
			t.Errorf("Run: got %q, want %q", err, want)
		}
		for range 3 {
			if code := <-codes; code != http.StatusServiceUnavailable {
				t.Errorf("answered %d, want 503", code)
			}
		}
	})
}

// If drainTime ends during the last commit, every request has an answer and Run returns no error.
func TestAStopWithAllRequestsAnsweredIsNoError(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		i := newIntake(t, &memory{gate: make(chan struct{})}, Options{})
		i.maxBatch, i.drainTime = 1, 3*time.Second
		stop := start(t, i)
		codes := make(chan int, 2)
		for n := range 2 { // one under way, one that waits
			go func() { codes <- post(i, status(n, "sent", time.Now())).Code }()
		}
		synctest.Wait()
		if err := stop(); err != nil {
			t.Errorf("Run: %v, want no error", err)
		}
		for range 2 {
			if code := <-codes; code != http.StatusServiceUnavailable {
				t.Errorf("answered %d, want 503", code)
			}
		}
	})
}
