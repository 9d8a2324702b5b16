package numbers

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"campaignd/campaign"
	"campaignd/campaign/plan"
	"campaignd/campaign/sender"
	"campaignd/internal/config"
	"campaignd/internal/messaging"
	"campaignd/internal/messaging/service"
	"campaignd/throttle"
)

// Quotas are the limits of a period that this process obeys: the plan's allowance, one for each
// company, and the ramps of numbers (docs/limits.md#allowance). It is safe for concurrent use.
type Quotas struct {
	cfg       *config.Config
	Directory *Directory
	ledger    campaign.Ledger // nil: nothing was sent
	log       *slog.Logger
	plan      plan.Allowance
	// usage asks the service's billing; nil: there is none to ask.
	usage func(ctx context.Context, company string) (service.Usage, error)
	// lazy has planOf ask the billing for a company that it does not know: no bill runs beside it.
	lazy bool

	mu       sync.Mutex
	from, to time.Time                     // the month of the plan that was computed last
	ramps    map[string]campaign.RampState // as decided, or read, last
	used     map[string]int64              // by Quota.Key: what the ledger counted last
	unheard  string                        // a connection that Count counted, and that nobody knows

	billed    map[string]billed // by company
	billedAt  time.Time         // when the billing was asked last
	exhausted bool              // a 402 came since, or the hold of one has ended
	unbilled  string            // fingerprint of the key for which there is no billing
	full      []string          // companies that the hold of a 402 stopped when the holds were read last
	lifted    chan struct{}     // wakes Bill when such a hold has ended
}

// The prefixes of throttle.Quota.Key, before the company or the connection.
const (
	PlanKey = "plan:"
	rampKey = "ramp:"
)

// NewQuotas makes the Quotas of the connections of d, which l counts.
func NewQuotas(cfg *config.Config, d *Directory, l campaign.Ledger, log *slog.Logger) *Quotas {
	zone, err := plan.Zone(cfg.Plan.Resets.Timezone)
	if err != nil {
		zone = time.UTC // Validate refuses it
	}
	return &Quotas{cfg: cfg, Directory: d, ledger: l, log: log, ramps: map[string]campaign.RampState{}, used: map[string]int64{},
		billed: map[string]billed{}, lifted: make(chan struct{}, 1),
		plan: plan.Allowance{Messages: cfg.Plan.MonthlyMessages, Reserve: cfg.Plan.Reserve, Day: cfg.Plan.Resets.Day, Zone: zone}}
}

// Any reports whether there is a quota, or may be one.
func (q *Quotas) Any() bool {
	return q.plan.Messages > 0 || q.bills() || slices.ContainsFunc(slices.Collect(maps.Values(q.cfg.Numbers)),
		func(n config.Number) bool { return n.Ramp != nil })
}

// month returns the month of the plan in which now lies.
func (q *Quotas) month(now time.Time) (from, to time.Time) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if now.Before(q.from) || !now.Before(q.to) {
		q.from, q.to = q.plan.Period(now)
	}
	return q.from, q.to
}

// ForConnection returns the quotas of a connection at now.
func (q *Quotas) ForConnection(connection string, now time.Time) (all []sender.Quota) {
	if unknown, ok := q.uncounted(); ok {
		all = append(all, unknown)
	} else if q.plan.Messages > 0 {
		all = append(all, q.allowance(connection, now))
	} else if told, ok := q.billedQuota(connection, now); ok {
		all = append(all, told)
	}
	if r := q.cfg.Numbers[connection].Ramp; r != nil {
		all = append(all, q.ramp(connection, r.Plan(), now))
	}
	return all
}

func (q *Quotas) allowance(connection string, now time.Time) sender.Quota {
	o := q.Directory.Sending(connection)
	if o.Company == "" && o.Unasked {
		return sender.Quota{By: campaign.ByAllowance, Unknown: true,
			Full: "the service cannot be asked whose connection this is, so its allowance is not known"}
	}
	from, to := q.month(now)
	return sender.Quota{
		Quota: throttle.Quota{Key: PlanKey + o.Company, From: from, To: to, Limit: q.plan.Messages, Kept: q.plan.Kept()},
		By:    campaign.ByAllowance,
		Full: fmt.Sprintf("the plan's %d messages of the month until %s (plan.monthly_messages) are used, or kept for templates "+
			"that are not marketing",
			q.plan.Messages, to.In(q.plan.Zone).Format("2 Jan 15:04 MST")),
	}
}

func (q *Quotas) ramp(connection string, r plan.Ramp, now time.Time) sender.Quota {
	q.mu.Lock()
	state := q.ramps[connection]
	q.mu.Unlock()
	if state.Day != plan.RampDay(now) {
		return sender.Quota{By: campaign.ByRamp, Unknown: true, Full: "how far the warm-up of this number is on this day is being decided"}
	}
	from, to := plan.RampPeriod(now)
	daily := r.Daily(state.Steps)
	return sender.Quota{
		Quota: throttle.Quota{Key: rampKey + connection, From: from, To: to, Limit: daily},
		By:    campaign.ByRamp,
		Full:  fmt.Sprintf("the %d messages of this day of its warm-up are sent; the next day begins at 00:00 UTC", daily),
	}
}

// clocksDiffer is how long after the turn of the month a 402 may still be about the old month,
// because the clock of the service is behind. Such a 402 holds the company for that time, not for a
// month.
const clocksDiffer = 5 * time.Minute

