package operator

import (
	"context"
	"errors"
	"time"

	"campaignd/campaign"
	"campaignd/campaign/file"
	"campaignd/campaign/launch"
	"campaignd/internal/client/resource"
	"campaignd/internal/sentence"
	"campaignd/internal/uploads"
	"campaignd/reporting"
)

// ExportPerson returns everything that the ledger has about one number in international form with
// +: the entries of the suppression list, the rows of all runs, and other records. A session of one
// company gets the rows of its runs, what belongs to these rows, and the entries that
// ShowSuppressions shows it. NotReached says what else may have the number.
func (d *Session) ExportPerson(ctx context.Context, number string) (out resource.PersonExport, err error) {
	typed, err := launch.ParseSuppressions([]string{number}, campaign.ScopeAll, time.Now())
	switch {
	case errors.Is(err, launch.ErrNoNumber):
		return out, invalid("%v", err)
	case err != nil:
		return out, err
	}
	out = resource.PersonExport{To: typed[0].To, At: time.Now().UTC(), Company: d.Company, Suppressions: []resource.ProvenSuppression{},
		Messages: []resource.ExportedMessage{}, Records: []resource.PersonRecord{}, NotReached: []string{}}
	shown, err := d.ShowSuppressions(ctx, number)
	if err != nil {
		return out, err
	}
	for _, s := range shown {
		out.Suppressions = append(out.Suppressions, resource.ProvenSuppression{Suppression: resource.Suppression{To: s.To, Scope: s.Scope,
			Company: s.Company, Source: s.Source, At: s.At, Until: s.Until}, Proof: s.Proof})
	}
	runs := map[campaign.RunNo]*exportedRun{} // nil: the session does not see it
	var rows []campaign.Line
	pricer := reporting.NewPricer(d.Rates)
	if err := d.everyLine(ctx, typed[0].Key, func(l *campaign.Line) error {
		r, err := d.exported(ctx, runs, l.Run)
		if err != nil || r == nil {
			return err
		}
		r.rows[l.Seq] = l.Row
		rows = append(rows, *l)
		out.Messages = append(out.Messages, r.message(l, pricer))
		return nil
	}); err != nil {
		return out, err
	}
	records, err := d.Ledger.PersonRecords(ctx, typed[0].Key, rows)
	if err != nil {
		return out, err
	}
	for i := range records {
		if err := d.exportRecord(ctx, runs, &records[i], &out); err != nil {
			return out, err
		}
	}
	if d.Company == "" { // an uploaded list is of no company
		out.NotReached, err = d.notReached()
	}
	return out, err
}

// everyLine calls f with each row of a number, those of the newest runs first.
func (d *Session) everyLine(ctx context.Context, key int64, f func(*campaign.Line) error) error {
	for before := int64(0); ; {
		parts, err := d.Ledger.PersonParts(ctx, key, before)
		if err != nil || len(parts) == 0 {
			return err
		}
		for _, part := range parts {
			before = part.ID
			spans := [][2]int64{{part.From, part.To}}
			if !part.Unread && len(part.Seqs) < mostUnread { // otherwise it may have more rows
				spans = nil
				for _, seq := range part.Seqs {
					spans = append(spans, [2]int64{seq, seq + 1})
				}
			}
			for _, s := range spans {
				if err := d.linesIn(ctx, part.Run, key, s[0], s[1], f); err != nil {
					return err
				}
			}
		}
	}
}

// linesIn calls f with the rows of a number from one seq to before another.
func (d *Session) linesIn(ctx context.Context, no campaign.RunNo, key, from, to int64, f func(*campaign.Line) error) error {
	for from < to {
		lines, next, err := d.Ledger.SelectLines(ctx, no, campaign.LineFilter{Key: key}, from, int(min(mostPage, to-from)))
		if err != nil {
			return err
		}
		for i := range lines {
			if lines[i].Seq >= to {
				return nil
			}
			if err := f(&lines[i]); err != nil {
				return err
			}
		}
		if next == 0 {
			return nil
		}
		from = next
	}
	return nil
}

