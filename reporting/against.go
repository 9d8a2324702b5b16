package reporting

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"campaignd/campaign"
	"campaignd/internal/messaging"
	"campaignd/internal/messaging/connector"
	"campaignd/internal/messaging/service"
)

// Comparison has the messages of a run's template by UTC day, as this ledger and as the service
// counts them.
type Comparison struct {
	Template string `json:"template"`
	Language string `json:"language"`
	// Days are the days of each business account, in order. Days without a message on both sides are
	// left out.
	Days []ComparedDay `json:"days"`
	// Notes say what was not compared, and why.
	Notes []string `json:"notes"`
}

// ComparedDay is one day of the template in one business account.
type ComparedDay struct {
	// Connections are the connections of the run that belong to the account.
	Connections []string `json:"connections"`
	Date        string   `json:"date"` // YYYY-MM-DD in UTC
	Ours        Counted  `json:"ours"`
	Theirs      Counted  `json:"theirs"`
	Difference  Counted  `json:"difference"` // theirs less ours
	// Cause is the likely cause of a difference, and Sentence says it; "" without a difference.
	Cause    Cause  `json:"cause,omitempty"`
	Sentence string `json:"sentence,omitempty"`
}

// Counted counts the messages that came so far on a day. A message whose earlier status did not
// come counts with the later one: what was read was delivered.
type Counted struct {
	Sent      int64 `json:"sent"`
	Delivered int64 `json:"delivered"`
	Read      int64 `json:"read"`
}

func (c Counted) minus(o Counted) Counted {
	return Counted{c.Sent - o.Sent, c.Delivered - o.Delivered, c.Read - o.Read}
}

func (c *Counted) add(o Counted) {
	c.Sent, c.Delivered, c.Read = c.Sent+o.Sent, c.Delivered+o.Delivered, c.Read+o.Read
}

// TemplateCounter is the service whose counts Compare asks for (connector.Set).
type TemplateCounter interface {
	TemplateID(ctx context.Context, connection, name, language string) (string, error)
	TemplateDays(ctx context.Context, id string, start, end time.Time) ([]service.TemplateDay, error)
}

var _ TemplateCounter = (*connector.Set)(nil)

// countedDays is how many days before today the service counts a template
// (docs/service.md#assumptions, template_analytics).
const countedDays = 90

// Against is what Compare has beside the run and its rows.
type Against struct {
	Service TemplateCounter // nil: none is configured
	// Origin returns the account and the company of a connection. With Others, other runs of the
	// ledger, it tells the cause of a difference.
	Origin func(connection string) campaign.Origin
	Others []campaign.Run
	// RefusedEvents is copied from the report.
	RefusedEvents string
	Now           time.Time
}

// Compare counts the rows of a run by day, and asks the service what it counted of the same
// template. It changes nothing there. A service that cannot tell is a note of the comparison; an
// error is one of the ledger. It reads every row of the run.
func Compare(ctx context.Context, l campaign.ReportLedger, run campaign.Run, a Against) (*Comparison, error) {
	c := &Comparison{Template: run.Template, Language: run.Language, Days: []ComparedDay{}, Notes: []string{}}
	ours := map[string]days{} // by connection
	for line, err := range l.Lines(ctx, run.No) {
		if err != nil {
			return nil, fmt.Errorf("comparison of run %s: %w", run.ID(), err)
		}
		if ours[line.Connection] == nil {
			ours[line.Connection] = days{}
		}
		ours[line.Connection].count(line)
	}
	maps.DeleteFunc(ours, func(_ string, d days) bool { return len(d) == 0 })
	switch {
	case len(ours) == 0:
		c.note("no message of the run was posted, so there is nothing to compare")
		return c, nil
	case a.Service == nil:
		c.note("no service is configured (service.api_key), so nothing was compared")
		return c, nil
	}
	// Connections with the same template are of one account, which the service counts as one.
	accounts := map[string]*accountDays{} // by the id of the template
	for _, connection := range slices.Sorted(maps.Keys(ours)) {
		id, err := a.Service.TemplateID(ctx, connection, run.Template, run.Language)
		if err != nil {
			c.note("%s: %s", connection, untold(err, run))
			continue
		}
		if accounts[id] == nil {
			accounts[id] = &accountDays{template: id, days: days{}}
		}
		accounts[id].connections = append(accounts[id].connections, connection)
		accounts[id].days.join(ours[connection])
	}
	for _, d := range slices.SortedFunc(maps.Values(accounts), func(a, b *accountDays) int {
		return cmp.Compare(a.connections[0], b.connections[0])
	}) {
		d.compare(ctx, c, run, a)
	}
	return c, nil
}

