package daemon

import (
	"context"
	"slices"
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
	f.Assumed, f.Note, f.Cost = o.Assumed, "as if it were launched now", p.Cost
	return f, err
}

// warnDeadline adds a warning if the deadline cannot be kept.
func warnDeadline(def *file.Definition, p *launch.Preflight, f plan.Forecast) {
	if def.Limits.Deadline == 0 || f.DeadlineHolds {
		return
	}
	p.Findings = append(p.Findings, file.Warning(file.KindDeadline, 0, "limits.deadline",
		f.Missed(def.Limits.Deadline), "`campaignd forecast` says what would help"))
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
		p.Findings = append(p.Findings, file.Warning(file.KindLostEvents, 0, "", told, remedy))
	}
	return err
}

// detailed are the kinds of warnings whose words quote nothing of a list or a template.
var detailed = []file.Kind{file.KindDeadline, file.KindLostEvents, file.KindOffer, file.KindSchedule}

// logWarnings logs one line for each warning of a launch that no terminal shows. A log may have
// more readers than the list, so a line has no name of a column and no value.
func (d *Daemon) logWarnings(path string, p *launch.Preflight) {
	if s := p.SentBefore; s.Any() {
		d.log.Warn("a launch has a warning", "campaign", path, "kind", campaign.SentBefore, "count", s.People, "detail", s.String(),
			"left_out", p.Skipped[campaign.SentBefore])
	}
	for _, f := range p.Warnings() {
		args := []any{"campaign", path, "kind", f.Kind}
		if f.Count > 0 {
			args = append(args, "count", f.Count)
		}
		if slices.Contains(detailed, f.Kind) {
			args = append(args, "detail", f.What, "remedy", f.Remedy)
		}
		d.log.Warn("a launch has a warning", args...)
	}
}

// launcher is what launches: a command, whose terminal shows the warnings, a request to this
// process, a firing, or a dropped list.
type launcher int

const (
	byCommand launcher = iota
	byRequest
	byFiring
	byDrop
)

// checkLaunch returns a Launch.Checked. It warns in the preflight if the deadline cannot be met,
// the offer of an audience ends too early, the schedule will send the campaign too, or opt-outs
// were lost. Then it logs the warnings of a list that can be sent, unless a command shows them, and
// gives the preflight to then, which may be nil. A firing is not warned of the time to come.
func (d *Daemon) checkLaunch(ctx context.Context, path string, by launcher, then func(*launch.Preflight)) func(*launch.Preflight) {
	return func(p *launch.Preflight) {
		def, _, err := file.Load(path)
		if err == nil {
			err = checkForecast(ctx, d.cfg, d.ledger, d.quotas, def, p, false, time.Now())
		}
		if err == nil {
			err = checkOffer(def, p, time.Now())
		}
		if err != nil { // the launch itself says what is wrong
			d.log.Debug("deadline and offer not checked", "campaign", path, "err", err)
		}
		if by != byFiring {
			warnFiresToo(ctx, d.ledger, d.cfg.Campaigns, p, time.Now())
		}
		if err := checkLost(ctx, d.ledger, p, time.Now()); err != nil {
			d.log.Warn("lost events not checked", "campaign", path, "err", err)
		}
		if by != byCommand && p.OK() {
			d.logWarnings(path, p)
		}
		if then != nil {
			then(p)
		}
	}
}
