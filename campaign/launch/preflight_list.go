package launch

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"campaignd/campaign"
	"campaignd/campaign/file"
	"campaignd/internal/sentence"
	"campaignd/recipients"
)

// list reads every row of the list.
func (c *check) list(ctx context.Context) error {
	list, err := OpenList(c.in.List, c.d.ListOptions(c.in.List))
	if err != nil {
		c.fault(err)
		return nil
	}
	err = c.rows(ctx, list)
	return errors.Join(err, list.Close())
}

// fault adds an error of the list as a finding.
func (c *check) fault(err error) {
	c.p.listFault = true
	f := file.Finding{Level: file.LevelError, Where: c.in.List, What: err.Error()}
	var bad *recipients.FileError
	if errors.As(err, &bad) {
		f.Where, f.What, f.Remedy = bad.File, bad.Message, bad.Remedy
		if bad.Line > 0 {
			f.Where = fmt.Sprintf("%s:%d", bad.File, bad.Line)
		}
		if bad.Err != nil {
			f.What += ": " + bad.Err.Error()
		}
	}
	c.p.Findings = append(c.p.Findings, f)
}

// omitted adds a finding for each option that leaves out recipients: a recurring export has a line
// of totals or a second header on some days only. A row that recipients.where would filter is none.
func (c *check) omitted(list *List) {
	told := ""
	for _, o := range list.Omitted() {
		_, filtered := c.render.Filtered(o.Row.Cells)
		if o.Option == told || filtered && o.Row.Fault == nil {
			continue
		}
		told, c.p.listFault = o.Option, true
		c.p.Findings = append(c.p.Findings, file.Finding{Level: file.LevelError, Where: fmt.Sprintf("%s:%d", c.in.List, o.Row.Line),
			What:   fmt.Sprintf("recipients.%s leaves out line %d, which has a phone number", o.Option, o.Row.Line),
			Remedy: "lower it to the rows that are no recipients, or remove it; recipients.where leaves out recipients"})
	}
}

// pending is a row that waits for the answer of the suppression list.
type pending struct {
	campaign.Delivery
	line   int
	zone   string // window group; "" when the window is the same for all rows
	capped bool   // the frequency cap stops it now
}

func (c *check) rows(ctx context.Context, list *List) (err error) {
	c.p.Header, c.p.Dialect, c.p.delimiter = list.Header(), list.Dialect().String(), string(list.Dialect().Delimiter)
	if list.Dialect().Encoding == recipients.Windows1252 && c.d.Recipients.Encoding == "" {
		c.p.Findings = append(c.p.Findings, file.Warning(file.KindEncoding, 0, c.in.List,
			"it is not UTF-8, and was read as windows-1252 (Western Europe)",
			"compare names in `campaignd preview`; recipients.encoding: windows-1252 ends this warning"))
	}
	c.consent(list.Header())
	missing := c.d.Missing(list.Header())
	for _, m := range missing {
		c.say(file.Fault, m.Path, m.What, m.Remedy)
	}
	render := file.BlankRenderer() // if a column is missing, the phone numbers can still be checked
	if len(missing) > 0 {
		c.p.listFault = true
	} else {
		if render, err = c.d.Compile(list.Header()); err != nil {
			return err
		}
		if c.p.Template != nil {
			render.HydrateFrom(c.d, c.p.Template)
		}
	}
	c.render = render
	j := newJudge(c.d, render, 0, c.p.Senders)
	where := recipients.NewCountries()
	perCountry := map[string]int64{}
	batch := make([]pending, 0, suppressionBatch)
	bytes := 0 // of the cells in batch
	flush := func() error {
		if err := c.suppress(ctx, batch); err != nil {
			return err
		}
		c.leaveOutSent(batch)
		if err := c.cap(ctx, batch); err != nil {
			return err
		}
		if err := c.bound(ctx, batch); err != nil {
			return err
		}
		for i := range batch {
			if err := c.count(&batch[i], where, perCountry); err != nil {
				return err
			}
		}
		clear(batch) // otherwise it would keep its rows until others replace them
		batch, bytes = batch[:0], 0
		if c.in.Progress != nil {
			c.in.Progress(c.p.Rows)
		}
		return ctx.Err()
	}
	for {
		row, err := list.Next()
		if errors.Is(err, io.EOF) {
			c.omitted(list)
			break
		}
		if err != nil {
			c.fault(err)
			break
		}
		d := j.delivery(row)
		group := ""
		if d.Skip == "" && j.zones != nil {
			group = c.zone(j.zones, row)
		}
		batch = append(batch, pending{Delivery: d, line: row.Line, zone: group})
		if bytes += width(d.Cells); len(batch) == suppressionBatch || bytes > wideBatch {
			if err := flush(); err != nil {
				return err
			}
		}
	}
	if err := flush(); err != nil {
		return err
	}
	if err := c.rejects(ctx, &j.seen); err != nil {
		return err
	}
	for country, n := range perCountry {
		c.p.Countries = append(c.p.Countries, CountryCount{country, n})
	}
	slices.SortFunc(c.p.Countries, func(a, b CountryCount) int {
		return cmp.Or(cmp.Compare(b.Rows, a.Rows), cmp.Compare(a.Country, b.Country))
	})
	if a := list.Abroad(); a.Rows > 0 {
		c.p.Findings = append(c.p.Findings, file.Warning(file.KindCountry, a.Rows, fmt.Sprintf("%s:%d", c.in.List, a.Line),
			fmt.Sprintf("%s read as dialled in %s (recipients.default_region), although column %q names another country, such as %q",
				sentence.Count(a.Rows, "number without + was", "numbers without + were"), c.d.Recipients.DefaultRegion,
				a.Column, sentence.Shorten(a.Country, 40)),
			"set recipients.columns: {country: "+recipients.YAMLText(a.Column)+"}"))
	}
	c.readings(list)
	c.zoneFindings(j.zones)
	c.p.Findings = append(c.p.Findings, c.suspects.Findings(c.in.List)...)
	if len(c.p.Errors()) == 0 {
		sum, err := list.Sum()
		if err != nil {
			return err
		}
		c.p.ListHash = sum
	}
	return nil
}

