package daemon

import (
	"context"
	"time"

	"campaignd/campaign"
	"campaignd/campaign/file"
	"campaignd/campaign/launch"
	"campaignd/campaign/plan"
	"campaignd/campaign/reception"
	"campaignd/campaign/wording"
	"campaignd/internal/config"
	"campaignd/internal/numbers"
)

// checkForecast adds a warning to the preflight of a campaign whose deadline cannot be met if it is
// launched now, beside every unfinished run of the ledger. With timed it writes into the preflight
// how long sending takes and what limits it, also without a deadline. l may be nil: then no run is
// known. known is what a process that serves knows of its numbers and plans; nil asks.
func checkForecast(
	ctx context.Context, cfg *config.Config, l campaign.Ledger, known *numbers.Quotas,
	def *file.Definition, p *launch.Preflight, timed bool, now time.Time,
) error {
	if def.Limits.Deadline == 0 && !timed || !p.OK() {
		return nil
	}
	f, err := ForecastLaunch(ctx, cfg, l, known, def, p, now)
	if err != nil {
		return err
	}
	if timed && !f.Never {
		p.Seconds, p.LimitedBy = f.Seconds, f.LimitedBy
		p.Duration = time.Duration(f.Seconds * float64(time.Second))
	}
	warnDeadline(def, p, f)
	return nil
}

// ForecastLaunch forecasts a campaign whose list was checked as if it were launched now, beside
// every unfinished run of the ledger. l may be nil: then no run is known. known is what a process
// that serves knows of its numbers and plans; nil asks.
func ForecastLaunch(
	ctx context.Context, cfg *config.Config, l campaign.Ledger, known *numbers.Quotas,
	def *file.Definition, p *launch.Preflight, now time.Time,
) (f plan.Forecast, err error) {
	o, err := newOutlook(ctx, l, cfg, known, now.UTC())
	if err != nil {
		return f, err
	}
	r, err := launched(def, p, o.Now)
	if err != nil {
		return f, err
	}
	i, err := o.add(ctx, r)
	if err != nil {
		return f, err
	}
	f, err = o.foresee(ctx, cfg, i)
	f.Assumed, f.Note = o.Assumed, "as if it were launched now"
	return f, err
}

// warnDeadline adds a warning if the deadline cannot be kept.
func warnDeadline(def *file.Definition, p *launch.Preflight, f plan.Forecast) {
	if def.Limits.Deadline == 0 || f.DeadlineHolds {
		return
	}
	p.Findings = append(p.Findings, file.Finding{Level: file.LevelWarning, Where: "limits.deadline",
		What: f.Missed(def.Limits.Deadline), Remedy: "`campaignd forecast` says what would help"})
}

// checkLost warns of a launch before somebody asked for the events that the ledger lost: whose
// opt-out is among them gets the message. l may be nil.
func checkLost(ctx context.Context, l campaign.Ledger, p *launch.Preflight, now time.Time) error {
	if l == nil {
		return nil
	}
	lost, err := l.LostTimes(ctx)
	if since := reception.NotAsked(lost, now); err == nil && !since.IsZero() {
		told, remedy := wording.LostEvents(since)
		p.Findings = append(p.Findings, file.Finding{Level: file.LevelWarning, What: told, Remedy: remedy})
	}
	return err
}

// warnUnattended logs what a person would see before a launch that no person makes: columns that
// look like consent and are not used, a run that sends the same, and the findings of checkLaunch.
func (d *Daemon) warnUnattended(file string, p *launch.Preflight, deadline, offer, firing, lost []file.Finding) {
	if len(p.Consent) > 0 {
		d.log.Warn("columns that look like consent or an opt-out are not used; choose rows with recipients.where, or name them in "+
			"recipients.ignore", "campaign", file, "columns", p.Consent)
	}
	if s := p.SentBefore; s.Any() {
		d.log.Warn("people of the list got its template before", "campaign", file, "detail", s.String(),
			"left_out", p.Skipped[campaign.SentBefore])
	}
	for _, f := range deadline {
		d.log.Warn("deadline cannot be met", "campaign", file, "detail", f.What)
	}
	for _, f := range offer {
		d.log.Warn("what the messages offer ends too early", "campaign", file, "key", f.Where, "detail", f.What)
	}
	for _, f := range firing {
		d.log.Warn("the campaign has a time to come", "campaign", file, "detail", f.What, "remedy", f.Remedy)
	}
	for _, f := range lost {
		d.log.Warn("a launch before a replay", "campaign", file, "detail", f.What, "remedy", f.Remedy)
	}
}

// launcher is what launches: a person, who sees the findings, a firing, or a dropped list.
type launcher int

const (
	byPerson launcher = iota
	byFiring
	byDrop
)

// checkLaunch returns a Launch.Checked. It warns in the preflight if the deadline cannot be met,
// the offer of an audience ends too early, the schedule will send the campaign too, or opt-outs
// were lost. Then it gives the preflight to then, which may be nil. They are logged if no person
// launches. A firing is not warned of the time to come.
func (d *Daemon) checkLaunch(ctx context.Context, path string, by launcher, then func(*launch.Preflight)) func(*launch.Preflight) {
	return func(p *launch.Preflight) {
		known := len(p.Findings)
		def, _, err := file.Load(path)
		if err == nil {
			err = checkForecast(ctx, d.cfg, d.ledger, d.quotas, def, p, false, time.Now())
		}
		deadline := len(p.Findings)
		if err == nil {
			err = checkOffer(def, p, time.Now())
		}
		if err != nil { // the launch itself says what is wrong
			d.log.Debug("deadline and offer not checked", "campaign", path, "err", err)
		}
		offer := len(p.Findings)
		if by != byFiring {
			warnFiresToo(ctx, d.ledger, d.cfg.Campaigns, p, time.Now())
		}
		firing := len(p.Findings)
		if err := checkLost(ctx, d.ledger, p, time.Now()); err != nil {
			d.log.Warn("lost events not checked", "campaign", path, "err", err)
		}
		if by != byPerson {
			d.warnUnattended(path, p, p.Findings[known:deadline], p.Findings[deadline:offer], p.Findings[offer:firing], p.Findings[firing:])
		}
		if then != nil {
			then(p)
		}
	}
}
