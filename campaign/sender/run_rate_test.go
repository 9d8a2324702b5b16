package sender

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"campaignd/campaign"
	"campaignd/campaign/file"
	"campaignd/throttle"
)

// counted is a limiter that counts how often it is asked for permission.
type counted struct {
	throttle.Limiter
	asked atomic.Int64
}

func (l *counted) Allow(ctx context.Context, key string, rate float64, n int) (int, time.Duration, error) {
	l.asked.Add(1)
	return l.Limiter.Allow(ctx, key, rate, n)
}

// A run with a limit of its own takes what it may; the rest of the number's pace is the other
// run's.
func TestARunsOwnLimitLeavesTheRestToOthers(t *testing.T) {
	for _, c := range []struct{ pace, limit, asks float64 } /* per second */ {
		{68.4, 5, 5.5}, {68.4, 20, 12}, {68.4, 40, 12}, {902, 300, 12},
	} {
		t.Run(fmt.Sprintf("%v of %v", c.limit, c.pace), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				l, shared := newEndlessLedger(), &counted{Limiter: throttle.NewLocal()}
				capped, free := template(t, 1, "capped", c.limit), template(t, 2, "free", 0)
				all := serving(t, l, shared, 1, c.pace, capped)
				time.Sleep(10 * time.Second)
				asked := l.transactions()
				joined := time.Now()
				if alone := l.within("capped", joined.Add(-8*time.Second), joined); alone < 0.95*c.limit || alone > 1.05*c.limit {
					t.Errorf("alone the limited run sends %.1f/s, want %v", alone, c.limit)
				}
				if each := asked / 10; each > c.asks {
					t.Errorf("got %.1f transactions a second for %v messages, want at most %v", each, c.limit, c.asks)
				}
				if each := float64(shared.asked.Load()) / 10; each > 10.5 {
					t.Errorf("permission is asked for %.1f times a second, want at most 10", each)
				}
				all.workers[0].planner.setRuns([]*run{capped, free})
				time.Sleep(12 * time.Second)
				from, to := joined.Add(2*time.Second), joined.Add(12*time.Second)
				limited, rest := l.within("capped", from, to), l.within("free", from, to)
				t.Logf("%.1f/s and %.1f/s of %v; %d slots forfeited; %.1f transactions a second alone, %.1f together", limited, rest,
					c.pace, all.workers[0].number.counts.forfeited.Load(), asked/10, (l.transactions()-asked)/12)
				fair := min(c.limit, c.pace/2)
				if limited < 0.95*fair || limited > 1.05*fair {
					t.Errorf("beside another the limited run sends %.1f/s, want %.1f", limited, fair)
				}
				if rest < 0.97*(c.pace-fair) {
					t.Errorf("the other run sends %.1f/s, want %.1f", rest, c.pace-fair)
				}
				all.stop()
			})
		})
	}
}

// Replicas of a busy number send a run at its whole limit, not above it, and use the whole pace.
func TestReplicasSendALimitedRunAtItsLimit(t *testing.T) {
	const pace, limit = 68.4, 20.0
	for n := 1; n <= 4; n++ {
		synctest.Test(t, func(t *testing.T) {
			l, shared := newEndlessLedger(), &counted{Limiter: throttle.NewLocal()}
			all := serving(t, l, shared, n, pace, template(t, 1, "capped", limit), template(t, 2, "free", 0))
			began := time.Now()
			time.Sleep(22 * time.Second)
			from, now := began.Add(2*time.Second), time.Now()
			limited, rest := l.within("capped", from, now), l.within("free", from, now)
			t.Logf("%d replicas: %.1f/s of a limit of %v, %.1f/s beside it; %.1f questions a second",
				n, limited, limit, rest, float64(shared.asked.Load())/22)
			if limited < 19.5 {
				t.Errorf("%d replicas send %.1f/s of a run, want its limit of %v", n, limited, limit)
			}
			if sum := limited + rest; sum < 0.97*pace || sum > 1.03*pace {
				t.Errorf("%d replicas send %.1f/s, want the pace of %v", n, sum, pace)
			}
			all.stop()
			sent := l.sent["capped"]
			slices.SortFunc(sent, time.Time.Compare)
			for from := range sent {
				for to := from; to < len(sent); to++ {
					window := sent[to].Sub(sent[from])
					if got, most := to-from+1, limit*(window+throttle.Tolerance).Seconds()+1; float64(got) > most {
						t.Fatalf("%d replicas sent %d of a run in %v, want at most %.1f", n, got, window, most)
					}
				}
			}
		})
	}
}

