package api

import (
	"context"
	"errors"
	"io"
	"net/http"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"campaignd/campaign"
	"campaignd/internal/client"
	"campaignd/internal/client/resource"
	"campaignd/internal/operator"
	"campaignd/internal/uploads"
)

// OfUpload names a list that arrives in parts.
type OfUpload struct {
	Name string `path:"hash" pattern:"^([0-9a-f]{64}|up_[0-9a-f]{32})$" doc:"the SHA-256 of the list, in hexadecimal, or its id"`
}

var (
	exampleUpload = resource.Upload{Hash: "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08", Received: 4,
		ExpiresAt: exampleTime.Add(uploads.KeptFor)}
	exampleHead = resource.ListHead{Dialect: resource.ListDialect{Delimiter: ",", Encoding: "utf-8"}, Header: []string{"phone", "first_name"},
		To: "phone", Rows: []resource.HeadRow{{Line: 2, Cells: []string{"+2348031234567", "Ada"}}}}
)

// partRoutes adds the upload of a list in parts. After a broken connection it goes on with the next
// byte. A launch, a check and a forecast name the list by its hash.
func (s *Server) partRoutes() {
	const (
		all = "/api/v1/uploads"
		one = all + "/{hash}"
	)
	add(s, route{method: http.MethodPost, path: all, id: "begin-upload", scope: campaign.KeyOperate, all: true, errors: []int{501, 507},
		summary: "Begin a list whose hash is not known yet. It is kept for a day after its last part"},
		resource.Upload{ID: "up_00112233445566778899aabbccddeeff", ExpiresAt: exampleUpload.ExpiresAt},
		func(context.Context, *operator.Session, *struct{}) (resource.Upload, error) {
			u, err := s.process.Uploads.Start()
			return resource.Upload(u), err
		})
	add(s, route{method: http.MethodGet, path: one, id: "upload", scope: campaign.KeyOperate, all: true, errors: []int{404},
		summary: "How much of a list has been uploaded"}, exampleUpload,
		func(_ context.Context, _ *operator.Session, in *OfUpload) (resource.Upload, error) {
			u, err := s.process.Uploads.Look(in.Name)
			return resource.Upload(u), err
		})
	add(s, route{method: http.MethodGet, path: one + "/head", id: "upload-head", scope: campaign.KeyOperate, all: true,
		errors: []int{404, 422}, summary: "How an uploaded list is written, its columns and its first 20 rows"}, exampleHead,
		func(_ context.Context, _ *operator.Session, in *OfUpload) (resource.ListHead, error) {
			return s.process.ListHead(in.Name)
		})
	s.partRoute(route{method: http.MethodPatch, path: one, id: "upload-part", scope: campaign.KeyOperate, all: true,
		summary: "Append a part to a list. It is kept for a day after its last part", errors: []int{404, 409, 413, 422, 501, 503, 507}})
	add(s, route{method: http.MethodDelete, path: one, id: "remove-upload", scope: campaign.KeyOperate, all: true, errors: []int{503},
		summary: "Forget a list that was uploaded"}, resource.Upload{Hash: exampleUpload.Hash},
		func(_ context.Context, _ *operator.Session, in *OfUpload) (resource.Upload, error) {
			u := resource.Upload{Hash: in.Name}
			if uploads.IsID(in.Name) {
				u = resource.Upload{ID: in.Name}
			}
			return u, s.process.Uploads.Remove(in.Name)
		})
}

// expireEvery is the time between two looks for lists that nobody goes on with.
const expireEvery = time.Minute

// expire removes the lists that nobody goes on with, until ctx ends.
func (s *Server) expire(ctx context.Context) {
	tick := time.NewTicker(expireEvery)
	defer tick.Stop()
	for failed := ""; ; {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		err := s.process.Uploads.Expire(s.process.Session.Expiry.Before(uploads.KeptFor))
		switch {
		case err == nil:
			failed = ""
		case failed != err.Error():
			failed = err.Error()
			s.process.Log.Warn("an old upload cannot be removed; it is tried again", "err", err)
		}
	}
}

// part is the input of the route of a part.
type part struct {
	OfUpload
	Offset int64  `query:"offset" minimum:"0" default:"0" doc:"the offset of the part's first byte in the list: as much as has come"`
	SHA256 string `query:"sha256" pattern:"^[0-9a-f]{64}$" doc:"with the last part of a list that has an id: what names it then"`
}

// partRoute adds the route of a part, which is written to the disk while it arrives.
func (s *Server) partRoute(r route) {
	op := s.operation(r)
	op.SkipValidateBody, op.MaxBodyBytes, op.BodyReadTimeout = true, client.MaxPart, -1
	op.RequestBody = &huma.RequestBody{Required: true, Description: "The bytes of the list from the offset on; 32 MiB at most.",
		Content: map[string]*huma.MediaType{"application/octet-stream": {Example: "test",
			Schema: &huma.Schema{Type: "string", Format: "binary"}}}}
	huma.Register(s.api, op, func(ctx context.Context, in *part) (*answered[resource.Upload], error) {
		body := requestOf(ctx).body
		if body.length > client.MaxPart {
			return nil, &Error{http.StatusRequestEntityTooLarge, client.CodeTooLarge, "a part has at most 32 MiB", nil}
		}
		u, err := s.addPart(ctx, in, body)
		if err != nil {
			return nil, s.failed(r.id, err)
		}
		return &answered[resource.Upload]{Body: envelope[resource.Upload]{Data: resource.Upload(u)}}, nil
	})
	s.describe(r, envelope[resource.Upload]{Data: exampleUpload})
}

// addPart adds a part, and with the last one names the list by its hash. The last part may come
// again after its answer was lost.
func (s *Server) addPart(ctx context.Context, in *part, body io.Reader) (uploads.Upload, error) {
	if in.SHA256 != "" && !uploads.IsID(in.Name) {
		return uploads.Upload{}, refuse("sha256: the list is named by its hash already; leave it out")
	}
	u, err := s.process.Uploads.Add(in.Name, in.Offset, body)
	var fault *uploads.Fault
	if in.SHA256 == "" || err != nil && (!errors.As(err, &fault) || fault.Kind != uploads.NotFound) {
		return u, err
	}
	err = s.reading(ctx, func() error {
		u, err = s.process.Uploads.Finish(ctx, in.Name, in.SHA256)
		return err
	})
	return u, err
}
