package api

import (
	"cmp"
	"context"
	"errors"
	"io"
	"net/http"
	"strconv"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"campaignd/campaign"
	"campaignd/campaign/why"
	"campaignd/internal/client"
	"campaignd/internal/client/resource"
	"campaignd/internal/operator"
	"campaignd/internal/uploads"
)

var exampleShown = why.ShownSuppression{To: "+2348031234567", InForce: true, Suppression: why.Suppression{
	Scope: campaign.ScopeMarketing, Source: "stop", At: exampleTime}, Sentence: "+2348031234567 is on the suppression list for all companies"}

var examplePerson = resource.PersonMessage{Run: "spring-sale-3", Campaign: "spring-sale", Template: "spring_sale", Language: "en_US",
	Launched: exampleTime, Delivery: resource.Delivery{Row: 2, To: "+2348031234567", Connection: "conn_1",
		Status: campaign.Accepted, MessageID: "wamid.x", Attempts: 1, AcceptedAt: exampleTime}}

type numbersBody struct {
	Body struct {
		Numbers []string       `json:"numbers" minItems:"1" maxItems:"1000" doc:"in international form with +"`
		Scope   campaign.Scope `json:"scope,omitempty" enum:"marketing,all,unreachable"`
	}
}

func (s *Server) suppressionRoutes() {
	body := map[string]any{"numbers": []string{"+2348031234567"}, "scope": "marketing"}
	addPages(s, route{method: http.MethodGet, path: "/api/v1/suppressions", id: "suppressions",
		summary: "The numbers that must not be sent to, by pages",
		scope:   campaign.KeyRead},
		[]resource.Suppression{{To: "+2348031234567", Scope: campaign.ScopeMarketing, Source: "stop", At: exampleTime}},
		func(ctx context.Context, d *operator.Session, in *struct {
			To    string `query:"to" maxLength:"40" doc:"only this number" example:"+2348031234567"`
			After string `query:"after" maxLength:"40" doc:"meta.next of the page before"`
			Limit int    `query:"limit" minimum:"1" maximum:"1000" default:"100"`
		}) ([]resource.Suppression, string, error) {
			return d.Suppressions(ctx, in.To, in.After, in.Limit)
		})
	add(s, route{method: http.MethodPost, path: "/api/v1/suppressions", id: "add-suppressions", summary: "Suppress numbers",
		scope: campaign.KeyOperate, creates: true, errors: []int{413}, body: body}, resource.Suppressed{Changed: 1},
		func(ctx context.Context, d *operator.Session, in *numbersBody) (resource.Suppressed, error) {
			return d.AddSuppressions(ctx, in.Body.Numbers, cmp.Or(in.Body.Scope, campaign.ScopeMarketing))
		})
	add(s, route{method: http.MethodPost, path: "/api/v1/suppressions/remove", id: "remove-suppressions", summary: "Take numbers off the list",
		scope: campaign.KeyOperate, all: true, errors: []int{413}, body: body}, resource.Suppressed{Changed: 1},
		func(ctx context.Context, d *operator.Session, in *numbersBody) (resource.Suppressed, error) {
			return d.RemoveSuppressions(ctx, in.Body.Numbers, in.Body.Scope)
		})
	add(s, route{method: http.MethodGet, path: "/api/v1/suppressions/{number}", id: "suppression", summary: "Why one number is not sent to",
		scope: campaign.KeyRead}, []why.ShownSuppression{exampleShown},
		func(ctx context.Context, d *operator.Session, in *struct {
			Number string `path:"number" maxLength:"40" example:"+2348031234567" doc:"in international form with +"`
		}) ([]why.ShownSuppression, error) {
			return d.ShowSuppressions(ctx, in.Number)
		})
	addPages(s, route{method: http.MethodGet, path: "/api/v1/people/{number}", id: "person", scope: campaign.KeyRead,
		summary: "The rows of one number in all runs, the newest runs first"},
		[]resource.PersonMessage{examplePerson},
		func(ctx context.Context, d *operator.Session, in *struct {
			Number string `path:"number" maxLength:"40" example:"+2348031234567" doc:"in international form with +"`
			After  int64  `query:"after" minimum:"0" doc:"the next of the page before"`
			Limit  int    `query:"limit" minimum:"1" maximum:"1000" default:"100" doc:"a page ends with the run that reaches it"`
		}) ([]resource.PersonMessage, string, error) {
			page, next, err := d.Person(ctx, in.Number, in.After, in.Limit)
			if next == 0 {
				return page, "", err
			}
			return page, strconv.FormatInt(next, 10), err
		})
	s.exportPerson()
	s.exportSuppressions()
	s.importSuppressions()
}

