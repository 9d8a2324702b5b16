package operator

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"campaignd/campaign"
	"campaignd/campaign/file"
	"campaignd/campaign/launch"
	"campaignd/campaign/why"
	"campaignd/campaign/wording"
	"campaignd/internal/client/resource"
	"campaignd/internal/ledger"
	"campaignd/recipients"
	"campaignd/reporting"
	"campaignd/reporting/html"
)

// With finds a run and calls do with it.
func (d *Session) With(ctx context.Context, id string, do func(campaign.Run) error) error {
	r, err := d.find(ctx, id)
	if err != nil {
		return err
	}
	return do(r)
}

// Why says what a run waits for now.
func (d *Session) Why(ctx context.Context, id string) (why.Answer, error) {
	r, err := d.find(ctx, id)
	if err != nil {
		return why.Answer{}, err
	}
	return d.why(ctx, d.Ledger, r)
}

// why is Why of a run whose rows l counts.
func (d *Session) why(ctx context.Context, l why.Ledger, r campaign.Run) (why.Answer, error) {
	h, err := d.whyHolds(ctx)
	if err != nil {
		return why.Answer{}, err
	}
	now := time.Now()
	w, err := why.Explain(ctx, l, r, h, now)
	if err != nil {
		return w, err
	}
	if w.RefusedEvents, err = d.refused(ctx, now); err != nil || r.State.Ended() {
		return w, err
	}
	if l, ok := d.Ledger.(ledger.Sendable); ok {
		if err := l.Sendable(ctx); err != nil {
			w.LimitedBy, w.Sentence, w.Finish = campaign.ByNone, "nothing is sent: "+err.Error(), time.Time{}
		}
	}
	return w, nil
}

// refused says which events of webhooks are refused for their signature.
func (d *Session) refused(ctx context.Context, now time.Time) (string, error) {
	s, err := d.Ledger.Signatures(ctx)
	sentence, _ := wording.Refused(s, now)
	return sentence, err
}

// WhyRecipient says what one recipient of a run waits for. to is a phone number as its list
// may write it. The error is launch.ErrNoRow if the list has no row for it.
func (d *Session) WhyRecipient(ctx context.Context, id, to string) (why.Row, error) {
	r, err := d.find(ctx, id)
	if err != nil {
		return why.Row{}, err
	}
	key, err := keyIn(r, to)
	if err != nil {
		return why.Row{}, err
	}
	h, err := d.whyHolds(ctx)
	if err != nil {
		return why.Row{}, err
	}
	w, found, err := why.ExplainRecipient(ctx, d.Ledger, r, h, key, time.Now())
	if err == nil && !found {
		text := fmt.Sprintf("the list of %s has no row for %s", r.ID(), to)
		if gone := r.Retired.Sentence(r.Rows); gone != "" {
			text = fmt.Sprintf("%s has no row for %s now: %s", r.ID(), to, gone)
		}
		err = &fault{text, launch.ErrNoRow}
	}
	return w, err
}

// keyIn is the key of a number that is written as the list of a run may write it, or of its digits.
func keyIn(r campaign.Run, to string) (int64, error) {
	var options recipients.Options
	if def, err := file.ParseStored(r.ID(), r.Definition); err == nil {
		options = def.Recipients.Options()
	}
	options.Validate = recipients.ValidateNone // the number need not be in use
	phones, err := options.Phones()
	if err != nil {
		return 0, err
	}
	_, key, wrong := phones.Parse(to)
	if key == 0 {
		key = recipients.Key(to)
	}
	if key == 0 {
		what, _, _ := strings.Cut(wrong.Message, "; ") // its remedy is for a list
		return 0, invalid("%q is no phone number: it %s; write + and the country code, or the number as the list has it", to,
			strings.TrimPrefix(what, fmt.Sprintf("%+q ", strings.TrimSpace(to))))
	}
	return key, nil
}