// exportedRun is a run of which an export has rows.
type exportedRun struct {
	campaign.Run
	rows     map[int64]int64 // by seq
	renderer *file.Renderer  // nil: the campaign cannot be read, as one of a later version
}

// exported returns a run, nil if the session does not see it.
func (d *Session) exported(ctx context.Context, runs map[campaign.RunNo]*exportedRun, no campaign.RunNo) (*exportedRun, error) {
	if r, ok := runs[no]; ok {
		return r, nil
	}
	run, err := d.Ledger.Run(ctx, no)
	switch {
	case errors.Is(err, campaign.ErrNoRun):
		runs[no] = nil
		return nil, nil //nolint:nilnil // nobody sees it
	case err != nil:
		return nil, err
	case !d.sees(ctx, run):
		runs[no] = nil
		return nil, nil //nolint:nilnil // as above
	}
	r := &exportedRun{Run: run, rows: map[int64]int64{}}
	if def, err := file.ParseStored(run.ID(), run.Definition); err == nil {
		r.renderer, _ = def.Compile(run.Header) // nil after an error
	}
	runs[no] = r
	return r, nil
}

func (r *exportedRun) message(l *campaign.Line, pricer *reporting.Pricer) resource.ExportedMessage {
	m := resource.ExportedMessage{PersonMessage: personMessage(&r.Run, l, pricer), DoubtSince: l.DoubtSince, List: []resource.Cell{}}
	for i, value := range l.Cells {
		c := resource.Cell{Value: value}
		if i < len(r.Header) {
			c.Column = r.Header[i]
		}
		m.List = append(m.List, c)
	}
	if r.renderer == nil || l.Attempts == 0 {
		return m
	}
	sent, err := r.renderer.Message(l.Connection, "asset", &l.Delivery) // the file of a header is the same for everybody
	if err != nil {
		return m
	}
	t := sent.Template
	m.Content = &resource.ExportedContent{Body: t.Body, Code: t.OTP}
	for _, b := range t.Buttons {
		m.Content.Buttons = append(m.Content.Buttons, b.Text)
	}
	if h := t.Header; h != nil {
		switch {
		case h.Image != nil:
			m.Content.Link = h.Image.Link
		case h.Video != nil:
			m.Content.Link = h.Video.Link
		case h.Document != nil:
			m.Content.Link = h.Document.Link
		}
	}
	return m
}

// exportRecord adds a record of the ledger, unless it is about a run that the session does not see,
// or about no run and the session is of one company.
func (d *Session) exportRecord(ctx context.Context, runs map[campaign.RunNo]*exportedRun, r *campaign.PersonRecord,
	out *resource.PersonExport) error {
	record := resource.PersonRecord{Kind: r.Kind, Facts: r.Facts}
	if r.Run == 0 && d.Company != "" {
		return nil
	}
	if r.Run != 0 {
		of, err := d.exported(ctx, runs, r.Run)
		if err != nil || of == nil {
			return err
		}
		record.Run, record.Row = of.ID(), of.rows[r.Seq]
	}
	for name, fact := range r.Facts {
		no, isRun := fact.(campaign.RunNo)
		if !isRun {
			continue
		}
		delete(r.Facts, name)
		other, err := d.exported(ctx, runs, no)
		if err != nil {
			return err
		}
		if other != nil {
			r.Facts[name] = other.ID()
		}
	}
	out.Records = append(out.Records, record)
	return nil
}

// notReached says which files may have any number, because nobody looks into them.
func (d *Session) notReached() ([]string, error) {
	var made, uploaded int64
	var err error
	if d.Lists != nil {
		made, err = d.Lists.Kept()
	}
	if err == nil && d.UploadsIn != "" {
		uploaded, err = uploads.Kept(d.UploadsIn)
	}
	n := made + uploaded
	if err != nil || n == 0 {
		return []string{}, err
	}
	return []string{sentence.Count(n, "list is", "lists are") + " uploaded, or being made or imported, and may have the number: " +
		"export it again when the import has ended; an upload without a launch is removed after a day"}, nil
}
