package sender

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"campaignd/campaign"
	"campaignd/internal/messaging"
)

// A breaker opens at the 20th of 25 answers that prove nothing, or when 5 recipients in a row get
// the same unknown answer.
func TestTheBreakerOfAConnectionOpens(t *testing.T) {
	doubt := &messaging.Error{Proof: messaging.Doubt, Code: "time_out"}
	noID := &messaging.Error{Proof: messaging.DoubtNoID, Status: 200, Code: "accepted_no_id"}
	page := func(status int) *messaging.Error {
		return &messaging.Error{Proof: messaging.NotSent, Action: messaging.RetryUnknown, Status: status, Code: fmt.Sprint("http_", status)}
	}
	refused := &messaging.Error{Proof: messaging.NotSent, Action: messaging.Refuse, Status: 400, Code: "131026"}
	away := &messaging.Error{Proof: messaging.NotSent, Action: messaging.RetryLater, Code: "not_connected"}
	own := &messaging.Error{Proof: messaging.NotSent, Action: messaging.Refuse, Code: "not_e164"}
	for _, tt := range []struct {
		name   string
		answer func(i int) *messaging.Error
		tries  int // earlier ones of each recipient
		people int // different ones; 0: each once
		opens  int // at which answer, from 1; 0: it stays closed
	}{
		{"time-outs", func(int) *messaging.Error { return doubt }, 0, 0, 20},
		{"200 without an id", func(int) *messaging.Error { return noID }, 0, 0, 20},
		{"4 of 5 prove nothing", func(i int) *messaging.Error { return []*messaging.Error{refused, doubt, noID, doubt, noID}[i%5] }, 0, 0, 25},
		{"3 of 4 prove nothing", func(i int) *messaging.Error { return []*messaging.Error{refused, doubt, noID, doubt}[i%4] }, 0, 0, 0},
		{"refusals", func(int) *messaging.Error { return refused }, 0, 0, 0},
		{"the client's own refusals", func(int) *messaging.Error { return own }, 0, 0, 0},
		{"a page for everybody", func(int) *messaging.Error { return page(403) }, 0, 0, 5},
		{"a page for 4 people, again and again", func(int) *messaging.Error { return page(403) }, 0, 4, 20},
		{"a page for those who had it before", func(int) *messaging.Error { return page(403) }, 1, 0, 0},
		{"pages of two kinds", func(i int) *messaging.Error { return page(403 + i%2) }, 0, 0, 20},
		{"a page for every second", func(i int) *messaging.Error { return []*messaging.Error{page(403), refused}[i%2] }, 0, 0, 0},
		{"no connection, at one moment", func(int) *messaging.Error { return away }, 0, 0, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w, a, _ := answering(t)
				now, opened := time.Now(), 0
				for i := range 60 {
					a.tries, a.delivery.Key = tt.tries, int64(i)
					if tt.people > 0 {
						a.delivery.Key = int64(i % tt.people)
					}
					w.fails(a, tt.answer(i), now)
					if state, _ := w.poster.e.holds.circuit("conn_1", now); state == open {
						opened = i + 1
						break
					}
				}
				if opened != tt.opens {
					t.Errorf("it opens at answer %d, want %d", opened, tt.opens)
				}
				if _, held := w.poster.e.holds.by(campaign.Origin{Connection: "conn_2"}, now); held {
					t.Error("another connection is held, want conn_1 alone")
				}
			})
		})
	}
}

// A half-open breaker closes with the first test that is proven, also after another test of the
// same round has failed. Answers to requests from before say nothing.
func TestAHalfOpenBreakerIsTested(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, a, _ := answering(t)
		doubt := &messaging.Error{Proof: messaging.Doubt, Code: "time_out"}
		h := w.poster.e.holds
		before := w.number.circuit.ticket(h.breaker("conn_1"), false)
		for range 20 {
			w.fails(a, doubt, time.Now())
		}
		for i, rest := range []time.Duration{5 * time.Second, 10 * time.Second, 20 * time.Second} {
			if b := h.breaker("conn_1"); time.Until(b.Until) != rest {
				t.Errorf("rest %d is %v, want %v", i, time.Until(b.Until), rest)
			}
			time.Sleep(rest)
			if state, _ := h.circuit("conn_1", time.Now()); state != halfOpen {
				t.Errorf("after rest %d its state is %v, want half-open", i, state)
			}
			for range 20 {
				w.poster.learn(a, before, doubt, time.Now(), time.Now())
			}
			w.poster.learn(a, before, nil, time.Now(), time.Now())
			if state, _ := h.circuit("conn_1", time.Now()); state != halfOpen {
				t.Errorf("after late answers its state is %v, want half-open", state)
			}
			if i == 2 {
				break
			}
			w.fails(a, doubt, time.Now())
		}
		b := h.breaker("conn_1")
		one, two := w.number.circuit.ticket(b, true), w.number.circuit.ticket(b, true)
		w.poster.learn(a, one, doubt, time.Now(), time.Now())
		if state, _ := h.circuit("conn_1", time.Now()); state != open {
			t.Errorf("after a failed test its state is %v, want open", state)
		}
		w.poster.learn(a, two, nil, time.Now(), time.Now())
		if state, _ := h.circuit("conn_1", time.Now()); state != closed {
			t.Errorf("after a proven test its state is %v, want closed", state)
		}
	})
}

