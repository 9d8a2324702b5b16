package webhooks

import (
	"context"
	"fmt"
	"slices"
	"time"

	"campaignd/campaign"
	"campaignd/campaign/why"
	"campaignd/internal/messaging"
)

// Runs keeps the runs; a campaign.Ledger does.
type Runs interface {
	Runs(ctx context.Context, f campaign.RunFilter) ([]campaign.Run, error)
	MakeMarketing(ctx context.Context, no campaign.RunNo) error
}

// change is an event about a template that matters to the runs that were launched before it: the
// template was edited, or it is marketing now.
type change struct {
	event    messaging.Review
	accounts []string  // those that may have the template; "": every account
	at       time.Time // the event's own; zero: later than every launch
}

// concerns reports whether the run was launched before the change and sends the template over one
// of the accounts. A run whose campaign this version cannot read may send over each. origin returns
// what is known of a connection.
func (c *change) concerns(run campaign.Run, origin func(connection string) campaign.Origin) bool {
	if run.Template != c.event.Name || !c.at.IsZero() && !run.LaunchedBefore(c.at) {
		return false
	}
	run.State = campaign.Ready // no hold stops an ended run, and its follow-up runs send over its connections
	var held []campaign.Hold
	for _, account := range c.accounts {
		held = append(held, reviewHold(account, &c.event, c.at))
	}
	of := func(connection string) campaign.Origin {
		o := origin(connection)
		o.Unasked = connection == ""
		return o
	}
	return len(why.RunHolds(run, held, of, c.at)) > 0
}

// followedUpFor is how long after its end a run becomes marketing with its template, because its
// follow-up runs are what it is.
const followedUpFor = 90 * 24 * time.Hour

// changed returns the holds that the changes of the batch begin: of the runs whose template was
// edited. It also makes the runs of templates that are marketing now marketing.
func (w *writer) changed(ctx context.Context) (holds []campaign.Hold, err error) {
	var changes []change
	for _, q := range w.batch {
		changes = append(changes, q.changes...)
	}
	if len(changes) == 0 || w.o.Runs == nil {
		return nil, nil
	}
	which := campaign.RunFilter{Unfinished: true}
	if slices.ContainsFunc(changes, func(c change) bool { return madeMarketing(&c.event) }) {
		which = campaign.RunFilter{EndedAfter: time.Now().Add(-followedUpFor)}
	}
	runs, err := w.o.Runs.Runs(ctx, which)
	if err != nil {
		return nil, fmt.Errorf("read the runs of a template that was changed: %w", err)
	}
	for _, c := range changes {
		for i := range runs {
			run := &runs[i]
			if !c.concerns(*run, w.o.Origin) {
				continue
			}
			if edited(&c.event) && !run.State.Ended() {
				holds = append(holds, campaign.EditedHold(*run, c.at))
			}
			if !madeMarketing(&c.event) || run.Marketing {
				continue
			}
			if err := w.o.Runs.MakeMarketing(ctx, run.No); err != nil {
				return nil, fmt.Errorf("make %s marketing: %w", run.ID(), err)
			}
			run.Marketing = true
			w.o.Log.Warn("the template of a run is marketing now; who opted out of marketing is left out from now on", "run", run.ID())
		}
	}
	return holds, nil
}