func (c *Comparison) note(format string, v ...any) {
	c.Notes = append(c.Notes, fmt.Sprintf(format, v...))
}

// days are the messages of the run by date.
type days map[string]*ourDay

// ourDay is what the ledger knows of one day.
type ourDay struct {
	Counted
	silent int64 // messages accepted on this day of which no status came
	doubts int64 // messages in doubt or unknown since this day
}

func (d days) at(date string) *ourDay {
	if d[date] == nil {
		d[date] = &ourDay{}
	}
	return d[date]
}

func (d days) count(l campaign.Line) {
	delivered := firstOf(l.DeliveredAt, l.ReadAt)
	sent := firstOf(l.SentAt, delivered)
	switch {
	case !sent.IsZero():
		d.at(dateOf(sent)).Sent++
	case !l.AcceptedAt.IsZero() && l.FailedAt.IsZero():
		d.at(dateOf(l.AcceptedAt)).silent++
	case !l.DoubtSince.IsZero():
		d.at(dateOf(l.DoubtSince)).doubts++
	}
	if !delivered.IsZero() {
		d.at(dateOf(delivered)).Delivered++
	}
	if !l.ReadAt.IsZero() {
		d.at(dateOf(l.ReadAt)).Read++
	}
}

func (d days) join(o days) {
	for date, n := range o {
		at := d.at(date)
		at.add(n.Counted)
		at.silent, at.doubts = at.silent+n.silent, at.doubts+n.doubts
	}
}

// accountDays are the messages of the run over one business account.
type accountDays struct {
	template    string // its id there
	connections []string
	days        days
}

// compare asks the service for the days of the account, and adds them to c.
func (d *accountDays) compare(ctx context.Context, c *Comparison, run campaign.Run, a Against) {
	name := strings.Join(d.connections, ", ")
	dates := slices.Sorted(maps.Keys(d.days))
	first, last := dates[0], max(dates[len(dates)-1], dateOf(firstOf(run.EndedAt, a.Now)))
	oldest := dateOf(a.Now.UTC().AddDate(0, 0, -countedDays))
	if first < oldest {
		c.note("%s: the service counts the last %d days; the days before %s were not compared", name, countedDays, oldest)
		first = oldest
	}
	if last < oldest {
		return
	}
	start, _ := time.Parse(time.DateOnly, first) // both were formatted above
	end, _ := time.Parse(time.DateOnly, last)
	told, err := a.Service.TemplateDays(ctx, d.template, start, end)
	if err != nil {
		c.note("%s: %s", name, untold(err, run))
		return
	}
	theirs := map[string]Counted{}
	for _, t := range told {
		theirs[t.Date] = Counted{t.Sent, t.Delivered, t.Read}
		d.days.at(t.Date)
	}
	from, sum := len(c.Days), Counted{}
	for _, date := range slices.Sorted(maps.Keys(d.days)) {
		one := ComparedDay{Connections: d.connections, Date: date, Ours: d.days[date].Counted, Theirs: theirs[date]}
		one.Difference = one.Theirs.minus(one.Ours)
		if date >= first && (one.Ours != Counted{} || one.Theirs != Counted{}) {
			sum.add(one.Difference)
			c.Days = append(c.Days, one)
		}
	}
	for i := from; i < len(c.Days); i++ {
		one := &c.Days[i]
		one.Cause, one.Sentence = causeOf(*one, d.days[one.Date], sum, run, a)
	}
}

// untold says why the service told nothing of an account.
func untold(err error, run campaign.Run) string {
	var answer *messaging.Error
	const operation = "template_analytics"
	switch {
	case errors.Is(err, connector.ErrOverCloud):
		return "it is reached over the Cloud API, where this comparison is not offered"
	case errors.Is(err, connector.ErrNoTemplate):
		return fmt.Sprintf("the service does not list the template %s in %s any more", run.Template, run.Language)
	case errors.As(err, &answer) && answer.Code == "outside_window":
		return fmt.Sprintf("the service counts the last %d days only, and by its clock these are older", countedDays)
	case errors.Is(err, messaging.ErrNotOffered):
		return "the service does not offer " + operation + ", or it has another path (service.assumed.paths." + operation + ")"
	}
	return "the service did not tell its counts: " + err.Error()
}

// firstOf is a, or b if a is zero.
func firstOf(a, b time.Time) time.Time {
	if a.IsZero() {
		return b
	}
	return a
}

// dateOf is the day of an instant in UTC.
func dateOf(t time.Time) string { return t.UTC().Format(time.DateOnly) }
