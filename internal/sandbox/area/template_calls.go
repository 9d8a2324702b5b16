package area

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"
)

// templateHandlers are the operations of templates.
func (a *Areas) templateHandlers() map[string]Handler {
	return map[string]Handler{
		"templates":          a.listTemplates,
		"template":           shows(a.ownTemplate, func(r *Record) Template { return *r.known }),
		"template_create":    take(a.createTemplate),
		"template_edit":      take(a.editTemplate),
		"template_delete":    a.deleteTemplate,
		"template_sync":      a.syncTemplates,
		"template_library":   a.listLibrary,
		"template_analytics": a.templateDays,
	}
}

func (a *Areas) listTemplates(c *Call) (any, *Refusal) {
	company, rows := c.wanted(), []Template{}
	for _, r := range a.templates.all {
		if r.known != nil && (company == "" || r.Company == company) {
			rows = append(rows, *r.known)
		}
	}
	return list(rows), nil
}

// newTemplate is the body of template_create.
type newTemplate struct {
	Name        string      `json:"name"`
	Language    string      `json:"language"`
	Category    string      `json:"category"`
	Components  []Component `json:"components"`
	LibraryName string      `json:"libraryName"`
}

func (a *Areas) createTemplate(c *Call, in newTemplate) (any, *Refusal) {
	company := c.Connection.Company
	switch {
	case in.Name == "" || in.Language == "" || in.Category == "":
		return nil, missing("name, language and category are required.")
	case in.LibraryName == "" && in.Components == nil:
		return nil, missing("components or libraryName is required.")
	case in.LibraryName != "" && in.Components != nil:
		return nil, invalid("components and libraryName exclude each other.")
	}
	r := &Record{Company: company, number: a.templates.made}
	a.templates.made++
	r.Name, r.Language, r.Category, r.Status, r.Components = in.Name, in.Language, in.Category, "PENDING", in.Components
	if in.LibraryName != "" {
		i := slices.IndexFunc(library, func(t Template) bool { return t.Name == in.LibraryName && t.Language == in.Language })
		if i < 0 {
			return nil, notFound("template of the library in this language")
		}
		r.Category, r.Components, r.Status = library[i].Category, library[i].Components, "APPROVED"
	}
	if ref := judgeName(r.Name, r.Language, r.Category); ref != nil {
		return nil, ref
	}
	if r.Category == "AUTHENTICATION" && !a.companies[company].verified() {
		return nil, &Refusal{403, "business_not_verified", "AUTHENTICATION templates need the operator's business verification.", nil}
	}
	if in.LibraryName == "" {
		if ref := a.judge(&r.Template, company, c.Now); ref != nil {
			return nil, ref
		}
	}
	switch other := a.templates.byName[[3]string{r.Name, r.Language, company}]; {
	case other != nil && !other.gone:
		return nil, conflict("template_exists", "A template with this name and language exists.")
	case a.nameBlocked(r.Name, company, c.Now):
		return nil, conflict("template_name_blocked", "An approved template with this name was deleted less than 30 days ago.")
	case a.templates.of[company] >= a.mostTemplates(company):
		return nil, refuseTemplate(codeTooMany, fmt.Sprintf("The client has %d templates, the most allowed.", a.templates.of[company]))
	case other != nil:
		a.dropTemplate(other)
	}
	r.ID = a.serial("tpl", func(id string) bool { return a.templates.byID[id] != nil })
	a.keepTemplate(r)
	r.learn()
	if r.Status == "PENDING" {
		a.review(r, c.Now)
	} else {
		a.tell(r, r.Status, "NONE")
	}
	return *r.known, nil
}

// templateEdit is the body of template_edit.
type templateEdit struct {
	Components []Component `json:"components"`
	Category   *string     `json:"category"`
}

