package service

import (
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"

	"campaignd/internal/messaging"
	"campaignd/internal/operations"
	"campaignd/internal/sentence"
)

// methods are those that a configured path may begin with.
var methods = []string{http.MethodGet, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete}

// newRoutes returns the operations of the table by name, with the configured methods and paths. An
// operation without its own path follows the path of the row that the table names.
func newRoutes(paths map[string]string) (map[string]operations.Operation, error) {
	routes := make(map[string]operations.Operation, len(operations.All))
	for _, o := range operations.All {
		routes[o.Name] = o
		if lead, _ := operations.Named(o.Follows); paths[o.Follows] != "" {
			configured, err := configuredRoute(lead, paths[o.Follows])
			if err != nil {
				return nil, err
			}
			o.Path = configured.Path + strings.TrimPrefix(o.Path, lead.Path)
			routes[o.Name] = o
		}
	}
	for _, name := range slices.Sorted(maps.Keys(paths)) {
		o, ok := operations.Named(name)
		if !ok {
			remedy := "docs/service.md#assumed-operations has the names"
			if near := sentence.Nearest(name, operations.Names()); near != "" {
				remedy = fmt.Sprintf("did you mean %q?", near)
			}
			return nil, fmt.Errorf("unknown operation %q; %s", name, remedy)
		}
		if paths[name] == "" {
			continue
		}
		configured, err := configuredRoute(o, paths[name])
		if err != nil {
			return nil, err
		}
		routes[name] = configured
	}
	return routes, nil
}

// configuredRoute reads [METHOD ]PATH.
func configuredRoute(o operations.Operation, text string) (operations.Operation, error) {
	path := text
	if method, rest, ok := strings.Cut(text, " "); ok {
		if !slices.Contains(methods, method) {
			return o, fmt.Errorf("%s: %q begins with no method; write [METHOD ]PATH such as %s %s", o.Name, text, o.Method, o.Path)
		}
		o.Method, path = method, strings.TrimSpace(rest)
	}
	variables := strings.Count(o.Path, "{")
	switch {
	case !strings.HasPrefix(path, "/") || strings.HasPrefix(path, "//") || strings.ContainsAny(path, "?# \r\n"):
		return o, fmt.Errorf("%q is not a path such as %s", text, o.Path)
	case strings.Count(path, "{") != variables || strings.Count(path, "}") != variables || strings.Index(path, "}") < strings.Index(path, "{"):
		return o, fmt.Errorf("%s: %q has not the %d variable segments of %s", o.Name, text, variables, o.Path)
	}
	o.Path = path
	return o, nil
}

// usage is which operations a Client has asked for that the document of the service does not show.
type usage struct {
	mu sync.Mutex
	// asked has false for an operation that the service does not offer.
	asked map[string]bool
}

func (u *usage) note(name string, offered bool) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.asked == nil {
		u.asked = map[string]bool{}
	}
	u.asked[name] = offered
}

// Asked returns the names of the operations that were called so far and that the document of the
// service does not show, in alphabetical order: those that the service offers, and those that it
// answered with 404, 405 or 501.
func (c *Client) Asked() (offered, absent []string) {
	c.usage.mu.Lock()
	defer c.usage.mu.Unlock()
	for _, name := range slices.Sorted(maps.Keys(c.usage.asked)) {
		if c.usage.asked[name] {
			offered = append(offered, name)
		} else {
			absent = append(absent, name)
		}
	}
	return offered, absent
}

// judged notes what an exchange tells about its operation. It marks the 404, 405 or 501 of an
// operation that is only assumed to exist as ErrNotOffered. The 404 of an unknown connection tells
// nothing about the operation.
func (c *Client) judged(o operations.Operation, err error) error {
	if o.Shown {
		return err
	}
	var e *messaging.Error
	if !errors.As(err, &e) {
		c.usage.note(o.Name, true)
		return err
	}
	switch {
	case e.Status == 0, e.Code == messaging.NotFound:
	case e.Status == http.StatusNotFound || e.Status == http.StatusMethodNotAllowed || e.Status == http.StatusNotImplemented:
		c.usage.note(o.Name, false)
		e.Err = messaging.ErrNotOffered
	default:
		c.usage.note(o.Name, true)
	}
	return err
}

// target returns the operation with this name, with id in its variable segment.
func (c *Client) target(name, id string) (operations.Operation, error) {
	o := c.routes[name]
	if strings.Contains(o.Path, "{") {
		if id == "" || id == "." || id == ".." || strings.ContainsAny(id, "/?#") {
			return o, fmt.Errorf("%s: %q is not an id", name, id)
		}
		o.Path = o.At(id)
	}
	return o, nil
}

// fields are the fields of a request. A field without a value is not sent.
type fields map[string]any

// query writes the fields as a query.
func (f fields) query() string {
	q := url.Values{}
	for name, v := range f {
		if text := fmt.Sprint(v); text != "" {
			q.Set(name, text)
		}
	}
	return q.Encode()
}

// set adds a text that is not empty.
func (f fields) set(name, text string) {
	if text != "" {
		f[name] = text
	}
}

// NotOffered reports whether err means that the service has no such operation.
func NotOffered(err error) bool { return errors.Is(err, messaging.ErrNotOffered) }