// Report returns the figures of a run.
func (d *Session) Report(ctx context.Context, id string) (*reporting.Report, error) {
	r, err := d.find(ctx, id)
	if err != nil {
		return nil, err
	}
	return d.costed(ctx, d.Ledger, r)
}

// costed is Report of a run whose rows l counts.
func (d *Session) costed(ctx context.Context, l campaign.ReportLedger, r campaign.Run) (*reporting.Report, error) {
	report, err := d.report(ctx, l, r)
	if err != nil {
		return nil, err
	}
	report.Cost, err = reporting.CostOf(ctx, d.Ledger, r.No, d.Rates)
	return report, err
}

// report is Report of a run whose rows l counts, without the cost.
func (d *Session) report(ctx context.Context, l campaign.ReportLedger, r campaign.Run) (*reporting.Report, error) {
	report, err := reporting.Build(ctx, l, r)
	if err != nil {
		return nil, err
	}
	h, err := d.whyHolds(ctx)
	now := time.Now()
	report.Holds = wording.States(why.RunHolds(r, h.Holds, h.Origin, now), now)
	if err != nil {
		return report, err
	}
	report.RefusedEvents, err = d.refused(ctx, now)
	return report, err
}

// ReportAgainst returns the figures of a run, compared with what the service counts of its template
// (reporting.Compare). It reads every row of the run.
func (d *Session) ReportAgainst(ctx context.Context, id string) (*reporting.Report, error) {
	r, err := d.find(ctx, id)
	if err != nil {
		return nil, err
	}
	report, err := d.Report(ctx, id)
	if err != nil {
		return nil, err
	}
	others, err := d.visible(ctx, campaign.RunFilter{}, 0)
	if err != nil {
		return nil, err
	}
	a := reporting.Against{Origin: d.origins(ctx), Others: others, RefusedEvents: report.RefusedEvents, Now: time.Now()}
	if d.Service != nil {
		a.Service = d.Service
	}
	report.Service, err = reporting.Compare(ctx, d.Ledger, r, a)
	return report, err
}

// origins returns what is known of each connection. One that is not known is its own account.
func (d *Session) origins(ctx context.Context) func(connection string) campaign.Origin {
	known := map[string]campaign.Origin{}
	if d.Known != nil {
		all, _ := d.Known(ctx)
		for _, o := range all {
			known[o.Connection] = o
		}
	}
	return func(connection string) campaign.Origin {
		return cmp.Or(known[connection], campaign.Origin{Connection: connection, Account: connection})
	}
}

// Audit checks that every row of a run's list has exactly one outcome (reporting.Audit).
func (d *Session) Audit(ctx context.Context, id string) (*reporting.AuditResult, error) {
	r, err := d.find(ctx, id)
	if err != nil {
		return nil, err
	}
	return reporting.Audit(ctx, d.Ledger, r)
}

// Writer writes a file to its argument.
type Writer func(io.Writer) error

// ReportHTML reads the figures of a run, and returns a Writer of its report as an HTML file
// (html.Write). audit asks for the audit also of a list with more than html.AuditRows rows.
func (d *Session) ReportHTML(ctx context.Context, id string, audit bool) (Writer, error) {
	r, err := d.find(ctx, id)
	if err != nil {
		return nil, err
	}
	sum, err := d.Ledger.Summary(ctx, r.No)
	if err != nil {
		return nil, err
	}
	l := &countedOnce{Ledger: d.Ledger, done: true}
	l.tallies, l.funnel = sum.Tallies()
	report, err := d.costed(ctx, l, r)
	if err != nil {
		return nil, err
	}
	history, err := d.History(ctx, id)
	if err != nil {
		return nil, err
	}
	f, err := html.Read(ctx, summed{d.Ledger, sum}, r, report, history, audit)
	if err != nil {
		return nil, err
	}
	return func(w io.Writer) error { return html.Write(w, f) }, nil
}

