package numbers

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"campaignd/campaign"
	"campaignd/campaign/launch"
	"campaignd/campaign/plan"
	"campaignd/internal/config"
	"campaignd/internal/messaging"
	"campaignd/internal/messaging/service"
)

// held is a ledger that has sent n messages over each connection, and has holds.
type held struct {
	spending
	holds []campaign.Hold
}

func (l *held) Spent(ctx context.Context, from time.Time) (map[string]int64, error) {
	billingTurn.Lock()
	defer billingTurn.Unlock()
	n, err := l.spending.Spent(ctx, from)
	return maps.Clone(n), err
}

func (l *held) Holds(context.Context, bool) ([]campaign.Hold, error) {
	billingTurn.Lock()
	defer billingTurn.Unlock()
	return l.holds, nil
}

func (l *held) LiftHolds(_ context.Context, lifts []campaign.Lift) ([]campaign.Hold, error) {
	billingTurn.Lock()
	defer billingTurn.Unlock()
	l.holds = l.holds[len(lifts):]
	return nil, nil
}

// counter is a service's billing, which counts its questions.
type counter struct {
	usage     service.Usage
	fails     error
	asked     int
	meanwhile func() // happens after each answer
}

func (c *counter) ask(context.Context, string) (service.Usage, error) {
	billingTurn.Lock()
	defer billingTurn.Unlock()
	c.asked++
	told := c.usage
	if c.meanwhile != nil {
		c.meanwhile()
	}
	return told, c.fails
}

// billedWorld runs test in a bubble with quotas of the company co, whose connection is a and whose
// billing is asked. The bubble begins at midnight of 1 January 2000.
func billedWorld(t *testing.T, test func(t *testing.T, q *Quotas, l *held, c *counter, log *bytes.Buffer)) {
	synctest.Test(t, func(t *testing.T) {
		cfg := config.Default()
		cfg.Service.APIKey = messaging.NewSecret("one")
		cfg.Numbers = map[string]config.Number{"a": {Company: "co"}}
		l, c := &held{spending: spending{n: map[string]int64{"a": 30}, ramps: map[string]campaign.RampState{}}}, &counter{}
		c.usage = service.Usage{MessagesUsed: 40, MessagesLimit: 100, PeriodStart: time.Now(), PeriodEnd: time.Now().AddDate(0, 1, -1)}
		var log bytes.Buffer
		q := NewQuotas(cfg, NewDirectory(cfg), l, slog.New(slog.NewTextHandler(&log, nil)))
		q.usage = c.ask
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			q.Bill(ctx)
		}()
		synctest.Wait()
		test(t, q, l, c, &log)
		stop()
		<-ended
	})
}

// billingTurn orders a test and the billing that it lets run meanwhile.
var billingTurn sync.Mutex

// wait lets time pass until everything has happened.
func wait(d time.Duration) {
	billingTurn.Lock()
	billingTurn.Unlock() //nolint:staticcheck // the writes of the test come before the reads of the billing
	time.Sleep(d)
	synctest.Wait()
}

// units is the limit of the connection a as the limiter gets it.
func units(q *Quotas) string {
	var out []string
	for _, one := range q.ForConnection("a", time.Now()) {
		out = append(out, fmt.Sprintf("%s %d-%d until %s", one.Key, one.Limit, one.Kept, one.To.Format(time.DateOnly)))
	}
	return strings.Join(out, "; ")
}