// exportPerson adds what the ledger has about one number.
func (s *Server) exportPerson() {
	add(s, route{method: http.MethodGet, path: "/api/v1/people/{number}/export", id: "export-person", scope: campaign.KeyRead,
		summary: "Everything that the ledger has about one number, for a person who asks for it"},
		resource.PersonExport{To: "+2348031234567", At: exampleTime, Suppressions: []resource.ProvenSuppression{{
			Suppression: resource.Suppression{To: "+2348031234567", Scope: campaign.ScopeMarketing, Source: "stop", At: exampleTime},
			Proof:       campaign.Proof{Source: "stop", At: exampleTime, Text: "STOP"}}},
			Messages: []resource.ExportedMessage{{PersonMessage: examplePerson, List: []resource.Cell{{Column: "name", Value: "Ada"}},
				Content: &resource.ExportedContent{Body: []string{"Ada"}}}},
			Records: []resource.PersonRecord{{Kind: "user_id", Facts: map[string]any{"user_id": "US.13491208655302741918",
				"to": "+2348031234567", "at": exampleTime}}}, NotReached: []string{}},
		func(ctx context.Context, d *operator.Session, in *struct {
			Number string `path:"number" maxLength:"40" example:"+2348031234567" doc:"in international form with +"`
		}) (resource.PersonExport, error) {
			// The rows of a run whose numbers are not kept yet are read.
			err := requestOf(ctx).body.c.SetWriteDeadline(time.Now().Add(maxReading))
			if err != nil && !errors.Is(err, http.ErrNotSupported) {
				return resource.PersonExport{}, err
			}
			return d.ExportPerson(ctx, in.Number)
		})
}

// exportSuppressions adds the list as a file.
func (s *Server) exportSuppressions() {
	streamed(s, operator.CSV, route{method: http.MethodGet, path: "/api/v1/suppressions/export", id: "export-suppressions",
		summary: "The whole list as CSV, which an import can read", scope: campaign.KeyRead, all: true},
		"to,scope,source,at,until\n+2348031234567,marketing,stop,2026-03-02T09:00:00Z,\n",
		func(ctx context.Context, d *operator.Session, _ *struct{}) (operator.Writer, error) {
			return func(w io.Writer) error { return d.ExportSuppressions(ctx, w) }, nil
		})
}

// maxSuppressions is the largest file of suppressions in bytes: 10 million numbers with their
// source.
const (
	maxSuppressions = 1 << 30
	tooLarge        = "the file has more than 1 GiB; import it in parts"
)

// importQuery is the query of an import.
type importQuery struct {
	File          string         `query:"file" maxLength:"200" doc:"the name of the file, for the proof of each number" example:"crm.csv"`
	Scope         campaign.Scope `query:"scope" enum:"marketing,all,unreachable" default:"marketing" doc:"of rows that name none"`
	Source        string         `query:"source" maxLength:"32" doc:"name of where the numbers come from" example:"crm-2026"`
	Date          time.Time      `query:"date" doc:"since when they are suppressed; missing: now" example:"2026-03-02T09:00:00Z"`
	DefaultRegion string         `query:"default_region" maxLength:"2" doc:"ISO 3166 country of numbers written without +" example:"NG"`
}

// arriving is the body of a request without a time limit while data arrives.
type arriving struct {
	io.Reader
	c      *http.ResponseController
	length int64 // -1: unknown
}

func (a *arriving) Read(p []byte) (int, error) {
	// The answer may take one more uploads.Stall. The import of what was read takes far less.
	err := errors.Join(a.c.SetReadDeadline(time.Now().Add(uploads.Stall)), a.c.SetWriteDeadline(time.Now().Add(2*uploads.Stall)))
	if err != nil && !errors.Is(err, http.ErrNotSupported) {
		return 0, err
	}
	return a.Reader.Read(p)
}

// importSuppressions adds the upload of a list, which is read while it arrives.
func (s *Server) importSuppressions() {
	r := route{method: http.MethodPost, path: "/api/v1/suppressions/import", id: "import-suppressions",
		summary: "Suppress every number of a CSV file, of any size", scope: campaign.KeyOperate, errors: []int{413, 422}}
	op := s.operation(r)
	op.SkipValidateBody, op.MaxBodyBytes, op.BodyReadTimeout = true, maxSuppressions, -1
	op.RequestBody = &huma.RequestBody{Required: true,
		Description: "A column to (or phone); the columns scope, source, at and until may follow.",
		Content:     map[string]*huma.MediaType{"text/csv": {Schema: &huma.Schema{Type: "string"}, Example: "to\n+2348031234567\n"}}}
	huma.Register(s.api, op, func(ctx context.Context, in *importQuery) (*answered[resource.Imported], error) {
		body := requestOf(ctx).body
		if body.length > maxSuppressions {
			return nil, &Error{http.StatusRequestEntityTooLarge, client.CodeTooLarge, tooLarge, nil}
		}
		// The context of the process stores the rows that came before a connection broke.
		out, err := s.sessionOf(ctx).ImportSuppressions(s.ctx, body, resource.SuppressionImport{File: in.File, Scope: in.Scope, Source: in.Source,
			At: in.Date, DefaultRegion: in.DefaultRegion})
		if err != nil {
			return nil, s.failed(r.id, err)
		}
		return &answered[resource.Imported]{Body: envelope[resource.Imported]{Data: out}}, nil
	})
	s.describe(r, envelope[resource.Imported]{Data: resource.Imported{Rows: 2, Added: 1, Rejected: 1,
		Faults: []resource.RowFault{{Line: 3, What: "\"0803\" has no + and country code"}}}})
}
