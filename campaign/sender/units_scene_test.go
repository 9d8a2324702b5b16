package sender_test

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"campaignd/campaign"
	"campaignd/campaign/plan"
	"campaignd/campaign/sender"
	"campaignd/throttle"
)

// month is the plan of the scenes below.
func month(t *testing.T) plan.Allowance {
	t.Helper()
	zone, err := plan.Zone("Pacific/Auckland")
	if err != nil {
		t.Fatal(err)
	}
	return plan.Allowance{Messages: 300, Reserve: 0.1, Day: 1, Zone: zone}
}

// counted gives the scene's engines an allowance that all connections share, and with ramp a limit
// of each number for a day.
func (s *scene) counted(a plan.Allowance, ramp int64) {
	s.options = func(o *sender.Options) {
		o.Counter = s.limiter.(throttle.Counter)
		o.Quotas = func(connection string, now time.Time) []sender.Quota {
			from, to := a.Period(now)
			q := throttle.Quota{Key: "plan:co", From: from, To: to, Limit: a.Messages, Kept: a.Kept()}
			all := []sender.Quota{{Quota: q, By: campaign.ByAllowance, Full: "the allowance is used up"}}
			if ramp > 0 {
				from, to := plan.RampPeriod(now)
				q := throttle.Quota{Key: "ramp:" + connection, From: from, To: to, Limit: ramp}
				all = append(all, sender.Quota{Quota: q, By: campaign.ByRamp, Full: "the day's places are used"})
			}
			return all
		}
		o.Spent = func(ctx context.Context, q throttle.Quota) (n int64, err error) {
			all, err := s.ledger.Spent(ctx, q.From)
			for connection, spent := range all {
				if by, of, _ := strings.Cut(q.Key, ":"); by == "plan" || of == connection {
					n += spent
				}
			}
			return n, err
		}
		o.PlanEnds = func(_ string, now time.Time) time.Time {
			_, to := a.Period(now)
			return to
		}
	}
}

// limits is what limits the lanes of a template now, by connection.
func limits(e *sender.Engine, no campaign.RunNo) (all []string) {
	for _, s := range e.Stats() {
		for _, l := range s.Lanes {
			if l.Run == no {
				all = append(all, string(l.LimitedBy))
			}
		}
	}
	return all
}

// acceptedIn counts the accepted messages of templates with the prefix, by the time of the request.
func (s *scene) acceptedIn(from, to time.Time, prefix string) int {
	return s.count(from, to, func(q *request) bool { return q.accepted && strings.HasPrefix(q.template, prefix) })
}

// refuseATenth refuses every tenth request.
func refuseATenth(q *request) *http.Response {
	if q.nth%10 != 0 {
		return nil
	}
	return respond(400, `{"error":"send_recipient_permanent","message":"No.",
		"meta":{"errorClass":"recipient_permanent","retryable":false,"code":131026}}`)
}

// turnOfTheMonth sends over two numbers of one company across the turn of a month in Auckland, with
// refusals, a restart, and more recipients than two months allow. It returns what is wrong with the
// counts.
func turnOfTheMonth(t *testing.T) (wrong []string) {
	a := month(t)
	// The first of February in Auckland is 31 January 11:00 in UTC. The bubble's clock begins a month
	// before.
	turn := time.Date(2000, 1, 31, 11, 0, 0, 0, time.UTC)
	time.Sleep(time.Until(turn.Add(-time.Minute)))
	s := newScene(t)
	s.counted(a, 0)
	s.answer = refuseATenth
	s.launch("promo", 1200, "conn_1")
	s.launch("note", 100, "conn_2")
	start := time.Now()
	engine, stop := s.start("a")
	time.Sleep(30 * time.Second)
	if by := fmt.Sprint(limits(engine, s.runs["promo"].No)); by != "[allowance]" {
		wrong = append(wrong, fmt.Sprintf("with the allowance used the lanes are limited by %s, want [allowance]", by))
	}
	stop()
	s.limiter = throttle.NewLocal() // a new process, which knows nothing
	_, stop = s.start("b")
	time.Sleep(time.Until(turn.Add(-time.Second)))
	first, promo := s.acceptedIn(start, turn, ""), s.acceptedIn(start, turn, "promo")
	time.Sleep(time.Until(turn.Add(time.Minute)))
	second, later := s.acceptedIn(turn, time.Now(), ""), s.acceptedIn(turn, time.Now(), "promo")
	stop()
	t.Logf("before the turn %d messages, %d of them marketing; after it %d and %d", first, promo, second, later)
	// 300 a month, 30 of them kept: the 90 that are not marketing and the others share 270. A restart
	// strands nothing, because the process ends in order.
	if first > 300 || promo > 270 || second > 300 || later > 270 {
		wrong = append(wrong, fmt.Sprintf("%d (%d marketing) and %d (%d) messages, want at most 300 (270)", first, promo, second, later))
	}
	// Those of the 90 that leave when marketing has had its part come out of the 30: so many more are
	// marketing.
	if promo < 180 || promo > 210 || first < 270 || later != 270 {
		wrong = append(wrong, fmt.Sprintf("%d and %d marketing messages of %d and %d, want 180 to 210 of 270 or more, and 270",
			promo, later, first, second))
	}
	if n := s.acceptedIn(start, time.Now(), "note"); n != 90 {
		wrong = append(wrong, fmt.Sprintf("%d messages that are not marketing, want 90: all that were not refused", n))
	}
	s.end()
	return wrong
}

func TestTheAllowanceHoldsAcrossTheMonth(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, w := range turnOfTheMonth(t) {
			t.Errorf("got %s", w)
		}
	})
}

