package daemon

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"campaignd/campaign"
	"campaignd/campaign/file"
	"campaignd/campaign/launch"
	"campaignd/internal/config"
	"campaignd/internal/sentence"
)

// checkQuotas adds a warning to a preflight whose list does not fit into the allowance of this
// month or into a day of the warm-up of its numbers. l is the ledger that counts what was sent;
// nil: nothing was.
func checkQuotas(ctx context.Context, cfg *config.Config, l campaign.Ledger, p *launch.Preflight, now time.Time) error {
	q := newQuotas(cfg, newDirectory(cfg), l, slog.New(slog.DiscardHandler))
	if q.plan.Messages > 0 {
		used, err := spentSince(ctx, l, q, now)
		if err != nil {
			return err
		}
		if left := q.plan.Left(now, now, used, p.Marketing); left < p.Sendable {
			_, to := q.month(now)
			p.Findings = append(p.Findings, file.Finding{Level: file.LevelWarning,
				What: fmt.Sprintf("the plan has %s left until %s, less than the list", sentence.Count(left, "message", "messages"),
					to.In(q.plan.Zone).Format("2 Jan 2006 15:04 MST")),
				Remedy: "the rest is sent after that, or when plan.monthly_messages is raised"})
		}
	}
	states := map[string]campaign.RampState{}
	if l != nil {
		var err error
		if states, err = l.Ramps(ctx); err != nil {
			return err
		}
	}
	allowed, ramped := int64(0), 0
	for _, c := range p.Connections {
		if r := cfg.Numbers[c.ID].Ramp; r != nil {
			allowed += r.Plan().Daily(r.Today(states[c.ID], now, c.Quality).Steps)
			ramped++
		}
	}
	if ramped > 0 && ramped == len(p.Connections) && allowed < p.Sendable {
		p.Findings = append(p.Findings, file.Finding{Level: file.LevelWarning,
			What:   fmt.Sprintf("the warm-up of its numbers allows %s today, less than the list", sentence.Count(allowed, "message", "messages")),
			Remedy: "the rest is sent on the days after; a day begins at midnight UTC"})
	}
	return nil
}

// spentSince is what all connections have sent in the month of now: the company of each is not
// known without asking the service.
func spentSince(ctx context.Context, l campaign.Ledger, q *quotas, now time.Time) (n int64, err error) {
	if l == nil {
		return 0, nil
	}
	from, _ := q.month(now)
	all, err := l.Spent(ctx, from)
	for _, spent := range all {
		n += spent
	}
	return n, err
}
