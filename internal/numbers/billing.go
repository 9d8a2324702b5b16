package numbers

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"campaignd/campaign"
	"campaignd/campaign/plan"
	"campaignd/campaign/sender"
	"campaignd/internal/client/resource"
	"campaignd/internal/config"
	"campaignd/internal/messaging"
	"campaignd/internal/messaging/connector"
	"campaignd/internal/messaging/service"
	"campaignd/throttle"
)

// billed is the allowance of a company as the service's billing told it last.
type billed struct {
	limit int64 // messages of the period; 0: none
	// elsewhere is how many messages of the period the ledger does not have, such as messages of
	// another program.
	elsewhere int64
	from, to  time.Time
}

const (
	// billEvery is how often the billing is asked, and billAgain how soon after a 402 it is asked
	// again.
	billEvery = time.Hour
	billAgain = time.Minute
)

// BilledBy has the billing of the service asked, if there is a service.
func (q *Quotas) BilledBy(s *connector.Set) {
	if s.Service != nil {
		q.usage = s.Service.Usage
	}
}

// Bill asks the service for the allowance of each company until ctx ends: hourly, after a 402, when
// the hold of a 402 has ended, and when a period is over. It does nothing if the configuration has
// the plan. A question that fails is asked again an hour later, after a 402 or its hold a minute
// later. Nothing waits for the answer.
func (q *Quotas) Bill(ctx context.Context) {
	if !q.bills() {
		return
	}
	var next time.Time
	failing := false
	t := time.NewTicker(decideEvery)
	defer t.Stop()
	for {
		now := time.Now()
		q.mu.Lock()
		if again := q.billedAt.Add(billAgain); q.exhausted && again.Before(next) {
			next = again
		}
		q.mu.Unlock()
		if companies := q.billedCompanies(); len(companies) > 0 && !now.Before(next) {
			err := q.askBilling(ctx, companies, now)
			if fails := err != nil; fails != failing && ctx.Err() == nil {
				if failing = fails; failing {
					q.log.Warn("the billing of the service does not tell the allowance; what it told last counts until it is asked again in an hour",
						"err", err)
				} else {
					q.log.Info("the billing of the service tells the allowance again")
				}
			}
			next = q.nextBill(now)
		}
		select {
		case <-ctx.Done():
			return
		case <-q.lifted:
		case <-t.C:
		}
	}
}