// dayOfARamp warms up two numbers of a company with an allowance for both across a midnight of UTC,
// with refusals and a restart. It returns what is wrong with the counts.
func dayOfARamp(t *testing.T) (wrong []string) {
	a := month(t)
	a.Messages = 100_000
	midnight := time.Date(2000, 1, 2, 0, 0, 0, 0, time.UTC)
	time.Sleep(time.Until(midnight.Add(-30 * time.Second)))
	s := newScene(t)
	s.counted(a, 100)
	s.answer = refuseATenth
	s.launch("note", 150, "conn_1")
	s.launch("other", 150, "conn_2")
	start := time.Now()
	accepted := func(c string, from, to time.Time) int {
		return s.count(from, to, func(q *request) bool { return q.accepted && q.connection == c })
	}
	said := func(format string, args ...any) { wrong = append(wrong, fmt.Sprintf(format, args...)) }
	engine, stop := s.start("a")
	time.Sleep(10 * time.Second)
	if by := fmt.Sprint(limits(engine, s.runs["note"].No)); by != "[ramp]" {
		said("with the places used the lanes are limited by %s, want [ramp]", by)
	}
	for _, c := range []string{"conn_1", "conn_2"} {
		if n := accepted(c, start, time.Now()); n < 97 || n > 100 { // a refusal that comes last may strand its unit
			said("%s on the first day: %d messages, want 97 to 100", c, n)
		}
	}
	stop()
	s.limiter = throttle.NewLocal() // a new process, which knows nothing
	_, stop = s.start("b")
	time.Sleep(90 * time.Second)
	stop()
	for _, c := range []string{"conn_1", "conn_2"} {
		if first, second := accepted(c, start, midnight), accepted(c, midnight, time.Now()); first != 100 || second != 35 {
			said("%s on the two days: %d and %d messages, want 100 and the 35 that are left", c, first, second)
		}
	}
	s.end()
	return wrong
}

// Two numbers of a company with an allowance for both warm up: neither sends more than its places
// of a day of UTC.
func TestARampHoldsItsNumberForTheDay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, w := range dayOfARamp(t) {
			t.Errorf("got %s", w)
		}
	})
}

// Three numbers share an allowance. One waits for its ramp and one for its tier: neither keeps
// units that the third can send with, and `why` names what each waits for.
func TestWaitingLanesLeaveTheAllowanceToOthers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		time.Sleep(time.Until(time.Date(2000, 1, 2, 1, 0, 0, 0, time.UTC)))
		s := newScene(t)
		a := month(t)
		a.Messages, a.Reserve = 600, 0
		s.counted(a, 100)
		count := s.options
		s.options = func(o *sender.Options) {
			count(o)
			quotas := o.Quotas
			o.Quotas = func(connection string, now time.Time) []sender.Quota {
				all := quotas(connection, now)
				if connection != "conn_1" {
					return all[:1]
				}
				return all
			}
			o.Tier = func(connection string) campaign.Tier {
				if connection == "conn_2" {
					return campaign.Tier{Portfolio: "small", Places: 50}
				}
				return campaign.Tier{}
			}
		}
		for i, name := range []string{"ramped", "tiered", "free"} {
			s.launch(name, 1000, fmt.Sprintf("conn_%d", i+1))
		}
		engine, stop := s.start("a")
		time.Sleep(4 * time.Second)
		for name, want := range map[string]string{"ramped": "[ramp]", "tiered": "[tier]", "free": "[throughput]"} {
			if by := fmt.Sprint(limits(engine, s.runs[name].No)); by != want {
				t.Errorf("%s is limited by %s, want %s", name, by, want)
			}
		}
		time.Sleep(time.Minute)
		if by := fmt.Sprint(limits(engine, s.runs["free"].No)); by != "[allowance]" {
			t.Errorf("with the allowance used free is limited by %s, want [allowance]", by)
		}
		stop()
		got := fmt.Sprint(s.tallies("ramped")["accepted"], s.tallies("tiered")["accepted"], s.tallies("free")["accepted"])
		if got != "100 50 450" {
			t.Errorf("sent %s of the allowance of 600, want 100 50 450", got)
		}
		s.end()
	})
}

// A 402 holds the client until the month ends. Nobody is refused for it.
func TestA402HoldsUntilTheMonthEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		turn := time.Date(2000, 1, 31, 11, 0, 0, 0, time.UTC)
		time.Sleep(time.Until(turn.Add(-5 * time.Minute)))
		s := newScene(t)
		a := month(t)
		a.Messages = 100_000
		s.counted(a, 0)
		s.answer = func(q *request) *http.Response {
			if q.nth > 20 && q.at.Before(turn) {
				return respond(402, `{"error":"plan_limit_messages","message":"The monthly message allowance is used up."}`)
			}
			return nil
		}
		s.launch("note", 200, "conn_1")
		start := time.Now()
		_, stop := s.start("a")
		time.Sleep(time.Until(turn.Add(-time.Second)))
		if n := s.count(start, time.Now(), nil); n > 60 || fmt.Sprint(s.holds()) != "[company company_1 plan_limit_messages]" {
			t.Errorf("in 5 minutes: got %d posts and the holds %v, want at most 60 and one of the company", n, s.holds())
		}
		time.Sleep(2 * time.Minute)
		stop()
		if n := s.tallies("note")["accepted"]; n != 200 {
			t.Errorf("after the turn: got %v, want all 200 accepted", s.tallies("note"))
		}
		s.end()
	})
}