// The service tells 100 messages, of which 40 are used; the ledger knows 30 of them. So the ledger
// may have 90.
func TestTheBillingTellsTheAllowance(t *testing.T) {
	billedWorld(t, func(t *testing.T, q *Quotas, l *held, c *counter, _ *bytes.Buffer) {
		want := func(what, limit string, asked int) {
			t.Helper()
			if got := units(q); got != limit || c.asked != asked {
				t.Errorf("%s: got %q after %d questions, want %q after %d", what, got, c.asked, limit, asked)
			}
		}
		want("at the start", "plan:co 90-5 until 2000-02-01", 2) // the first answer of a period tells when it began
		all, err := q.Allowances(t.Context(), []string{"a", "b"}, time.Now())
		if err != nil || len(all) != 1 || all[0].String() != "the plan of co allows 100 messages until 2000-02-01 00:00:00 UTC, "+
			"as the service's billing tells (billing_usage); 40 are used" {
			t.Errorf("got %v, %v; want one allowance with its source", all, err)
		}
		c.usage.MessagesUsed, l.n["a"] = 45, 45
		wait(time.Hour - time.Second)
		want("before an hour is over", "plan:co 90-5 until 2000-02-01", 2)
		wait(time.Minute)
		want("after an hour", "plan:co 100-5 until 2000-02-01", 3)
		wait(time.Minute)
		for range 100 { // messages in flight meet the end together
			if got, want := q.PlanEnds("a", time.Now()), time.Date(2000, 2, 1, 0, 0, 0, 0, time.UTC); !got.Equal(want) {
				t.Fatalf("a 402 holds until %v, want %v", got, want)
			}
		}
		c.usage.MessagesUsed = 145 // more than the limit
		wait(2 * decideEvery)
		want("after a 402", "plan:co 0-0 until 2000-02-01", 4)
		q.PlanEnds("a", time.Now())
		wait(2 * decideEvery)
		want("after another 402 at once", "plan:co 0-0 until 2000-02-01", 4)
		wait(billAgain)
		want("a minute later", "plan:co 0-0 until 2000-02-01", 5)
		wait(time.Until(time.Date(2000, 1, 31, 23, 59, 59, 0, time.UTC)))
		asked := c.asked
		c.usage = service.Usage{MessagesLimit: 200, PeriodStart: time.Now().Add(time.Second),
			PeriodEnd: time.Date(2000, 2, 29, 0, 0, 0, 0, time.UTC)}
		l.n["a"] = 0
		wait(time.Second + decideEvery)
		want("in the next period", "plan:co 200-10 until 2000-03-01", asked+2)
		c.usage.MessagesLimit = 0
		wait(2 * time.Hour)
		want("without a limit", "", asked+4)
	})
}

// A message that is sent between an answer and a count never raises what campaignd may send: 10
// messages are those of another program, so at most 90 are left, also in a new period.
func TestWhatIsSentMeanwhileRaisesNoAllowance(t *testing.T) {
	billedWorld(t, func(t *testing.T, q *Quotas, l *held, c *counter, _ *bytes.Buffer) {
		c.meanwhile = func() {
			c.usage.MessagesUsed += 5
			l.n["a"] += 5
		}
		c.usage.PeriodStart, l.n["a"], c.usage.MessagesUsed = c.usage.PeriodStart.Add(-time.Hour), 30, 40
		for range 2 {
			wait(time.Hour + time.Minute)
			if got := q.ForConnection("a", time.Now()); len(got) != 1 || got[0].Limit > 90 {
				t.Errorf("got %+v, want at most 90 messages", got)
			}
		}
	})
}

