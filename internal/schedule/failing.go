package schedule

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"campaignd/campaign"
	"campaignd/campaign/launch"
)

const (
	// failingRest is how many times as long as a count of a run took the run is not counted again: the
	// counts cost 1 % of a core at most.
	failingRest = 99
	// failingEnded is how long the messages of an ended run still count for their template.
	failingEnded = 15 * time.Minute
)

// failing counts the messages of a run that were accepted and failed later. What is counted are
// rows of the ledger, so it does not matter which process took their webhooks.
type failing struct {
	known  bool          // last was read
	last   launch.Finals // at the last reading
	window launch.Finals // since the last verdict
	next   time.Time     // no reading before this time
}

// failed pauses a run when most of its messages are accepted and fail later with the same fault. If
// messages of several runs of a template do, it holds the template.
func (c *policies) failed(ctx context.Context, run campaign.Run) error {
	seen := c.fails[run.No]
	if run.StartedAt.IsZero() || time.Now().Before(seen.next) {
		return nil
	}
	began := time.Now()
	tallies, _, err := c.sc.o.Ledger.Tallies(ctx, run.No)
	if err != nil {
		return fmt.Errorf("count the messages of %s that failed: %w", run.ID(), err)
	}
	now := launch.FinalsOf(tallies)
	if !seen.known {
		if old, err := c.judgedBefore(ctx, run); err != nil {
			return err
		} else if old {
			seen.last = now
		}
	}
	template := campaign.TemplateID("", run.Template, run.Language)
	windows := c.failsOf[template]
	if windows == nil {
		windows = map[campaign.RunNo]launch.Finals{}
		c.failsOf[template] = windows
	}
	part := windows[run.No]
	part.Add(now, seen.last)
	windows[run.No] = part
	seen.window.Add(now, seen.last)
	seen.known, seen.last, seen.next = true, now, time.Now().Add(failingRest*time.Since(began))
	code, text, enough := seen.window.Judge()
	if enough {
		seen.window = launch.Finals{}
	}
	c.fails[run.No] = seen
	if code != "" {
		err = c.pause(ctx, run, text)
	}
	return errors.Join(err, c.holdFailing(ctx, template))
}

// pause pauses a run most of whose messages fail, if it is sending.
func (c *policies) pause(ctx context.Context, run campaign.Run, text string) error {
	sending := []campaign.State{campaign.Ready, campaign.Running}
	paused, err := c.sc.o.Ledger.SetState(ctx, run.No, sending, campaign.Paused, campaign.PausedByBreaker, text)
	if paused {
		c.sc.o.Log.Warn("run paused", "run", run.ID(), "reason", campaign.PausedByBreaker, "detail", text)
		c.engine.Poke()
	}
	return err
}

// holdFailing holds a template most of whose messages fail, in several runs.
func (c *policies) holdFailing(ctx context.Context, template string) error {
	var all launch.Finals
	for _, part := range c.failsOf[template] {
		all.Add(part, launch.Finals{})
	}
	code, text, enough := all.Judge()
	if !enough {
		return nil
	}
	runs := 0
	for _, part := range c.failsOf[template] {
		if part.Fails(code) {
			runs++
		}
	}
	delete(c.failsOf, template)
	if runs < 2 {
		return nil
	}
	h := campaign.Hold{Scope: campaign.HoldTemplate, ID: template, Reason: code, Detail: fmt.Sprintf("in %d runs %s", runs, text),
		Source: campaign.HoldByStatus, Since: time.Now(), Manual: true}
	began, err := c.sc.o.Ledger.AddHolds(ctx, []campaign.Hold{h})
	if len(began) > 0 {
		c.sc.o.Log.Warn("template held", "template", template, "detail", h.Detail)
		c.engine.Poke()
	}
	return err
}

// judgedBefore reports whether what has become of the messages of a run does not count any more: it
// has ended, or a breaker has paused it, and an operator saw that.
func (c *policies) judgedBefore(ctx context.Context, run campaign.Run) (bool, error) {
	if run.State.Ended() || run.State == campaign.Paused {
		return true, nil
	}
	h, err := c.sc.o.Ledger.History(ctx, run.No)
	return slices.ContainsFunc(h.Entries, func(e campaign.HistoryEntry) bool {
		return e.Kind == campaign.HistoryState && e.Value == string(campaign.Paused)
	}), err
}

// forgetFailing forgets the counts of runs that are not listed any more.
func (c *policies) forgetFailing(listed []campaign.Run) {
	for no := range c.fails {
		if !slices.ContainsFunc(listed, func(r campaign.Run) bool { return r.No == no }) {
			delete(c.fails, no)
		}
	}
}
