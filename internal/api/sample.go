package api

import (
	"context"
	"net/http"
	"strconv"

	"github.com/danielgtaylor/huma/v2"

	"campaignd/campaign"
	"campaignd/campaign/launch"
	"campaignd/internal/client/resource"
	"campaignd/internal/messaging"
	"campaignd/internal/operator"
)

// sampleRoutes adds the routes about the rows of an uploaded list. They keep neither the campaign
// nor the list.
func (s *Server) sampleRoutes() {
	row := &huma.Param{Name: "row", In: "query", Schema: &huma.Schema{Type: "integer", Minimum: new(float64(1))},
		Description: "a row of the list, from 1, the header not counted; without it the first that can be sent"}
	preview := route{method: http.MethodPost, path: "/api/v1/preview", id: "preview", scope: campaign.KeyOperate, all: true,
		summary: "The message of a row of an uploaded list; nothing is sent"}
	op := addUpload(s, preview, &launch.Sample{Row: 1, Line: 2, To: "+2348031234567", Text: "Hi Ada, 20% off.",
		Footer: "Reply STOP to opt out", Message: &messaging.Message{ConnectionID: "conn_1", To: "+2348031234567"}},
		map[string]string{"200": "The message"}, s.preview)
	op.Parameters = append(op.Parameters, row)
	test := route{method: http.MethodPost, path: "/api/v1/test", id: "send-test", scope: campaign.KeyOperate, all: true,
		summary: "Send the message of a row of an uploaded list to your own number; no run counts it"}
	op = addUpload(s, test, resource.TestMessage{To: "+2348031234567", MessageID: "wamid.x", RequestID: "req_1"},
		map[string]string{"200": "The service accepted the message"}, s.sendTest)
	op.Parameters = append(op.Parameters, row, &huma.Param{Name: "to", In: "query", Required: true,
		Schema:      &huma.Schema{Type: "string", MaxLength: new(40), Examples: []any{"+2348031234567"}},
		Description: "the number to send to, in international form with +"})
	rejects := route{method: http.MethodPost, path: "/api/v1/rejects", id: "rejects", scope: campaign.KeyOperate, all: true,
		summary: "The rows of an uploaded list that a correction can help, as CSV with the reason of each"}
	op = addUpload(s, rejects, "", map[string]string{"200": operator.CSV.Name}, s.rejects)
	op.Responses["200"].Content = map[string]*huma.MediaType{operator.CSV.Kind: {Schema: &huma.Schema{Type: "string"},
		Example: "phone,first_name,reject_line,reject_reason,reject_note\n0803,Ada,2,invalid_phone,line 2: too short\n"}}
}

// rowOf is the row that a request names; 0: none. faultyQuery has read it before.
func rowOf(r *http.Request) int64 {
	row, _ := strconv.ParseInt(r.URL.Query().Get("row"), 10, 64) // an error means that no row is named
	return row
}

// sampling calls do with an uploaded campaign and its list, and with the row that the request
// names.
func (s *Server) sampling(
	w http.ResponseWriter, r *http.Request, dir string, do func(ctx context.Context, u *upload, row int64) (any, error),
) (int, any, error) {
	u, err := s.accept(w, r, dir)
	if err == nil && u.list == "" {
		err = refuse("the form ends before its part \"list\" or \"upload\": the list of an audience is made by a launch")
	}
	if err != nil {
		return 0, nil, err
	}
	var out any
	err = s.reading(r.Context(), func() error {
		out, err = do(r.Context(), &u, rowOf(r))
		return err
	})
	return http.StatusOK, out, err
}

func (s *Server) preview(w http.ResponseWriter, r *http.Request, dir string) (int, any, error) {
	return s.sampling(w, r, dir, func(ctx context.Context, u *upload, row int64) (any, error) {
		return s.process.Sample(ctx, u.campaign, u.list, row)
	})
}

func (s *Server) sendTest(w http.ResponseWriter, r *http.Request, dir string) (int, any, error) {
	to := r.URL.Query().Get("to")
	return s.sampling(w, r, dir, func(ctx context.Context, u *upload, row int64) (any, error) {
		sample, receipt, err := s.process.SendTest(ctx, s.sessionOf(ctx), u.definition.Name, u.campaign, u.list, row, to)
		if err != nil {
			return nil, err
		}
		return resource.TestMessage{To: sample.To, MessageID: receipt.MessageID, RequestID: receipt.RequestID, Warning: receipt.Warning}, nil
	})
}

// rejects streams the rows as the check of the list finds them. An error after the first bytes
// closes the connection, so that no client takes a part of the file for the whole.
func (s *Server) rejects(w http.ResponseWriter, r *http.Request, dir string) (int, any, error) {
	_, _, err := s.sampling(w, r, dir, func(ctx context.Context, u *upload, _ int64) (any, error) {
		write, err := s.process.Rejects(ctx, operator.File{Path: u.campaign, Source: u.source, Definition: u.definition}, u.list)
		if err != nil {
			return nil, err
		}
		if err := operator.Stream(w, operator.CSV, "rejects", write); err != nil {
			s.process.Log.Warn("an export ended early", "what", "rejects", "err", err)
			panic(http.ErrAbortHandler)
		}
		return nil, nil
	})
	return answeredAlready, nil, err
}
