package operator

import (
	"context"
	"errors"
	"slices"
	"time"

	"campaignd/campaign"
	"campaignd/campaign/launch"
	"campaignd/internal/client/resource"
	"campaignd/reporting"
)

const (
	// personTime is how long a page of a person looks for rows before it ends with what it has.
	personTime = 50 * time.Millisecond
	// mostUnread is how many rows with a number are shown of a part whose numbers are not kept.
	mostUnread = 64
)

// Person returns a page of the rows of one number in all runs that the session may see, those of
// the newest runs first. The number is in international form with +. after is the next of the page
// before, 0 for the first page. The page ends with the part of a run that reaches limit (1 to 1000;
// 0: 100), or after some milliseconds. next is 0 on the last page. An erased number has no rows.
func (d *Session) Person(ctx context.Context, number string, after int64, limit int) (
	page []resource.PersonMessage, next int64, err error,
) {
	typed, err := launch.ParseSuppressions([]string{number}, campaign.ScopeAll, time.Now())
	switch {
	case errors.Is(err, launch.ErrNoNumber):
		return nil, 0, invalid("%v", err)
	case err != nil:
		return nil, 0, err
	case limit < 0 || limit > mostPage:
		return nil, 0, invalid("limit %d: want 1 to %d", limit, mostPage)
	case limit == 0:
		limit = pageSize
	}
	page = []resource.PersonMessage{}
	pricer := reporting.NewPricer(d.Rates)
	for began := time.Now(); ; {
		parts, err := d.Ledger.PersonParts(ctx, typed[0].Key, after)
		if err != nil || len(parts) == 0 {
			return page, 0, err
		}
		for _, part := range parts {
			after = part.ID
			lines, err := d.linesOf(ctx, part, typed[0].Key)
			if err != nil {
				return nil, 0, err
			}
			if len(lines) > 0 {
				run, err := d.Ledger.Run(ctx, part.Run)
				if err != nil {
					return nil, 0, err
				}
				if !d.sees(ctx, run) {
					continue
				}
				for i := range lines {
					page = append(page, resource.PersonMessage{Run: run.ID(), Campaign: run.Campaign, Template: run.Template,
						Language: run.Language, Launched: run.CreatedAt.UTC(), Delivery: deliveryOf(&lines[i], pricer)})
				}
			}
			if len(page) >= limit || time.Since(began) > personTime {
				return page, after, nil
			}
		}
	}
}

// linesOf reads the rows of a number in a part of a run.
func (d *Session) linesOf(ctx context.Context, part campaign.PersonPart, key int64) (all []campaign.Line, err error) {
	f := campaign.LineFilter{Key: key}
	if part.Unread {
		for from := part.From; ; {
			lines, next, err := d.Ledger.SelectLines(ctx, part.Run, f, from, mostUnread)
			if err != nil {
				return nil, err
			}
			all = append(all, slices.DeleteFunc(lines, func(l campaign.Line) bool { return l.Seq >= part.To })...)
			if from = next; from == 0 || from >= part.To || len(all) >= mostUnread {
				return all[:min(len(all), mostUnread)], nil
			}
		}
	}
	for _, seq := range part.Seqs {
		lines, _, err := d.Ledger.SelectLines(ctx, part.Run, f, seq, 1)
		if err != nil {
			return nil, err
		}
		if len(lines) > 0 && lines[0].Seq == seq { // retention or an erasure may have taken it
			all = append(all, lines[0])
		}
	}
	return all, nil
}
