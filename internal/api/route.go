package api

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"

	"campaignd/campaign"
	"campaignd/internal/client"
	"campaignd/internal/operator"
)

// documentPath is the path of the OpenAPI document, without its ending.
const documentPath = "/api/v1/openapi"

// maxBody is the largest body of a request that uploads no file, in bytes.
const maxBody = 1 << 20

// useErrors makes huma write failures in the form of this API. Huma takes it from a variable of its
// package only.
var useErrors = sync.OnceFunc(func() {
	huma.NewError = func(status int, message string, errs ...error) huma.StatusError {
		e := &Error{Status: status, Code: client.CodeInternal, Message: message}
		switch status {
		case http.StatusBadRequest, http.StatusUnprocessableEntity, http.StatusUnsupportedMediaType, http.StatusNotAcceptable:
			if status == http.StatusUnsupportedMediaType {
				e.Message = "want the header Content-Type: application/json"
			}
			e.Status, e.Code = http.StatusBadRequest, client.CodeInvalid
		case http.StatusRequestEntityTooLarge:
			e.Code = client.CodeTooLarge
		case http.StatusRequestTimeout:
			e.Code = "timeout"
		case http.StatusNotModified:
			e.Code = "not_modified"
		}
		var at []map[string]string
		for _, err := range errs {
			var told huma.ErrorDetailer
			switch {
			case errors.As(err, &told):
				d := told.ErrorDetail()
				at = append(at, map[string]string{"where": d.Location, "message": d.Message})
			case err != nil:
				at = append(at, map[string]string{"message": err.Error()})
			}
		}
		if len(at) > 0 {
			e.Meta = map[string]any{"errors": at}
			e.Message += ": " + strings.TrimSpace(at[0]["where"]+" "+at[0]["message"])
		}
		return e
	}
})

// routes makes the routes and the document.
func (s *Server) routes() {
	useErrors()
	config := huma.DefaultConfig("campaignd", s.process.Version)
	config.CreateHooks = nil // no link to a schema in each answer
	config.DocsPath, config.SchemasPath = "", ""
	config.OpenAPIPath = documentPath
	config.Info.Description = "The operator's API of campaignd. Failures and lists have one form: {data} or {error, message, meta}."
	config.Components.Schemas = registry()
	config.Components.SecuritySchemes = map[string]*huma.SecurityScheme{
		"key": {Type: "http", Scheme: "bearer", Description: "A key of `campaignd keys create`"},
	}
	s.api = humago.New(s.mux, config)
	s.runRoutes()
	s.courseRoutes()
	s.lookRoutes()
	s.listRoutes()
	s.serviceRoutes()
	s.folderRoutes()
	s.dropRoutes()
	s.eventRoute()
	s.uploadRoutes()
	s.sampleRoutes()
	s.partRoutes()
}

// mediaType is a keyword of OpenAPI 3.1 that huma leaves in the document of 3.0.3. There, format:
// binary beside it means the same.
var mediaType = []byte(`"contentMediaType":"application/octet-stream",`)

// older writes the document of version 3.0.3.
func (s *Server) older(w http.ResponseWriter) {
	text, err := s.api.OpenAPI().Downgrade()
	if err != nil {
		s.failed("openapi-3.0", err).write(w, "")
		return
	}
	w.Header().Set("Content-Type", "application/vnd.oai.openapi+json")
	_, _ = w.Write(bytes.ReplaceAll(text, mediaType, nil)) // an error means that the caller has left
}

// whySchemas names the schemas of types of package why that need the package's name.
var whySchemas = map[string]string{"Answer": "Why", "Lane": "WhyLane", "Number": "WhyNumber", "Row": "WhyRow",
	"Segments": "WhySegments", "Suppression": "WhySuppression", "Totals": "WhyTotals", "Wait": "WhyWait"}

// schemaName names the schema of a type. Those of package reporting begin with Report, because
// other packages use the same names; most of package why begin with Why.
func schemaName(t reflect.Type, hint string) string {
	name := huma.DefaultSchemaNamer(t, hint)
	switch {
	case strings.HasSuffix(t.PkgPath(), "/reporting") && !strings.HasPrefix(name, "Report"):
		return "Report" + name
	case strings.HasSuffix(t.PkgPath(), "/campaign/why") && whySchemas[name] != "":
		return whySchemas[name]
	}
	return name
}

// route is one route of the API.
type route struct {
	method, path string
	id           string // operationId
	summary      string
	scope        campaign.KeyScope
	// all means that a key of one company is refused, because the answer is about all companies.
	all bool
	// creates means that the route takes an Idempotency-Key.
	creates bool
	errors  []int
	// body is the example of its request; nil: it has no body.
	body any
}

// envelope is the body of every answer that is no failure.
type envelope[O any] struct {
	Data O     `json:"data"`
	Meta *meta `json:"meta,omitempty"`
}

type meta struct {
	Next string `json:"next,omitempty" doc:"give it as after for the next page; missing: there are no more"`
}

type answered[O any] struct {
	ETag string `header:"ETag"`
	Body envelope[O]
}

// unlogged are operations that only look although they are sent as POST, and the parts of a list,
// whose launch has a line.
var unlogged = []string{"check-upload", "forecast-upload", "preview", "begin-upload", "upload-part"}