// Course returns how a run went in time, for its report r. It reads no row.
func (d *Session) Course(ctx context.Context, id string, r *reporting.Report) ([]html.Part, error) {
	run, err := d.find(ctx, id)
	if err != nil {
		return nil, err
	}
	history, err := d.History(ctx, id)
	if err != nil {
		return nil, err
	}
	f, err := html.ReadCourse(ctx, d.Ledger, run, r, history)
	if err != nil {
		return nil, err
	}
	return html.Course(f), nil
}

// Export finds a run, and returns a Writer of its list as CSV, with one line for each row.
func (d *Session) Export(ctx context.Context, id string) (Writer, error) {
	r, err := d.find(ctx, id)
	if err != nil {
		return nil, err
	}
	return func(w io.Writer) error { return reporting.WriteCSV(ctx, w, d.Ledger, r, d.Rates) }, nil
}

// ExportExcel is Export in the form that Excel opens by a double click: with a byte order mark, the
// delimiter of the list, and long numbers as text.
func (d *Session) ExportExcel(ctx context.Context, id string) (Writer, error) {
	r, err := d.find(ctx, id)
	if err != nil {
		return nil, err
	}
	return func(w io.Writer) error { return reporting.WriteExcel(ctx, w, d.Ledger, r, d.Rates, file.CommaOf(r)) }, nil
}

// The default and the highest number of deliveries on a page.
const (
	pageSize = 100
	mostPage = 1000
)

// Deliveries returns a page of the rows of a run. The error is ErrInvalid if the filter can select
// none.
func (d *Session) Deliveries(ctx context.Context, id string, f resource.DeliveryFilter) (page resource.DeliveryPage, err error) {
	limit := f.Limit
	if limit == 0 {
		limit = pageSize
	}
	if limit < 1 || limit > mostPage {
		return page, invalid("limit %d: want 1 to %d", limit, mostPage)
	}
	if err := checkFilter(&f); err != nil {
		return page, err
	}
	r, err := d.find(ctx, id)
	if err != nil {
		return page, err
	}
	if err := checkConnection(r, f.Connection); err != nil {
		return page, err
	}
	var key int64
	if f.To != "" {
		if key, err = keyIn(r, f.To); err != nil {
			return page, err
		}
	}
	lines, next, err := d.Ledger.SelectLines(ctx, r.No, campaign.LineFilter{Status: f.Status, Reason: f.Reason, Code: f.Code,
		Connection: f.Connection, Key: key, Since: f.Since, Before: f.Before}, f.After, limit)
	page.Next, page.Deliveries = next, make([]resource.Delivery, 0, len(lines))
	pricer := reporting.NewPricer(d.Rates)
	for i := range lines {
		page.Deliveries = append(page.Deliveries, deliveryOf(&lines[i], pricer))
	}
	return page, err
}

func deliveryOf(l *campaign.Line, pricer *reporting.Pricer) resource.Delivery {
	d := resource.Delivery{Row: l.Row, To: l.To, Connection: l.Connection, Status: l.Status, Reason: l.Reason, Code: l.Code,
		MessageID: l.MessageID, Attempts: l.Attempts, AcceptedAt: l.AcceptedAt, SentAt: l.SentAt, DeliveredAt: l.DeliveredAt,
		ReadAt: l.ReadAt, FailedAt: l.FailedAt, RequestID: l.RequestID}
	if l.Price != "" {
		b := pricer.Bill(l.Priced())
		d.Price = &resource.Price{Category: b.Category, Type: b.Type, Market: b.Market, Cost: json.Number(b.Cost), Currency: b.Currency}
	}
	return d
}

// Absent reports whether err says that there is no such run, row, key, campaign or dropped file.
func Absent(err error) bool {
	return errors.Is(err, campaign.ErrNoRun) || errors.Is(err, launch.ErrNoRow) || errors.Is(err, campaign.ErrNoKey) ||
		errors.Is(err, ErrAbsent) || errors.Is(err, campaign.ErrNoDraft)
}