// SeeHolds is called with the holds in force each time that they are read. When the hold of a 402
// has ended, the billing is asked at once: what it told before may be the end of a plan that was
// raised since.
func (q *Quotas) SeeHolds(holds []campaign.Hold) {
	var full []string
	for _, h := range holds {
		if h.Reason == messaging.PlanUsedUp {
			full = append(full, h.ID)
		}
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	if slices.ContainsFunc(q.full, func(company string) bool { return !slices.Contains(full, company) }) {
		q.billedAt, q.exhausted = time.Time{}, true
		select {
		case q.lifted <- struct{}{}:
		default: // Bill has not looked since the last one
		}
	}
	q.full = full
}

// bills reports whether the service's billing is asked: the configuration comes before it.
func (q *Quotas) bills() bool { return q.plan.Messages == 0 && q.usage != nil }

// nextBill is when the billing is asked again: in an hour, or when a period is over before.
func (q *Quotas) nextBill(now time.Time) time.Time {
	q.mu.Lock()
	defer q.mu.Unlock()
	next := now.Add(billEvery)
	for _, b := range q.billed {
		if b.to.After(now) && b.to.Before(next) {
			next = b.to
		}
	}
	return next
}

// billedCompanies are the companies whose connections the service has. There are none if the key
// may not ask, or the service has no billing.
func (q *Quotas) billedCompanies() (companies []string) {
	q.mu.Lock()
	off := q.unbilled != "" && q.unbilled == q.Directory.Origin("").Key
	q.mu.Unlock()
	if off {
		return nil
	}
	for _, id := range q.Directory.IDs() {
		if o := q.Directory.Origin(id); o.Company != "" && !q.Directory.Foreign(id, o.Account, "") {
			companies = append(companies, o.Company)
		}
	}
	slices.Sort(companies)
	return slices.Compact(companies)
}

// askBilling asks for the allowance of each company. The error is the first one's; the others are
// asked all the same, unless the key may not ask at all.
func (q *Quotas) askBilling(ctx context.Context, companies []string, now time.Time) (first error) {
	q.mu.Lock()
	urgent := q.exhausted
	q.billedAt, q.exhausted = now, false
	q.mu.Unlock()
	defer func() {
		q.mu.Lock()
		q.exhausted = q.exhausted || urgent && first != nil
		q.mu.Unlock()
	}()
	for _, company := range companies {
		err := q.askUsage(ctx, company)
		var e *messaging.Error
		if service.NotOffered(err) || errors.As(err, &e) && e.Code == "partner_key_required" {
			q.mu.Lock()
			q.unbilled = q.Directory.Origin("").Key
			clear(q.billed)
			q.mu.Unlock()
			q.log.Info("the allowance is not asked for: a 402 tells its end, or plan.monthly_messages has it", "why", err)
			return nil
		}
		if err != nil && first == nil {
			first = fmt.Errorf("company %s: %w", company, err)
		}
	}
	return first
}

func (q *Quotas) askUsage(ctx context.Context, company string) error {
	q.mu.Lock()
	before := q.billed[company]
	q.mu.Unlock()
	u, told, ours, err := q.askPeriod(ctx, company, before.from)
	if err != nil {
		return err
	}
	told.elsewhere = max(0, u.MessagesUsed-ours)
	q.mu.Lock()
	q.billed[company] = told
	q.mu.Unlock()
	if told.limit != before.limit {
		q.log.Info("allowance of a company", "company", company, "messages", told.limit, "used", u.MessagesUsed, "until", told.to)
	}
	raised := before.limit > 0 && (told.limit > before.limit || told.limit == 0)
	// A process that has just begun does not know whether the plan was raised before.
	room := before.from.IsZero() && !q.lazy && (u.MessagesUsed < told.limit || told.limit == 0)
	if raised || room {
		return q.liftPlan(ctx, company)
	}
	return nil
}

// askPeriod asks what is used of a company's period, and counts what the ledger has of it. The
// ledger counts first: a message that is sent meanwhile then counts as one of another program until
// the next hour, and the plan is not exceeded. So a new period is asked for twice.
func (q *Quotas) askPeriod(ctx context.Context, company string, from time.Time) (u service.Usage, told billed, ours int64, err error) {
	for again := false; ; again = true {
		if !from.IsZero() {
			if ours, err = q.Spent(ctx, throttle.Quota{Key: PlanKey + company, From: from}); err != nil {
				return u, told, 0, err
			}
		}
		if u, err = q.usage(ctx, company); err != nil {
			return u, told, 0, err
		}
		told = billed{limit: u.MessagesLimit, from: u.PeriodStart.UTC(), to: periodEnds(u.PeriodEnd)}
		if u.MessagesLimit < 0 || u.MessagesUsed < 0 || !told.from.Before(told.to) {
			return u, told, 0, fmt.Errorf("billing_usage told %d of %d messages from %s to %s, which cannot be",
				u.MessagesUsed, u.MessagesLimit, u.PeriodStart.Format(time.RFC3339), u.PeriodEnd.Format(time.RFC3339))
		}
		if told.from.Equal(from) {
			return u, told, ours, nil
		}
		if from = told.from; again { // its periods begin anew with each answer
			ours, err = q.Spent(ctx, throttle.Quota{Key: PlanKey + company, From: from})
			return u, told, ours, err
		}
	}
}

// periodEnds is the instant at which a period is over. The service tells its last day, which is in
// it; a time of day is the instant itself.
func periodEnds(last time.Time) time.Time {
	last = last.UTC()
	if last.Equal(last.Truncate(24 * time.Hour)) {
		return last.AddDate(0, 0, 1)
	}
	return last
}

// billedQuota is the quota of a connection that the billing told; false: there is none now.
func (q *Quotas) billedQuota(connection string, now time.Time) (sender.Quota, bool) {
	company := q.Directory.Origin(connection).Company
	q.mu.Lock()
	b := q.billed[company]
	q.mu.Unlock()
	if company == "" || b.limit == 0 || now.Before(b.from) || !now.Before(b.to) {
		return sender.Quota{}, false
	}
	ours := max(0, b.limit-b.elsewhere)
	return sender.Quota{
		Quota: throttle.Quota{Key: PlanKey + company, From: b.from, To: b.to, Limit: ours,
			Kept: min(ours, int64(float64(b.limit)*q.plan.Reserve))},
		By: campaign.ByAllowance,
		Full: fmt.Sprintf("the plan's %d messages until %s, as the service's billing tells them, are used here or elsewhere, "+
			"or kept for templates that are not marketing", b.limit, b.to.Format("2 Jan 15:04 MST")),
	}, true
}

// The sources of an allowance, as operators see them.
const (
	planConfigured = "plan.monthly_messages"
	planBilled     = "billing_usage"
)

// Allowances are what the plans allow the companies of the connections now, each once.
func (q *Quotas) Allowances(ctx context.Context, connections []string, now time.Time) (all []resource.Allowance, err error) {
	for _, c := range connections {
		for _, quota := range q.ForConnection(c, now) {
			company := q.Directory.Origin(c).Company
			if quota.By != campaign.ByAllowance || quota.Unknown ||
				slices.ContainsFunc(all, func(a resource.Allowance) bool { return a.Company == company }) {
				continue
			}
			a := resource.Allowance{Company: company, Messages: quota.Limit, Until: quota.To.UTC(), Source: planConfigured}
			if a.Used, err = q.Spent(ctx, quota.Quota); err != nil {
				return nil, err
			}
			if q.plan.Messages == 0 {
				q.mu.Lock()
				b := q.billed[company]
				q.mu.Unlock()
				a.Messages, a.Used, a.Source = b.limit, a.Used+b.elsewhere, planBilled
			}
			all = append(all, a)
		}
	}
	return all, nil
}

// PlanOf is the allowance of a company at now, with what is used of it; false: it is not known. The
// period of the billing is taken to be a month, which ends on the same day of each.
func (q *Quotas) PlanOf(ctx context.Context, company string, now time.Time) (_ plan.Quota, known bool, err error) {
	own := plan.Quota{Name: PlanKey + company, Allowance: q.plan}
	if q.plan.Messages > 0 {
		from, _ := q.month(now)
		own.Used, err = q.Spent(ctx, throttle.Quota{Key: own.Name, From: from})
		return own, true, err
	}
	if q.lazy {
		q.askPlan(ctx, company)
	}
	q.mu.Lock()
	b := q.billed[company]
	q.mu.Unlock()
	if b.limit == 0 || now.Before(b.from) || !now.Before(b.to) {
		return own, false, nil
	}
	own.Allowance = plan.Allowance{Messages: b.limit, Reserve: q.plan.Reserve, Day: min(b.to.Day(), 28), Zone: time.UTC}
	own.Used, err = q.Spent(ctx, throttle.Quota{Key: own.Name, From: b.from})
	own.Used += b.elsewhere
	return own, true, err
}

// askPlan asks the billing for a company, once. A service that does not answer has no allowance.
func (q *Quotas) askPlan(ctx context.Context, company string) {
	q.mu.Lock()
	_, asked := q.billed[company]
	q.mu.Unlock()
	if asked || company == "" {
		return
	}
	_ = q.Directory.Ask(ctx, AskNumbers, func(ctx context.Context, s messaging.Service) ([]messaging.Connection, error) {
		if set, ok := s.(*connector.Set); ok {
			q.BilledBy(set)
		}
		if !q.bills() || !slices.Contains(q.billedCompanies(), company) {
			return nil, nil
		}
		return nil, q.askBilling(ctx, []string{company}, time.Now())
	})
	q.mu.Lock()
	defer q.mu.Unlock()
	if _, told := q.billed[company]; !told {
		q.billed[company] = billed{}
	}
}

// AskQuotas are the quotas of a command: it asks the service for its connections and, where it is
// needed, for its billing. Without an answer the configuration alone counts.
func AskQuotas(ctx context.Context, cfg *config.Config, l campaign.Ledger) *Quotas {
	q := NewQuotas(cfg, NewDirectory(cfg), l, slog.New(slog.DiscardHandler))
	q.lazy = true
	_ = q.Directory.Ask(ctx, AskNumbers, q.Directory.Refresh)
	return q
}

// Allowances asks the service for its connections and, unless the configuration has the plan, for
// its billing, for a command that sends nothing. A service that does not tell has no allowance.
func Allowances(ctx context.Context, cfg *config.Config, l campaign.Ledger, connections []string) ([]resource.Allowance, error) {
	q := AskQuotas(ctx, cfg, l)
	for _, c := range connections {
		if q.plan.Messages == 0 {
			q.askPlan(ctx, q.Directory.Origin(c).Company)
		}
	}
	return q.Allowances(ctx, connections, time.Now())
}
