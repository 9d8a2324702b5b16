package webhooks

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"campaignd/campaign"
)

func TestOrphansAreSweptEveryOneToTwoSeconds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := &memory{swept: campaign.Swept{Matched: 1, Adopted: 2, Expired: 5, Left: 7, Ambiguous: 3}}
		i := newIntake(t, m, Options{Seed: 42})
		began := time.Now()
		stop := start(t, i)
		time.Sleep(time.Minute)
		stop()
		if n := len(m.sweeps); n < 30 || n > 60 {
			t.Errorf("%d sweeps in a minute, want 30 to 60", n)
		}
		last := began
		for _, at := range m.sweeps {
			if apart := at.Sub(last); apart < time.Second || apart > 2*time.Second {
				t.Errorf("%v between two sweeps, want 1 s to 2 s", apart)
			}
			last = at
		}
		c := i.Counts()
		n := uint64(len(m.sweeps))
		//nolint:gosec // counts
		got := [...]uint64{c.SweepsFailed, c.Adopted, c.OrphansOld, uint64(c.Orphans), uint64(c.Ambiguous)}
		if want := [...]uint64{0, 2 * n, 5 * n, 7, 3}; got != want {
			t.Errorf("failed, adopted, old, orphans, ambiguous = %v, want %v", got, want)
		}
	})
}

func TestAFailedSweepIsLoggedOnceAndTriedAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log bytes.Buffer
		// The counts of a sweep that fails half-way are true, except those of what is left.
		m := &memory{fail: errors.New("database is locked"), swept: campaign.Swept{Matched: 1, Adopted: 2, Expired: 3, Left: 9, Ambiguous: 9}}
		i := newIntake(t, m, Options{Log: slog.New(slog.NewTextHandler(&log, nil))})
		stop := start(t, i)
		time.Sleep(20 * time.Second)
		c := i.Counts()
		//nolint:gosec // counts
		n := uint64(m.swepts())
		got, want := [...]uint64{c.SweepsFailed, c.Adopted, c.OrphansOld, uint64(c.Orphans), uint64(c.Ambiguous)},
			[...]uint64{n, 2 * n, 3 * n, 0, 0}
		if got != want {
			t.Errorf("failed, adopted, old, orphans, ambiguous = %v of %d sweeps, want %v", got, n, want)
		}
		m.setFail(nil)
		time.Sleep(20 * time.Second)
		stop()
		c = i.Counts()
		if n := uint64(m.swepts()); c.SweepsFailed < 9 || n < c.SweepsFailed+9 {
			t.Errorf("%d sweeps, %d failed; want 9 or more of each kind", n, c.SweepsFailed)
		}
		lines := strings.Split(strings.TrimSpace(log.String()), "\n")
		if len(lines) != 2 || !strings.Contains(lines[0], "level=ERROR") || !strings.Contains(lines[0], "database is locked") ||
			!strings.Contains(lines[1], "level=INFO") {
			t.Errorf("the log says\n%s\nwant an error with its cause, then one line that it is over", &log)
		}
	})
}

// stuckSweep is a ledger whose sweep ends when its context ends.
type stuckSweep struct {
	memory
	took []time.Duration
}

func (s *stuckSweep) Sweep(ctx context.Context, _ time.Time) (campaign.Swept, error) {
	began := time.Now()
	<-ctx.Done()
	s.took = append(s.took, time.Since(began))
	return campaign.Swept{}, ctx.Err()
}

// A sweep ends after 30 s and is tried again. The stop of the process does not wait for a sweep.
func TestASweepHasADeadline(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := &stuckSweep{}
		i := newIntake(t, l, Options{Sweep: time.Second, SweepJitter: time.Nanosecond})
		stop := start(t, i)
		time.Sleep(40 * time.Second)
		began := time.Now()
		stop()
		if took := time.Since(began); took != 0 {
			t.Errorf("the stop took %v, want none of it", took)
		}
		if len(l.took) != 2 || l.took[0] != 30*time.Second {
			t.Errorf("sweeps took %v, want 30s, then what the stop left", l.took)
		}
		if c := i.Counts(); c.SweepsFailed != 1 {
			t.Errorf("%d sweeps failed, want 1: the stopped one is not counted", c.SweepsFailed)
		}
	})
}

