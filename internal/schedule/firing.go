package schedule

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"campaignd/campaign"
	"campaignd/campaign/file"
	"campaignd/campaign/plan"
	"campaignd/internal/faults"
	"campaignd/internal/operator"
)

// firings is what the schedule knows of one campaign when it looks.
type firings struct {
	after      time.Time         // firings after this time are new
	key        string            // the key of a new firing; "": its own
	added      *campaign.Firing  // the record, to be stored, since when this schedule is known; nil if there is one
	open       []campaign.Firing // newest first
	launched   map[string]campaign.RunNo
	unfinished []campaign.Run // newest first
	// quarantined is when the ledger was quarantined last. A firing before that time which the ledger
	// does not have may have been launched in the lost time.
	quarantined time.Time
}

// lostDetail is the detail of a firing that was due before a quarantine.
const lostDetail = "it may have been launched in the time that the ledger lost"

// firingsOf reads what is known of the firings of s. A launch stores first its firing and then its
// run, and another replica may launch meanwhile. firingsOf therefore reads the runs first: it then
// finds the firing, which is not new, without the run, which would delay its own firing.
func (sc *Scheduler) firingsOf(ctx context.Context, s Scheduled, now time.Time) (w firings, err error) {
	name := s.Definition.Name
	runs, err := sc.o.Ledger.Runs(ctx, campaign.RunFilter{Campaign: name, Unfinished: true})
	if err != nil {
		return w, fmt.Errorf("read runs: %w", err)
	}
	for _, r := range runs {
		// A follow-up run sends to rows of a run that ended. An import that failed delays no later
		// firing.
		if r.Parent == 0 && (r.State != campaign.Importing || r.Detail == "") {
			w.unfinished = append(w.unfinished, r)
		}
	}
	if w.open, err = sc.o.Ledger.Firings(ctx, campaign.FiringFilter{Campaign: name, Open: true}); err != nil {
		return w, fmt.Errorf("read firings: %w", err)
	}
	w.launched = map[string]campaign.RunNo{}
	for _, f := range w.open {
		runs, err := sc.o.Ledger.Runs(ctx, campaign.RunFilter{Campaign: name, Launch: CronKey + f.Key, Limit: 1})
		if err != nil {
			return w, fmt.Errorf("read runs: %w", err)
		}
		for _, r := range runs {
			w.launched[f.Key] = r.No
		}
	}
	quarantined, err := sc.o.Ledger.Firings(ctx, campaign.FiringFilter{Outcome: campaign.FiringAdded, Limit: 1})
	if err != nil {
		return w, fmt.Errorf("read firings: %w", err)
	}
	for _, last := range quarantined {
		w.quarantined = sc.quarantinedAt(last.At, now)
	}
	if once, ok := s.Cron.Once(); ok {
		w.after, w.key, err = sc.afterOnce(ctx, name, once)
	} else {
		w.after, w.added, err = sc.afterKnown(ctx, s, now)
	}
	if err != nil {
		return w, err
	}
	if _, _, due := s.Cron.Latest(w.after, now); due || len(w.open) > 0 {
		w.unfinished, err = sc.sendingOf(ctx, w.unfinished)
	}
	return w, err
}

// afterOnce returns the time after which the only firing of a schedule is new, and its key then. It
// is its own time if the ledger has it, else a second before. The file may be younger than the
// firing, which is then missed, or launched within its grace (Schedule.Misfire).
func (sc *Scheduler) afterOnce(ctx context.Context, name string, once plan.Firing) (after time.Time, key string, err error) {
	seen, key, err := operator.OnlyFiring(ctx, sc.o.Ledger, name, once)
	if err != nil || seen != nil {
		return once.At, "", err
	}
	return once.At.Add(-time.Second), key, nil
}

// quarantinedAt returns when the ledger was quarantined, of which recorded is the time in the
// ledger. If that is to come, a clock was ahead: the quarantine was before this process saw the
// record first.
func (sc *Scheduler) quarantinedAt(recorded, now time.Time) time.Time {
	sc.mu.Lock()
	defer sc.mu.Unlock()
	if recorded.After(now) && !recorded.Equal(sc.ahead) {
		sc.ahead, sc.aheadSeen = recorded, now
	}
	if recorded.Equal(sc.ahead) {
		return sc.aheadSeen
	}
	return recorded
}

