package sender

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"campaignd/campaign"
	"campaignd/internal/messaging"
	"campaignd/throttle"
)

// pauseLedger is a ledger that notes which runs are paused, and for what.
type pauseLedger struct {
	stubLedger
	paused []string
	err    error
}

func (l *pauseLedger) SetState(_ context.Context, no campaign.RunNo, _ []campaign.State, _ campaign.State, why campaign.PauseReason,
	_ string) (bool, error) {
	if l.err != nil {
		return false, l.err
	}
	l.paused = append(l.paused, string(rune('0'+no))+" "+string(why))
	return true, nil
}

// answering is a worker of conn_1 and an attempt of its run.
func answering(t *testing.T) (*worker, *attempt, *pauseLedger) {
	t.Helper()
	l := &pauseLedger{}
	e, err := New(l, nil, nil, Options{Owner: "a"})
	if err != nil {
		t.Fatal(err)
	}
	r := &run{no: 1, template: "spring", language: "en", connections: []string{"conn_1"}}
	s := &attempt{segment: newSegment(r, campaign.Lease{}, nil), nth: 1,
		delivery: campaign.Delivery{Run: 1, Seq: 7, Key: 99, To: "+4915112345678"}}
	return newWorker(e, "conn_1"), s, l
}

// fails is what the poster does about a post that ended with e.
func (w *worker) fails(a *attempt, e *messaging.Error, now time.Time) campaign.Result {
	state, b := w.poster.e.holds.circuit("conn_1", now)
	t := w.number.circuit.ticket(b, state == halfOpen)
	w.poster.learn(a, t, e, now, now)
	state, _ = w.poster.e.holds.circuit("conn_1", now)
	return a.classify(e, w.poster.e.o.Backoff, t.probe || state != closed, w.number.accepted(a.segment.run), now)
}

// Each refusal gives its recipient a result and a wait. The table has the wait without the drawn
// part.
func TestARefusalHasTheWaitOfItsAction(t *testing.T) {
	for _, tt := range []struct {
		name           string
		action         messaging.Action
		asked          time.Duration
		attempt, tries int
		kind           campaign.ResultKind
		wait, spread   time.Duration // at least; below that more
		counts         bool
	}{
		{"refused", messaging.Refuse, 0, 1, 0, campaign.ResultRefused, 0, 0, false},
		{"throttled", messaging.Slow, 0, 1, 0, campaign.ResultDeferred, time.Second, time.Second, false},
		{"throttled for less than a second", messaging.Slow, 300 * time.Millisecond, 1, 0, campaign.ResultDeferred, time.Second, time.Second,
			false},
		{"throttled for a minute", messaging.Slow, time.Minute, 9, 1, campaign.ResultDeferred, time.Minute, time.Second, false},
		{"pair, first", messaging.WaitPair, 0, 1, 0, campaign.ResultDeferred, 6 * time.Second, time.Second, false},
		{"pair, second", messaging.WaitPair, 0, 2, 0, campaign.ResultDeferred, 24 * time.Second, time.Second, false},
		{"pair, fourth", messaging.WaitPair, 0, 4, 1, campaign.ResultDeferred, 384 * time.Second, time.Second, false},
		{"pair, fifth", messaging.WaitPair, 0, 5, 0, campaign.ResultDeferred, 1536 * time.Second, time.Second, false},
		{"pair, sixth", messaging.WaitPair, 0, 6, 0, campaign.ResultDeferred, 1536 * time.Second, time.Second, false},
		{"later, first", messaging.RetryLater, 0, 1, 1, campaign.ResultDeferred, 5 * time.Second, time.Second, false},
		{"later, seventh", messaging.RetryLater, 0, 7, 0, campaign.ResultDeferred, 5 * time.Second, time.Second, false},
		{"later, behind a hold of a minute", messaging.RetryLater, time.Minute, 2, 0, campaign.ResultDeferred, 5 * time.Second, time.Second,
			false},
		{"once more", messaging.RetryOnce, 0, 1, 0, campaign.ResultDeferred, 5 * time.Second, 5 * time.Second, true},
		{"once more, after it was throttled", messaging.RetryOnce, 0, 8, 0, campaign.ResultDeferred, 5 * time.Second, 5 * time.Second, true},
		{"for now", messaging.RefuseForNow, 0, 1, 0, campaign.ResultDeferred, 5 * time.Second, 5 * time.Second, true},
		{"for now, the fourth", messaging.RefuseForNow, 0, 4, 3, campaign.ResultDeferred, 40 * time.Second, 5 * time.Second, true},
		{"for now, the last", messaging.RefuseForNow, 0, 5, 4, campaign.ResultRefused, 0, 0, false},
		{"not once more", messaging.RetryOnce, 0, 2, 1, campaign.ResultRefused, 0, 0, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w, s, _ := answering(t)
				s.nth, s.tries = tt.attempt, tt.tries
				now, spread := time.Now(), map[time.Duration]bool{}
				for seq := range int64(20) {
					s.delivery.Seq = seq
					e := &messaging.Error{Proof: messaging.NotSent, Action: tt.action, Wait: tt.asked, Status: 400, Code: "c", Message: "m",
						RequestID: "r", TraceID: "t"}
					got := w.fails(s, e, now)
					if got.Kind != tt.kind || got.Counts != tt.counts || got.NoResend || got.Suppress != nil {
						t.Fatalf("result = %+v, want kind %v, counts %v", got, tt.kind, tt.counts)
					}
					if got.Code != "c" || got.Detail != "m" || got.RequestID != "r" || got.TraceID != "t" || !got.At.Equal(now) {
						t.Fatalf("result = %+v, want c, m, r, t and now", got)
					}
					if tt.kind == campaign.ResultRefused {
						if !got.NotBefore.IsZero() {
							t.Errorf("not before = %v, want zero", got.NotBefore)
						}
						continue
					}
					more := got.NotBefore.Sub(now) - tt.wait
					if spread[more] = true; more < 0 || more >= tt.spread {
						t.Errorf("waits %v more than %v, want 0 to %v", more, tt.wait, tt.spread)
					}
				}
				if tt.kind == campaign.ResultDeferred && len(spread) != 20 {
					t.Errorf("%d different waits, want 20", len(spread))
				}
			})
		})
	}
}

