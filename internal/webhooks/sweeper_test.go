package webhooks

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"campaignd/campaign"
)

func TestOrphansAreSweptEveryOneToTwoSeconds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := &memory{swept: campaign.Swept{Matched: 1, Adopted: 2, Left: 7, Ambiguous: 3}}
		i := newIntake(t, m, Options{Seed: 42})
		began := time.Now()
		stop := start(t, i)
		time.Sleep(time.Minute)
		stop()
		if n := len(m.sweeps); n < 30 || n > 60 {
			t.Errorf("%d sweeps in a minute", n)
		}
		last := began
		for _, at := range m.sweeps {
			if apart := at.Sub(last); apart < time.Second || apart > 2*time.Second {
				t.Errorf("%v between two sweeps", apart)
			}
			last = at
		}
		c := i.Counts()
		if n := uint64(len(m.sweeps)); c.Sweeps != n || c.SweptMatched != n || c.Adopted != 2*n || c.Orphans != 7 || c.Ambiguous != 3 {
			t.Errorf("%+v", c)
		}
	})
}

func TestASweepThatFailsIsSaidOnceAndTriedAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log bytes.Buffer
		m := &memory{fail: errors.New("database is locked")}
		i := newIntake(t, m, Options{Log: slog.New(slog.NewTextHandler(&log, nil))})
		stop := start(t, i)
		time.Sleep(20 * time.Second)
		m.setFail(nil)
		time.Sleep(20 * time.Second)
		stop()
		c := i.Counts()
		if c.SweepsFailed < 9 || c.Sweeps < c.SweepsFailed+9 {
			t.Errorf("%d sweeps, %d failed", c.Sweeps, c.SweepsFailed)
		}
		if n := strings.Count(log.String(), "\n"); n != 2 {
			t.Errorf("%d lines:\n%s", n, &log)
		}
	})
}

// Of many processes one sweeps: only its count of what is left holds, and who is relieved does not go on telling of a fault.
func TestWhoDoesNotSweepAnyMoreCountsNoOrphans(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log bytes.Buffer
		began := time.Now()
		m := &memory{swept: campaign.Swept{Left: 7, Ambiguous: 3}}
		i := newIntake(t, m, Options{Log: slog.New(slog.NewTextHandler(&log, nil)), SweepTurn: func(context.Context) bool { return time.Since(began) < 20*time.Second }})
		stop := start(t, i)
		time.Sleep(10 * time.Second)
		if c := i.Counts(); c.Orphans != 7 || c.Ambiguous != 3 {
			t.Errorf("in its turn: %d orphans, %d ambiguous", c.Orphans, c.Ambiguous)
		}
		m.setFail(errors.New("database is locked"))
		time.Sleep(20 * time.Second)
		stop()
		if c := i.Counts(); c.Orphans != 0 || c.Ambiguous != 0 {
			t.Errorf("after its turn: %d orphans, %d ambiguous", c.Orphans, c.Ambiguous)
		}
		if !strings.Contains(log.String(), "again, by another process") || strings.Count(log.String(), "\n") != 2 {
			t.Errorf("the log says:\n%s", &log)
		}
	})
}
