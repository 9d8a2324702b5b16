package console

import (
	"maps"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"campaignd/campaign"
	"campaignd/campaign/why"
	"campaignd/internal/client/resource"
	"campaignd/internal/operator"
)

// deliveriesView is a page of the rows of a run. All filters are in its address.
type deliveriesView struct {
	Run        resource.Run
	Rows       []resource.Delivery
	Statuses   []campaign.Status
	Query      url.Values
	Next       string // the address of the next page
	First      string // of the first page; "": this is it
	Filtered   bool
	Connection string
}

// Title implements titled.
func (v deliveriesView) Title() string { return "Deliveries of " + v.Run.ID }

// HasNumber reports whether a row has a number, by which the page of its recipient finds it.
func (deliveriesView) HasNumber(d resource.Delivery) bool {
	switch campaign.SkipReason(d.Reason) {
	case campaign.MalformedRow, campaign.MissingPhone, campaign.InvalidPhone:
		return false
	}
	return d.To != "" && d.To != campaign.ErasedNumber
}

// deliveryFilters are the names of the filters, as in the API.
var deliveryFilters = []string{"status", "reason", "code", "connection", "to", "since", "before"}

// mostRows is the number of rows on a page.
const mostRows = 100

func deliveries(v *visit) (any, error) {
	ctx, q := v.r.Context(), v.r.URL.Query()
	run, err := v.d.Run(ctx, v.r.PathValue("run"))
	if err != nil {
		return nil, err
	}
	out := deliveriesView{Run: run, Statuses: campaign.Statuses, Query: url.Values{}}
	for _, name := range deliveryFilters {
		if s := strings.TrimSpace(q.Get(name)); s != "" {
			out.Query.Set(name, s)
		}
	}
	out.Filtered = len(out.Query) > 0
	f := resource.DeliveryFilter{Status: campaign.Status(out.Query.Get("status")), Reason: out.Query.Get("reason"),
		Code: out.Query.Get("code"), Connection: out.Query.Get("connection"), To: out.Query.Get("to"), Limit: mostRows}
	if f.Since, err = moment("since", out.Query.Get("since")); err != nil {
		return nil, err
	}
	if f.Before, err = moment("before", out.Query.Get("before")); err != nil {
		return nil, err
	}
	if f.After, err = position(q.Get("after")); err != nil {
		return nil, err
	}
	page, err := v.look(run.ID, f)
	if err != nil {
		return nil, err
	}
	out.Rows = page.Deliveries
	address := runPath(run.ID) + "/deliveries?"
	if f.After > 0 {
		out.First = address + out.Query.Encode()
	}
	if page.Next > 0 {
		next := url.Values{"after": {strconv.FormatInt(page.Next, 10)}}
		maps.Copy(next, out.Query)
		out.Next = address + next.Encode()
	}
	return out, nil
}

// lookOn is how long a page without a row looks on. The ledger reads some milliseconds for a page,
// and few rows in them on a busy machine.
const lookOn = time.Second

// look returns the first page of deliveries that has one. If lookOn is over before, it has none,
// and Next is where to go on.
func (v *visit) look(run string, f resource.DeliveryFilter) (page resource.DeliveryPage, err error) {
	for end := time.Now().Add(lookOn); ; f.After = page.Next {
		page, err = v.d.Deliveries(v.r.Context(), run, f)
		if err != nil || len(page.Deliveries) > 0 || page.Next == 0 || time.Now().After(end) {
			return page, err
		}
	}
}

// moment reads a time as browsers write it, or as the API takes it; times are in UTC.
func moment(name, s string) (time.Time, error) {
	if s == "" {
		return time.Time{}, nil
	}
	for _, layout := range []string{"2006-01-02T15:04", "2006-01-02T15:04:05", time.RFC3339} {
		if t, err := time.Parse(layout, s); err == nil {
			return t, nil
		}
	}
	return time.Time{}, &problem{http.StatusBadRequest, "The time of the filter " + name +
		" cannot be read: give it for example as 2026-03-02T09:00, in UTC."}
}

// position reads where a page begins.
func position(s string) (int64, error) {
	if s == "" {
		return 0, nil
	}
	n, err := strconv.ParseInt(s, 10, 64)
	if err != nil || n < 0 {
		return 0, &problem{http.StatusBadRequest, "The address of this page is damaged: its position is no number."}
	}
	return n, nil
}

// recipientView is what became of one row.
type recipientView struct {
	Run  resource.Run
	Row  why.Row
	Line *resource.Delivery
}

// Title implements titled.
func (v recipientView) Title() string { return v.Row.To }

func recipient(v *visit) (any, error) {
	ctx, to := v.r.Context(), v.r.URL.Query().Get("to")
	run, err := v.d.Run(ctx, v.r.PathValue("run"))
	if err != nil {
		return nil, err
	}
	out := recipientView{Run: run}
	if out.Row, err = v.d.WhyRecipient(ctx, run.ID, to); err != nil {
		return nil, err
	}
	page, err := v.look(run.ID, resource.DeliveryFilter{To: to, Limit: 1})
	if len(page.Deliveries) > 0 {
		out.Line = &page.Deliveries[0]
	}
	return out, err
}

// export streams the whole list of a run.
func export(v *visit) (any, error) {
	open := v.d.Export
	if v.r.URL.Query().Get("excel") != "" {
		open = v.d.ExportExcel
	}
	write, err := open(v.r.Context(), v.r.PathValue("run"))
	if err != nil {
		return nil, err
	}
	v.download(operator.CSV, "export", write)
	return nil, nil //nolint:nilnil // it has answered
}

// reportPage shows the report of a run as it is handed on, with its own policy.
func reportPage(v *visit) (any, error) {
	write, err := v.d.ReportHTML(v.r.Context(), v.r.PathValue("run"), false)
	if err != nil {
		return nil, err
	}
	v.download(operator.HTML, "report", write)
	return nil, nil //nolint:nilnil // it has answered
}

func exportSuppressions(v *visit) (any, error) {
	v.download(operator.CSV, "suppressions", v.suppressionsTo)
	return nil, nil //nolint:nilnil // it has answered
}

// download streams a file. A failure closes the connection, so that no part passes for the whole.
func (v *visit) download(m operator.Media, name string, write operator.Writer) {
	if err := operator.Stream(v.w, m, name, write); err != nil {
		v.process.Log.Warn("an export ended early", "what", name, "err", err)
		panic(http.ErrAbortHandler)
	}
}
