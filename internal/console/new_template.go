package console

import (
	"cmp"
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"campaignd/campaign/file"
	"campaignd/internal/client/resource"
	"campaignd/internal/messaging"
	"campaignd/internal/operator"
	"campaignd/recipients"
)

// templatesView is the search over the templates of a number.
type templatesView struct {
	Numbers    []resource.Number
	Connection string // "": nothing was searched
	Find       string
	State      string // of the templates; "": all
	States     []string
	Found      []foundTemplate
	Total      int64  // templates that the search found
	Next       string // the address of the next page; "": there is none
	Fault      string
}

// foundTemplate is a template with why it cannot be chosen; "": it can.
type foundTemplate struct {
	messaging.TemplateRecord
	Text, Not string
}

// templatesShown is the most templates of a page.
const templatesShown = 50

// approved is the status of a template that can be sent.
const approved = "APPROVED"

// notSent says why a template of a status cannot be sent.
var notSent = map[string]string{
	"PAUSED":   "The platform paused it, because people blocked or reported it. It is sent again when the platform ends the pause.",
	"DISABLED": "The platform disabled it, because people blocked or reported it again and again.",
	"REJECTED": "The platform rejected it.",
	"PENDING":  "The platform has not approved it yet.",
}

func whyNot(t *messaging.TemplateRecord) string {
	if t.Status == approved {
		return ""
	}
	why := cmp.Or(notSent[t.Status], "The platform has not approved it.")
	if t.Reason != "" && t.Reason != "NONE" {
		why += " Its reason: " + sentence(word(t.Reason))
	}
	return why
}

// templates searches. The service is asked only when a number was chosen, so that the page of a new
// campaign does not wait for it.
func templates(v *visit) (out templatesView) {
	q := v.r.URL.Query()
	out = templatesView{Connection: q.Get("connection"), Find: strings.TrimSpace(q.Get("find")), State: q.Get("state"),
		States: []string{approved, "PAUSED", "REJECTED", "DISABLED", "PENDING"}}
	failed := func(err error) templatesView {
		p := problemOf(v.ctx, err)
		if p == nil {
			p = &problem{http.StatusServiceUnavailable, "The templates cannot be listed now. Try again in a moment."}
		}
		out.Fault = p.sentence
		return out
	}
	var err error
	if out.Numbers, err = v.process.NumbersOf(v.r.Context(), v.d); err != nil {
		return failed(err)
	}
	if out.Connection == "" {
		return out
	}
	all, err := v.d.Templates(v.r.Context(), out.Connection)
	if err != nil {
		return failed(err)
	}
	for i := range all {
		t := &all[i]
		text := strings.Join(strings.Fields(t.Component("BODY").Text), " ")
		if out.State != "" && t.Status != out.State || !strings.Contains(strings.ToLower(t.Name+" "+text), strings.ToLower(out.Find)) {
			continue
		}
		out.Found = append(out.Found, foundTemplate{*t, text, whyNot(t)})
	}
	slices.SortStableFunc(out.Found, func(a, b foundTemplate) int {
		return cmp.Or(strings.Compare(a.Name, b.Name), strings.Compare(a.Language, b.Language))
	})
	total := len(out.Found)
	out.Total = int64(total)
	from, _ := strconv.Atoi(q.Get("after")) // a wrong one is the first page
	from = min(max(from, 0), total)
	to := min(from+templatesShown, total)
	if to < total {
		next := url.Values{"connection": {out.Connection}, "find": {out.Find}, "state": {out.State}, "after": {strconv.Itoa(to)}}
		out.Next = "/console/new?" + next.Encode() + "#templates"
	}
	out.Found = out.Found[from:to]
	return out
}

// templateFile is a campaign of a template, whose list has a column for each value.
func (v *visit) templateFile(folder []operator.File) (operator.File, error) {
	connection, name, language := v.form.Get("connection"), v.form.Get("template"), v.form.Get("language")
	all, err := v.d.Templates(v.r.Context(), connection)
	if err != nil {
		return operator.File{}, err
	}
	at := slices.IndexFunc(all, func(t messaging.TemplateRecord) bool { return t.Name == name && t.Language == language })
	if at < 0 {
		return operator.File{}, &problem{http.StatusNotFound, "The service does not list this template any more. Search again."}
	}
	if why := whyNot(&all[at]); why != "" {
		return operator.File{}, &problem{http.StatusConflict, "This template cannot be sent now. " + why}
	}
	d := file.Draft{Name: name, Template: name, Language: language, Record: &all[at], Connection: connection, Linked: true,
		List: recipients.Sketch{To: []string{"phone"}}}
	if slices.ContainsFunc(folder, func(f operator.File) bool { return f.Definition != nil && f.Definition.Name == name }) {
		d.Name += "_console" // the folder's campaign of that name stays another one
	}
	source := []byte(d.YAML())
	definition, err := file.Parse(d.Name+".yaml", source)
	if bad := (*file.Error)(nil); errors.As(err, &bad) {
		return operator.File{}, &problem{http.StatusConflict, "A campaign of this template needs a file. " + sentence(bad.Findings[0].What)}
	}
	return operator.File{Source: source, Definition: definition}, err
}