// readings warns of a list whose options probably do not fit it.
func (c *check) readings(list *List) {
	warn := func(kind file.Kind, count int64, what, remedy string) {
		c.p.Findings = append(c.p.Findings, file.Warning(kind, count, c.in.List, what, remedy))
	}
	if h := list.Homeless(); h.Coded*2 > h.Rows {
		warn(file.KindCountry, h.Rows, fmt.Sprintf("%s no + and no country, and %d of them would be read as a country code and a number",
			sentence.Count(h.Rows, "number has", "numbers have"), h.Coded),
			"if the list has no national numbers, set recipients.international: true")
	}
	if unread, read := list.WhatsApp(); unread != "" {
		warn(file.KindColumn, 0, fmt.Sprintf("the numbers are read from column %q, and not from column %q", read, unread),
			"set recipients.columns: {to: ["+recipients.YAMLText(unread)+", "+recipients.YAMLText(read)+"]}")
	}
	if n := list.Remarks(); n > 0 {
		warn(file.KindRemarks, int64(n), sentence.Count(n, "record at the end of the list is no recipient",
			"records at the end of the list are no recipients"),
			fmt.Sprintf("leave them out with recipients.skip_last: %d", n+c.d.Recipients.SkipLast))
	}
}

// suppress marks the rows of a batch that must not be sent to.
func (c *check) suppress(ctx context.Context, batch []pending) error {
	if c.in.Suppressions == nil {
		return nil
	}
	keys := sendableKeys(batch)
	if len(keys) == 0 {
		return nil
	}
	reasons, err := c.in.Suppressions.SuppressedKeys(ctx, keys, c.p.Marketing, c.companies, time.Now())
	if err != nil {
		return fmt.Errorf("read the suppressions: %w", err)
	}
	for i := range batch {
		if r := reasons[batch[i].Key]; r != "" && batch[i].Skip == "" {
			batch[i].Skip, batch[i].Note = r, fmt.Sprintf("line %d: %s", batch[i].line, r.Sentence())
		}
	}
	return nil
}

// sendableKeys returns the keys of the rows that nothing stops so far.
func sendableKeys(batch []pending) []int64 {
	keys := make([]int64, 0, len(batch))
	for i := range batch {
		if batch[i].Skip == "" {
			keys = append(keys, batch[i].Key)
		}
	}
	return keys
}

