package sender

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"campaignd/campaign"
)

// blank are n attempts that may be posted now.
func blank(n int) []*attempt {
	all := make([]*attempt, n)
	for i := range all {
		all[i] = &attempt{segment: newSegment(&run{}, campaign.Lease{}, nil)}
	}
	return all
}

// uncertain is a ledger that loses the answer to the intents of one connection.
type uncertain struct {
	groupLedger
	connection string
}

func (l *uncertain) Intend(ctx context.Context, in []campaign.Intent) ([]campaign.Granted, error) {
	for _, i := range in {
		if i.Connection == l.connection {
			return nil, campaign.ErrUnknownCommit
		}
	}
	return l.groupLedger.Intend(ctx, in)
}

// A commit whose answer is lost puts the number's own deliveries in doubt; the other numbers go on.
func TestAnUnknownCommitIsTheDoubtOfOneNumber(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := &uncertain{connection: "conn_1"}
		e, err := New(l, nil, nil, Options{Owner: "a"})
		if err != nil {
			t.Fatal(err)
		}
		r := &run{no: 1, id: "sale-1", connections: []string{"conn_1", "conn_2"}}
		for i, c := range r.connections {
			w, lo := newWorker(e, c), int64(i)*campaign.SegmentSize
			s := newSegment(r, campaign.Lease{
				Segment: campaign.Segment{Run: 1, Lo: lo, Hi: lo + 100}, Mark: lo, Until: time.Now().Add(time.Hour),
			}, w.planner.poke)
			s.checked = time.Now()
			w.planner.claimer.segments, w.planner.claimer.claimedAt = []*segment{s}, time.Now()
			w.planner.setRuns([]*run{r})
			_, err := w.planner.step(t.Context())
			lost, queued := s.lost.Load(), len(w.queue.attempts)
			if unknown := c == l.connection; errors.Is(err, campaign.ErrUnknownCommit) != unknown || lost != unknown || (queued > 0) == unknown {
				t.Errorf("%s: %v, segment lost: %v, %d queued, want an unknown commit: %v", c, err, lost, queued, unknown)
			}
		}
	})
}

// A number that other replicas send over too is short of attempts later: at its own rate.
func TestAReplicaAsksAtItsShareOfTheRate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, _ := planning(t, &groupLedger{}, Options{})
		w.queue.push(blank(4))
		for _, tt := range []struct {
			name   string
			after  time.Duration
			posted int64
			empty  bool
			want   int
		}{
			{"its own rate is not known", 0, 0, false, 5},
			{"a quarter of the rate", time.Second, 25, false, 2},
			{"all of the rate", time.Second, 500, false, 5},
			{"a quarter for two seconds", 2 * time.Second, 50, false, 2},
			{"a quarter, and the queue ran empty", time.Second, 25, true, 5},
		} {
			time.Sleep(tt.after)
			w.number.counts.posted.Add(tt.posted)
			if tt.empty {
				w.queue.remove(func(*attempt) bool { return true })
			}
			if got := w.planner.ahead(time.Now(), 100); got != tt.want {
				t.Errorf("%s: it asks at %d attempts, want %d", tt.name, got, tt.want)
			}
		}
	})
}

// A ledger that takes longer for a commit than a group lasts would hold up every group.
func TestAGroupCoversTheTimeOfACommit(t *testing.T) {
	w, _ := planning(t, &groupLedger{}, Options{})
	for _, tt := range []struct {
		took  time.Duration
		times int
		want  int
	}{{3 * time.Millisecond, 1, 5}, {100 * time.Millisecond, 1, 20}, {3 * time.Second, 1, 25}, {3 * time.Millisecond, 20, 5}} {
		for range tt.times {
			w.planner.took(tt.took)
		}
		if got := w.planner.group(100); got != tt.want {
			t.Errorf("after %d commits of %v a group is %d, want %d", tt.times, tt.took, got, tt.want)
		}
	}
}

// After a slow commit a group shrinks by a tenth with each quick one: it does not jump to and fro.
func TestAGroupShrinksByATenthPerQuickCommit(t *testing.T) {
	w, _ := planning(t, &groupLedger{}, Options{})
	p := w.planner
	p.took(100 * time.Millisecond)
	for i, want := range []time.Duration{180 * time.Millisecond, 162 * time.Millisecond, 145_800 * time.Microsecond} {
		p.took(3 * time.Millisecond)
		if got := p.slow; got != want {
			t.Errorf("a group covers %v after %d quick commits, want %v", got, i+1, want)
		}
	}
}
