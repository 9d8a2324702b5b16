package launch

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"campaignd/campaign"
	"campaignd/campaign/reception"
	"campaignd/internal/messaging"
)

// edit is an edit of a template, as an event told it.
type edit struct {
	at       time.Time
	account  string // as in campaign.TemplateID
	inReview bool   // no event has approved the new text
}

// edits returns the last edit of the run's template at each account.
func edits(holds []campaign.Hold, run campaign.Run, now time.Time) (all []edit) {
	of := campaign.Origin{Template: run.Template, Language: run.Language, Unasked: true}
	for _, h := range holds {
		if h.Scope == campaign.HoldTemplate && h.Reason == campaign.TemplateInReview && h.Stops(of) {
			account := strings.TrimSuffix(h.ID, campaign.TemplateID("", run.Template, run.Language))
			all = append(all, edit{reception.Later(h.Since, h.Latest), account, h.InForce(now)})
		}
	}
	return all
}

// holdEdited holds the run if its template was edited after its check began: the event of the edit
// found no run yet. An edit that is still in review counts whenever it was. The check saw an
// approved template, so the listing that it read was from before the edit.
func (l Request) holdEdited(ctx context.Context, run campaign.Run, checked *Preflight, connections []string) error {
	holds, err := l.Ledger.Holds(ctx, true)
	if err != nil {
		return fmt.Errorf("read the holds: %w", err)
	}
	asChecked := run
	asChecked.CreatedAt = checked.began
	var edited time.Time
	for _, e := range edits(holds, run, time.Now()) {
		if (e.inReview || asChecked.LaunchedBefore(e.at)) && checked.mayBeOf(connections, e.account) {
			edited = reception.Later(edited, e.at)
		}
	}
	if edited.IsZero() {
		return nil
	}
	if _, err := l.Ledger.AddHolds(ctx, []campaign.Hold{campaign.EditedHold(run, edited)}); err != nil {
		return fmt.Errorf("hold %s: %w", run.ID(), err)
	}
	return nil
}

// mayBeOf reports whether an account may belong to one of the connections: it does, or it is the
// account of no connection that the service lists.
func (p *Preflight) mayBeOf(connections []string, account string) bool {
	of := func(k messaging.Connection) bool { return account != "" && (k.AccountID == account || k.ID == account) }
	return !slices.ContainsFunc(p.known, of) ||
		slices.ContainsFunc(p.known, func(k messaging.Connection) bool { return of(k) && slices.Contains(connections, k.ID) })
}
