package api

import (
	"cmp"
	"context"
	"encoding/json"
	"net/http"
	"reflect"
	"strconv"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"campaignd/campaign"
	"campaignd/campaign/conversion"
	"campaignd/campaign/file"
	"campaignd/campaign/plan"
	"campaignd/campaign/why"
	"campaignd/campaign/wording"
	"campaignd/internal/client/resource"
	"campaignd/internal/operator"
	"campaignd/reporting"
)

var exampleReport = &reporting.Report{
	Run:    reporting.RunFacts{ID: "spring-sale-3", Campaign: "spring-sale", State: campaign.Finished},
	Rows:   2,
	Totals: reporting.Totals{campaign.Delivered: 1, campaign.Skipped: 1}, Skipped: map[string]int64{"duplicate": 1},
	Failed: map[string]int64{}, Refused: map[string]int64{}, Responses: &campaign.Responses{Replied: 31, OptedOut: 4},
	Conversions: &conversion.Conversions{Orders: 1, People: 1, Revenue: []conversion.Revenue{{Currency: "EUR", Amount: "49.9"}}},
	Lift:        exampleLift(),
	Service: &reporting.Comparison{Template: "spring_sale", Language: "en_US", Notes: []string{}, Days: []reporting.ComparedDay{{
		Connections: []string{"conn_1"}, Date: "2026-03-02", Ours: reporting.Counted{Sent: 1, Delivered: 1},
		Theirs: reporting.Counted{Sent: 1, Delivered: 1}}}},
}

func exampleLift() *conversion.Lift {
	l := conversion.NewLift(9000, 189, 1000, 12)
	return &l
}

func (s *Server) listRoutes() {
	s.holdRoutes()
	s.suppressionRoutes()
	s.keyRoutes()
	s.notificationRoutes()
	s.eraseRoute()
	add(s, route{method: http.MethodGet, path: "/api/v1/numbers", id: "numbers", summary: "The connections, with their limits now",
		scope: campaign.KeyRead}, []resource.Number{{Connection: "conn_1", Rate: 72, Quality: "GREEN",
		Allowance: &exampleAllowance, Holds: []wording.HoldState{}}},
		func(ctx context.Context, d *operator.Session, _ *struct{}) ([]resource.Number, error) {
			return s.process.NumbersOf(ctx, d)
		})
	add(s, route{method: http.MethodGet, path: "/api/v1/numbers/{connection}/why", id: "why-number", scope: campaign.KeyRead,
		errors: []int{404}, summary: "What limits a connection now, over all runs that are not finished"},
		why.Number{Connection: "conn_1", LimitedBy: campaign.ByThroughput, Sentence: "conn_1 sends as fast as it may",
			Holds: []wording.HoldState{}, Runs: []why.Lane{}},
		func(ctx context.Context, d *operator.Session, in *struct {
			Connection string `path:"connection" maxLength:"200" example:"conn_1" doc:"the id of a connection"`
		}) (why.Number, error) {
			return d.WhyNumber(ctx, in.Connection)
		})
}

func (s *Server) holdRoutes() {
	add(s, route{method: http.MethodGet, path: "/api/v1/holds", id: "holds", summary: "What may not be sent now", scope: campaign.KeyRead},
		[]wording.HoldState{exampleHold}, func(ctx context.Context, d *operator.Session, in *struct {
			All bool `query:"all" doc:"also those that have ended"`
		}) ([]wording.HoldState, error) {
			return d.Holds(ctx, in.All)
		})
	add(s, route{method: http.MethodPost, path: "/api/v1/holds", id: "add-hold", summary: "Hold a scope, for a time or until it is lifted",
		scope: campaign.KeyOperate, creates: true, errors: []int{404, 413},
		body: resource.HoldRequest{Scope: campaign.HoldConnection, ID: "conn_1", Reason: "maintenance"}},
		exampleHold, func(ctx context.Context, d *operator.Session, in *struct{ Body resource.HoldRequest }) (wording.HoldState, error) {
			return d.AddHold(ctx, in.Body)
		})
	add(s, route{method: http.MethodPost, path: "/api/v1/holds/lift", id: "lift-holds", summary: "End holds", scope: campaign.KeyOperate,
		errors: []int{404, 413}, body: resource.LiftRequest{Scope: campaign.HoldConnection, ID: "conn_1"}},
		[]wording.HoldState{exampleHold}, func(ctx context.Context, d *operator.Session, in *struct{ Body resource.LiftRequest },
		) ([]wording.HoldState, error) {
			return d.LiftHolds(ctx, in.Body)
		})
}

