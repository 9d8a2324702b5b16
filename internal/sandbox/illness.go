package sandbox

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"
)

// Page is an HTML page that comes in place of the service's answer, as from a firewall or a proxy
// in front of it. The page is about recipients: who gets it once gets it with every POST.
type Page struct {
	// Status is the HTTP status of the page, for example 200, 403 or 502. 0 means that no answer comes
	// until Faults.HangFor has passed or the client leaves.
	Status int `yaml:"status"`
	// Body replaces the HTML with JSON, for example {"data":{}}: an acceptance without an id.
	Body string `yaml:"body"`
	// Share is the share of the recipients, 0 to 1.
	Share float64 `yaml:"share"`
	// Phones are recipients that get the page besides those of Share.
	Phones []string `yaml:"phones"`
	// Connections limits the page to these. Default: all.
	Connections []string `yaml:"connections"`
	// Times limits the page to the first n POSTs of a pair; 0 means every POST.
	Times int `yaml:"times"`
	// Accepted means that the service accepts the message, and the page replaces its answer.
	Accepted bool `yaml:"accepted"`
}

// LaterFailure lets a share of the accepted messages fail by webhook.
type LaterFailure struct {
	Failure `yaml:",inline"`
	// Connections limits the failure to these. Default: all.
	Connections []string `yaml:"connections"`
}

// awayNames are the values of Faults.Away.
var awayNames = []string{"connections", "numbers", "templates", "media", "webhooks", "companies"}

func (f *Faults) validateIllnesses() error {
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
		if !slices.Contains(awayNames, name) {
			errs = append(errs, fmt.Errorf("sandbox: faults.away: %q is not one of %q", name, awayNames))
		}
	}
	return errors.Join(errs...)
}

// covered reports whether a fault that is limited to some connections is about this one.
func covered(connections []string, c *connection) bool {
	return len(connections) == 0 || slices.Contains(connections, c.ID)
}

// page returns the first page that is about the POST and counts it; nil: there is none. accepted
// tells the pages after the acceptance from those before it.
func (s *Sandbox) page(f *Faults, p *post, accepted bool) *Page {
	for i, g := range f.Pages {
		if g.Accepted != accepted || !covered(g.Connections, p.conn) || g.Times > 0 && p.nth > uint64(g.Times) {
			continue
		}
		named := slices.ContainsFunc(g.Phones, func(phone string) bool { n, _ := parsePhone(phone); return n == p.to })
		if !named && unit(s.hash(drawPage+purpose(i)<<16, p.to)) >= g.Share {
			continue
		}
		s.fired[faultPage].Add(1)
		return &g
	}
	return nil
}

// show answers with the page.
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

// failsLater returns what becomes of an accepted message because of Faults.FailLater, or because
// its account is not paid for. The caller holds s.mu.
func (s *Sandbox) failsLater(f *Faults, p *post, nth uint64) (life, bool) {
	if p.conn.company.account == "unpaid" {
		s.fired[faultFailLater].Add(1)
		return life{fate: FateFailed, code: 131042, noSent: true}, true
	}
	for _, l := range f.FailLater {
		if covered(l.Connections, p.conn) && unit(s.hash(drawFailLater+purpose(l.Code)<<16, p.to, nth)) < l.Share {
			s.fired[faultFailLater].Add(1)
			return life{fate: FateFailed, code: l.Code, after: l.After, noSent: true}, true
		}
	}
	return life{}, false
}

// away answers 503 in place of a management endpoint that Faults.Away names, and reports whether it
// did.
func (s *Sandbox) away(w http.ResponseWriter, name string) bool {
	if !slices.Contains(s.faults.Load().Away, name) {
		return false
	}
	s.fired[faultAway].Add(1)
	page(w, http.StatusServiceUnavailable)
	return true
}

// numberCodes are the states of a number that cannot send, with the platform code of the refusal.
var numberCodes = map[string]int{"restricted": 131048, "maintenance": 131057, "disconnected": 133010}