// The last answer counts while the billing fails. A service without billing, and a key of one
// client, are asked once.
func TestAFailingBillingStopsNothing(t *testing.T) {
	for name, c := range map[string]struct {
		fails   error
		asked   int // in a day
		limit   string
		newKey  int // questions with another key in the next hours
		warning string
	}{
		"away":        {errors.New("away"), 26, "plan:co 90-5 until 2000-02-01", 3, "company co: away"},
		"not offered": {fmt.Errorf("x: %w", messaging.ErrNotOffered), 3, "", 1, "the allowance is not asked for"},
		"key of one client": {&messaging.Error{Status: 403, Code: "partner_key_required"}, 3, "", 1,
			"the allowance is not asked for"},
		"an impossible answer": {nil, 26, "plan:co 90-5 until 2000-02-01", 3, "which cannot be"},
	} {
		t.Run(name, func(t *testing.T) {
			billedWorld(t, func(t *testing.T, q *Quotas, _ *held, b *counter, log *bytes.Buffer) {
				if b.fails = c.fails; b.fails == nil {
					b.usage.PeriodEnd = b.usage.PeriodStart.AddDate(0, 0, -2)
				}
				wait(24*time.Hour + time.Minute)
				if got := units(q); got != c.limit || b.asked != c.asked {
					t.Errorf("got %q after %d questions in a day, want %q after %d", got, b.asked, c.limit, c.asked)
				}
				if n := strings.Count(log.String(), c.warning); n != 1 {
					t.Errorf("got %d lines with %q, want 1:\n%s", n, c.warning, log)
				}
				q.Directory.SetKey(messaging.NewSecret("two"))
				asked := b.asked
				wait(3 * time.Hour)
				if got := b.asked - asked; got != c.newKey {
					t.Errorf("got %d questions with another key, want %d", got, c.newKey)
				}
			})
		})
	}
}

// The hold of a 402 ends when the plan is raised, and not because the billing lags.
func TestARaisedPlanLiftsTheHoldOfIts402(t *testing.T) {
	billedWorld(t, func(t *testing.T, _ *Quotas, l *held, c *counter, _ *bytes.Buffer) {
		l.holds = []campaign.Hold{{Scope: campaign.HoldCompany, ID: "co", Reason: messaging.PlanUsedUp}}
		wait(2 * time.Hour)
		if len(l.holds) != 1 {
			t.Errorf("the same plan: got %d holds, want 1", len(l.holds))
		}
		c.usage.MessagesLimit = 101
		wait(time.Hour)
		if len(l.holds) != 0 {
			t.Errorf("a raised plan: got %+v, want no hold", l.holds)
		}
	})
}

// The billing is asked at once when the hold of a 402 has ended: somebody raised the plan and
// lifted the hold. The answer before is the end of the old plan, and would stop the company for
// an hour. A question that fails then is asked again a minute later.
func TestALiftedHoldHasTheBillingAsked(t *testing.T) {
	billedWorld(t, func(t *testing.T, q *Quotas, l *held, c *counter, _ *bytes.Buffer) {
		want := func(what, limit string, asked int) {
			t.Helper()
			if got := units(q); got != limit || c.asked != asked {
				t.Errorf("%s: got %q after %d questions, want %q after %d", what, got, c.asked, limit, asked)
			}
		}
		full := campaign.Hold{Scope: campaign.HoldCompany, ID: "co", Reason: messaging.PlanUsedUp}
		other := campaign.Hold{Scope: campaign.HoldCompany, ID: "co", Reason: "suspended"}
		q.PlanEnds("a", time.Now())
		c.usage.MessagesUsed, c.usage.MessagesLimit, l.n["a"] = 50, 50, 50
		wait(2 * billAgain)
		want("after the 402", "plan:co 50-2 until 2000-02-01", 3)
		q.SeeHolds([]campaign.Hold{full, other})
		c.usage.MessagesLimit = 1000
		q.SeeHolds([]campaign.Hold{full})
		wait(time.Minute)
		want("while it is held", "plan:co 50-2 until 2000-02-01", 3)
		q.SeeHolds(nil)
		wait(time.Millisecond)
		want("after the lift", "plan:co 1000-50 until 2000-02-01", 4)

		c.fails = errors.New("away")
		q.SeeHolds([]campaign.Hold{full})
		q.SeeHolds(nil)
		wait(time.Millisecond)
		want("after a lift while the billing is away", "plan:co 1000-50 until 2000-02-01", 5)
		c.fails, c.usage.MessagesLimit = nil, 2000
		wait(billAgain + decideEvery)
		want("a minute later", "plan:co 2000-100 until 2000-02-01", 6)
		wait(30 * time.Minute)
		want("later", "plan:co 2000-100 until 2000-02-01", 6)
	})
}