func (a *Areas) editTemplate(c *Call, in templateEdit) (any, *Refusal) {
	r, ref := a.ownTemplate(c)
	if ref != nil {
		return nil, ref
	}
	if ref := a.writable(r.Company); ref != nil {
		return nil, ref
	}
	if in.Components == nil && in.Category == nil {
		return nil, missing("components or category is required.")
	}
	next := r.Template
	if in.Components != nil {
		next.Components = in.Components
	}
	if in.Category != nil {
		next.Category = *in.Category
	}
	switch {
	case r.gone || r.Status != "APPROVED" && r.Status != "REJECTED" && r.Status != "PAUSED":
		return nil, conflict("template_not_editable", "The template is "+strings.ToLower(r.Status)+".")
	case r.Status == "APPROVED" && next.Category != r.Category:
		return nil, conflict("template_not_editable", "The category of an approved template cannot be changed.")
	}
	if r.Status == "APPROVED" {
		r.edits = slices.DeleteFunc(r.edits, func(at time.Time) bool { return c.Now.Sub(at) >= month })
		last := len(r.edits) - 1
		switch {
		case last >= 0 && c.Now.Sub(r.edits[last]) < 24*time.Hour:
			return nil, conflict("template_edit_limit", "An approved template is edited once in 24 hours.")
		case len(r.edits) >= editsOf30Days:
			return nil, conflict("template_edit_limit", "An approved template is edited 10 times in 30 days.")
		}
	}
	if ref := judgeName(next.Name, next.Language, next.Category); ref != nil {
		return nil, ref
	}
	if next.Category == "AUTHENTICATION" && !a.companies[r.Company].verified() {
		return nil, &Refusal{403, "business_not_verified", "AUTHENTICATION templates need the operator's business verification.", nil}
	}
	if ref := a.judge(&next, r.Company, c.Now); ref != nil {
		return nil, ref
	}
	if r.Status == "APPROVED" {
		r.edits = append(r.edits, c.Now)
	}
	next.Status, next.Reason = "PENDING", ""
	r.Template = next
	r.compile()
	r.learn()
	a.review(r, c.Now)
	return *r.known, nil
}

func (a *Areas) deleteTemplate(c *Call) (any, *Refusal) {
	r, ref := a.ownTemplate(c)
	if ref != nil {
		return nil, ref
	}
	if ref := a.writable(r.Company); ref != nil {
		return nil, ref
	}
	if r.Status == "DISABLED" {
		return nil, conflict("template_not_deletable", "A disabled template cannot be deleted.")
	}
	a.remove(r, c.Now)
	a.tell(r, "DELETED", "NONE")
	a.dropTemplate(r)
	return nil, nil
}

// remove deletes a template at the platform. An approved name is then blocked for 30 days.
func (a *Areas) remove(r *Record, now time.Time) {
	if r.Status == "APPROVED" {
		a.templates.blocked[[2]string{r.Name, r.Company}] = now.Add(month)
	}
	r.gone = true
	r.reviews++
}

// syncTemplates makes the service know what the platform has.
func (a *Areas) syncTemplates(c *Call) (any, *Refusal) {
	var none struct{}
	if ref := decode(c.Body, &none); ref != nil {
		return nil, ref
	}
	out := struct {
		Added   int `json:"added"`
		Updated int `json:"updated"`
		Removed int `json:"removed"`
	}{}
	for _, r := range slices.Clone(a.templates.all) {
		switch {
		case r.Company != c.Connection.Company:
		case r.gone:
			out.Removed++
			a.dropTemplate(r)
		case r.known == nil:
			out.Added++
			r.learn()
		case r.known.Status != r.Status || r.known.Category != r.Category || r.known.Reason != r.Reason:
			out.Updated++
			r.learn()
		}
	}
	return out, nil
}

// templateDays are the statuses of a template by day.
func (a *Areas) templateDays(c *Call) (any, *Refusal) {
	r, ref := a.ownTemplate(c)
	if ref != nil {
		return nil, ref
	}
	start, end, ref := c.days(90)
	if ref != nil {
		return nil, ref
	}
	type day struct {
		Date      string `json:"date"`
		Sent      int    `json:"sent"`
		Delivered int    `json:"delivered"`
		Read      int    `json:"read"`
	}
	rows := []*day{}
	byDate := map[string]*day{}
	for at := start; !at.After(end); at = at.AddDate(0, 0, 1) {
		d := &day{Date: at.Format(time.DateOnly)}
		rows, byDate[d.Date] = append(rows, d), d
	}
	a.Statuses(func(s Status) {
		d := byDate[s.At.UTC().Format(time.DateOnly)]
		if s.Template != r || d == nil {
			return
		}
		switch s.Name {
		case "sent":
			d.Sent++
		case "delivered":
			d.Delivered++
		case "read":
			d.Read++
		}
	})
	return list(rows), nil
}

// quoted is a text as JSON.
func quoted(text string) []byte {
	raw, err := json.Marshal(text)
	if err != nil {
		panic(err) // a string is always JSON
	}
	return raw
}
