package numbers

import (
	"context"
	"fmt"
	"slices"
	"time"

	"campaignd/campaign"
	"campaignd/campaign/file"
	"campaignd/campaign/launch"
	"campaignd/internal/sentence"
)

// CheckQuotas adds a warning to a preflight whose list does not fit into what the plans of its
// companies have left, or into a day of the warm-up of its numbers.
func CheckQuotas(ctx context.Context, q *Quotas, p *launch.Preflight, now time.Time) error {
	if err := checkPlans(ctx, q, p, now); err != nil {
		return err
	}
	states := map[string]campaign.RampState{}
	if q.ledger != nil {
		var err error
		if states, err = q.ledger.Ramps(ctx); err != nil {
			return err
		}
	}
	allowed, ramped := int64(0), 0
	for _, c := range p.Connections {
		if r := q.cfg.Numbers[c.ID].Ramp; r != nil {
			allowed += r.Plan().Daily(r.Today(states[c.ID], now, c.Quality).Steps)
			ramped++
		}
	}
	if ramped > 0 && ramped == len(p.Connections) && allowed < p.Sendable {
		p.Findings = append(p.Findings, file.Warning(file.KindQuota, p.Sendable-allowed, "",
			fmt.Sprintf("the warm-up of its numbers allows %s today, less than the list", sentence.Count(allowed, "message", "messages")),
			"the rest is sent on the days after; a day begins at midnight UTC"))
	}
	return nil
}

// checkPlans warns when the list is longer than what the plans of its companies have left together.
// A company whose plan is not known may send any number of messages.
func checkPlans(ctx context.Context, q *Quotas, p *launch.Preflight, now time.Time) error {
	var companies []string
	var left int64
	var until time.Time
	for _, c := range p.Connections {
		company := q.Directory.Origin(c.ID).Company
		if slices.Contains(companies, company) {
			continue
		}
		own, known, err := q.PlanOf(ctx, company, now)
		if err != nil || !known {
			return err
		}
		companies = append(companies, company)
		left += own.Left(now, now, own.Used, p.Marketing)
		if _, to := own.Period(now); until.IsZero() || to.Before(until) {
			until = to.In(own.Zone)
		}
	}
	if len(companies) == 0 || left >= p.Sendable {
		return nil
	}
	source, has := "plan.monthly_messages is raised", "the plan has"
	if q.plan.Messages == 0 {
		source = "the plan at the service is raised"
	}
	if len(companies) > 1 {
		has = "the plans of its companies together have"
	}
	p.Findings = append(p.Findings, file.Warning(file.KindQuota, p.Sendable-left, "",
		fmt.Sprintf("%s %s left until %s, less than the list", has, sentence.Count(left, "message", "messages"),
			until.Format("2 Jan 2006 15:04 MST")),
		"the rest is sent after that, or when "+source))
	return nil
}