// One process of many sweeps, and only its count of the orphans is true. A process that no longer
// sweeps counts none, and its log says that the fault is over.
func TestAProcessThatStopsSweepingCountsNoOrphans(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log bytes.Buffer
		began := time.Now()
		m := &memory{swept: campaign.Swept{Left: 7, Ambiguous: 3}}
		i := newIntake(t, m, Options{Log: slog.New(slog.NewTextHandler(&log, nil)),
			SweepTurn: func(context.Context) bool { return time.Since(began) < 20*time.Second }})
		stop := start(t, i)
		time.Sleep(10 * time.Second)
		if c := i.Counts(); c.Orphans != 7 || c.Ambiguous != 3 {
			t.Errorf("in its turn: %d orphans, %d ambiguous; want 7 and 3", c.Orphans, c.Ambiguous)
		}
		m.setFail(errors.New("database is locked"))
		time.Sleep(20 * time.Second)
		stop()
		if c := i.Counts(); c.Orphans != 0 || c.Ambiguous != 0 {
			t.Errorf("after its turn: %d orphans, %d ambiguous; want none", c.Orphans, c.Ambiguous)
		}
		if !strings.Contains(log.String(), "again, by another process") || strings.Count(log.String(), "\n") != 2 {
			t.Errorf("the log says:\n%s\nwant two lines, the second of another process", &log)
		}
	})
}

// Replicas that start together do not sweep at the same moments, because their seeds differ. The
// same seed gives the same moments.
func TestTheSeedDecidesWhenASweepComes(t *testing.T) {
	sweeps := func(seed uint64) (at []time.Duration) {
		synctest.Test(t, func(t *testing.T) {
			m := &memory{}
			i := newIntake(t, m, Options{Seed: seed})
			began := time.Now()
			stop := start(t, i)
			time.Sleep(10 * time.Second)
			stop()
			for _, s := range m.sweeps {
				at = append(at, s.Sub(began))
			}
		})
		return at
	}
	one, again, other := sweeps(1), sweeps(1), sweeps(2)
	if !slices.Equal(one, again) {
		t.Errorf("the same seed sweeps at %v and at %v, want the same instants", one, again)
	}
	if slices.Equal(one, other) {
		t.Errorf("two seeds sweep at %v, want other instants for each", one)
	}
}

// While the ledger takes no record, nothing says that webhooks were taken: that time is an outage.
func TestAnOutageOfTheLedgerIsNotListenedTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := &memory{}
		stop := start(t, newIntake(t, m, Options{}))
		time.Sleep(time.Minute)
		m.setFail(errors.New("database is locked"))
		began := time.Now()
		time.Sleep(time.Minute)
		m.setFail(nil)
		ended := time.Now()
		time.Sleep(time.Minute)
		stop()
		before, after := 0, 0
		for _, s := range m.listened {
			if s.Since.Before(ended) && s.Until.After(began) && s.Until.Sub(s.Since) > 0 {
				t.Errorf("got the span %v to %v, want none over the outage from %v to %v", s.Since, s.Until, began, ended)
			}
			if s.Until.After(ended) {
				after++
			} else {
				before++
			}
		}
		if before < 5 || after < 5 {
			t.Errorf("got %d records before the outage and %d after it, want 5 or more of each", before, after)
		}
	})
}

// The log says once that opt-outs wait for a number, with their count, and when none does any more.
func TestOptOutsThatWaitAreLoggedOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log bytes.Buffer
		m := &memory{swept: campaign.Swept{Unattributed: 3}}
		i := newIntake(t, m, Options{Log: slog.New(slog.NewTextHandler(&log, nil))})
		stop := start(t, i)
		time.Sleep(20 * time.Second)
		m.mu.Lock()
		m.swept.Unattributed = 0
		m.mu.Unlock()
		time.Sleep(20 * time.Second)
		stop()
		text := log.String()
		if waits, none := strings.Count(text, "waiting=3"), strings.Count(text, "no opt-out waits"); waits != 1 || none != 1 {
			t.Errorf("the log says %d times that 3 wait, and %d times that none does, want once each:\n%s", waits, none, text)
		}
	})
}
