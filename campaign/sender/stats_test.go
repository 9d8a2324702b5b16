package sender

import (
	"context"
	"fmt"
	"reflect"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"campaignd/campaign"
	"campaignd/campaign/wording"
	"campaignd/internal/messaging"
	"campaignd/throttle"
)

// report is what a worker of 72 messages a second says of a run with a limit of its own and one
// without.
func report(t *testing.T, before func(*worker)) (capped, free campaign.LaneReport) {
	t.Helper()
	e, err := New(nil, nil, nil, Options{Owner: "a"})
	if err != nil {
		t.Fatal(err)
	}
	w := newWorker(e, "conn_1")
	w.planner.setRuns([]*run{
		(&run{no: 1, connections: []string{"conn_1"}}).limited(5), (&run{no: 2, connections: []string{"conn_1"}}).limited(500),
	})
	w.queue.push(blank(1)) // there is something to send
	if before != nil {
		before(w)
	}
	lanes := w.stats().Lanes
	if len(lanes) != 2 {
		t.Fatalf("lanes %+v, want one for each run", lanes)
	}
	return lanes[0], lanes[1]
}

func TestALaneSendsAtTheSmallerOfPaceAndLimit(t *testing.T) {
	capped, free := report(t, nil)
	if capped.Rate != 5 || capped.LimitedBy != campaign.ByRunRate || capped.Detail != "the campaign's own limit of 5 messages per second" {
		t.Errorf("below the number's pace: %+v, want 5/s limited by cap", capped)
	}
	if free.Rate != 72 || free.LimitedBy != campaign.ByThroughput {
		t.Errorf("above the number's pace: %+v, want 72/s limited by throughput", free)
	}
}

// A run beside others that uses its own limit in full is limited by it, not by its share, which
// is as much.
func TestALaneBesideOthersIsLimitedByItsOwnRate(t *testing.T) {
	capped, free := report(t, func(w *worker) {
		w.planner.lanes.last = map[campaign.RunNo]lane{1: {share: share{5, 2}}, 2: {share: share{67, 2}}}
	})
	if capped.Rate != 5 || capped.LimitedBy != campaign.ByRunRate {
		t.Errorf("with 5/s of its own: %g/s limited by %s, want 5/s by run_rate", capped.Rate, capped.LimitedBy)
	}
	if free.Rate != 67 || free.LimitedBy != campaign.ByThroughput {
		t.Errorf("beside it: %g/s limited by %s, want 67/s by throughput", free.Rate, free.LimitedBy)
	}
}

// Between two permissions of the run's own limit nothing is ready, because of the limit.
func TestALaneIsLimitedBetweenTwoPermissions(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		capped, free := report(t, func(w *worker) {
			r, now := w.planner.activeRuns()[1], time.Now() // its limit is above the pace
			w.queue.remove(func(*attempt) bool { return true })
			w.queue.refuse(r, now.Add(100*time.Millisecond))
			w.planner.claimer.claimedAt = now
			w.planner.claimer.segments = []*segment{newSegment(r, campaign.Lease{Segment: campaign.Segment{Hi: 100}, Mark: 100}, nil)}
			w.planner.claimer.segments[0].pending.Add(1)
			if _, err := w.planner.step(t.Context()); err != nil {
				t.Fatal(err)
			}
		})
		if free.LimitedBy != campaign.ByRunRate || free.Detail != "the campaign's own limit of 500 messages per second" {
			t.Errorf("refused: limited by %s (%s), want cap", free.LimitedBy, free.Detail)
		}
		if capped.LimitedBy != campaign.ByNone {
			t.Errorf("beside it: limited by %s, want none", capped.LimitedBy)
		}
	})
}

func TestALaneSaysWhatHoldsItsNumberAndForHowLong(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, c := range []struct {
			hold      func(*worker)
			limitedBy campaign.LimitedBy
			detail    string
		}{
			{func(w *worker) {
				now := time.Now()
				for range 3 { // 0.5, 1, then 2 s
					w.number.unreached(now)
					now = w.number.until
				}
				time.Sleep(time.Until(now) - 1500*time.Millisecond)
			}, "unreachable", "the service cannot be reached; next try in 2s"},
			{func(w *worker) {
				w.fails(blank(1)[0], &messaging.Error{Proof: messaging.NotSent, Code: "130429", Message: "slowly", Action: messaging.Slow,
					Wait: 30 * time.Second, Status: 429}, time.Now())
			}, "hold", "connection conn_1 is held since 2000-01-01 00:00:02 UTC: the number's throughput is reached (130429); it ends at " +
				"2000-01-01 00:00:32 UTC; `campaignd holds lift connection conn_1` ends it earlier"},
			{func(w *worker) {
				for range breakerSame {
					w.fails(blank(1)[0], &messaging.Error{Proof: messaging.Doubt, Code: "time_out"}, time.Now())
				}
			}, "hold", "connection conn_1 is held since 2000-01-01 00:00:02 UTC: most requests end without a clear answer; the last: time_out " +
				"(breaker); a few requests test it from 2000-01-01 00:00:07 UTC on; `campaignd holds lift connection conn_1` ends it earlier"},
		} {
			if lane, _ := report(t, c.hold); lane.LimitedBy != c.limitedBy || lane.Detail != c.detail || lane.Rate != 0 {
				t.Errorf("%g/s, %s: %q, want 0/s, %s: %q", lane.Rate, lane.LimitedBy, lane.Detail, c.limitedBy, c.detail)
			}
		}
	})
}