// An unknown code may concern everybody. Only a message that was accepted later shows that it
// concerns one recipient.
func TestAnUnknownCodeRefusesAfterAnAcceptance(t *testing.T) {
	for _, c := range []struct {
		name     string
		tries    int
		accepted time.Duration // before this answer; 0: none was
		other    bool          // of another template
		want     campaign.ResultKind
	}{
		{"nothing was accepted", 1, 0, false, campaign.ResultDeferred},
		{"the first answer", 0, time.Second, false, campaign.ResultDeferred},
		{"accepted before the first answer", 1, 6 * time.Second, false, campaign.ResultDeferred},
		{"accepted after it", 1, 4 * time.Second, false, campaign.ResultRefused},
		{"accepted before the second answer", 2, 11 * time.Second, false, campaign.ResultDeferred},
		{"accepted after the second", 2, 9 * time.Second, false, campaign.ResultRefused},
		{"another template", 1, time.Second, true, campaign.ResultDeferred},
	} {
		synctest.Test(t, func(t *testing.T) {
			w, s, _ := answering(t)
			now := time.Now()
			s.segment.run.template, s.segment.run.language = "a", ""
			if c.accepted > 0 {
				w.number.accepts(&run{template: map[bool]string{false: "a", true: "b"}[c.other]}, now.Add(-c.accepted))
			}
			s.nth, s.tries = c.tries+1, c.tries
			e := &messaging.Error{Proof: messaging.NotSent, Action: messaging.RefuseForNow, Hold: messaging.HoldPayload, Status: 400, Code: "999"}
			if got := w.fails(s, e, now); got.Kind != c.want || (got.Kind == campaign.ResultDeferred) != got.Counts {
				t.Errorf("%s: got %+v, want kind %v", c.name, got, c.want)
			}
		})
	}
}

// A pause that could not be written is tried with the next refusal.
func TestAPauseThatFailsIsTriedAgain(t *testing.T) {
	w, s, l := answering(t)
	e := &messaging.Error{Proof: messaging.NotSent, Action: messaging.Refuse, Hold: messaging.HoldPayload, Status: 400, Code: "x"}
	l.err = errGone
	for range 20 {
		w.fails(s, e, time.Now())
	}
	if s.segment.run.paused.Load() {
		t.Error("the run is held although its pause is not written, want it to go on")
	}
	l.err = nil
	for range 20 {
		w.fails(s, e, time.Now())
	}
	if want := []string{"1 breaker"}; !slices.Equal(l.paused, want) {
		t.Errorf("paused %q, want %q", l.paused, want)
	}
}

