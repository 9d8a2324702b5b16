package operator

import (
	"context"
	"strings"
	"time"

	"campaignd/campaign/launch"
	"campaignd/campaign/reception"
	"campaignd/internal/client/resource"
)

// FollowUp makes a new run over rows of an ended one. The same choice always gives the same run.
// Errors: campaign.ErrNotNow, and campaign.ErrNobody if no row is left to send to.
func (d *Session) FollowUp(ctx context.Context, id string, r resource.FollowUpRequest) (resource.FollowedUp, error) {
	if len(r.Where) == 0 {
		return resource.FollowedUp{}, invalid("say which rows, for example failed=131049")
	}
	var choice []launch.Where
	for _, s := range r.Where {
		w, err := launch.ParseWhere(s)
		if err != nil {
			return resource.FollowedUp{}, invalid("%v", err)
		}
		choice = append(choice, w)
	}
	parent, err := d.find(ctx, id)
	if err != nil {
		return resource.FollowedUp{}, err
	}
	detail := strings.Join(r.Where, ", ")
	if r.EndsComparison {
		detail += "; ends the comparison"
	}
	if r.NotReplayed {
		detail += "; not replayed"
	}
	if r.LeaveOutSent {
		detail += "; leave out sent"
	}
	if r.SendAgain {
		detail += "; send again"
	}
	if !r.DryRun {
		if err := d.note(ctx, "follow-up", parent.ID(), detail); err != nil {
			return resource.FollowedUp{}, err
		}
	}
	f, err := launch.StartFollowUp(ctx, launch.FollowUpInput{Ledger: d.Ledger, Parent: parent, Where: choice, Early: r.Early,
		EndsComparison: r.EndsComparison, NotReplayed: r.NotReplayed, LeaveOutSent: r.LeaveOutSent, SendAgain: r.SendAgain,
		SentWithin: d.SentWithin, DryRun: r.DryRun,
		Repeats: d.Repeats, By: d.By})
	return resource.FollowedUpOf(f), err
}

// listedDoubts is the number of uncertain rows that are listed. The report has all of them.
const listedDoubts = 50

// Doubts returns the rows of a run that may or may not have been sent. It reads the whole run.
func (d *Session) Doubts(ctx context.Context, id string) (launch.Uncertainty, error) {
	r, err := d.find(ctx, id)
	if err != nil {
		return launch.Uncertainty{}, err
	}
	listening, err := reception.ReadListening(ctx, d.Ledger, d.Repeats, time.Now())
	if err != nil {
		return launch.Uncertainty{}, err
	}
	return launch.ReadUncertainty(ctx, d.Ledger, r, listedDoubts, listening)
}