// operation is the operation of a route in the document.
func (s *Server) operation(r route) huma.Operation {
	if (r.method != http.MethodGet || slices.Contains(operator.Exports, r.id)) && !slices.Contains(unlogged, r.id) {
		s.logged[r.method+" "+r.path] = r.id
	}
	op := huma.Operation{
		Method: r.method, Path: r.path, OperationID: r.id, Summary: r.summary, Description: r.description(),
		MaxBodyBytes: maxBody,
		Errors: append([]int{http.StatusUnauthorized, http.StatusForbidden, http.StatusTooManyRequests,
			http.StatusBadRequest}, r.errors...),
		Security:   []map[string][]string{{"key": {}}},
		Extensions: map[string]any{"x-scope": string(r.scope)},
		Middlewares: huma.Middlewares{func(ctx huma.Context, next func(huma.Context)) {
			u := ctx.URL()
			e := cmp.Or(r.allows(requestOf(ctx.Context()).Caller), faultyQuery(ctx.Operation(), &u))
			if e != nil {
				_, w := humago.Unwrap(ctx)
				s.refuse(w, e)
				return
			}
			next(ctx)
		}},
	}
	if r.creates {
		op.Parameters = append(op.Parameters, &huma.Param{Name: "Idempotency-Key", In: "header", Schema: &huma.Schema{Type: "string"},
			Description: "A second request with the same key does nothing again", Example: "7c1e-42"})
	}
	return op
}

// allows refuses a caller whose key does not have the scope of the route.
func (r route) allows(who operator.Caller) *Error {
	switch {
	case !who.Scope.Allows(r.scope):
		return &Error{http.StatusForbidden, client.CodeForbidden,
			fmt.Sprintf("this needs a key of the scope %s, and the key that was given has the scope %s", r.scope, who.Scope), nil}
	case r.all && who.Company != "":
		return &Error{http.StatusForbidden, client.CodeForbidden, "this route is not for a key of one company", nil}
	}
	return nil
}

// add adds a route that answers with an O, and with an ETag if it is a GET.
func add[I, O any](s *Server, r route, example O, do func(ctx context.Context, d *operator.Session, in *I) (O, error)) {
	addPages(s, r, example, func(ctx context.Context, d *operator.Session, in *I) (O, string, error) {
		out, err := do(ctx, d, in)
		return out, "", err
	})
}

// addPages is add for a list by pages. do also returns where the next page begins, "" after the
// last one.
func addPages[I, O any](s *Server, r route, example O, do func(ctx context.Context, d *operator.Session, in *I) (O, string, error)) {
	op := s.operation(r)
	huma.Register(s.api, op, func(ctx context.Context, in *I) (*answered[O], error) {
		data, next, err := do(ctx, s.sessionOf(ctx), in)
		if err != nil {
			return nil, s.failed(r.id, err)
		}
		out := &answered[O]{Body: envelope[O]{Data: data}}
		if next != "" {
			out.Body.Meta = &meta{next}
		}
		if r.method != http.MethodGet {
			return out, nil
		}
		if out.ETag, err = tagOf(out.Body); err != nil {
			return nil, err
		}
		if matches(requestOf(ctx).none, out.ETag) {
			return nil, huma.ErrorWithHeaders(huma.Status304NotModified(), http.Header{"ETag": {out.ETag}})
		}
		return out, nil
	})
	s.describe(r, envelope[O]{Data: example})
}

// sessionOf returns the session of the caller.
func (s *Server) sessionOf(ctx context.Context) *operator.Session {
	return s.process.For(requestOf(ctx).Caller)
}

// failed returns the error of the API, and logs a fault of the server.
func (s *Server) failed(route string, err error) *Error {
	e := errorOf(s.ctx, err)
	if e.Status == http.StatusInternalServerError {
		s.process.Log.Error("a request of the API failed", "route", route, "err", err)
	}
	return e
}

// describe adds the examples of a route to the document.
func (s *Server) describe(r route, example any) {
	op := operationAt(s.api.OpenAPI(), r.method, r.path)
	op.Responses[strconv.Itoa(http.StatusOK)].Content["application/json"].Example = example
	if r.body != nil && op.RequestBody != nil {
		op.RequestBody.Content["application/json"].Example = r.body
	}
}

// operationAt returns the operation of the document with a method and path.
func operationAt(doc *huma.OpenAPI, method, path string) *huma.Operation {
	item := doc.Paths[path]
	switch method {
	case http.MethodGet:
		return item.Get
	case http.MethodPost:
		return item.Post
	case http.MethodPatch:
		return item.Patch
	}
	return item.Delete
}

// tagOf is the ETag of an answer.
func tagOf(v any) (string, error) {
	text, err := json.Marshal(v)
	sum := sha256.Sum256(text)
	return `"` + hex.EncodeToString(sum[:12]) + `"`, err
}

// matches reports whether a header If-None-Match has the tag.
func matches(header, tag string) bool {
	for one := range strings.SplitSeq(header, ",") {
		if one = strings.TrimPrefix(strings.TrimSpace(one), "W/"); one == tag || one == "*" {
			return true
		}
	}
	return false
}
