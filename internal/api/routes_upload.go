package api

import (
	"context"
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
	Hash string `path:"hash" pattern:"^[0-9a-f]{64}$" doc:"the SHA-256 of the whole list, in lower-case hexadecimal"`
}

var exampleUpload = resource.Upload{Hash: "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08", Received: 4,
	ExpiresAt: exampleTime.Add(uploads.KeptFor)}

// partRoutes adds the upload of a list in parts. After a broken connection it goes on with the next
// byte. A launch, a check and a forecast name the list by its hash.
func (s *Server) partRoutes() {
	const one = "/api/v1/uploads/{hash}"
	add(s, route{method: http.MethodGet, path: one, id: "upload", scope: campaign.KeyOperate, all: true, errors: []int{404},
		summary: "How much of a list has been uploaded"}, exampleUpload,
		func(_ context.Context, _ *operator.Session, in *OfUpload) (resource.Upload, error) {
			u, err := s.process.Uploads.Look(in.Hash)
			return resource.Upload(u), err
		})
	s.partRoute(route{method: http.MethodPatch, path: one, id: "upload-part", scope: campaign.KeyOperate, all: true,
		summary: "Append a part to a list. It is kept for a day after its last part", errors: []int{409, 413, 503, 507}})
	add(s, route{method: http.MethodDelete, path: one, id: "remove-upload", scope: campaign.KeyOperate, all: true, errors: []int{503},
		summary: "Forget a list that was uploaded"}, resource.Upload{Hash: exampleUpload.Hash},
		func(_ context.Context, _ *operator.Session, in *OfUpload) (resource.Upload, error) {
			return resource.Upload{Hash: in.Hash}, s.process.Uploads.Remove(in.Hash)
		})
}

// partRoute adds the route of a part, which is written to the disk while it arrives.
func (s *Server) partRoute(r route) {
	op := s.operation(r)
	op.SkipValidateBody, op.MaxBodyBytes, op.BodyReadTimeout = true, client.MaxPart, -1
	op.RequestBody = &huma.RequestBody{Required: true, Description: "The bytes of the list from the offset on; 32 MiB at most.",
		Content: map[string]*huma.MediaType{"application/octet-stream": {Example: "test",
			Schema: &huma.Schema{Type: "string", Format: "binary"}}}}
	huma.Register(s.api, op, func(ctx context.Context, in *struct {
		OfUpload
		Offset int64 `query:"offset" minimum:"0" default:"0" doc:"the offset of the part's first byte in the list: as much as has come"`
	}) (*answered[resource.Upload], error) {
		body := requestOf(ctx).body
		if body.length > client.MaxPart {
			return nil, &Error{http.StatusRequestEntityTooLarge, client.CodeTooLarge, "a part has at most 32 MiB", nil}
		}
		if err := s.process.Uploads.Expire(time.Now()); err != nil {
			s.process.Log.Warn("an old upload cannot be removed; it is tried again with the next part", "err", err)
		}
		u, err := s.process.Uploads.Add(in.Hash, in.Offset, body)
		if err != nil {
			return nil, s.failed(r.id, err)
		}
		return &answered[resource.Upload]{Body: envelope[resource.Upload]{Data: resource.Upload(u)}}, nil
	})
	s.describe(r, envelope[resource.Upload]{Data: exampleUpload})
}