// A run of a low rate gets all of it on a number whose slots are far apart, beside another run.
// Each permission is asked for when there is a slot, up to half a second late.
func TestALowLimitIsUsedUpOnASlowNumber(t *testing.T) {
	for _, c := range []struct{ limit, pace float64 } /* per second */ {
		{0.1, 2.5}, {0.3, 2.5}, {0.8, 2.5}, {0.8, 4}, {1.2, 12.6}, {0.5, 68.4},
	} {
		for n := 1; n <= 2; n++ {
			synctest.Test(t, func(t *testing.T) {
				l := newEndlessLedger()
				all := serving(t, l, throttle.NewLocal(), n, c.pace, template(t, 1, "capped", c.limit), template(t, 2, "free", 0))
				from := time.Now().Add(10 * time.Second)
				time.Sleep(10*time.Second + 10*time.Minute)
				to := from.Add(10 * time.Minute)
				if got := l.within("capped", from, to); got < 0.95*c.limit || got > c.limit+2/to.Sub(from).Seconds() {
					t.Errorf("%d senders of a number of %v/s send %.3f/s of the run, want %v", n, c.pace, got, c.limit)
				}
				all.stop()
			})
		}
	}
}

// granting is a limiter that answers as it is told, and notes what it was asked for.
type granting struct {
	throttle.Limiter
	granted int
	wait    time.Duration
	err     error
	asked   []string
}

func (l *granting) Allow(_ context.Context, key string, rate float64, n int) (int, time.Duration, error) {
	l.asked = append(l.asked, fmt.Sprintf("%s %v %d", key, rate, n))
	return l.granted, l.wait, l.err
}

// A run's own limit is asked once for a lease, and again when it may grant some.
func TestOwnLimitIsAskedOnceForALease(t *testing.T) {
	const ms = time.Millisecond
	for _, tt := range []struct {
		name                  string
		queued, slots, inHand int
		lim                   granting
		asked                 string // "": not at all
		has                   int
		again                 time.Duration // 0: with the next lease
	}{
		{"all", 5, 8, 0, granting{granted: 5}, "run:sale-1 20 5", 5, 0},
		{"fewer slots", 5, 3, 0, granting{granted: 3}, "run:sale-1 20 3", 3, 0},
		{"some are left over", 5, 8, 2, granting{}, "", 2, 0},
		{"nothing is queued", 0, 8, 0, granting{}, "", 0, 0},
		{"a part", 5, 8, 0, granting{granted: 2, wait: 150 * ms}, "run:sale-1 20 5", 2, 150 * ms},
		{"none for a moment", 5, 8, 0, granting{wait: 3 * ms}, "run:sale-1 20 5", 0, 100 * ms},
		{"nobody to ask", 5, 8, 0, granting{err: errGone}, "run:sale-1 20 5", 0, 100 * ms},
	} {
		t.Run(tt.name, func(t *testing.T) {
			e, err := New(nil, nil, &tt.lim, Options{Owner: "a"})
			if err != nil {
				t.Fatal(err)
			}
			w, now := newWorker(e, "conn_1"), time.Now()
			r := (&run{no: 1, id: "sale-1"}).limited(20)
			for range tt.queued {
				w.queue.push([]*attempt{{segment: newSegment(r, campaign.Lease{}, nil)}})
			}
			gone := (&run{no: 2}).limited(1)
			w.poster.own[r] = permission{tt.inHand, now.Add(200 * ms)}
			w.poster.own[gone] = permission{1, now} // too late
			w.poster.askOwnRate(t.Context(), tt.slots, now)
			if got := strings.Join(tt.lim.asked, ","); got != tt.asked || w.poster.own[r].n != tt.has {
				t.Errorf("asked for %q, %d in hand, want %q, %d", got, w.poster.own[r].n, tt.asked, tt.has)
			}
			if _, kept := w.poster.own[gone]; kept {
				t.Error("a permission that is too late is kept, want it forgotten")
			}
			if n := w.number.counts.noSlot.Load() == 1; n != (tt.lim.err != nil) {
				t.Errorf("a fault is counted: %v, want %v", n, !n)
			}
			if n, wait := w.queue.next(now); tt.again > 0 && (n != 0 || wait != tt.again) || tt.again == 0 && n != tt.queued {
				t.Errorf("%d attempts are ready, the next in %v, want %v", n, wait, tt.again)
			}
			if n, _ := w.queue.next(now.Add(tt.again)); n != tt.queued {
				t.Errorf("after %v %d attempts are ready, want %d", tt.again, n, tt.queued)
			}
		})
	}
}

// A permission is good for one post of its run, for 300 ms.
func TestAPermissionIsGoodForOnePost(t *testing.T) {
	now := time.Now()
	r := (&run{}).limited(5)
	own := permissions{r: {2, now.Add(throttle.AllowFor)}}
	for i, want := range []bool{true, true, false} {
		if got := own.use(r, now.Add(throttle.AllowFor-1)); got != want {
			t.Errorf("post %d is permitted: %v, want %v", i+1, got, want)
		}
	}
	own[r] = permission{1, now}
	if own.use(r, now) || own.use((&run{}).limited(5), now) || !own.use(&run{}, now) {
		t.Error("too late, or of another run: permitted, want not; without a limit: not, want permitted")
	}
}

