package api

import (
	"context"
	"net/http"
	"strconv"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"

	"campaignd/campaign"
	"campaignd/campaign/launch"
	"campaignd/campaign/plan"
	"campaignd/campaign/why"
	"campaignd/campaign/wording"
	"campaignd/internal/client/resource"
	"campaignd/internal/operator"
	"campaignd/reporting"
)

// OfRun is the input of a route about one run. Huma reads an embedded struct only if it is
// exported.
type OfRun struct {
	Run string `path:"run" maxLength:"200" example:"spring-sale-3" doc:"the id of a run, its number, or latest"`
}

// Examples of answers.
var (
	exampleTime = time.Date(2026, 3, 2, 9, 0, 0, 0, time.UTC)
	exampleRun  = resource.Run{ID: "spring-sale-3", Campaign: "spring-sale", State: campaign.Running, Wanted: campaign.WantRun, Rows: 200_000,
		List: "list.csv", CreatedAt: exampleTime}
	exampleHold = wording.State(campaign.Hold{Scope: campaign.HoldConnection, ID: "conn_1", Reason: "operator", Detail: "maintenance",
		Source: campaign.HoldByOperator, Since: exampleTime}, exampleTime)
	exampleLimits = resource.Limits{Run: "spring-sale-3", RunLimits: campaign.RunLimits{Class: campaign.ClassBulk, Weight: 4, Rate: 40},
		Allowances: []resource.Allowance{exampleAllowance}}
	exampleAllowance = resource.Allowance{Company: "comp_1", Messages: 100_000, Used: 4120, Until: exampleTime.AddDate(0, 1, -1),
		Source: "billing_usage"}
)

// listRuns is the input of the list of runs.
type listRuns struct {
	Unfinished bool   `query:"unfinished" doc:"only runs that can still change their state"`
	Campaign   string `query:"campaign" maxLength:"200" doc:"only runs of this campaign"`
	Limit      int    `query:"limit" minimum:"0" maximum:"10000" doc:"at most this many, the newest first; 0: all"`
}

// limitsBody is the input of a change of limits.
type limitsBody struct {
	OfRun
	Body struct {
		Class    *campaign.Class    `json:"class,omitempty" enum:"transactional,bulk"`
		Weight   *int               `json:"weight,omitempty" minimum:"1" maximum:"100"`
		Rate     *float64           `json:"rate,omitempty" minimum:"0" doc:"messages per second over all numbers; 0: no limit"`
		Deadline *campaign.Duration `json:"deadline,omitempty" doc:"from the launch, for example 6h; 0s: none"`
	}
}

func (s *Server) runRoutes() {
	const one = "/api/v1/runs/{run}"
	add(s, route{method: http.MethodGet, path: "/api/v1/runs", id: "runs", summary: "List the runs", scope: campaign.KeyRead},
		[]resource.Run{exampleRun}, func(ctx context.Context, d *operator.Session, in *listRuns) ([]resource.Run, error) {
			return d.Runs(ctx, campaign.RunFilter{Unfinished: in.Unfinished, Campaign: in.Campaign, Limit: in.Limit})
		})
	add(s, route{method: http.MethodGet, path: one, id: "run", summary: "One run", scope: campaign.KeyRead, errors: []int{404}},
		exampleRun, func(ctx context.Context, d *operator.Session, in *OfRun) (resource.Run, error) {
			return d.Run(ctx, in.Run)
		})
	for verb, c := range map[string]struct {
		summary string
		do      func(*operator.Session, context.Context, string) (resource.Controlled, error)
	}{
		"pause":   {"Stop sending a run; what is in flight is recorded", (*operator.Session).Pause},
		"resume":  {"Let a paused run go on", (*operator.Session).Resume},
		"cancel":  {"End a run; what is queued is not sent", (*operator.Session).Cancel},
		"approve": {"Release a run that waits for approval", (*operator.Session).Approve},
	} {
		r := route{method: http.MethodPost, path: one + "/" + verb, id: verb, summary: c.summary, scope: campaign.KeyOperate,
			errors: []int{404, 409}}
		add(s, r, resource.Controlled{Run: exampleRun, Sentence: "spring-sale-3: what happens next"},
			func(ctx context.Context, d *operator.Session, in *OfRun) (resource.Controlled, error) {
				return c.do(d, ctx, in.Run)
			})
	}
	add(s, route{method: http.MethodPost, path: one + "/follow-ups", id: "follow-up", scope: campaign.KeyOperate,
		summary: "Make a new run over rows of an ended one; the same choice is the same run", errors: []int{404, 409, 413, 503},
		body: resource.FollowUpRequest{Where: []string{"failed=131049"}}},
		resource.FollowedUp{Run: exampleRun, Rows: 120},
		func(ctx context.Context, d *operator.Session, in *followUpBody) (out resource.FollowedUp, err error) {
			err = s.reading(ctx, func() error {
				if !in.Body.DryRun {
					ctx = s.ctx // its rows are copied to the end, also if the caller leaves
				}
				out, err = d.FollowUp(ctx, in.Run, in.Body)
				return err
			})
			return out, err
		})
	add(s, route{method: http.MethodGet, path: one + "/limits", id: "limits", summary: "The limits of a run now", scope: campaign.KeyRead,
		errors: []int{404}}, exampleLimits, func(ctx context.Context, d *operator.Session, in *OfRun) (resource.Limits, error) {
		return d.Limits(ctx, in.Run)
	})
	add(s, route{method: http.MethodPatch, path: one + "/limits", id: "change-limits", summary: "Change limits of a run while it is sent",
		scope: campaign.KeyOperate, errors: []int{404, 409, 413}, body: map[string]any{"weight": 4, "deadline": "6h"}},
		exampleLimits, func(ctx context.Context, d *operator.Session, in *limitsBody) (resource.Limits, error) {
			return d.ChangeLimits(ctx, in.Run, campaign.LimitChange{Class: in.Body.Class, Weight: in.Body.Weight, Rate: in.Body.Rate,
				Deadline: in.Body.Deadline})
		})
}

