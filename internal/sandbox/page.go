package sandbox

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"campaignd/internal/operations"
	"campaignd/internal/sandbox/draw"
)

// Page is an HTML page that comes instead of the service's answer, as from a firewall or a proxy in
// front of it. It is drawn for each recipient: if one POST to a recipient gets the page, every POST
// to this recipient gets it, unless Connections or Times limits it.
type Page struct {
	// Status is the HTTP status of the page, for example 200, 403 or 502. 0 means that no answer comes
	// until Faults.HangFor has passed or the client leaves.
	Status int `yaml:"status"`
	// Body replaces the HTML with JSON, for example {"data":{}}: an acceptance without an id.
	Body string `yaml:"body"`
	// Share is the share of the recipients that get the page, 0 to 1.
	Share float64 `yaml:"share"`
	// Phones are recipients that get the page besides the recipients of Share.
	Phones []string `yaml:"phones"`
	// Connections limits the page to the connections with these ids. Default: all.
	Connections []string `yaml:"connections"`
	// Times limits the page to this number of POSTs, the first ones of each pair of connection and
	// recipient. 0 means every POST.
	Times int `yaml:"times"`
	// Accepted means that the service accepts the message, and the page replaces its answer.
	Accepted bool `yaml:"accepted"`
}

// LaterFailure lets a share of the accepted messages fail by webhook.
type LaterFailure struct {
	Failure `yaml:",inline"`
	// Connections limits the failure to the connections with these ids. Default: all.
	Connections []string `yaml:"connections"`
}

// awayNames returns the values of Faults.Away: the first segment of each path, without messages.
func awayNames() (names []string) {
	for _, o := range operations.All {
		name := areaOf(o.Path)
		if name != "messages" && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names
}

// areaOf is the first segment of a path after the prefix, such as templates.
func areaOf(path string) string {
	name, _, _ := strings.Cut(strings.TrimPrefix(path, operations.Prefix+"/"), "/")
	return name
}

// validatePages checks Pages, FailLater and Away.
func (f *Faults) validatePages() error {
	var errs []error
	for i, p := range f.Pages {
		if p.Status != 0 && (p.Status < 200 || p.Status > 599 || p.Status/100 == 3) || p.Share < 0 || p.Share > 1 || p.Times < 0 {
			errs = append(errs, fmt.Errorf("sandbox: faults.pages[%d]: needs a status (0, 2xx, 4xx or 5xx) and a share between 0 and 1", i))
		}
		for _, phone := range p.Phones {
			if n, _ := parsePhone(phone); n == 0 {
				errs = append(errs, fmt.Errorf("sandbox: faults.pages[%d]: phone %q is not a phone number", i, phone))
			}
		}
	}
	for i, l := range f.FailLater {
		if l.Share < 0 || l.Share > 1 || l.Code <= 0 {
			errs = append(errs, fmt.Errorf("sandbox: faults.fail_later[%d]: needs a code and a share between 0 and 1", i))
		}
	}
	for _, name := range f.Away {
		if known := awayNames(); !slices.Contains(known, name) {
			errs = append(errs, fmt.Errorf("sandbox: faults.away: %q is not one of %q", name, known))
		}
	}
	return errors.Join(errs...)
}

// covered reports whether a fault that is limited to connections applies to c. An empty list means
// no limit.
func covered(connections []string, c *connection) bool {
	return len(connections) == 0 || slices.Contains(connections, c.ID)
}

// page returns the first page that applies to the POST and counts it, or returns nil. It considers
// only the pages whose Accepted equals accepted.
func (s *Sandbox) page(f *Faults, p *post, accepted bool) *Page {
	for i, g := range f.Pages {
		if g.Accepted != accepted || !covered(g.Connections, p.conn) || g.Times > 0 && p.nth > uint64(g.Times) {
			continue
		}
		named := slices.ContainsFunc(g.Phones, func(phone string) bool { n, _ := parsePhone(phone); return n == p.to })
		if !named && draw.Unit(s.hash(drawPage+purpose(i)<<16, p.to)) >= g.Share {
			continue
		}
		s.fired[faultPage].Add(1)
		return &g
	}
	return nil
}

// show answers with the page, or hangs if the page has no status.
func (s *Sandbox) show(w http.ResponseWriter, r *http.Request, f *Faults, g *Page) {
	switch {
	case g.Status == 0:
		s.hang(r, f)
	case g.Body != "":
		writeRaw(w, g.Status, "application/json", []byte(g.Body))
	default:
		page(w, g.Status)
	}
}

func page(w http.ResponseWriter, status int) {
	writeRaw(w, status, "text/html", fmt.Appendf(nil, "<html><head><title>%d %s</title></head></html>", status, http.StatusText(status)))
}

// failsLater returns the life of an accepted message that fails because of Faults.FailLater, or
// because the account of its company is unpaid. It returns false for any other message. The caller
// holds s.mu.
func (s *Sandbox) failsLater(f *Faults, p *post, nth uint64) (life, bool) {
	if p.conn.company.account == "unpaid" {
		s.fired[faultFailLater].Add(1)
		return life{fate: FateFailed, code: 131042, noSent: true}, true
	}
	for _, l := range f.FailLater {
		if covered(l.Connections, p.conn) && draw.Unit(s.hash(drawFailLater+purpose(l.Code)<<16, p.to, nth)) < l.Share {
			s.fired[faultFailLater].Add(1)
			return life{fate: FateFailed, code: l.Code, after: l.After, noSent: true}, true
		}
	}
	return life{}, false
}

// away answers 503 instead of a management endpoint that Faults.Away names, and reports whether it
// did.
func (s *Sandbox) away(w http.ResponseWriter, name string) bool {
	if !slices.Contains(s.faults.Load().Away, name) {
		return false
	}
	s.fired[faultAway].Add(1)
	page(w, http.StatusServiceUnavailable)
	return true
}
