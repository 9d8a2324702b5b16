package sender_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"campaignd/campaign"
	"campaignd/campaign/plan"
	"campaignd/campaign/sender"
	"campaignd/throttle"
)

// foreseenLimits are the limits of count of a scenario. All numbers are of one portfolio and one
// company.
type foreseenLimits struct {
	tier      int64 // 0: unlimited
	allowance plan.Allowance
	ramps     map[string]plan.Ramp // by connection
}

// limit draws limits of count, classes, weights and deadlines for a scenario. They have draws of
// their own, so that the rest of a seed stays as it is.
func (f *foreseen) limit() {
	r := rand.New(rand.NewPCG(f.seed, 2)) //nolint:gosec // a draw, no secret
	between := func(a, b float64) float64 { return a + (b-a)*r.Float64() }
	if len(f.runs) > 1 && r.IntN(2) == 0 {
		for i := range f.runs {
			one := &f.runs[i]
			one.weight = 10 * (1 + r.IntN(3))
			one.utility = r.IntN(3) == 0
			if hours := float64(one.rows) / f.runs[0].perHour(f); r.IntN(4) == 0 && one.window == "" {
				one.deadline = time.Duration(hours*between(0.9, 2.5)*60) * time.Minute
			}
		}
	}
	if r.IntN(2) == 0 {
		return
	}
	rows := 0
	of := map[string]int{}
	for _, one := range f.runs {
		rows += one.rows
		of[one.numbers[0]] += one.rows
	}
	switch r.IntN(3) {
	case 0:
		f.limits.tier = int64(float64(rows) * between(0.4, 0.9))
	case 1:
		// The month turns at the midnight before 3 to 30 hours after the launch, and not before the
		// launch.
		turn := time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC).Add(f.begins).Add(time.Duration(between(3, 30) * float64(time.Hour)))
		f.limits.allowance = plan.Allowance{Messages: int64(float64(rows) * between(0.55, 0.9)), Day: max(turn.Day(), 2), Zone: time.UTC}
		if r.IntN(2) == 0 {
			f.limits.allowance.Reserve = 0.05
		}
	case 2:
		f.limits.ramps = map[string]plan.Ramp{}
		for _, n := range f.numbers {
			start := int64(float64(of[n.id]) * between(0.3, 0.7))
			f.limits.ramps[n.id] = plan.Ramp{Start: max(start, 1), Step: start / 2, Ceiling: 100_000}
		}
	}
}

// perHour is about how many rows a run of the scenario has sent in an hour.
func (r *foreseenRun) perHour(f *foreseen) float64 {
	n := f.numbers[slices.IndexFunc(f.numbers, func(n foreseenNumber) bool { return n.id == r.numbers[0] })]
	if r.rate > 0 {
		return r.rate * 3600
	}
	return 0.8 * n.limit * 3600 / float64(len(f.runs))
}

// quotas are those of a connection at a time, as the daemon counts them. w.ramps is how far the
// warm-ups have come.
func (w *truth) quotas(connection string, now time.Time) (all []sender.Quota) {
	l := &w.f.limits
	if a := l.allowance; a.Messages > 0 {
		a.Messages = int64(float64(a.Messages) * w.f.higher("allowance", now))
		from, to := a.Period(now)
		all = append(all, sender.Quota{By: campaign.ByAllowance,
			Quota: throttle.Quota{Key: "plan:co", From: from, To: to, Limit: a.Messages, Kept: a.Kept()}})
	}
	if ramp, warms := l.ramps[connection]; warms {
		from, to := plan.RampPeriod(now)
		w.mu.Lock()
		state := w.ramps[connection]
		if day := plan.RampDay(now); state.Day != day {
			sent := slices.ContainsFunc(w.answers, func(a answered) bool {
				return a.connection == connection && plan.RampDay(a.at) == state.Day
			})
			state = ramp.Next(state, day, "GREEN", sent)
			w.ramps[connection] = state
		}
		w.mu.Unlock()
		places := int64(float64(ramp.Daily(state.Steps)) * w.f.higher("ramp", now))
		all = append(all, sender.Quota{By: campaign.ByRamp,
			Quota: throttle.Quota{Key: "ramp:" + connection, From: from, To: to, Limit: places}})
	}
	return all
}

// spent counts a quota's units in the ledger.
func (w *truth) spent(ctx context.Context, q throttle.Quota) (n int64, err error) {
	all, err := w.ledger.Spent(ctx, q.From)
	for connection, spent := range all {
		if by, of, _ := strings.Cut(q.Key, ":"); by == "plan" || of == connection {
			n += spent
		}
	}
	return n, err
}

// limited gives an engine the scenario's limits.
func (w *truth) limited(o *sender.Options, limiter throttle.Counter) {
	l := &w.f.limits
	if l.tier > 0 {
		o.Tier = func(string) campaign.Tier {
			return campaign.Tier{Portfolio: "main", Places: int64(float64(l.tier) * w.f.higher("tier", time.Now()))}
		}
	}
	if l.allowance.Messages > 0 || l.ramps != nil {
		o.Counter, o.Quotas, o.Spent = limiter, w.quotas, w.spent
		o.PlanEnds = func(_ string, now time.Time) time.Time {
			_, to := l.allowance.Period(now)
			return to
		}
	}
}

// situation adds the scenario's limits to what a forecast starts from.
func (l *foreseenLimits) situation(s *plan.Situation) {
	if l.tier > 0 {
		s.Tiers = []plan.Tier{{Name: "main", Limit: l.tier}}
	}
	if l.allowance.Messages > 0 {
		s.Allowances = []plan.Quota{{Name: "co", Allowance: l.allowance}}
	}
	for i := range s.Numbers {
		n := &s.Numbers[i]
		if l.tier > 0 {
			n.Tier = "main"
		}
		if l.allowance.Messages > 0 {
			n.Allowance = "co"
		}
		if ramp, warms := l.ramps[n.ID]; warms {
			n.Ramp, n.RampState = &ramp, ramp.Next(plan.RampState{}, plan.RampDay(s.Now), "GREEN", true)
		}
	}
}

// change raises a limit of the first run while it is sent: its own rate, or its share by its
// weight.
func (w *truth) change(ctx context.Context, t *testing.T, run campaign.Run) {
	r := w.f.runs[0]
	var c campaign.LimitChange
	switch w.f.raise.limit {
	case "run_rate":
		rate := 1.1 * r.rate
		c.Rate = &rate
	case "share":
		weight := 11 * r.weight / 10
		c.Weight = &weight
	default:
		return
	}
	select {
	case <-ctx.Done():
		return
	case <-time.After(time.Until(w.f.raise.from)):
	}
	if _, err := w.ledger.SetLimits(ctx, run.No, c, ""); err != nil && ctx.Err() == nil {
		t.Error(err)
	}
}

// limitsText is what a campaign file says of a run's limits.
func (r *foreseenRun) limitsText() string {
	var all []string
	if r.rate > 0 {
		all = append(all, fmt.Sprintf("rate: %g", r.rate))
	}
	if r.weight > 0 {
		all = append(all, fmt.Sprintf("weight: %d", r.weight))
	}
	if r.deadline > 0 {
		all = append(all, fmt.Sprintf("deadline: %s", r.deadline))
	}
	if len(all) == 0 {
		return ""
	}
	return "limits: {" + strings.Join(all, ", ") + "}\n"
}