// An attempt whose run is refused keeps its place; the slot is another run's.
func TestARefusedAttemptKeepsItsPlace(t *testing.T) {
	low := newSignal()
	q, now := newQueue(low), time.Now()
	capped, free := (&run{no: 1}).limited(20), &run{no: 2}
	for i, r := range []*run{capped, free, capped, free, capped} {
		q.push([]*attempt{{nth: i, segment: newSegment(r, campaign.Lease{}, nil)}})
	}
	q.setLow(1, 8)
	own := permissions{}
	var order []int
	take := func() {
		if a := q.take(now, own); a != nil {
			order = append(order, a.nth)
		} else {
			order = append(order, -1)
		}
	}
	q.refuse(capped, now.Add(time.Minute))
	if n, wait := q.next(now); n != 2 || wait != 0 || len(low) != 0 {
		t.Errorf("%d ready, wait %v, planner woken: %v, want 2, 0, false", n, wait, len(low) > 0)
	}
	take()
	if len(low) != 1 {
		t.Error("the planner is not woken at 1 ready attempt, want it woken")
	}
	take()
	take()
	if n, wait := q.next(now.Add(time.Second)); n != 0 || wait != 59*time.Second || q.empty() || q.of(capped) != 3 {
		t.Errorf("%d ready, wait %v, %d queued, want 0, 59s, 3", n, wait, q.of(capped))
	}
	own[capped] = permission{2, now.Add(time.Second)}
	take()
	take()
	take()
	if want := []int{1, 3, -1, 0, 2, -1}; !slices.Equal(order, want) {
		t.Errorf("posted in the order %v, want %v", order, want)
	}
	if n, _ := q.next(now.Add(time.Minute)); n != 1 || len(q.refused) != 0 {
		t.Errorf("a minute later %d are ready, %d runs refused, want 1, 0", n, len(q.refused))
	}
}

// A run with a limit has at most what the limit allows in 250 ms ahead, and asks when half is used.
func TestALimitedRunAsksAtHalfOfWhatItMayHave(t *testing.T) {
	w, s := planning(t, &groupLedger{}, Options{})
	for _, tt := range []struct {
		rate                   float64
		queued, most, capacity int
		asks                   bool
	}{
		{20, 0, 8, 5, true}, {20, 0, 4, 4, true}, {20, 2, 8, 3, true}, {20, 3, 8, 2, false}, {20, 9, 8, 0, false},
		{0.1, 0, 8, 1, true}, {0.1, 1, 8, 0, false}, {5, 1, 8, 1, true}, {500, 3, 8, 5, true}, {500, 5, 8, 3, false},
	} {
		s.run.limited(tt.rate)
		for range tt.queued {
			w.queue.push([]*attempt{{segment: s}})
		}
		capacity, asks := w.queue.capacity(s.run, tt.most), w.planner.wantsLimited(time.Now(), tt.most)
		if capacity != tt.capacity || asks != tt.asks {
			t.Errorf("%v/s with %d queued: capacity %d, asks: %v, want %d, %v", tt.rate, tt.queued, capacity, asks, tt.capacity, tt.asks)
		}
		w.queue.remove(func(*attempt) bool { return true })
	}
}

// A run that its limit of one message in 100 s refused is not kept waiting when the limit is
// raised: `campaignd limits` promises that its senders follow within a second.
func TestARaisedLimitIsAskedAtOnce(t *testing.T) {
	e, err := New(stubLedger{}, nil, nil, Options{Owner: "a"})
	if err != nil {
		t.Fatal(err)
	}
	w, now := newWorker(e, "conn_1"), time.Now()
	e.workers["conn_1"] = w
	r := &run{no: 1, connections: []string{"conn_1"}, definition: &file.Definition{Limits: file.Limits{Rate: 0.01}}}
	stored, faster := campaign.Run{No: 1}, 50.0
	for _, tt := range []struct {
		name    string
		change  campaign.LimitChange
		refused bool
	}{{"the limit is as it was", campaign.LimitChange{}, true}, {"it is raised", campaign.LimitChange{Rate: &faster}, false}} {
		if err := e.setTerms(t.Context(), r, stored, now); err != nil {
			t.Fatal(err)
		}
		w.queue.refuse(r, now.Add(100*time.Second))
		stored.Changed = tt.change
		if err := e.setTerms(t.Context(), r, stored, now); err != nil {
			t.Fatal(err)
		}
		if refused := w.queue.isRefused(r, now); refused != tt.refused || (len(w.queue.added) == 0) != tt.refused {
			t.Errorf("%s: refused: %v, the poster woken: %v, want %v, %v", tt.name, refused, len(w.queue.added) == 1, tt.refused, !tt.refused)
		}
	}
}
