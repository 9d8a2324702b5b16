package file

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"campaignd/internal/messaging"
	"campaignd/internal/sentence"
)

// sayer takes one finding of a check. path is the member of the campaign file that it is about.
type sayer func(kind Kind, path, what, remedy string)

// FindTemplate returns the template that the campaign uses, from those of a connection's account.
// If there is none, it says why and returns nil.
func FindTemplate(use *TemplateUse, all []messaging.TemplateRecord, connection string, say sayer) *messaging.TemplateRecord {
	var names, languages []string
	for i := range all {
		t := &all[i]
		if t.Name != use.Name {
			names = append(names, t.Name)
			continue
		}
		if t.Language == messaging.FoldLanguage(use.Language) {
			return t
		}
		languages = append(languages, t.Language)
	}
	slices.Sort(names)
	names = slices.Compact(names)
	path, what, remedy := "template.name", fmt.Sprintf("the service lists no template %q on connection %s", use.Name, connection),
		"create it at the service and wait for its approval"
	switch {
	case len(languages) > 0:
		path, what = "template.language", fmt.Sprintf("the service lists template %q, but not in %s, on connection %s",
			use.Name, use.Language, connection)
		remedy = "it lists it in " + strings.Join(languages, ", ")
	case sentence.Nearest(use.Name, names) != "":
		remedy = sentence.DidYouMean(use.Name, names)
	}
	say(KindTemplate, path, what+"; its variables are not checked, and if it does not exist, its messages are refused and it is held", remedy)
	return nil
}

// CheckRecord compares what the campaign fills with the service's template
// (docs/service.md#templates). Without components in the record, only its status and category are
// checked.
func CheckRecord(use *TemplateUse, t *messaging.TemplateRecord, connection string, say sayer) {
	if t.Status != "APPROVED" {
		say(Fault, "template.name",
			fmt.Sprintf("template %q is %s on connection %s; only approved templates can be sent",
				use.Name, cmp.Or(strings.ToLower(t.Status), "unknown"), connection),
			"wait for its approval, or repair it at the service")
	}
	if use.Category != "" && t.Category != "" && use.Category != t.Category {
		say(KindTemplate, "template.category",
			fmt.Sprintf("the service says %s for this template on connection %s; that counts", t.Category, connection),
			"correct or remove template.category")
	}
	if len(t.Components) == 0 {
		return
	}
	for _, c := range t.Components {
		switch c.Type {
		case "", "HEADER", "BODY", "FOOTER", "BUTTONS":
		case "CAROUSEL":
			unfillable("part "+c.Type, say)
		default:
			unknownPart("part "+c.Type, say)
		}
	}
	checkBody(use, t, say)
	checkRecordHeader(use, t.Component("HEADER"), say)
	checkRecordButtons(use, t.Component("BUTTONS").Buttons, say)
	checkOtherButtons(t.Component("BUTTONS").Buttons, say)
}

// unfillable refuses a template with something that each message has to fill and that neither the
// service's document nor a campaign file shows how to.
func unfillable(what string, say sayer) {
	say(Fault, "template.name", "the template has a "+what+", which the service's document shows no way to fill",
		"use a template without it")
}

// unknownPart warns of something that may need a value. A limited-time offer needs one if it
// expires.
func unknownPart(what string, say sayer) {
	say(KindTemplate, "template.name",
		"the template has a "+what+", which campaignd does not fill; if it needs a value, its messages are refused",
		"send one with `campaignd test` first")
}

// checkOtherButtons judges the buttons that a campaign file cannot name, once for each type.
func checkOtherButtons(record []messaging.ComponentButton, say sayer) {
	seen := map[string]bool{}
	for _, b := range record {
		if seen[b.Type] || slices.Contains(buttonTypes(), strings.ToLower(b.Type)) {
			continue
		}
		seen[b.Type] = true
		switch b.Type {
		case "", "PHONE_NUMBER":
		case "MPM", "SPM", "ORDER_DETAILS":
			unfillable("button of type "+b.Type, say)
		default:
			unknownPart("button of type "+b.Type, say)
		}
	}
}

func checkBody(use *TemplateUse, t *messaging.TemplateRecord, say sayer) {
	body := t.Component("BODY")
	vars := body.Variables()
	if use.OTP != "" && len(use.Body) == 0 {
		return // otp fills both the body and the button (docs/service.md#templates)
	}
	if len(vars) != len(use.Body) {
		say(Fault, "template.body",
			fmt.Sprintf("the body of the template has %s, and %s filled", sentence.Count(len(vars), "variable", "variables"),
				sentence.Count(len(use.Body), "is", "are")),
			fmt.Sprintf("its text: %q", sentence.Shorten(body.Text, 200)))
		return
	}
	for _, v := range vars {
		if v[0] < '0' || v[0] > '9' {
			say(KindTemplate, "template.body",
				fmt.Sprintf("the template has named variables (%s); "+
					"the service's document shows only positions, so they are filled in the order of the text", strings.Join(vars, ", ")),
				"send one with `campaignd test` first")
			return
		}
	}
}

