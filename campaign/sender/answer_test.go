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
	Ledger
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

// answering is a worker of conn_1 and an attempt of the first of four runs: the second has the same
// template, the third another language of it, the fourth another template and another number.
func answering(t *testing.T) (*worker, *attempt, *pauseLedger) {
	t.Helper()
	l := &pauseLedger{}
	e, err := New(l, nil, nil, Options{Owner: "a"})
	if err != nil {
		t.Fatal(err)
	}
	e.order = []*run{
		{no: 1, template: "spring", language: "en", connections: []string{"conn_1"}},
		{no: 2, template: "spring", language: "en", connections: []string{"conn_2"}},
		{no: 3, template: "spring", language: "de", connections: []string{"conn_2", "conn_1"}},
		{no: 4, template: "autumn", language: "en", connections: []string{"conn_2"}},
	}
	s := &attempt{segment: newSegment(e.order[0], campaign.Lease{}, nil), number: 1,
		delivery: campaign.Delivery{Run: 1, Seq: 7, Key: 99, To: "+4915112345678"}}
	return newWorker(e, "conn_1"), s, l
}

// fails is what the poster does about a post that ended with e.
func (w *worker) fails(ctx context.Context, a *attempt, e *messaging.Error, now time.Time) campaign.Result {
	w.number.failed(e, now)
	w.poster.pauseFor(ctx, a, e)
	return a.classify(e, w.poster.e.o.Backoff, now)
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
		{"later, second", messaging.RetryLater, 0, 2, 0, campaign.ResultDeferred, 10 * time.Second, time.Second, false},
		{"later, sixth", messaging.RetryLater, 0, 6, 0, campaign.ResultDeferred, 160 * time.Second, time.Second, false},
		{"later, seventh", messaging.RetryLater, 0, 7, 0, campaign.ResultDeferred, 160 * time.Second, time.Second, false},
		{"later, as asked", messaging.RetryLater, 7 * time.Second, 1, 0, campaign.ResultDeferred, 7 * time.Second, time.Second, false},
		{"later, asked for less", messaging.RetryLater, 7 * time.Second, 2, 0, campaign.ResultDeferred, 10 * time.Second, time.Second, false},
		{"once more", messaging.RetryOnce, 0, 1, 0, campaign.ResultDeferred, 5 * time.Second, 5 * time.Second, true},
		{"once more, after it was throttled", messaging.RetryOnce, 0, 8, 0, campaign.ResultDeferred, 5 * time.Second, 5 * time.Second, true},
		{"not once more", messaging.RetryOnce, 0, 2, 1, campaign.ResultRefused, 0, 0, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w, s, _ := answering(t)
				s.number, s.tries = tt.attempt, tt.tries
				now, spread := time.Now(), map[time.Duration]bool{}
				for seq := range int64(20) {
					s.delivery.Seq = seq
					e := &messaging.Error{Proof: messaging.NotSent, Action: tt.action, Wait: tt.asked, Status: 400, Code: "c", Message: "m",
						RequestID: "r", TraceID: "t"}
					got := w.fails(t.Context(), s, e, now)
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

// A refusal that names a run, by its number, template or account, stops it; no other does.
func TestAHoldStopsWhatItNames(t *testing.T) {
	for _, tt := range []struct {
		name string
		hold messaging.Hold
		act  messaging.Action
		wait time.Duration
		want []string
		rest time.Duration
	}{
		{"nothing", messaging.HoldNothing, messaging.RetryLater, time.Minute, nil, 0},
		{"throttled", messaging.HoldNothing, messaging.Slow, 0, nil, 0},
		{"throttled for a minute", messaging.HoldNothing, messaging.Slow, time.Minute, nil, time.Minute},
		{"pair", messaging.HoldNothing, messaging.WaitPair, time.Minute, nil, 0},
		{"payload, once", messaging.HoldPayload, messaging.Refuse, 0, nil, 0},
		{"number", messaging.HoldConnection, messaging.RetryLater, 0, []string{"1 number", "3 number"}, 0},
		{"number for a while", messaging.HoldConnection, messaging.RetryLater, 90 * time.Second, nil, 90 * time.Second},
		{"template", messaging.HoldTemplate, messaging.RetryLater, 0, []string{"1 template", "2 template"}, 0},
		{"allowance", messaging.HoldCompany, messaging.RetryLater, time.Hour, []string{"1 allowance", "2 allowance", "3 allowance", "4 allowance"}, 0},
		{"account", messaging.HoldAccount, messaging.RetryLater, 0, []string{"1 account", "2 account", "3 account", "4 account"}, 0},
		{"configuration", messaging.HoldKey, messaging.RetryLater, 0, []string{"1 account", "2 account", "3 account", "4 account"}, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w, s, l := answering(t)
				now := time.Now()
				e := messaging.Error{Proof: messaging.NotSent, Action: tt.act, Hold: tt.hold, Wait: tt.wait, Status: 400}
				if tt.wait > 0 {
					e.Heal = messaging.HealTime
				}
				w.fails(t.Context(), s, &e, now)
				if !slices.Equal(l.paused, tt.want) {
					t.Errorf("paused %q, want %q", l.paused, tt.want)
				}
				for _, r := range w.planner.e.order {
					named := slices.ContainsFunc(tt.want, func(w string) bool { return w[0] == byte('0'+r.no) })
					if held := r.held.Load(); held != named {
						t.Errorf("run %d is held: %v, want %v", r.no, held, named)
					}
				}
				if held, _ := w.number.heldFor(now); max(held, 0) != tt.rest {
					t.Errorf("the number rests for %v, want %v", held, tt.rest)
				}
				w.fails(t.Context(), s, &messaging.Error{Proof: messaging.NotSent, Action: tt.act, Hold: tt.hold, Wait: tt.wait / 2, Status: 400}, now)
				if !slices.Equal(l.paused, tt.want) {
					t.Errorf("after a second answer paused %q, want %q", l.paused, tt.want)
				}
				if held, _ := w.number.heldFor(now); max(held, 0) != tt.rest {
					t.Errorf("after a shorter wait the number rests for %v, want %v", held, tt.rest)
				}
			})
		})
	}
}