// cap marks the rows of a batch that the campaign's frequency cap stops now.
func (c *check) cap(ctx context.Context, batch []pending) error {
	limit, keys := c.d.Policies.FrequencyCap, sendableKeys(batch)
	if limit == nil || c.in.Suppressions == nil || len(keys) == 0 {
		return nil
	}
	capped, err := c.in.Suppressions.CappedKeys(ctx, keys, *limit, time.Now())
	if err != nil {
		return fmt.Errorf("read who has got messages: %w", err)
	}
	for i := range batch {
		batch[i].capped = batch[i].Skip == "" && capped[batch[i].Key]
	}
	return nil
}

// bound counts the rows of a batch that the import would bind to a connection.
func (c *check) bound(ctx context.Context, batch []pending) error {
	if c.sticky == nil {
		return nil
	}
	rows, ids := make([]campaign.Delivery, len(batch)), make([]blockID, len(batch))
	for i := range batch {
		rows[i].Key, ids[i].kind.closed = batch[i].Key, batch[i].Skip != ""
	}
	if err := c.sticky.bind(ctx, rows, ids); err != nil {
		return err
	}
	for _, k := range ids {
		if k.kind.bound != "" {
			c.p.Bound[k.kind.bound]++
		}
	}
	return nil
}

// count adds one row to the totals.
func (c *check) count(r *pending, where *recipients.Countries, perCountry map[string]int64) error {
	c.p.Rows++
	if r.Skip == "" {
		c.p.Sendable++
		if r.capped {
			c.p.Capped++
		}
		if !r.capped || c.d.Policies.FrequencyCap.Action == campaign.CapDefer {
			c.p.Zones[r.zone]++
		}
		perCountry[where.Region(r.To)]++
		c.longest = max(c.longest, c.render.CodeLength(r.Cells))
		c.suspects.Add(c.render, r.Row, r.Cells)
		return nil
	}
	c.p.Skipped[r.Skip]++
	examples := cmp.Or(c.in.Examples, FewExamples)
	reject := campaign.Reject{Row: r.Row, Line: r.line, To: r.To, Reason: r.Skip, Note: r.Note, Cells: r.Cells}
	if c.p.Skipped[r.Skip] <= int64(examples) {
		// A row may have a megabyte, shared by its cells: an example must not keep the row in memory.
		example := reject
		example.To, example.Note, example.Cells = strings.Clone(r.To), strings.Clone(r.Note), nil
		if c.p.Skipped[r.Skip] <= FewExamples {
			example.Cells = shortCells(r.Cells)
		}
		c.p.Examples = append(c.p.Examples, example)
	}
	return nil
}

// The most cells of an example, and bytes of each.
const (
	maxExampleCells = 50
	maxExampleCell  = 200
)

// shortCells copies the beginning of a row.
func shortCells(cells []string) []string {
	short := make([]string, 0, min(len(cells), maxExampleCells))
	for _, cell := range cells[:min(len(cells), maxExampleCells)] {
		short = append(short, sentence.Clip(strings.Clone(cell), maxExampleCell))
	}
	return short
}

// rejects calls Rejects for the rows that a correction can help, except those whose number is in
// sent. It reads the list a second time, because the row that sends to a number may be a later one.
func (c *check) rejects(ctx context.Context, sent *recipients.KeySet) (err error) {
	helps := func(reason campaign.SkipReason) bool { return reason.Correctable() && c.p.Skipped[reason] > 0 }
	if c.in.Rejects == nil || !slices.ContainsFunc(campaign.SkipReasons, helps) {
		return nil
	}
	list, err := OpenList(c.in.List, c.d.ListOptions(c.in.List))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, list.Close()) }()
	j := newJudge(c.d, c.render, 0, c.p.Senders)
	for {
		row, err := list.Next()
		if err != nil { // its end, or the fault that the first reading found
			return ctx.Err()
		}
		d := j.delivery(row)
		if !d.Skip.Correctable() || sent.Has(d.Key) {
			continue
		}
		if err := c.in.Rejects(campaign.Reject{Row: d.Row, Line: row.Line, To: d.To, Reason: d.Skip, Note: d.Note, Cells: d.Cells}); err != nil {
			return fmt.Errorf("write the rejected rows: %w", err)
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
	}
}

// WindowCheck says whether a campaign may send at the time of the check.
type WindowCheck struct {
	Window string    `json:"window"`
	Open   int64     `json:"open"`            // sendable rows whose window is open
	Closed int64     `json:"closed"`          // sendable rows whose window is closed
	Begins time.Time `json:"begins,omitzero"` // when the first row may be sent; absent if no window opens within a year
	// Sentence says the same for a person.
	Sentence string `json:"sentence"`
}