// CheckOrder compares the named variables of the body in the templates of two connections'
// accounts. One list of values fills both in the order of their texts, so a name that both have
// must be at the same place.
func CheckOrder(a, b *messaging.TemplateRecord, first, second string, say sayer) {
	one, other := a.Component("BODY").Variables(), b.Component("BODY").Variables()
	for i, v := range one {
		if at := slices.Index(other, v); at >= 0 && at != i && (v[0] < '0' || v[0] > '9') {
			say(Fault, "template.body",
				fmt.Sprintf("the body of the template has its variables in another order on connection %s (%s) than on %s (%s), "+
					"so its values would be exchanged", second, strings.Join(other, ", "), first, strings.Join(one, ", ")),
				"give both accounts the same text, or send over them with two campaigns")
			return
		}
	}
}

func checkRecordHeader(use *TemplateUse, h messaging.Component, say sayer) {
	kind, media := use.Header.Media()
	switch h.Format {
	case "IMAGE", "VIDEO", "DOCUMENT":
		if media == nil {
			say(Fault, "template",
				fmt.Sprintf("the template has a header of type %s and the campaign gives none", strings.ToLower(h.Format)),
				fmt.Sprintf("add header: {%s: {file: ...}}", strings.ToLower(h.Format)))
		} else if kind != strings.ToLower(h.Format) {
			say(Fault, "template.header."+kind, fmt.Sprintf("the template's header is of type %s", strings.ToLower(h.Format)), "give that")
		} else if isSample(media.Link, h.Example.HeaderHandle) {
			say(Fault, "template.header."+kind+".link", "the link is the template's own sample, which the platform does not fetch for a message",
				"give a public link to a file of your own, or file: with its path")
		}
		return
	case "LOCATION", "PRODUCT":
		unfillable(strings.ToLower(h.Format)+" header", say)
		return
	case "TEXT":
		if n := len(h.Variables()); n > 0 {
			say(Fault, "template.name",
				"the template's text header has a variable, which the service's document shows no way to fill",
				"use a template whose header has none")
			return
		}
	}
	if media != nil {
		say(Fault, "template.header", "the template has no media header", "remove header")
	}
}

// sampleHost is where the platform keeps the samples of headers
// (docs/service.md#templates).
const sampleHost = "scontent.whatsapp.net"

// isSample reports whether a link is one of the samples of a template's header. Each listing signs
// their addresses anew, so what follows the path is not compared.
func isSample(link string, samples []string) bool {
	path := func(s string) string {
		s, _, _ = strings.Cut(s, "#")
		s, _, _ = strings.Cut(s, "?")
		return s
	}
	host, _, _ := strings.Cut(strings.TrimPrefix(path(link), "https://"), "/")
	return link != "" && (strings.EqualFold(host, sampleHost) ||
		slices.ContainsFunc(samples, func(s string) bool { return strings.EqualFold(path(s), path(link)) }))
}

// checkRecordButtons compares how many dynamic buttons the template has with how many the campaign
// fills. A fixed button (phone number, url without a variable) takes no value.
func checkRecordButtons(use *TemplateUse, record []messaging.ComponentButton, say sayer) {
	has, given := map[string]int{}, map[string]int{}
	for _, b := range record {
		switch {
		case b.Type == "URL" && len(b.Variables()) > 0:
			has["url"]++
		case b.Type == "URL":
		default:
			has[strings.ToLower(b.Type)]++
		}
	}
	for _, b := range use.Buttons {
		given[b.Type]++
	}
	if use.OTP != "" {
		given["otp"]++
	}
	for _, kind := range buttonTypes() {
		buttons, filled := sentence.Count(has[kind], "button", "buttons"), sentence.Count(given[kind], "is", "are")
		switch {
		case given[kind] > has[kind] && kind == "url":
			say(Fault, "template.buttons",
				fmt.Sprintf("the template has %s of type url with a variable, and %s filled", buttons, filled),
				"an address without a variable takes no value")
		case given[kind] > has[kind] && (kind != "otp" || len(record) > 0):
			say(Fault, "template.buttons",
				fmt.Sprintf("the template has %s of type %s, and %s filled", buttons, kind, filled),
				"")
		case given[kind] < has[kind] && kind != "quick_reply": // a quick reply without a payload answers with its label
			say(Fault, "template.buttons",
				fmt.Sprintf("the template has %s of type %s with a variable, and %s filled", buttons, kind, filled),
				fmt.Sprintf("add {type: %s, text: ...}", kind))
		}
	}
	if len(use.Buttons) > 1 {
		say(KindTemplate, "template.buttons",
			"several buttons are filled; the service's document does not say how it numbers them, so they are sent in the order given",
			"send one with `campaignd test` first")
	}
}

// HydrateFrom gives the renderer the fixed texts of the template.
func (r *Renderer) HydrateFrom(d *Definition, t *messaging.TemplateRecord) {
	r.Hydrate(t.Component("BODY").Text, buttonAddresses(d, t))
}

// buttonAddresses returns the address that the template has for each button of the campaign; "" for
// one of another type.
func buttonAddresses(d *Definition, t *messaging.TemplateRecord) []string {
	var addresses []string
	for _, b := range t.Component("BUTTONS").Buttons {
		if b.Type == "URL" && len(b.Variables()) > 0 {
			addresses = append(addresses, b.URL)
		}
	}
	urls := make([]string, len(d.Template.Buttons))
	next := 0
	for i, b := range d.Template.Buttons {
		if b.Type == "url" && next < len(addresses) {
			urls[i] = addresses[next]
			next++
		}
	}
	return urls
}