// followUpBody is the input of a follow-up.
type followUpBody struct {
	OfRun
	Body resource.FollowUpRequest
}

// listDeliveries is the input of the list of deliveries.
type listDeliveries struct {
	OfRun
	Status     string    `query:"status" enum:"queued,sending,accepted,sent,delivered,read,failed,refused,skipped,in_doubt,unknown"`
	Reason     string    `query:"reason" maxLength:"200" doc:"of skipped rows; with another status also why rows wait or are in doubt"`
	Code       string    `query:"code" maxLength:"200" doc:"of failed and refused; no_code: those without one"`
	Connection string    `query:"connection" maxLength:"200" doc:"one that the campaign of the run uses"`
	To         string    `query:"to" maxLength:"40" example:"+2348031234567" doc:"a phone number, as the list of the run may write it"`
	Since      time.Time `query:"since" doc:"only those whose latest time is not earlier"`
	Before     time.Time `query:"before" doc:"only those whose latest time is earlier"`
	After      int64     `query:"after" minimum:"0" doc:"meta.next of the page before"`
	Limit      int       `query:"limit" minimum:"0" maximum:"1000" doc:"0: 100. A page may have fewer although more follow (meta.next)"`
}

// whyInput is the input of why.
type whyInput struct {
	OfRun
	To string `query:"to" required:"true" maxLength:"40" example:"+2348031234567" doc:"a phone number, as the list of the run may write it"`
}

// reportInput is the input of a report.
type reportInput struct {
	OfRun
	Against string `query:"against" enum:"service" doc:"service: reads the whole run and compares it with what the service counts"`
}

// exportInput is the input of an export.
type exportInput struct {
	OfRun
	Excel bool `query:"excel" doc:"for Excel: with a byte order mark, the delimiter of the list, and long numbers as text"`
}

// htmlInput is the input of the report as HTML.
type htmlInput struct {
	OfRun
	Audit bool `query:"audit" doc:"read the whole list, also if it is long, so that the report says whether each row has one outcome"`
}

