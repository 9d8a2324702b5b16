package shop

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"reflect"
	"strings"

	"campaignd/internal/sandbox/shop/records"
)

// right is who may call a route.
type right int

const (
	open       right = iota // everybody, outside any company
	storefront              // everybody, or any credential of the company
	loggedIn                // a customer token
	admin                   // an API key or an access token
	control                 // the sandbox's own path
)

// route is a row of the table of routes.
type route struct {
	method, path string // the path has {names}
	right        right
	action
}

// action is the function of a route. Its types are the body and the answer of the route.
type action struct {
	body, answer reflect.Type // body is nil if the route takes none
	run          func(p *Platform, c *call, raw []byte) (any, error)
	shifts       bool // the fault shift adds rows before the list is read
}

// shifting is the action of a list whose rows shift between pages.
func shifting(a action) action {
	a.shifts = true
	return a
}

// take is the action of a route with a body.
func take[In, Out any](do func(*Platform, *call, In) (Out, error)) action {
	return action{body: reflect.TypeFor[In](), answer: reflect.TypeFor[Out](), run: func(p *Platform, c *call, raw []byte) (any, error) {
		var in In
		read := decode
		if c.route.right == control {
			read = decodeStrictly
		}
		if err := read(raw, &in); err != nil {
			return nil, err
		}
		return do(p, c, in)
	}}
}

// give is the action of a route without a body.
func give[Out any](do func(*Platform, *call) (Out, error)) action {
	return action{answer: reflect.TypeFor[Out](), run: func(p *Platform, c *call, _ []byte) (any, error) { return do(p, c) }}
}

// match reports whether the route has this method and path, and returns the values of its names.
func (r *route) match(method, path string) (map[string]string, bool) {
	if r.method != method {
		return nil, false
	}
	values := map[string]string{}
	want := r.path
	for want != "" && path != "" {
		var w, s string
		w, want, _ = strings.Cut(strings.TrimPrefix(want, "/"), "/")
		s, path, _ = strings.Cut(strings.TrimPrefix(path, "/"), "/")
		switch {
		case strings.HasPrefix(w, "{") && s != "":
			values[strings.Trim(w, "{}")] = s
		case w != s:
			return nil, false
		}
	}
	return values, want == "" && path == ""
}

// find finds the route of a request. Rows that stand earlier in the table win.
func (p *Platform) find(r *http.Request) (route, map[string]string) {
	for _, row := range p.routes {
		if values, ok := row.match(r.Method, r.URL.Path); ok {
			return row, values
		}
	}
	unknown := route{right: storefront, action: action{run: func(*Platform, *call, []byte) (any, error) {
		return nil, say(http.StatusNotFound, r.Method+" "+records.Short(r.URL.Path)+" is not shown in the document")
	}}}
	switch {
	case strings.HasPrefix(r.URL.Path, prefix+"/admin/"):
		unknown.right = admin
	case !strings.HasPrefix(r.URL.Path, prefix+"/"):
		unknown.right = open
	}
	return unknown, nil
}

// maxBody is the largest body.
const maxBody = 1 << 20

// readBody reads a body of at most 1 MiB.
func readBody(r *http.Request) ([]byte, error) {
	raw, err := io.ReadAll(io.LimitReader(r.Body, maxBody+1))
	switch {
	case len(raw) > maxBody:
		return nil, say(http.StatusRequestEntityTooLarge, "The body is larger than 1 MiB")
	case err != nil:
		return nil, say(http.StatusBadRequest, "The body could not be read")
	}
	return raw, nil
}

// decode reads a JSON object. An empty body is an empty object.
func decode(raw []byte, into any) error {
	raw = bytes.TrimSpace(raw)
	if len(raw) == 0 {
		return nil
	}
	if raw[0] != '{' || !json.Valid(raw) {
		return say(http.StatusBadRequest, "The body is not a JSON object")
	}
	err := json.Unmarshal(raw, into)
	if wrong, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		field := cmp.Or(wrong.Field, "body")
		return invalid(field, "The "+field+" field has the wrong type.")
	}
	if err != nil {
		return say(http.StatusBadRequest, "The body cannot be read")
	}
	return nil
}

// decodeStrictly is decode for the sandbox's own paths: an unknown member is an error.
func decodeStrictly(raw []byte, into any) error {
	if err := decode(raw, into); err != nil || len(bytes.TrimSpace(raw)) == 0 {
		return err
	}
	d := json.NewDecoder(bytes.NewReader(raw))
	d.DisallowUnknownFields()
	if err := d.Decode(into); err != nil {
		return say(http.StatusBadRequest, err.Error())
	}
	return nil
}

// patch is the body of a PUT. Members that it lacks stay as they are.
type patch struct{ raw []byte }

// UnmarshalJSON keeps the body.
func (b *patch) UnmarshalJSON(raw []byte) error {
	b.raw = bytes.Clone(raw)
	return nil
}

// onto writes the members of the body into a copy of what a client may change.
func (b patch) onto(editable any) error { return decode(b.raw, editable) }