// afterKnown returns the time up to which the firings of s are known. It is the later of two: the
// newest recorded firing, and since when the ledger knows this schedule. A schedule that is new to
// the ledger is known since its file was written, and added is the record of that. Without a
// recorded firing, the campaign's last scheduled run counts too. A clock that was ahead may have
// left times to come: they do not count before they have come.
func (sc *Scheduler) afterKnown(ctx context.Context, s Scheduled, now time.Time) (after time.Time, added *campaign.Firing, err error) {
	name := s.Definition.Name
	newest, err := sc.o.Ledger.Firings(ctx, campaign.FiringFilter{Campaign: name, Until: now, Limit: 1})
	if err != nil {
		return after, nil, fmt.Errorf("read firings: %w", err)
	}
	known, err := sc.o.Ledger.Firings(ctx, campaign.FiringFilter{Campaign: name, Outcome: campaign.FiringAdded, Until: now, Limit: 1})
	if err != nil {
		return after, nil, fmt.Errorf("read firings: %w", err)
	}
	last, err := sc.o.Ledger.Runs(ctx, campaign.RunFilter{Campaign: name, Fired: true, Limit: 1})
	if err != nil {
		return after, nil, fmt.Errorf("read runs: %w", err)
	}
	for _, f := range append(newest, known...) {
		after = latest(after, f.At)
	}
	for _, r := range last {
		// Beside the record of its firing, a run would hide a firing that came before the run was made.
		if len(newest) == 0 && !r.CreatedAt.After(now) {
			after = latest(after, r.CreatedAt) // also when its import was interrupted: ResumeImports continues that
		}
	}
	written := s.Written
	if written.After(now) {
		written = now
	}
	schedule := s.schedule()
	switch {
	case len(known) == 0 && after.IsZero():
		after = written
	case len(known) == 0:
	case known[0].Detail != schedule && written.After(known[0].At): // a replica with an older file changes nothing
		after = latest(after, written)
	default:
		return after, nil, nil
	}
	return after, &campaign.Firing{Campaign: name, Key: "added " + after.UTC().Format(time.RFC3339Nano), At: after, Since: after,
		Outcome: campaign.FiringAdded, Detail: schedule}, nil
}

// step is what is to be done about the firings of a campaign.
type step struct {
	note   []campaign.Firing // the outcomes that changed
	seen   string            // the key of a firing that was not known before
	cancel []campaign.Run
	open   *campaign.Firing // that is to be launched now or, if it waits, later
	launch bool
}

// Next decides what is to be done now. It is pure: the same facts give the same step in each
// replica.
func (w firings) next(s Scheduled, now time.Time) (out step) {
	schedule := s.Definition.Schedule
	grace := time.Duration(schedule.Grace)
	var waiting *campaign.Firing // of the open firings, the one that is to be launched
	for i := range w.open {
		f := w.open[i]
		switch no := w.launched[f.Key]; {
		case no != 0:
			f.Outcome, f.Run, f.Detail = campaign.FiringLaunched, no, ""
			out.note = append(out.note, f)
		case f.At.After(now): // of a clock that was ahead: it is launched when it is due
		case !f.Since.After(w.quarantined):
			f.Outcome, f.Detail = campaign.FiringMissed, lostDetail
			out.note = append(out.note, f)
		case f.Outcome == campaign.FiringLaunching && now.Sub(f.Since) > grace:
			why := fmt.Sprintf("no launch succeeded within its grace of %s: %s", schedule.Grace, f.Detail)
			if f.Detail == "" { // launches that fail are tried once a minute
				why = fmt.Sprintf("no launch could begin within its grace of %s, because another one was tried or had just failed", schedule.Grace)
			}
			f.Outcome, f.Detail = campaign.FiringFailed, why
			out.note = append(out.note, f)
		default:
			waiting = &f
		}
	}
	firing, missed, ok := s.Cron.Latest(w.after, now)
	if ok {
		f := campaign.Firing{Campaign: s.Definition.Name, Key: cmp.Or(w.key, firing.Key), At: firing.At, Since: now}
		out.seen = f.Key
		if missed > 0 {
			f.Missed, f.MissedSince = int64(missed), s.Cron.Next(w.after).At
		}
		switch {
		case !f.At.After(w.quarantined):
			f.Outcome, f.Detail = campaign.FiringMissed, lostDetail
			out.note = append(out.note, f)
		case plan.Misfire(schedule.Misfire, grace, firing.At, now) != plan.Fire:
			f.Outcome = campaign.FiringMissed
			f.Detail = fmt.Sprintf("no process fired it in time; first seen %s late", now.Sub(firing.At).Round(time.Second))
			out.note = append(out.note, f)
		case waiting == nil && len(w.unfinished) == 0:
			f.Outcome = campaign.FiringLaunching
			out.note, waiting = append(out.note, f), &f
		default:
			waiting = w.overlap(schedule.Overlap, f, waiting, &out)
		}
	}
	if waiting != nil && waiting.Outcome == campaign.FiringWaiting && len(w.unfinished) == 0 {
		f := *waiting
		f.Outcome, f.Since, f.Detail = campaign.FiringLaunching, now, ""
		out.note, waiting = append(out.note, f), &f
	}
	out.open = waiting
	out.launch = waiting != nil && waiting.Outcome == campaign.FiringLaunching
	if waiting != nil && !out.launch && schedule.Overlap == file.OverlapCancel {
		out.cancel = w.unfinished
	}
	return out
}