// newKey is the input of a new key.
type newKey struct {
	Body struct {
		Name    string            `json:"name" minLength:"1" maxLength:"100" doc:"who has the key"`
		Scope   campaign.KeyScope `json:"scope" enum:"read,operate,admin"`
		Company string            `json:"company,omitempty" maxLength:"200" doc:"it reaches only runs of this company; missing: all runs"`
	}
}

func (s *Server) keyRoutes() {
	key := resource.Key{ID: "3f9a1c02", Name: "dashboard", Scope: "read", CreatedAt: exampleTime}
	add(s, route{method: http.MethodGet, path: "/api/v1/keys", id: "keys", summary: "The keys, without their secrets",
		scope: campaign.KeyAdmin, all: true}, []resource.Key{key}, func(ctx context.Context, d *operator.Session, _ *struct{},
	) ([]resource.Key, error) {
		return d.Keys(ctx)
	})
	add(s, route{method: http.MethodPost, path: "/api/v1/keys", id: "create-key", summary: "Make a key", scope: campaign.KeyAdmin, all: true,
		creates: true, errors: []int{409, 413}, body: map[string]any{"name": "dashboard", "scope": "read"}},
		resource.NewKey{Key: key, Secret: "cpd_3f9a1c02_..."}, //nolint:gosec // an example, cut
		func(ctx context.Context, d *operator.Session, in *newKey) (resource.NewKey, error) {
			return d.CreateKey(ctx, in.Body.Name, string(in.Body.Scope), in.Body.Company, requestOf(ctx).idem)
		})
	add(s, route{method: http.MethodDelete, path: "/api/v1/keys/{key}", id: "revoke-key", summary: "End a key for ever",
		scope: campaign.KeyAdmin, all: true, errors: []int{404}}, key, func(ctx context.Context, d *operator.Session, in *struct {
		Key string `path:"key" maxLength:"100" example:"3f9a1c02" doc:"the id of a key"`
	}) (resource.Key, error) {
		return d.RevokeKey(ctx, in.Key)
	})
	add(s, route{method: http.MethodGet, path: "/api/v1/actions", id: "actions", summary: "What operators asked for, the newest first",
		scope: campaign.KeyAdmin, all: true}, []resource.Action{{ID: "a1", At: exampleTime, By: "key 3f9a1c02 (dashboard)", What: "pause",
		On: "spring-sale-3"}}, func(ctx context.Context, d *operator.Session, in *struct {
		Before   time.Time `query:"before" doc:"only those older than this time"`
		BeforeID string    `query:"before_id" maxLength:"100" doc:"with before: and than this action"`
		Limit    int       `query:"limit" minimum:"1" maximum:"1000" default:"100"`
		On       string    `query:"on" maxLength:"300" doc:"only those on this, such as the id of a run"`
	}) ([]resource.Action, error) {
		return d.Actions(ctx, campaign.ActionFilter{Before: in.Before, BeforeID: in.BeforeID, Limit: in.Limit, On: in.On})
	})
}

