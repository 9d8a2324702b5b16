package console

import (
	"context"
	"slices"
	"time"

	"campaignd/campaign"
	"campaignd/campaign/why"
	"campaignd/internal/client/resource"
	words "campaignd/internal/sentence"
)

// overviewView is the first page.
type overviewView struct {
	Runs    []overviewRun
	Waiting []waiting
	Next    []resource.Firing
	Ended   []resource.Run // the last ones
	More    int            // unfinished runs that are not shown
}

type overviewRun struct {
	Run resource.Run
	Why why.Answer
	Bar bar
	// Rate is in messages a second, over all numbers.
	Rate float64
}

// waiting is what waits for a person.
type waiting struct{ What, Sentence, Path, Link string }

// The most runs with figures on the overview, and runs that ended.
const (
	mostShown = 20
	mostEnded = 5
)

func overview(v *visit) (any, error) {
	ctx := v.r.Context()
	runs, err := v.d.Runs(ctx, campaign.RunFilter{Unfinished: true})
	if err != nil {
		return nil, err
	}
	out := overviewView{More: max(0, len(runs)-mostShown)}
	for _, r := range runs[:min(len(runs), mostShown)] {
		f, err := v.figures(r.ID, false)
		if err != nil {
			return nil, err
		}
		one := overviewRun{r, f.Why, f.Bar, f.Rate}
		out.Runs = append(out.Runs, one)
		switch r.State {
		case campaign.WaitingApproval:
			out.Waiting = append(out.Waiting, waiting{r.ID + " waits for approval", sentence(one.Why.Sentence), runPath(r.ID),
				"Look at it and approve"})
		case campaign.Paused:
			out.Waiting = append(out.Waiting, waiting{r.ID + " is paused", sentence(one.Why.Sentence), runPath(r.ID), "Look at it"})
		}
	}
	holds, err := v.d.Holds(ctx, false)
	if err != nil {
		return nil, err
	}
	for _, h := range holds {
		out.Waiting = append(out.Waiting, waiting{"A hold of " + word(h.Scope) + " " + clip(h.ID), sentence(h.Sentence),
			"/console/holds", "Holds"})
	}
	if err := v.moreWaiting(ctx, &out); err != nil {
		return nil, err
	}
	newest, err := v.d.Runs(ctx, campaign.RunFilter{Limit: mostShown})
	if err != nil {
		return nil, err
	}
	for _, r := range newest {
		if r.State.Ended() && len(out.Ended) < mostEnded {
			out.Ended = append(out.Ended, r)
		}
	}
	files, err := v.process.Folder()
	if err != nil {
		return nil, err
	}
	if out.Next, err = v.d.Schedule(ctx, files, "", 1, 0); err != nil {
		return nil, err
	}
	slices.SortFunc(out.Next, func(a, b resource.Firing) int { return a.At.Compare(b.At) })
	out.Next = out.Next[:min(len(out.Next), 10)]
	return out, nil
}

// moreWaiting adds files that were rejected, and notifications that nobody got.
func (v *visit) moreWaiting(ctx context.Context, out *overviewView) error {
	files, _, err := v.d.Drops(ctx, 0, mostShown)
	if err != nil {
		return err
	}
	for _, f := range files {
		if f.State == string(campaign.DropRejected) && time.Since(f.TakenAt) < 24*time.Hour {
			out.Waiting = append(out.Waiting, waiting{clip(f.Key) + " was rejected", sentence(f.Detail), "/console/drops", "Dropped files"})
		}
	}
	if v.who.Company != "" {
		return nil
	}
	dead, err := v.d.Notifications(ctx, campaign.NotificationDead, mostShown)
	if len(dead) > 0 {
		what := words.Count(len(dead), "notification was given up", "notifications were given up")
		out.Waiting = append(out.Waiting, waiting{what, sentence(dead[0].Error),
			"/console/notifications?state=dead", "Notifications"})
	}
	return err
}