// Look records what became of the firings of s, and returns the one to launch now, nil for none.
func (sc *Scheduler) Look(ctx context.Context, s Scheduled, now time.Time) (*campaign.Firing, error) {
	w, err := sc.firingsOf(ctx, s, now)
	if err != nil {
		return nil, err
	}
	if w.added != nil {
		if _, err := sc.o.Ledger.NoteFiring(ctx, *w.added); err != nil {
			return nil, fmt.Errorf("note the schedule: %w", err)
		}
	}
	next := w.next(s, now)
	for _, f := range next.note {
		note := func(ctx context.Context) error { return sc.note(ctx, f, f.Key == next.seen) }
		if f.Outcome == campaign.FiringFailed {
			// The list of an audience may take longer than the grace. A replica that makes it holds the job.
			if err := sc.job(CronKey+f.Campaign).Do(ctx, note); err != nil && !errors.Is(err, campaign.ErrTaken) {
				return nil, err
			}
		} else if err := note(ctx); err != nil {
			return nil, err
		}
	}
	for _, r := range next.cancel {
		if r.Wanted == campaign.WantCancel {
			continue
		}
		if _, err := sc.o.Ledger.SetWanted(ctx, r.No, campaign.WantCancel, campaign.BySchedule); err != nil {
			return nil, fmt.Errorf("cancel %s for the next firing: %w", r.ID(), err)
		}
		sc.o.Log.Warn("a run is cancelled for the next firing of its campaign", "run", r.ID())
	}
	if !next.launch {
		return nil, nil
	}
	return next.open, nil
}

// Due returns the firing of s that would be launched now if no run of the campaign were unfinished;
// ok is false for none.
func (sc *Scheduler) Due(ctx context.Context, s Scheduled, now time.Time) (f campaign.Firing, ok bool, err error) {
	w, err := sc.firingsOf(ctx, s, now)
	if err != nil {
		return f, false, err
	}
	w.unfinished = nil
	if next := w.next(s, now); next.open != nil {
		return *next.open, true, nil
	}
	return f, false, nil
}

// note records a firing. It logs and counts an outcome that is new and, with a firing that was not
// seen before, those that were missed before it. Firings that fail one after the other for the
// same cause are one line. When the cause changes, the next line has their count.
func (sc *Scheduler) note(ctx context.Context, f campaign.Firing, seen bool) error {
	if f.Outcome == campaign.FiringMissed || f.Outcome == campaign.FiringFailed {
		f.Since = time.Now()
	}
	changed, err := sc.o.Ledger.NoteFiring(ctx, f)
	if err != nil || !changed {
		return err
	}
	if seen && f.Missed > 0 {
		sc.o.Log.Warn("firings were missed", "campaign", f.Campaign, "firings", f.Missed, "since", f.MissedSince, "before", f.At)
		sc.fired.add(campaign.FiringMissed, f.Missed)
	}
	switch f.Outcome {
	case campaign.FiringMissed, campaign.FiringSkipped:
		sc.o.Log.Warn("a firing was "+string(f.Outcome), "campaign", f.Campaign, "at", f.At, "why", f.Detail)
	case campaign.FiringFailed:
		if changed, before := sc.failing.Failed(f.Campaign, f.Detail); changed {
			sc.o.Log.Error("a firing failed", faults.Counting(before, "campaign", f.Campaign, "at", f.At, "why", f.Detail)...)
		}
	case campaign.FiringLaunched:
		if times := sc.failing.Succeeded(f.Campaign); times > 0 {
			sc.o.Log.Info("a firing was launched after others had failed", "campaign", f.Campaign, "at", f.At, "failures", times)
		}
	case campaign.FiringWaiting:
		sc.o.Log.Info("a firing waits", "campaign", f.Campaign, "at", f.At, "why", f.Detail)
	}
	if !f.Outcome.Open() {
		sc.fired.add(f.Outcome, 1)
	}
	return nil
}

// latest returns the later of two times.
func latest(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}