// An unknown answer counts as a try of its recipient, the third is the end. While the breaker is
// not closed the connection is at fault, and nobody's tries are counted.
func TestAnUnknownAnswerIsItsRecipientsMatter(t *testing.T) {
	e := &messaging.Error{Proof: messaging.NotSent, Action: messaging.RetryUnknown, Status: 403, Code: "http_403"}
	for _, tt := range []struct {
		tries  int
		open   bool
		kind   campaign.ResultKind
		counts bool
	}{
		{0, false, campaign.ResultDeferred, true}, {1, false, campaign.ResultDeferred, true}, {2, false, campaign.ResultRefused, false},
		{0, true, campaign.ResultDeferred, false}, {2, true, campaign.ResultDeferred, false}, {9, true, campaign.ResultDeferred, false},
	} {
		a := &attempt{nth: tt.tries + 1, tries: tt.tries}
		if got := a.classify(e, 5*time.Second, tt.open, time.Time{}, time.Now()); got.Kind != tt.kind || got.Counts != tt.counts ||
			got.Code != "http_403" {
			t.Errorf("after %d tries, open: %v: %+v, want kind %v, counted: %v", tt.tries, tt.open, got, tt.kind, tt.counts)
		}
	}
}

// A service that cannot be reached is asked after 0.5 s, 1 s and 2 s; then the breaker opens. An
// answer begins anew.
func TestThreeFailedConnectionsOpenTheBreaker(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, a, _ := answering(t)
		away := &messaging.Error{Proof: messaging.NotSent, Action: messaging.RetryLater, Code: "not_connected"}
		refused := &messaging.Error{Proof: messaging.NotSent, Action: messaging.Refuse, Status: 400}
		for range 2 {
			for _, want := range []time.Duration{500 * time.Millisecond, time.Second, 2 * time.Second} {
				w.fails(a, away, time.Now())
				w.fails(a, away, time.Now().Add(want/2)) // of the same outage
				if rest, why := w.number.rests(time.Now()); rest != want || why.By != campaign.ByUnreachable {
					t.Errorf("the number rests for %v (%s), want %v (unreachable)", rest, why.By, want)
				}
				time.Sleep(want)
			}
			w.fails(a, refused, time.Now())
		}
		for range 4 {
			w.fails(a, away, time.Now())
			time.Sleep(2 * time.Second)
		}
		if state, b := w.poster.e.holds.circuit("conn_1", time.Now()); state != open || b.Detail == "" {
			t.Errorf("after three rests the breaker is %v (%s), want open", state, b.Detail)
		}
	})
}

// holdLedger counts what is written.
type holdLedger struct {
	stubLedger
	added  [][]campaign.Hold
	stored []campaign.Hold
}

func (l *holdLedger) AddHolds(_ context.Context, hs []campaign.Hold) ([]campaign.Hold, error) {
	l.added = append(l.added, hs)
	for _, h := range hs {
		l.stored = put(l.stored, h)
	}
	return hs, nil
}

func (l *holdLedger) Holds(context.Context, bool) ([]campaign.Hold, error) { return l.stored, nil }

// Many refusals at one moment are one write. A hold of less than a second stays in the process.
func TestHoldsAreWrittenOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := &holdLedger{}
		o, err := Options{Owner: "a"}.withDefaults()
		if err != nil {
			t.Fatal(err)
		}
		h := newHolds(l, o, func() {})
		ctx, stop := context.WithCancel(t.Context())
		defer stop()
		go h.run(ctx, t.Context())
		wait := func(d time.Duration) campaign.Hold {
			return campaign.Hold{Scope: campaign.HoldConnection, ID: "conn_1", Reason: "429", Source: campaign.HoldByRefusal, Since: time.Now(),
				Until: time.Now().Add(d)}
		}
		held := func() time.Duration {
			one, _ := h.by(campaign.Origin{Connection: "conn_1"}, time.Now())
			return time.Until(one.Until)
		}
		h.add(wait(900*time.Millisecond), time.Now())
		if got := held(); got != 900*time.Millisecond {
			t.Errorf("held for %v, want 900ms", got)
		}
		time.Sleep(3 * time.Second)
		synctest.Wait()
		if len(l.added) != 0 {
			t.Errorf("%d writes of a short hold, want 0", len(l.added))
		}
		for range 100 {
			h.add(wait(10*time.Second), time.Now())
			time.Sleep(100 * time.Microsecond)
		}
		time.Sleep(time.Second)
		synctest.Wait()
		if len(l.added) != 1 || len(l.added[0]) != 1 {
			t.Errorf("writes %v, want one of one hold", l.added)
		}
		h.add(wait(20*time.Second), time.Now())
		time.Sleep(time.Second)
		synctest.Wait()
		if got := held(); len(l.added) != 2 || got != 19*time.Second {
			t.Errorf("%d writes, held for %v; want 2, 19s", len(l.added), got)
		}
	})
}