// PlanEnds is until when a 402 holds the company of a connection. The billing is asked soon.
func (q *Quotas) PlanEnds(connection string, now time.Time) time.Time {
	from, to := q.month(now)
	q.mu.Lock()
	q.exhausted = true
	if b := q.billed[q.Directory.Origin(connection).Company]; !now.Before(b.from) && now.Before(b.to) {
		from, to = b.from, b.to
	}
	q.mu.Unlock()
	if now.Sub(from) < clocksDiffer {
		return now.Add(clocksDiffer)
	}
	return to
}

const (
	// decideEvery is how often the ramps are decided: on a new day, and when the quality changes.
	decideEvery = 5 * time.Second
	// countEvery is how often the ledger is counted for the metrics. The ledger stores the counts of
	// finished segments (campaign.LimitLedger), so that a count for a lost Redis is quick.
	countEvery = 5 * time.Minute
)

// Run lifts the holds of a plan that was raised, decides the ramps, and counts, until ctx ends.
func (q *Quotas) Run(ctx context.Context) {
	raised, failing := false, false
	var counted time.Time
	t := time.NewTicker(decideEvery)
	defer t.Stop()
	for {
		err := error(nil)
		if !raised {
			err = q.raise(ctx)
			raised = err == nil
		}
		if err == nil {
			err = q.decide(ctx, time.Now())
		}
		if err == nil && q.Any() && time.Since(counted) >= countEvery {
			counted = time.Now()
			err = q.count(ctx, counted)
		}
		if fails := err != nil && !errors.Is(err, campaign.ErrUnwritable); fails != failing && ctx.Err() == nil {
			if failing = fails; failing {
				q.log.Warn("the limits of periods cannot be decided: trying again until they can", "err", err)
			} else {
				q.log.Info("the limits of periods are decided again")
			}
		}
		select {
		case <-ctx.Done():
			return
		case <-t.C:
		}
	}
}

// raise stores the configured allowance. If it is more than before, raise ends the
// holds that the service began because the plan was used up.
func (q *Quotas) raise(ctx context.Context) error {
	before, err := q.ledger.SetPlan(ctx, q.plan.Messages)
	if err != nil || q.plan.Messages <= before {
		return err
	}
	return q.liftPlan(ctx, "")
}

// liftPlan ends the holds of a company, or of all with "", that the service began because the plan
// was used up.
func (q *Quotas) liftPlan(ctx context.Context, company string) error {
	holds, err := q.ledger.Holds(ctx, false)
	if err != nil {
		return err
	}
	var lifts []campaign.Lift
	for _, h := range holds {
		if h.Reason == messaging.PlanUsedUp && (company == "" || h.ID == company) {
			lifts = append(lifts, campaign.Lift{Scope: h.Scope, ID: h.ID, Reason: h.Reason, At: time.Now(), By: campaign.HoldByOperator,
				Who: "a higher allowance of the plan"})
		}
	}
	if len(lifts) == 0 {
		return nil
	}
	if _, err = q.ledger.LiftHolds(ctx, lifts); err == nil {
		q.log.Info("the plan was raised; the holds that it caused are lifted", "holds", len(lifts))
	}
	return err
}

// decide brings the ramps to the day of now, and to the quality that the service tells.
func (q *Quotas) decide(ctx context.Context, now time.Time) error {
	day := plan.RampDay(now)
	if !q.Directory.Ready() { // the quality is not known
		return nil
	}
	for _, id := range slices.Sorted(maps.Keys(q.cfg.Numbers)) {
		r := q.cfg.Numbers[id].Ramp
		if r == nil {
			continue
		}
		quality := q.Directory.QualityOf(id)
		q.mu.Lock()
		state := q.ramps[id]
		q.mu.Unlock()
		if state.Day == day && (quality != plan.QualityRed || state.Cut) {
			continue
		}
		if err := q.decideOne(ctx, id, r.Plan(), day, quality); err != nil {
			return err
		}
	}
	return nil
}

func (q *Quotas) decideOne(ctx context.Context, connection string, r plan.Ramp, day int64, quality string) error {
	all, err := q.ledger.Ramps(ctx)
	if err != nil {
		return err
	}
	stored, sent := all[connection], false
	if stored.Day > 0 && stored.Day < day {
		spent, err := q.ledger.Spent(ctx, time.Unix((stored.Day-1)*86400, 0))
		if err != nil {
			return err
		}
		sent = spent[connection] > 0
	}
	next := r.Next(stored, day, quality, sent)
	if next != stored {
		changed, err := q.ledger.SetRamp(ctx, connection, stored, next)
		if err != nil || !changed { // another replica decided: the next look reads it
			return err
		}
		q.log.Info("day of a warm-up", "connection", connection, "messages", r.Daily(next.Steps), "quality", quality)
	}
	q.mu.Lock()
	q.ramps[connection] = next
	q.mu.Unlock()
	return nil
}

// count asks the ledger what is used of every quota.
func (q *Quotas) count(ctx context.Context, now time.Time) error {
	for _, one := range q.Known(now) {
		if _, err := q.Spent(ctx, one.Quota.Quota); err != nil {
			return err
		}
	}
	return nil
}

// QuotaUse is a quota with what is used of it.
type QuotaUse struct {
	sender.Quota
	Owner string // the company or the connection
	Used  int64
}

// Known lists the quotas of every known connection, each once.
func (q *Quotas) Known(now time.Time) (all []QuotaUse) {
	for _, c := range q.Directory.IDs() {
		for _, one := range q.ForConnection(c, now) {
			if one.Unknown || slices.ContainsFunc(all, func(u QuotaUse) bool { return u.Key == one.Key }) {
				continue
			}
			_, owner, _ := strings.Cut(one.Key, ":")
			q.mu.Lock()
			all = append(all, QuotaUse{one, owner, q.used[one.Key]})
			q.mu.Unlock()
		}
	}
	return all
}