// uploadRoutes adds the routes that take a list. They write the list to the disk while it arrives.
func (s *Server) uploadRoutes() {
	launched := resource.Launched{Run: resource.LaunchedRun{ID: "spring-sale-3", Campaign: "spring-sale", State: campaign.Ready, Rows: 200_000,
		CreatedAt: exampleTime}}
	launch := route{method: http.MethodPost, path: "/api/v1/runs", id: "launch", summary: "Launch a campaign over an uploaded list",
		scope: campaign.KeyOperate, all: true, creates: true}
	op := addUpload(s, launch, launched, map[string]string{"200": "The run was launched before", "201": "The run is launched"}, s.take)
	op.Parameters = append(op.Parameters, &huma.Param{Name: "new", In: "query", Schema: &huma.Schema{Type: "boolean"},
		Description: "launch another run although this list has one"}, &huma.Param{Name: "sent_before", In: "query",
		Schema: &huma.Schema{Type: "string", Enum: []any{file.SentBeforeLeaveOut, file.SentBeforeSend}},
		Description: "what becomes of people who got the template before: they are left out, or sent to again; " +
			"without it the launch is refused if there are such people"})
	check := route{method: http.MethodPost, path: "/api/v1/check", id: "check-upload", scope: campaign.KeyOperate, all: true,
		summary: "What a launch of an uploaded campaign over an uploaded list would do; nothing of either is kept"}
	addUpload(s, check, examplePreflight, map[string]string{"200": "The whole list was read"}, tried(s, s.check))
	forecast := route{method: http.MethodPost, path: "/api/v1/forecast", id: "forecast-upload", scope: campaign.KeyOperate, all: true,
		summary: "When an uploaded campaign would be done over an uploaded list; nothing of either is kept"}
	addUpload(s, forecast, plan.Forecast{LimitedBy: campaign.ByNone}, map[string]string{"200": "The whole list was read"},
		tried(s, s.process.ForecastLaunch))
}

// addUpload adds a route that takes a campaign and its list, and answers with an O. do is passed to
// uploaded.
func addUpload[O any](s *Server, r route, example O, answers map[string]string,
	do func(http.ResponseWriter, *http.Request, string) (int, any, error),
) *huma.Operation {
	op := s.operation(r)
	file := &huma.Schema{Type: "string", Format: "binary"}
	op.RequestBody = &huma.RequestBody{Required: true, Description: "The parts in this order; header only if the campaign names a file; " +
		"upload, the hash of a list that was uploaded in parts, in place of list. A campaign with an audience may have no list.",
		Content: map[string]*huma.MediaType{"multipart/form-data": {Schema: &huma.Schema{Type: "object", Required: []string{"campaign"},
			Properties: map[string]*huma.Schema{"campaign": file, "header": file, "list": file, "upload": file}}}}}
	op.Responses = map[string]*huma.Response{}
	answer := s.api.OpenAPI().Components.Schemas.Schema(reflect.TypeFor[envelope[O]](), true, "")
	for status, text := range answers {
		op.Responses[status] = &huma.Response{Description: text, Content: map[string]*huma.MediaType{"application/json": {
			Schema: answer, Example: envelope[O]{Data: example}}}}
	}
	failure := s.api.OpenAPI().Components.Schemas.Schema(reflect.TypeFor[Error](), true, "Error")
	for _, status := range []int{400, 401, 403, 404, 409, 413, 422, 429, 501, 503} {
		op.Responses[strconv.Itoa(status)] = &huma.Response{Description: http.StatusText(status),
			Content: map[string]*huma.MediaType{"application/json": {Schema: failure}}}
	}
	s.api.OpenAPI().AddOperation(&op)
	serve := s.uploaded(r.id, do)
	s.mux.HandleFunc(r.method+" "+r.path, func(w http.ResponseWriter, req *http.Request) {
		if e := cmp.Or(r.allows(requestOf(req.Context()).Caller), faultyQuery(&op, req.URL)); e != nil {
			s.refuse(w, e)
			return
		}
		serve(w, req)
	})
	return &op
}

// Document returns the OpenAPI document, of version 3.1.
func (s *Server) Document() ([]byte, error) { return json.Marshal(s.api.OpenAPI()) }