// unavailable is a limiter that cannot be asked, as Redis while it is away.
type unavailable struct{}

func (unavailable) Lease(context.Context, string, float64, int) (throttle.Slots, error) {
	return throttle.Slots{}, fmt.Errorf("%w: redis: no answer", throttle.ErrUnavailable)
}

func (unavailable) Observe(string, int64, bool) {}

func (unavailable) Allow(context.Context, string, float64, int) (int, time.Duration, error) {
	return 0, 0, fmt.Errorf("%w: redis: no answer", throttle.ErrUnavailable)
}

func TestALaneNamesALimiterThatCannotBeAsked(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, stop := context.WithCancel(t.Context())
		capped, free := report(t, func(w *worker) {
			w.planner.e.limiter = unavailable{}
			var posting sync.WaitGroup
			posting.Go(func() { w.poster.run(ctx) })
			time.Sleep(30 * time.Second)
			stop()
			posting.Wait()
		})
		for _, l := range []campaign.LaneReport{capped, free} {
			if l.LimitedBy != campaign.ByLimiter || l.Rate != 0 || !strings.Contains(l.Detail, "redis: no answer") {
				t.Errorf("%g/s limited by %s, want 0/s limited by limiter: %s", l.Rate, l.LimitedBy, l.Detail)
			}
		}
	})
}

// failing is a limiter that has slots and fails when it is asked for permission.
type failing struct{ throttle.Limiter }

func (failing) Allow(context.Context, string, float64, int) (int, time.Duration, error) {
	return unavailable{}.Allow(context.Background(), "", 0, 0)
}

// A limiter that fails to permit a run is no fault of the ledger: it limits the lanes.
func TestALimiterThatIsAwayLimitsTheLane(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, stop := context.WithCancel(t.Context())
		capped, _ := report(t, func(w *worker) {
			w.planner.e.limiter = failing{throttle.NewLocal()}
			w.queue.push([]*attempt{{segment: newSegment(w.planner.activeRuns()[0], campaign.Lease{}, nil)}})
			w.queue.take(time.Now(), nil)
			var posting sync.WaitGroup
			posting.Go(func() { w.poster.run(ctx) })
			time.Sleep(30 * time.Second)
			stop()
			posting.Wait()
		})
		if capped.LimitedBy != campaign.ByLimiter || capped.Rate != 0 {
			t.Errorf("%g/s limited by %s, want 0/s limited by limiter: %s", capped.Rate, capped.LimitedBy, capped.Detail)
		}
	})
}

// Between two groups nothing is queued; a number that holds a segment with deliveries to send is
// sending all the same.
func TestALaneBetweenTwoGroupsIsSending(t *testing.T) {
	for _, c := range []struct {
		to        int64 // of the segment's deliveries
		limitedBy campaign.LimitedBy
	}{{100, "throughput"}, {0, "none"}} {
		_, free := report(t, func(w *worker) {
			w.queue.remove(func(*attempt) bool { return true })
			r := w.planner.activeRuns()[1]
			s := newSegment(r, campaign.Lease{Segment: campaign.Segment{Hi: c.to}}, nil)
			s.pending.Add(1)
			w.planner.claimer.segments, w.planner.claimer.claimedAt = []*segment{s}, time.Now().Add(time.Hour) // nothing is claimed
			w.queue.push(blank(2 * w.planner.group(w.number.pace())))                                          // nor asked for
			if _, err := w.planner.step(t.Context()); err != nil {
				t.Fatal(err)
			}
			w.queue.remove(func(*attempt) bool { return true })
		})
		if free.LimitedBy != c.limitedBy {
			t.Errorf("with %d deliveries: %s, want %s", c.to, free.LimitedBy, c.limitedBy)
		}
	}
}

// Each counter is told under its own name.
func TestEachCounterHasItsOwnName(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e, err := New(nil, nil, nil, Options{Owner: "a"})
		if err != nil {
			t.Fatal(err)
		}
		w := newWorker(e, "conn_2")
		for n, kind := range []campaign.ResultKind{campaign.ResultAccepted, campaign.ResultRefused, campaign.ResultDeferred,
			campaign.ResultDoubt} {
			for range n + 1 {
				w.number.counts.note(campaign.Result{Kind: kind})
			}
		}
		w.number.counts.posted.Store(5)
		w.number.counts.skipped.Store(6)
		w.number.counts.recovered.Store(7)
		w.number.counts.forfeited.Store(8)
		w.number.counts.throttled.Store(9)
		w.number.counts.noSlot.Store(10)
		w.number.latency.add(11)
		w.poster.inFlight.begin()
		e.workers["conn_2"], e.workers["conn_1"] = w, newWorker(e, "conn_1")
		want := Stats{
			Connection: "conn_2", Rate: 72, InFlight: 1, Posted: 5, Accepted: 1, Refused: 2, Deferred: 3, Doubts: 4,
			Skipped: 6, Recovered: 7, Forfeited: 8, Throttled: 9, NoSlot: 10, Latency: 11,
		}
		if got := e.Stats(); len(got) != 2 || got[0].Connection != "conn_1" || !reflect.DeepEqual(got[1], want) {
			t.Errorf("stats %+v, want those of conn_1 and %+v", got, want)
		}
	})
}