// A plan may be raised while no process runs. A process that starts then knows no earlier limit.
// It lets the service decide once more if the billing tells of messages left. A command that sends
// nothing lifts nothing.
func TestAPlanRaisedBeforeTheStartLiftsItsHold(t *testing.T) {
	for _, tt := range []struct {
		used, limit int64
		lazy        bool
		holds       int
	}{{99, 100, false, 0}, {100, 100, false, 1}, {100, 0, false, 0}, {99, 100, true, 1}} {
		cfg := config.Default()
		cfg.Numbers = map[string]config.Number{"a": {Company: "co"}}
		l := &held{holds: []campaign.Hold{{Scope: campaign.HoldCompany, ID: "co", Reason: messaging.PlanUsedUp}}}
		q := NewQuotas(cfg, NewDirectory(cfg), l, slog.New(slog.DiscardHandler))
		q.lazy = tt.lazy
		q.usage = (&counter{usage: service.Usage{MessagesUsed: tt.used, MessagesLimit: tt.limit, PeriodStart: time.Now().AddDate(0, 0, -3),
			PeriodEnd: time.Now().AddDate(0, 0, 20)}}).ask
		if err := q.askBilling(t.Context(), []string{"co"}, time.Now()); err != nil || len(l.holds) != tt.holds {
			t.Errorf("%d of %d used, a command %t: got %d holds, %v, want %d", tt.used, tt.limit, tt.lazy, len(l.holds), err, tt.holds)
		}
	}
}

func TestTheConfiguredPlanComesFirst(t *testing.T) {
	billedWorld(t, func(t *testing.T, q *Quotas, _ *held, c *counter, _ *bytes.Buffer) {
		cfg := config.Default()
		cfg.Numbers, cfg.Plan.MonthlyMessages = map[string]config.Number{"a": {Company: "co", Account: "acct"}}, 10
		own := NewQuotas(cfg, NewDirectory(cfg), q.ledger, q.log)
		own.usage = func(context.Context, string) (service.Usage, error) {
			t.Error("the billing was asked, want the configuration alone")
			return service.Usage{}, nil
		}
		own.Bill(t.Context())
		all, err := own.Allowances(t.Context(), []string{"a"}, time.Now())
		if err != nil || len(all) != 1 || all[0].Messages != 10 || all[0].Used != 30 || all[0].Source != planConfigured {
			t.Errorf("got %+v, %v; want 10 messages of %s, 30 used", all, err, planConfigured)
		}
		if got := units(own); got != "plan:co 10-0 until 2000-02-01" || c.asked != 2 {
			t.Errorf("got %q, want the 10 messages of the configuration", got)
		}
	})
}

// A check and a forecast beside a serve start from what the billing told; neither asks it again.
func TestCheckAndForecastCountTheBilling(t *testing.T) {
	billedWorld(t, func(t *testing.T, q *Quotas, _ *held, c *counter, _ *bytes.Buffer) {
		for sendable, want := range map[int64]string{
			60: "[]",
			61: "[the plan has 60 messages left until 1 Feb 2000 00:00 UTC, less than the list " +
				"the rest is sent after that, or when the plan at the service is raised]",
		} {
			p := &launch.Preflight{Sendable: sendable, Connections: []launch.ConnectionCheck{{ID: "a"}}}
			if err := CheckQuotas(t.Context(), q, p, time.Now()); err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, f := range p.Findings {
				got = append(got, f.What, f.Remedy)
			}
			if fmt.Sprint(got) != want {
				t.Errorf("a check of %d rows: got %v, want %s", sendable, got, want)
			}
		}
		own, known, err := q.PlanOf(t.Context(), "co", time.Now())
		want := plan.Quota{Name: "plan:co", Allowance: plan.Allowance{Messages: 100, Reserve: 0.05, Day: 1, Zone: time.UTC}, Used: 40}
		if err != nil || !known || own != want || c.asked != 2 {
			t.Errorf("for a forecast: got %+v (%v) after %d questions, want %+v after 2", own, err, c.asked, want)
		}
	})
}
