package area

import (
	"cmp"
	"iter"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Figures of the platform (docs/service.md#assumed-operations).
const (
	unverifiedTemplates = 250
	verifiedTemplates   = 6000
	editsOf30Days       = 10
	month               = 30 * 24 * time.Hour
)

// Review says how the operator reviews new and edited templates.
type Review struct {
	// After is how long a review lasts. Default 2 s.
	After time.Duration `yaml:"after"`
	// Reject are the reasons by the name of the template. The first review of such a template rejects
	// it; after an edit it is approved.
	Reject map[string]string `yaml:"reject"`
	// Category are the categories that the review gives, by the name of the template.
	Category map[string]string `yaml:"category"`
}

// templates are the templates of all clients.
type templates struct {
	all     []*Record
	byID    map[string]*Record
	byName  map[[3]string]*Record   // by name, language and company
	of      map[string]int          // number of templates, by company
	blocked map[[2]string]time.Time // until when a name may not be used, by name and company
	made    int                     // the number of the next record
}

// fillTemplates makes the records of the scenario: one for each client that has the template.
func (a *Areas) fillTemplates() {
	s := &a.templates
	s.byID, s.byName, s.of, s.blocked = map[string]*Record{}, map[[3]string]*Record{}, map[string]int{}, map[[2]string]time.Time{}
	// The company of the first connection comes first: its templates keep the ids of the scenario.
	var companies []*Company
	listed := map[*Company]bool{}
	add := func(c *Company) {
		if !listed[c] {
			listed[c] = true
			companies = append(companies, c)
		}
	}
	for _, c := range a.Connections {
		add(a.companies[c.Company])
	}
	for _, c := range a.Companies {
		add(c)
	}
	s.made = len(a.Templates) * len(companies) // the numbers below are smaller
	for i, t := range a.Templates {
		if t.ID == "" {
			t.ID = "tpl_" + strconv.Itoa(i+1)
		}
		t.Status = cmp.Or(t.Status, "approved")
		t.Category = cmp.Or(t.Category, "MARKETING")
		t.Status, t.Category = strings.ToUpper(t.Status), strings.ToUpper(t.Category)
		if t.Components == nil {
			t.Components = []Component{}
		}
		first := t.ID
		for nth, c := range companies {
			if len(t.Companies) > 0 && !slices.Contains(t.Companies, c.ID) {
				continue
			}
			r := &Record{Template: t, Company: c.ID, number: i + nth*len(a.Templates)}
			if s.byID[first] != nil {
				r.ID = first + "_" + c.ID
			}
			if r.Category == "AUTHENTICATION" && !c.verified() {
				// The operator approves no such template without the verification.
				r.Status, r.Reason = "REJECTED", "BUSINESS_NOT_VERIFIED"
			}
			a.keepTemplate(r)
			if !t.Silent {
				r.learn()
			}
		}
	}
}

// keepTemplate adds a record.
func (a *Areas) keepTemplate(r *Record) {
	s := &a.templates
	r.compile()
	s.all = append(s.all, r)
	s.byID[r.ID] = r
	s.byName[[3]string{r.Name, r.Language, r.Company}] = r
	s.of[r.Company]++
}

// dropTemplate removes a record.
func (a *Areas) dropTemplate(r *Record) {
	s := &a.templates
	s.all = slices.DeleteFunc(s.all, func(other *Record) bool { return other == r })
	delete(s.byID, r.ID)
	key := [3]string{r.Name, r.Language, r.Company}
	if s.byName[key] == r {
		delete(s.byName, key)
	}
	s.of[r.Company]--
}

// learn makes the service know what the platform has.
func (r *Record) learn() {
	t := r.Template
	r.known = &t
}

// Template finds a company's template for a send, or returns nil. It returns no template that is
// deleted at the platform.
func (a *Areas) Template(name, language, company string) *Record {
	r := a.templates.byName[[3]string{name, language, company}]
	if r == nil || r.gone {
		return nil
	}
	return r
}

// TemplatesOf yields the templates of a company, as the platform has them.
func (a *Areas) TemplatesOf(company string) iter.Seq[*Record] {
	return func(yield func(*Record) bool) {
		for _, r := range a.templates.all {
			if r.Company == company && !r.gone && !yield(r) {
				return
			}
		}
	}
}

// ownTemplate finds the record of a path that the key reaches and the service knows.
func (a *Areas) ownTemplate(c *Call) (*Record, *Refusal) {
	r := a.templates.byID[c.ID]
	if r == nil || r.known == nil || !c.Key.Covers(r.Company) {
		return nil, notFound("template")
	}
	return r, nil
}

// nameBlocked reports whether a deleted approved template had the name in the last 30 days. It
// forgets the names that are free again.
func (a *Areas) nameBlocked(name, company string, now time.Time) bool {
	for key, until := range a.templates.blocked {
		if !now.Before(until) {
			delete(a.templates.blocked, key)
		}
	}
	_, blocked := a.templates.blocked[[2]string{name, company}]
	return blocked
}

// mostTemplates is the number of templates that a client may have.
func (a *Areas) mostTemplates(company string) int {
	if a.companies[company].verified() {
		return verifiedTemplates
	}
	return unverifiedTemplates
}
