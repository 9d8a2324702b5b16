package sandbox

import (
	"campaignd/internal/sandbox/area"
	"net/http"
	"strings"

	"campaignd/internal/operations"
)

// handler answers one operation. id is the variable segment of the path, or "".
type handler func(w http.ResponseWriter, r *http.Request, key *Key, id string)

// path is one path of the table, with the handlers of its methods.
type path struct {
	segments []string // a variable one begins with {
	methods  map[string]handler
}

// routes are the paths of the table of operations. A path without a variable segment comes before
// one with it, so that /templates/library is no template.
type routes struct {
	fixed map[string]*path
	open  []*path
}

// handlers are the operations by name. An operation of the table without a handler is not offered:
// its path is unknown.
func (s *Sandbox) handlers() map[string]handler {
	all := map[string]handler{
		"messages": func(w http.ResponseWriter, r *http.Request, key *Key, _ string) { s.send(w, r, key) },
	}
	for name, h := range s.areas.Handlers() {
		o, _ := operations.Named(name)
		all[name] = s.inArea(o, h)
	}
	if s.opt.HideNumbers {
		delete(all, "numbers")
		delete(all, "number")
	}
	return all
}

// newRoutes makes the routes of the operations that have a handler.
func newRoutes(handlers map[string]handler) routes {
	t := routes{fixed: map[string]*path{}}
	byPath := map[string]*path{}
	for _, o := range operations.All {
		h := handlers[o.Name]
		if h == nil {
			continue
		}
		p := byPath[o.Path]
		if p == nil {
			p = &path{segments: strings.Split(o.Path, "/"), methods: map[string]handler{}}
			byPath[o.Path] = p
			if strings.Contains(o.Path, "{") {
				t.open = append(t.open, p)
			} else {
				t.fixed[o.Path] = p
			}
		}
		p.methods[o.Method] = h
	}
	return t
}

// find returns the path of the table that a request names, and the value of its variable segment.
// It returns nil if there is none.
func (t *routes) find(request string) (_ *path, id string) {
	if p := t.fixed[request]; p != nil {
		return p, ""
	}
	parts := strings.Split(request, "/")
	for _, p := range t.open {
		if id, ok := p.match(parts); ok {
			return p, id
		}
	}
	return nil, ""
}

func (p *path) match(parts []string) (id string, _ bool) {
	if len(parts) != len(p.segments) {
		return "", false
	}
	for i, s := range p.segments {
		switch {
		case strings.HasPrefix(s, "{") && parts[i] != "":
			id = parts[i]
		case s != parts[i]:
			return "", false
		}
	}
	return id, true
}

// route calls the handler of an operation. The document's rule of billing comes before all others:
// a key of one company gets 403 there on every path, also if the company is suspended
// (docs/service.md#authentication).
func (s *Sandbox) route(w http.ResponseWriter, r *http.Request, key *Key, request string) {
	name := areaOf(request)
	switch {
	case key.Company != "" && name == "billing":
		refuse(w, &refuseBilling)
		return
	case key.Company != "" && s.suspended(s.company[key.Company]):
		refuse(w, &area.RefuseSuspended) // rule 10
		return
	case s.away(w, name):
		return
	}
	p, id := s.routes.find(request)
	if p == nil {
		refuse(w, &refusePath)
		return
	}
	h := p.methods[r.Method]
	if h == nil {
		refuse(w, &refuseMethod)
		return
	}
	h(w, r, key, id)
}