// A failure of the limiter counts for a second. Requests without an answer count when no other may
// be made.
func TestALaneNamesWhatItWaitsFor(t *testing.T) {
	restricted := campaign.Hold{Scope: campaign.HoldConnection, ID: "conn_1", Reason: "131048", Detail: "restricted",
		Since: time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC), Source: campaign.HoldByRefusal}
	for _, tt := range []struct {
		name      string
		before    func(*worker)
		limitedBy campaign.LimitedBy
		detail    string
		rate      float64
	}{
		{"a pace", func(*worker) {}, "throughput", "it sends at its pace of 72 messages per second", 72},
		{"just refused", func(w *worker) { w.number.unasked(time.Now().Add(-time.Second), errGone) }, "limiter",
			"no send instant can be had, so nothing is sent: connection refused", 0},
		{"refused before", func(w *worker) { w.number.unasked(time.Now().Add(-time.Second-1), errGone) }, "throughput",
			"it sends at its pace of 72 messages per second", 72},
		{"refused, then not", func(w *worker) { w.number.unasked(time.Now(), errGone); w.number.asked() }, "throughput",
			"it sends at its pace of 72 messages per second", 72},
		{"29 in flight, no answer yet", func(w *worker) { w.poster.inFlight.n.Store(29) }, "throughput",
			"it sends at its pace of 72 messages per second", 72},
		{"30 in flight, no answer yet", func(w *worker) { w.poster.inFlight.n.Store(30) }, "in_flight",
			"30 requests wait for an answer (0s each)", 72},
		{"511 in flight", func(w *worker) {
			w.number.latency.add(2500400 * time.Microsecond)
			for range 511 {
				w.poster.inFlight.begin()
			}
		}, "throughput", "it sends at its pace of 72 messages per second", 72},
		{"512 in flight", func(w *worker) {
			w.number.latency.add(2500400 * time.Microsecond)
			for range 512 {
				w.poster.inFlight.begin()
			}
		}, "in_flight", "512 requests wait for an answer (2.5s each)", 72},
		{"the planner", func(w *worker) {
			w.planner.lanes.last = map[campaign.RunNo]lane{2: {limited: campaign.Limit{By: campaign.ByWindow, Detail: "it is shut"}}}
		}, "window",
			"it is shut", 72},
		{"nothing", func(w *worker) { w.queue.take(time.Now(), nil) }, "none",
			"nothing of this run is ready here: the rest is done, with another sender, or waits for its window, a retry or a doubt", 72},
		{"work at the last step", func(w *worker) {
			w.queue.take(time.Now(), nil)
			w.planner.lanes.last = map[campaign.RunNo]lane{2: {works: true}}
		}, "throughput", "it sends at its pace of 72 messages per second", 72},
		{"not reached before", func(w *worker) { w.number.until = time.Now() }, "throughput",
			"it sends at its pace of 72 messages per second", 72},
		{"not reached", func(w *worker) { w.number.unreached(time.Now()) }, "unreachable",
			"the service cannot be reached; next try in 1s", 0},
		{"a hold of the number", func(w *worker) {
			w.planner.e.holds.add(restricted, time.Now())
		}, "hold", wording.Hold(restricted, time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)), 0},
		{"a hold of another number", func(w *worker) {
			w.planner.e.holds.add(campaign.Hold{Scope: campaign.HoldConnection, ID: "conn_2", Reason: "131048"}, time.Now())
		}, "throughput", "it sends at its pace of 72 messages per second", 72},
		{"a breaker that is tested", func(w *worker) {
			w.planner.e.holds.add(campaign.Hold{Scope: campaign.HoldConnection, ID: "conn_1", Reason: "breaker", Detail: "silence",
				Source: campaign.HoldByBreaker, Since: time.Now().Add(-5 * time.Second)}, time.Now().Add(-5*time.Second))
		}, "hold", "connection conn_1 is tried with at most 3 requests at a time, since 2000-01-01 00:00:00 UTC: silence (breaker); the first " +
			"proven answer ends it, or `campaignd holds lift connection conn_1`", 0},
	} {
		synctest.Test(t, func(t *testing.T) {
			_, got := report(t, tt.before)
			want := campaign.LaneReport{Run: 2, Connection: "conn_1", LimitedBy: tt.limitedBy, Detail: tt.detail, Rate: tt.rate, At: time.Now()}
			if got != want {
				t.Errorf("%s: %+v, want %+v", tt.name, got, want)
			}
		})
	}
}