// 20 of the last 25 results decide, and then they are forgotten.
func TestTheBreakerTripsAtTwentyOfTwentyFive(t *testing.T) {
	for _, tt := range []struct {
		name      string
		good, bad int // 5 good then 20 bad, for example
		code      string
		want      []string
	}{
		{"19 bad", 0, 19, "a", nil},
		{"20 bad", 0, 20, "a", []string{"1 breaker"}},
		{"5 good, 20 bad", 5, 20, "a", []string{"1 breaker"}},
		{"39 bad: it begins anew", 0, 39, "a", []string{"1 breaker"}},
		{"two codes", 0, 38, "", nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			w, s, l := answering(t)
			for i := range tt.good + tt.bad {
				e := &messaging.Error{Proof: messaging.NotSent, Action: messaging.Refuse, Status: 400, Code: "x"}
				if i >= tt.good {
					e.Hold, e.Code = messaging.HoldPayload, tt.code
					if tt.code == "" {
						e.Code = string(rune('a' + i%2))
					}
				}
				w.fails(s, e, time.Now())
			}
			if !slices.Equal(l.paused, tt.want) {
				t.Errorf("paused %q, want %q", l.paused, tt.want)
			}
		})
	}
	var b breaker
	for range 19 {
		b.note("a")
	}
	for range 6 {
		b.note("")
	}
	if b.note("a") { // the first of the 19 is forgotten
		t.Error("the breaker trips at 19 of the last 25, want 20")
	}
}

// An opt-out suppresses marketing for good. An unreachable number is suppressed for 90 days.
func TestARefusalFeedsTheSuppressions(t *testing.T) {
	w, s, _ := answering(t)
	now := time.Now()
	for _, tt := range []struct {
		feed messaging.Feed
		want *campaign.Suppression
	}{
		{messaging.FeedNothing, nil},
		{messaging.FeedOptOut, &campaign.Suppression{Key: 99, To: "+4915112345678", Scope: campaign.ScopeMarketing, Source: "refused:c",
			At: now, Proof: campaign.Proof{Source: "refused:c", At: now, Run: 1, Request: "req_1"}}},
		{messaging.FeedUnreachable, &campaign.Suppression{Key: 99, To: "+4915112345678", Scope: campaign.ScopeUnreachable, Source: "refused:c",
			At: now, Until: now.Add(2160 * time.Hour), Proof: campaign.Proof{Source: "refused:c", At: now, Run: 1, Request: "req_1"}}},
	} {
		got := w.fails(s, &messaging.Error{Proof: messaging.NotSent, Action: messaging.Refuse, Feed: tt.feed, Status: 400,
			Code: "c", RequestID: "req_1"}, now).Suppress
		if (got == nil) != (tt.want == nil) || got != nil && *got != *tt.want {
			t.Errorf("feed %v writes %+v, want %+v", tt.feed, got, tt.want)
		}
	}
}

// told is a limiter that notes what it is told.
type told struct {
	throttle.Limiter
	answers []string
}

func (l *told) Observe(key string, stage int64, throttled bool) {
	l.answers = append(l.answers, fmt.Sprint(key, " ", stage, " ", throttled))
}

// Throttling answers alone lower the rate. Every other answer says that the rate was accepted, and
// no answer says nothing.
func TestOnlyThrottlingLowersTheRate(t *testing.T) {
	for _, tt := range []struct {
		name string
		e    *messaging.Error
		want string
	}{
		{"accepted", nil, "[conn_1 7 false]"},
		{"throttled", &messaging.Error{Proof: messaging.NotSent, Action: messaging.Slow, Status: 429}, "[conn_1 7 true]"},
		{"throttled for a minute", &messaging.Error{Proof: messaging.NotSent, Action: messaging.Slow, Status: 429, Wait: time.Minute},
			"[conn_1 7 true]"},
		{"refused", &messaging.Error{Proof: messaging.NotSent, Action: messaging.Refuse, Status: 400}, "[conn_1 7 false]"},
		{"no connection", &messaging.Error{Proof: messaging.NotSent, Action: messaging.RetryLater}, "[]"},
		{"doubt", &messaging.Error{Proof: messaging.Doubt, Status: 500}, "[]"},
		{"doubt without an id", &messaging.Error{Proof: messaging.DoubtNoID, Status: 200}, "[]"},
	} {
		w, s, _ := answering(t)
		l := &told{}
		w.poster.e.limiter, s.stage = l, 7
		w.poster.observe(s, tt.e)
		if got := fmt.Sprint(l.answers); got != tt.want {
			t.Errorf("%s: the limiter was told %s, want %s", tt.name, got, tt.want)
		}
	}
}

// The pace of a number is what the limiter granted, and follows the configured pace at once.
func TestThePaceIsWhatTheLimiterGranted(t *testing.T) {
	w, _, _ := answering(t)
	ceiling := 80.0
	w.number.o.Pace = func(string) float64 { return ceiling }
	l := throttle.NewLocal()
	l.Observe("conn_1", 0, true)
	if slots, err := w.number.lease(t.Context(), l, 100); err != nil || slots.N != 14 || slots.Rate != 56 {
		t.Errorf("after a throttled answer: %d slots at %v a second, %v; want 14 (a free horizon) at 56", slots.N, slots.Rate, err)
	}
	ceiling = 40
	if got := w.number.pace(); got != 28 {
		t.Errorf("at half the configured pace: %v a second, want 28", got)
	}
}
