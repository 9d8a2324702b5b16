package client

import (
	"context"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"campaignd/campaign"
	"campaignd/campaign/plan"
	"campaignd/campaign/why"
	"campaignd/internal/client/resource"
	"campaignd/reporting"
)

// Runs lists the runs, the newest first, with their holds.
func (c *Client) Runs(ctx context.Context, f campaign.RunFilter) ([]resource.Run, error) {
	q := url.Values{}
	set(q, "campaign", f.Campaign)
	setInt(q, "limit", int64(f.Limit))
	if f.Unfinished {
		q.Set("unfinished", "true")
	}
	return one[[]resource.Run](ctx, c, call{method: http.MethodGet, path: "/runs", query: q})
}

func set(q url.Values, name, value string) {
	if value != "" {
		q.Set(name, value)
	}
}

func setInt(q url.Values, name string, value int64) {
	if value != 0 {
		q.Set(name, strconv.FormatInt(value, 10))
	}
}

func setTime(q url.Values, name string, at time.Time) {
	if !at.IsZero() {
		q.Set(name, at.UTC().Format(time.RFC3339Nano))
	}
}

// ofRun is a call about one run: its id, its number or latest.
func ofRun(method, run, rest string) call {
	return call{method: method, path: "/runs/" + url.PathEscape(run) + rest}
}

// Run returns one run with its holds. id is the id of a run, its number, or latest.
func (c *Client) Run(ctx context.Context, id string) (resource.Run, error) {
	return one[resource.Run](ctx, c, ofRun(http.MethodGet, id, ""))
}

// Pause pauses a run until Resume. The error of Pause, Resume, Cancel and Approve has CodeNotNow if
// the state of the run does not allow the change.
func (c *Client) Pause(ctx context.Context, id string) (resource.Controlled, error) {
	return one[resource.Controlled](ctx, c, ofRun(http.MethodPost, id, "/pause"))
}

// Resume ends a pause.
func (c *Client) Resume(ctx context.Context, id string) (resource.Controlled, error) {
	return one[resource.Controlled](ctx, c, ofRun(http.MethodPost, id, "/resume"))
}

// Cancel ends a run. Its queued rows are not sent.
func (c *Client) Cancel(ctx context.Context, id string) (resource.Controlled, error) {
	return one[resource.Controlled](ctx, c, ofRun(http.MethodPost, id, "/cancel"))
}

// Approve releases a run that waits for approval. The error has CodeSamePerson for the key that
// launched the run.
func (c *Client) Approve(ctx context.Context, id string) (resource.Controlled, error) {
	return one[resource.Controlled](ctx, c, ofRun(http.MethodPost, id, "/approve"))
}

// Limits returns the present limits of a run.
func (c *Client) Limits(ctx context.Context, id string) (resource.Limits, error) {
	return one[resource.Limits](ctx, c, ofRun(http.MethodGet, id, "/limits"))
}

// Series returns what became of a run in time, in steps of at least step.
func (c *Client) Series(ctx context.Context, id string, step time.Duration) (resource.Series, error) {
	q := ofRun(http.MethodGet, id, "/series")
	q.query = url.Values{"step": {strconv.FormatInt(int64(step/time.Second), 10)}}
	return one[resource.Series](ctx, c, q)
}

// History returns what happened to a run.
func (c *Client) History(ctx context.Context, id string) (campaign.History, error) {
	return one[campaign.History](ctx, c, ofRun(http.MethodGet, id, "/history"))
}

// ChangeLimits changes limits of a run while it is sent.
func (c *Client) ChangeLimits(ctx context.Context, id string, change campaign.LimitChange) (resource.Limits, error) {
	q := ofRun(http.MethodPatch, id, "/limits")
	q.body = struct {
		Class    *campaign.Class    `json:"class,omitempty"`
		Weight   *int               `json:"weight,omitempty"`
		Rate     *float64           `json:"rate,omitempty"`
		Deadline *campaign.Duration `json:"deadline,omitempty"`
	}{change.Class, change.Weight, change.Rate, change.Deadline}
	return one[resource.Limits](ctx, c, q)
}

// Why returns what a run waits for now.
func (c *Client) Why(ctx context.Context, id string) (why.Answer, error) {
	return one[why.Answer](ctx, c, ofRun(http.MethodGet, id, "/why"))
}

// WhyRecipient returns what one recipient of a run waits for. to is a phone number as the list may
// write it.
func (c *Client) WhyRecipient(ctx context.Context, id, to string) (why.Row, error) {
	q := ofRun(http.MethodGet, id, "/why/recipient")
	q.query = url.Values{"to": {to}}
	return one[why.Row](ctx, c, q)
}

// Report returns the figures of a run.
func (c *Client) Report(ctx context.Context, id string) (*reporting.Report, error) {
	return one[*reporting.Report](ctx, c, ofRun(http.MethodGet, id, "/report"))
}

// ReportAgainst returns the figures of a run, compared with what the service counts of its
// template. The server reads the whole run.
func (c *Client) ReportAgainst(ctx context.Context, id string) (*reporting.Report, error) {
	q := ofRun(http.MethodGet, id, "/report")
	q.query, q.long = url.Values{"against": {"service"}}, true
	return one[*reporting.Report](ctx, c, q)
}

// Audit checks that every row of a run's list has exactly one outcome. The server reads the whole
// list, which takes seconds for a million rows.
func (c *Client) Audit(ctx context.Context, id string) (*reporting.AuditResult, error) {
	q := ofRun(http.MethodGet, id, "/audit")
	q.long = true
	return one[*reporting.AuditResult](ctx, c, q)
}

// Forecast returns when a run will end.
func (c *Client) Forecast(ctx context.Context, id string) (plan.Forecast, error) {
	return one[plan.Forecast](ctx, c, ofRun(http.MethodGet, id, "/forecast"))
}

// ReportHTML writes the report of a run as one HTML file. audit asks for the audit also of a long
// list, which is then read. After an error, w has only a part of the file.
func (c *Client) ReportHTML(ctx context.Context, id string, audit bool, w io.Writer) error {
	q := ofRun(http.MethodGet, id, "/report.html")
	if audit {
		q.query = url.Values{"audit": {"true"}}
	}
	return c.file(ctx, q, w)
}

// Export writes one line for each row of a run's list, as CSV. After an error, w has only a part of
// the file.
func (c *Client) Export(ctx context.Context, id string, w io.Writer) error {
	return c.file(ctx, ofRun(http.MethodGet, id, "/export"), w)
}

// ExportExcel is Export in the form that Excel opens by a double click: with a byte order mark, the
// delimiter of the list, and long numbers as text.
func (c *Client) ExportExcel(ctx context.Context, id string, w io.Writer) error {
	q := ofRun(http.MethodGet, id, "/export")
	q.query = url.Values{"excel": {"true"}}
	return c.file(ctx, q, w)
}

// Deliveries returns a page of the rows of a run, in the order of DeliveryPage.
func (c *Client) Deliveries(ctx context.Context, id string, f resource.DeliveryFilter) (page resource.DeliveryPage, err error) {
	q := ofRun(http.MethodGet, id, "/deliveries")
	q.query = url.Values{}
	set(q.query, "status", string(f.Status))
	set(q.query, "reason", f.Reason)
	set(q.query, "code", f.Code)
	set(q.query, "connection", f.Connection)
	set(q.query, "to", f.To)
	setTime(q.query, "since", f.Since)
	setTime(q.query, "before", f.Before)
	page.Deliveries, page.Next, err = pageOf[resource.Delivery](ctx, c, q, f.After, f.Limit)
	return page, err
}