func (s *Server) lookRoutes() {
	const one = "/api/v1/runs/{run}"
	absent := []int{404}
	add(s, route{method: http.MethodGet, path: one + "/why", id: "why", summary: "What a run waits for now", scope: campaign.KeyRead,
		errors: absent},
		why.Answer{Run: "spring-sale-3", State: campaign.Running, LimitedBy: campaign.ByThroughput,
			Sentence: "it is sent as fast as its numbers allow",
			Holds:    []wording.HoldState{}, Lanes: []why.LaneState{}, Waits: []why.Wait{}},
		func(ctx context.Context, d *operator.Session, in *OfRun) (why.Answer, error) {
			return d.Why(ctx, in.Run)
		})
	add(s, route{method: http.MethodGet, path: one + "/why/recipient", id: "why-recipient", summary: "What one recipient of a run waits for",
		scope: campaign.KeyRead, errors: absent},
		why.Row{Run: "spring-sale-3", To: "+2348031234567", Row: 44, Status: campaign.Delivered, LimitedBy: campaign.ByNone,
			Sentence: "it was delivered"},
		func(ctx context.Context, d *operator.Session, in *whyInput) (why.Row, error) {
			return d.WhyRecipient(ctx, in.Run, in.To)
		})
	add(s, route{method: http.MethodGet, path: one + "/report", id: "report", summary: "The figures of a run", scope: campaign.KeyRead,
		errors: []int{404, 503}}, exampleReport, func(
		ctx context.Context, d *operator.Session, in *reportInput,
	) (out *reporting.Report, err error) {
		if in.Against == "" {
			return d.Report(ctx, in.Run)
		}
		err = s.reading(ctx, func() error {
			out, err = d.ReportAgainst(ctx, in.Run)
			return err
		})
		return out, err
	})
	add(s, route{method: http.MethodGet, path: one + "/audit", id: "audit", scope: campaign.KeyRead, errors: []int{404, 503},
		summary: "Whether every row has exactly one outcome: the whole list is read"},
		&reporting.AuditResult{Run: "spring-sale-3", Balanced: true, Rows: 2, Counted: 2, Summaries: 1, Totals: exampleReport.Totals,
			Problems: []reporting.Problem{}},
		func(ctx context.Context, d *operator.Session, in *OfRun) (out *reporting.AuditResult, err error) {
			err = s.reading(ctx, func() error {
				out, err = d.Audit(ctx, in.Run)
				return err
			})
			return out, err
		})
	add(s, route{method: http.MethodGet, path: one + "/forecast", id: "forecast", summary: "When a run will be done", scope: campaign.KeyRead,
		errors: absent}, plan.Forecast{LimitedBy: campaign.ByNone}, func(
		ctx context.Context, d *operator.Session, in *OfRun,
	) (f plan.Forecast, err error) {
		err = d.With(ctx, in.Run, func(r campaign.Run) error {
			f, err = s.process.Forecast(ctx, r)
			return err
		})
		return f, err
	})
	addPages(s, route{method: http.MethodGet, path: one + "/deliveries", id: "deliveries", summary: "The rows of a run's list, by pages",
		scope: campaign.KeyRead, errors: absent},
		[]resource.Delivery{{Row: 2, To: "+2348031234567", Connection: "conn_1", Status: campaign.Accepted, MessageID: "wamid.x", Attempts: 1,
			AcceptedAt: exampleTime}},
		func(ctx context.Context, d *operator.Session, in *listDeliveries) ([]resource.Delivery, string, error) {
			page, err := d.Deliveries(ctx, in.Run, resource.DeliveryFilter{Status: campaign.Status(in.Status), Reason: in.Reason, Code: in.Code,
				Connection: in.Connection, To: in.To, Since: in.Since, Before: in.Before, After: in.After, Limit: in.Limit})
			next := ""
			if page.Next > 0 {
				next = strconv.FormatInt(page.Next, 10)
			}
			return page.Deliveries, next, err
		})
	add(s, route{method: http.MethodGet, path: one + "/doubts", id: "doubts", scope: campaign.KeyRead, errors: []int{404, 503},
		summary: "The rows of a run that may or may not have been sent: the whole run is read"},
		launch.Uncertainty{Run: "spring-sale-3", Unknown: 1, ByReason: map[string]int64{"no_answer": 1}, Rows: []launch.Doubtful{}},
		func(ctx context.Context, d *operator.Session, in *OfRun) (out launch.Uncertainty, err error) {
			err = s.reading(ctx, func() error {
				out, err = d.Doubts(ctx, in.Run)
				return err
			})
			return out, err
		})
	streamed(s, operator.HTML, route{method: http.MethodGet, path: one + "/report.html", id: "report-html", scope: campaign.KeyRead,
		summary: "The report of a run as one HTML file, without script and without a request to anywhere", errors: []int{404, 503}},
		"<!doctype html>\n<html lang=\"en\">", func(ctx context.Context, d *operator.Session, in *htmlInput) (w operator.Writer, err error) {
			if !in.Audit {
				return d.ReportHTML(ctx, in.Run, false)
			}
			err = s.reading(ctx, func() error {
				w, err = d.ReportHTML(ctx, in.Run, true)
				return err
			})
			return w, err
		})
	streamed(s, operator.CSV, route{method: http.MethodGet, path: one + "/export", id: "export", summary: "Every row of a run's list as CSV",
		scope: campaign.KeyRead, errors: absent}, "row,to,connection,status\n2,+2348031234567,conn_1,read\n",
		func(ctx context.Context, d *operator.Session, in *exportInput) (operator.Writer, error) {
			if in.Excel {
				return d.ExportExcel(ctx, in.Run)
			}
			return d.Export(ctx, in.Run)
		})
}

// streamed adds a route that streams a file.
func streamed[I any](s *Server, m operator.Media, r route, example string,
	open func(context.Context, *operator.Session, *I) (operator.Writer, error),
) {
	op := s.operation(r)
	op.Responses = map[string]*huma.Response{"200": {Description: m.Name, Content: map[string]*huma.MediaType{
		m.Kind: {Schema: &huma.Schema{Type: "string"}, Example: example},
	}}}
	huma.Register(s.api, op, func(ctx context.Context, in *I) (*huma.StreamResponse, error) {
		write, err := open(ctx, s.sessionOf(ctx), in)
		if err != nil {
			return nil, s.failed(r.id, err)
		}
		return &huma.StreamResponse{Body: func(hc huma.Context) { s.stream(hc, m, r.id, write) }}, nil
	})
}

// stream writes a file of any length. An error while it is sent closes the connection, so that no
// client takes a part of the file for the whole.
func (s *Server) stream(hc huma.Context, m operator.Media, what string, write operator.Writer) {
	_, w := humago.Unwrap(hc)
	if err := operator.Stream(w, m, what, write); err != nil {
		s.process.Log.Warn("an export ended early", "what", what, "err", err)
		panic(http.ErrAbortHandler)
	}
}