// illness is the platform's refusal because of the state of the account or of the number, or nil.
// The caller holds s.mu.
func (s *Sandbox) illness(c *connection) *refusal {
	if c.company.account == "locked" {
		return platformRefusal(131031, "")
	}
	if code := numberCodes[c.Status]; code != 0 {
		return platformRefusal(code, "")
	}
	return nil
}

// SetNumber changes the state of a connection's number to connected, restricted (refused with
// 131048), maintenance (131057) or disconnected (133010), and posts number.updated.
func (s *Sandbox) SetNumber(connection, status string) error {
	s.mu.Lock()
	pushed, err := s.setNumber(connection, status, time.Now())
	s.mu.Unlock()
	s.pushAll(pushed)
	return err
}

func (s *Sandbox) setNumber(id, status string, now time.Time) (pushed []int, _ error) {
	c := s.connection[id]
	if c == nil {
		return nil, fmt.Errorf("sandbox: no connection %q", id)
	}
	if status != "connected" && numberCodes[status] == 0 {
		return nil, fmt.Errorf("sandbox: number status %q is not connected, restricted, maintenance or disconnected", status)
	}
	c.Status = status
	data := fmt.Appendf(nil, `{"phoneNumber":%q,"status":%q}`, formatPhone(c.phone), status)
	value := fmt.Appendf(nil, `{"display_phone_number":"%d","event":%q}`, c.phone, strings.ToUpper(status))
	return []int{s.addExtra(&extra{
		typ: "number.updated", company: c.Company, conn: c, at: now,
		data: data, field: "phone_number_quality_update", value: value,
	})}, nil
}

// SetAccount changes the state of a company's business account at the platform to active, locked
// (refused with 131031) or unpaid (accepted, then failed with 131042), and posts account.updated.
func (s *Sandbox) SetAccount(company, status string) error {
	s.mu.Lock()
	pushed, err := s.setAccount(company, status, time.Now())
	s.mu.Unlock()
	s.pushAll(pushed)
	return err
}

func (s *Sandbox) setAccount(id, status string, now time.Time) (pushed []int, _ error) {
	c := s.company[id]
	if c == nil {
		return nil, fmt.Errorf("sandbox: no company %q", id)
	}
	state := "DISABLE"
	switch status {
	case "active":
		state = "REINSTATE"
	case "locked", "unpaid":
	default:
		return nil, fmt.Errorf("sandbox: account status %q is not active, locked or unpaid", status)
	}
	c.account = status
	data := fmt.Appendf(nil, `{"accountId":"%d","status":%q}`, s.accountID(id), status)
	value := fmt.Appendf(nil, `{"event":"DISABLED_UPDATE","ban_info":{"waba_ban_state":%q}}`, state)
	return []int{s.addExtra(&extra{
		typ: "account.updated", company: id, conn: s.firstOf(c), at: now, data: data, field: "account_update", value: value,
	})}, nil
}

// firstOf returns a connection of the company, for an event that is about none in particular.
func (s *Sandbox) firstOf(c *company) *connection {
	for _, conn := range s.connections {
		if conn.company == c {
			return conn
		}
	}
	return nil
}

// SetAllowance lets the plan accept so many more messages this month; a negative number means
// unlimited. company is a client with a plan of its own; "" means the plan of the account.
func (s *Sandbox) SetAllowance(company string, messages int64) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.setAllowance(company, messages, time.Now())
}

func (s *Sandbox) setAllowance(company string, messages int64, now time.Time) error {
	p := s.plan
	if company != "" {
		c := s.company[company]
		if c == nil || c.plan == s.plan {
			return fmt.Errorf("sandbox: company %q has no plan of its own", company)
		}
		p = c.plan
	}
	p.left(now) // begins the new month, if there is one
	switch p.limit = p.used + messages; {
	case messages < 0:
		p.limit = 0
	case p.limit == 0: // 0 would mean unlimited
		p.limit = -1
	}
	return nil
}