// A pause that could not be written is tried with the next refusal.
func TestAPauseThatFailsIsTriedAgain(t *testing.T) {
	w, s, l := answering(t)
	e := &messaging.Error{Proof: messaging.NotSent, Action: messaging.RetryLater, Hold: messaging.HoldTemplate, Status: 400}
	l.err = errGone
	w.fails(t.Context(), s, e, time.Now())
	if s.segment.run.held.Load() {
		t.Error("the run is held although its pause is not written, want it to go on")
	}
	l.err = nil
	w.fails(t.Context(), s, e, time.Now())
	if want := []string{"1 template", "2 template"}; !slices.Equal(l.paused, want) {
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
				w.fails(t.Context(), s, e, time.Now())
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

// A service whose answers prove nothing lets the number rest for 30 s; a 200 without an id is not
// such an answer.
func TestDoubtsLetTheNumberRestForThirtySeconds(t *testing.T) {
	w, s, _ := answering(t)
	now := time.Now()
	for range 19 {
		if got := w.fails(t.Context(), s, &messaging.Error{Proof: messaging.Doubt, Status: 500}, now); got.Kind != campaign.ResultDoubt ||
			got.NoResend {
			t.Fatalf("result = %+v, want a doubt that may be resent", got)
		}
	}
	if got := w.fails(t.Context(), s, &messaging.Error{Proof: messaging.DoubtNoID, Status: 200}, now); got.Kind != campaign.ResultDoubt ||
		!got.NoResend {
		t.Fatalf("result = %+v, want a doubt that is never resent", got)
	}
	if held, _ := w.number.heldFor(now); held > 0 {
		t.Errorf("after 19 doubts the number rests for %v, want 0", held)
	}
	w.fails(t.Context(), s, &messaging.Error{Proof: messaging.Doubt, Status: 500}, now)
	if held, why := w.number.heldFor(now); held != 30*time.Second || why.limit != "doubt" {
		t.Errorf("after 20 doubts the number rests for %v (%s), want 30s (doubt)", held, why.limit)
	}
}

// A message that the client itself refuses says nothing of the service, so the number sends on.
func TestAMessageThatCannotBeSentHoldsNoNumber(t *testing.T) {
	e, err := New(nil, nil, nil, Options{Owner: "a"})
	if err != nil {
		t.Fatal(err)
	}
	now := time.Now()
	for _, tt := range []struct {
		code   string
		action messaging.Action
		held   bool
	}{{"not_e164", messaging.Refuse, false}, {"not_connected", messaging.RetryLater, true}} {
		n := newNumber("conn_1", e.o)
		n.failed(&messaging.Error{Proof: messaging.NotSent, Action: tt.action, Code: tt.code}, now)
		if d, _ := n.heldFor(now); (d > 0) != tt.held {
			t.Errorf("after %s the number is held for %v, want it held: %v", tt.code, d, tt.held)
		}
	}
}

// A service that cannot be reached is asked after 0.5 s, twice as long each time, at most 30 s; an
// answer begins anew.
func TestAnUnreachableServiceIsAskedLessOften(t *testing.T) {
	w, s, _ := answering(t)
	now := time.Now()
	away := &messaging.Error{Proof: messaging.NotSent, Action: messaging.RetryLater}
	for i, want := range []time.Duration{500 * time.Millisecond, time.Second, 2 * time.Second, 4 * time.Second, 8 * time.Second,
		16 * time.Second, 30 * time.Second, 30 * time.Second} {
		w.fails(t.Context(), s, away, now)
		w.fails(t.Context(), s, away, now.Add(want/2)) // of the same outage
		if held, why := w.number.heldFor(now); held != want || why.limit != "unreachable" {
			t.Errorf("hold %d is %v (%s), want %v (unreachable)", i, held, why.limit, want)
		}
		now = w.number.until
	}
	w.fails(t.Context(), s, &messaging.Error{Proof: messaging.NotSent, Action: messaging.Refuse, Status: 400}, now)
	w.fails(t.Context(), s, away, now)
	if held, _ := w.number.heldFor(now); held != 500*time.Millisecond {
		t.Errorf("after an answer the hold is %v, want 500ms", held)
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
			At: now}},
		{messaging.FeedUnreachable, &campaign.Suppression{Key: 99, To: "+4915112345678", Scope: campaign.ScopeUnreachable, Source: "refused:c",
			At: now, Until: now.Add(2160 * time.Hour)}},
	} {
		got := w.fails(t.Context(), s, &messaging.Error{Proof: messaging.NotSent, Action: messaging.Refuse, Feed: tt.feed, Status: 400,
			Code: "c"}, now).Suppress
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
