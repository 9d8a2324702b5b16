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
	// personTime is how long a page of a person looks for rows before it ends with what it has. Only
	// parts whose numbers are not kept yet take so long: 1,000,000 rows are read in 100 ms.
	personTime = 20 * time.Millisecond
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
	for until := time.Now().Add(personTime); ; {
		parts, err := d.Ledger.PersonParts(ctx, typed[0].Key, after)
		if err != nil || len(parts) == 0 {
			return page, 0, err
		}
		for _, part := range parts {
			var lines []campaign.Line
			if lines, after, err = d.linesOf(ctx, part, typed[0].Key, after, until); err != nil {
				return nil, 0, err
			}
			if len(lines) > 0 {
				run, err := d.Ledger.Run(ctx, part.Run)
				if err != nil {
					return nil, 0, err
				}
				if !d.sees(ctx, run) {
					lines, after = nil, part.ID
				}
				for i := range lines {
					page = append(page, personMessage(&run, &lines[i], pricer))
				}
			}
			if len(page) >= limit || after != part.ID || !time.Now().Before(until) {
				return page, after, nil
			}
		}
	}
}

func personMessage(r *campaign.Run, l *campaign.Line, pricer *reporting.Pricer) resource.PersonMessage {
	return resource.PersonMessage{Run: r.ID(), Campaign: r.Campaign, Template: r.Template, Language: r.Language,
		Launched: r.CreatedAt.UTC(), Delivery: deliveryOf(l, pricer)}
}

// linesOf reads the rows of a number in a part of a run, from the position after on if that is in
// the part. It returns the position to go on from: the id of the part if all of it was read, and
// that of the first segment to read if the numbers of the part are not kept and until is over.
func (d *Session) linesOf(ctx context.Context, part campaign.PersonPart, key, after int64, until time.Time) (
	all []campaign.Line, next int64, err error,
) {
	f := campaign.LineFilter{Key: key}
	begin := part.From
	if segment := after - part.ID; segment > 0 && segment < (part.To-part.From)/campaign.SegmentSize {
		begin += segment * campaign.SegmentSize
	}
	if part.Unread {
		for from := begin; ; {
			lines, after, err := d.Ledger.SelectLines(ctx, part.Run, f, from, mostUnread)
			if err != nil {
				return nil, 0, err
			}
			all = append(all, slices.DeleteFunc(lines, func(l campaign.Line) bool { return l.Seq >= part.To })...)
			if from = after; from == 0 || from >= part.To || len(all) >= mostUnread {
				return all[:min(len(all), mostUnread)], part.ID, nil
			}
			segment := (from - part.From) / campaign.SegmentSize
			if end := part.From + segment*campaign.SegmentSize; end > begin && !time.Now().Before(until) {
				return slices.DeleteFunc(all, func(l campaign.Line) bool { return l.Seq >= end }), part.ID + segment, nil
			}
		}
	}
	for _, seq := range part.Seqs {
		if seq < begin {
			continue
		}
		lines, _, err := d.Ledger.SelectLines(ctx, part.Run, f, seq, 1)
		if err != nil {
			return nil, 0, err
		}
		if len(lines) > 0 && lines[0].Seq == seq { // retention or an erasure may have taken it
			all = append(all, lines[0])
		}
	}
	return all, part.ID, nil
}
