package file

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"campaignd/internal/messaging"
)

// said collects the findings of a check: level, path, what, remedy.
func said(check func(sayer)) (out []string) {
	check(func(k Kind, path, what, remedy string) {
		out = append(out, strings.TrimSuffix(fmt.Sprintf("%s %s: %s; %s", k.Level(), path, what, remedy), "; "))
	})
	return out
}

func TestATemplateIsFoundByNameAndLanguage(t *testing.T) {
	all := []messaging.TemplateRecord{{Name: "sale", Language: "fr"}, {Name: "sale", Language: "de"}, {Name: "hello", Language: "en_US"},
		{Name: "hello", Language: "fr"}}
	const follows = "; its variables are not checked, and if it does not exist, its messages are refused and it is held; "
	for _, c := range []struct {
		name, language string
		at             int
		want           []string
	}{
		{"sale", "de", 1, nil}, {"hello", "en-US", 2, nil},
		{"sale", "en", -1, []string{`warning template.language: the service lists template "sale", but not in en, on connection c1` + follows +
			`it lists it in fr, de`}},
		{"sales", "de", -1, []string{
			`warning template.name: the service lists no template "sales" on connection c1` + follows + `did you mean "sale"?`}},
		{"autumn", "de", -1, []string{`warning template.name: the service lists no template "autumn" on connection c1` + follows +
			`create it at the service and wait for its approval`}},
	} {
		var found *messaging.TemplateRecord
		got := said(func(say sayer) {
			found = FindTemplate(&TemplateUse{Name: c.name, Language: c.language}, all, "c1", say)
		})
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%s %s: said -want +got:\n%s", c.name, c.language, diff)
		}
		if c.at >= 0 && found != &all[c.at] || c.at < 0 && found != nil {
			t.Errorf("%s %s: found %+v, want number %d", c.name, c.language, found, c.at)
		}
	}
}

// Each difference between the campaign's values and the template's parts is a finding.
func TestEachDifferenceFromTheTemplateIsFound(t *testing.T) {
	const first = "; send one with `campaignd test` first"
	const unfilled = ", which campaignd does not fill; if it needs a value, its messages are refused" + first
	buttons := func(kinds ...string) []messaging.Component {
		var bs []messaging.ComponentButton
		for _, k := range kinds {
			kind, url, _ := strings.Cut(k, " ")
			bs = append(bs, messaging.ComponentButton{Type: kind, URL: url})
		}
		return []messaging.Component{{Type: "BUTTONS", Buttons: bs}}
	}
	fill := func(kinds ...string) (out []Button) {
		for _, k := range kinds {
			out = append(out, Button{Type: k})
		}
		return out
	}
	header := func(format, text string) []messaging.Component {
		return []messaging.Component{{Type: "HEADER", Format: format, Text: text}}
	}
	body := func(text string) []messaging.Component { return []messaging.Component{{Type: "BODY", Text: text}} }
	sample := header("IMAGE", "")
	sample[len(sample)-1].Example.HeaderHandle = []string{"https://cdn.example/v/7_n.jpg?oh=1"}
	image, video, document := &HeaderUse{Image: &MediaUse{}}, &HeaderUse{Video: &MediaUse{}}, &HeaderUse{Document: &MediaUse{}}
	const several = "warning template.buttons: several buttons are filled; " +
		"the service's document does not say how it numbers them, so they are sent in the order given" + first
	for name, c := range map[string]struct {
		use    TemplateUse
		has    []messaging.Component
		record messaging.TemplateRecord
		want   []string
	}{
		"paused": {record: messaging.TemplateRecord{Status: "PAUSED"},
			want: []string{`error template.name: template "a" is paused on connection c1; only approved templates can be sent; ` +
				`wait for its approval, or repair it at the service`}},
		"no status": {record: messaging.TemplateRecord{Status: "-"},
			want: []string{`error template.name: template "a" is unknown on connection c1; only approved templates can be sent; ` +
				`wait for its approval, or repair it at the service`}},
		"same category": {use: TemplateUse{Category: "UTILITY"}, record: messaging.TemplateRecord{Category: "UTILITY"}},
		"no category":   {use: TemplateUse{Category: "UTILITY"}},
		"nobody says":   {record: messaging.TemplateRecord{Category: "UTILITY"}},
		"another category": {use: TemplateUse{Category: "UTILITY"}, record: messaging.TemplateRecord{Category: "MARKETING"},
			want: []string{"warning template.category: the service says MARKETING for this template on connection c1; that counts; " +
				"correct or remove template.category"}},
		"nothing is known": {use: TemplateUse{Body: []string{"x"}, Header: image, Buttons: fill("url")}},
		"a body":           {use: TemplateUse{Body: []string{"x", "y"}}, has: body("{{1}} {{2}} {{1}}")},
		"one too few": {use: TemplateUse{Body: []string{"x"}}, has: body("{{1}} {{2}}"),
			want: []string{`error template.body: the body of the template has 2 variables, and 1 is filled; its text: "{{1}} {{2}}"`}},
		"one too many": {use: TemplateUse{Body: []string{"x", "y"}}, has: body("{{1}}"),
			want: []string{`error template.body: the body of the template has 1 variable, and 2 are filled; its text: "{{1}}"`}},
		"a long text": {use: TemplateUse{Body: []string{"x"}}, has: body(strings.Repeat("x", 201)),
			want: []string{`error template.body: the body of the template has 0 variables, and 1 is filled; its text: "` +
				strings.Repeat("x", 200) + `..."`}},
		"digits": {use: TemplateUse{Body: []string{"x", "y"}}, has: body("{{0}} {{9}}")},
		"named": {use: TemplateUse{Body: []string{"x", "y"}}, has: body("{{name}} {{day}}"),
			want: []string{"warning template.body: the template has named variables (name, day); " +
				"the service's document shows only positions, so they are filled in the order of the text" + first}},
		"an otp": {use: TemplateUse{OTP: "1"}, has: append(body("{{1}}"), buttons("OTP")...)},
		"an otp and a body": {use: TemplateUse{OTP: "1", Body: []string{"x", "y"}}, has: append(body("{{1}}"), buttons("OTP")...),
			want: []string{`error template.body: the body of the template has 1 variable, and 2 are filled; its text: "{{1}}"`}},
		"image":    {use: TemplateUse{Header: image}, has: header("IMAGE", "")},
		"video":    {use: TemplateUse{Header: video}, has: header("VIDEO", "")},
		"document": {use: TemplateUse{Header: document}, has: header("DOCUMENT", "")},
		"no image": {has: header("IMAGE", ""),
			want: []string{"error template: the template has a header of type image and the campaign gives none; add header: {image: {file: ...}}"}},
		"no document": {has: header("DOCUMENT", ""),
			want: []string{"error template: the template has a header of type document and the campaign gives none; " +
				"add header: {document: {file: ...}}"}},
		"another medium": {use: TemplateUse{Header: video}, has: header("IMAGE", ""),
			want: []string{"error template.header.video: the template's header is of type image; give that"}},
		"its own sample, signed anew": {use: TemplateUse{Header: &HeaderUse{Image: &MediaUse{Link: "https://cdn.example/v/7_n.jpg?oh=2&oe=3"}}},
			has: sample,
			want: []string{"error template.header.image.link: the link is the template's own sample, which the platform does not fetch for a " +
				"message; give a public link to a file of your own, or file: with its path"}},
		"another sample": {use: TemplateUse{Header: &HeaderUse{Image: &MediaUse{Link: "https://Scontent.whatsapp.net/v/8_n.jpg"}}}, has: sample,
			want: []string{"error template.header.image.link: the link is the template's own sample, which the platform does not fetch for a " +
				"message; give a public link to a file of your own, or file: with its path"}},
		"an own file": {use: TemplateUse{Header: &HeaderUse{Image: &MediaUse{Link: "https://cdn.example/v/8_n.jpg?oh=1"}}}, has: sample},
		"location": {has: header("LOCATION", ""),
			want: []string{"error template.name: the template has a location header, which the service's document shows no way to fill; " +
				"use a template without it"}},
		"product": {has: header("PRODUCT", ""),
			want: []string{"error template.name: the template has a product header, which the service's document shows no way to fill; " +
				"use a template without it"}},
		"a carousel": {has: append(body(""), messaging.Component{Type: "CAROUSEL"}),
			want: []string{"error template.name: the template has a part CAROUSEL, which the service's document shows no way to fill; " +
				"use a template without it"}},
		"an offer": {has: append(body(""), messaging.Component{Type: "LIMITED_TIME_OFFER"}, messaging.Component{Type: "FOOTER"}),
			want: []string{"warning template.name: the template has a part LIMITED_TIME_OFFER" + unfilled}},
		"a catalogue": {has: buttons("CATALOG"), want: []string{"warning template.name: the template has a button of type CATALOG" + unfilled}},
		"a flow, twice": {has: buttons("FLOW", "PHONE_NUMBER", "FLOW"),
			want: []string{"warning template.name: the template has a button of type FLOW" + unfilled}},
		"products": {has: buttons("MPM"),
			want: []string{"error template.name: the template has a button of type MPM, which the service's document shows no way to fill; " +
				"use a template without it"}},
		"text": {has: header("TEXT", "Hi")},
		"text, and a medium": {use: TemplateUse{Header: image}, has: header("TEXT", "Hi"),
			want: []string{"error template.header: the template has no media header; remove header"}},
		"text of a variable": {use: TemplateUse{Header: image}, has: header("TEXT", "Hi {{1}}"),
			want: []string{"error template.name: the template's text header has a variable, " +
				"which the service's document shows no way to fill; use a template whose header has none"}},
		"no header": {use: TemplateUse{Header: image}, has: body(""),
			want: []string{"error template.header: the template has no media header; remove header"}},
		"fixed buttons": {has: buttons("URL https://a/b", "PHONE_NUMBER", "QUICK_REPLY")},
		"a url":         {use: TemplateUse{Buttons: fill("url")}, has: buttons("URL https://a/b", "URL https://a/{{1}}")},
		"no url filled": {has: buttons("URL https://a/{{1}}"),
			want: []string{"error template.buttons: the template has 1 button of type url with a variable, and 0 are filled; " +
				"add {type: url, text: ...}"}},
		"a fixed url filled": {use: TemplateUse{Buttons: fill("url")}, has: buttons("URL https://a/b"),
			want: []string{"error template.buttons: the template has 0 buttons of type url with a variable, and 1 is filled; " +
				"an address without a variable takes no value"}},
		"a coupon": {use: TemplateUse{Buttons: fill("copy_code")}, has: buttons("COPY_CODE")},
		"no coupon filled": {has: buttons("COPY_CODE"),
			want: []string{"error template.buttons: the template has 1 button of type copy_code with a variable, and 0 are filled; " +
				"add {type: copy_code, text: ...}"}},
		"no coupon there": {use: TemplateUse{Buttons: fill("copy_code")}, has: body(""),
			want: []string{"error template.buttons: the template has 0 buttons of type copy_code, and 1 is filled"}},
		"replies": {use: TemplateUse{Buttons: fill("quick_reply", "quick_reply")},
			has: buttons("QUICK_REPLY", "QUICK_REPLY"), want: []string{several}},
		"a reply too many": {use: TemplateUse{Buttons: fill("quick_reply", "quick_reply")}, has: buttons("QUICK_REPLY"),
			want: []string{"error template.buttons: the template has 1 button of type quick_reply, and 2 are filled", several}},
		"otp without buttons": {use: TemplateUse{OTP: "1"}, has: body("")},
		"otp, and others": {use: TemplateUse{OTP: "1"}, has: buttons("QUICK_REPLY"),
			want: []string{"error template.buttons: the template has 0 buttons of type otp, and 1 is filled"}},
		"otp is not filled": {has: buttons("OTP"),
			want: []string{"error template.buttons: the template has 1 button of type otp with a variable, and 0 are filled; " +
				"add {type: otp, text: ...}"}},
	} {
		c.use.Name, c.record.Components = "a", c.has
		if c.record.Status == "" {
			c.record.Status = "APPROVED"
		}
		c.record.Status = strings.TrimPrefix(c.record.Status, "-")
		if diff := cmp.Diff(c.want, said(func(say sayer) { CheckRecord(&c.use, &c.record, "c1", say) })); diff != "" {
			t.Errorf("%s: said -want +got:\n%s", name, diff)
		}
	}
}

// The dynamic addresses go to the url buttons in order. Fixed buttons and buttons of other types
// get none.
func TestAddressesOfATemplateGoToItsUrlButtons(t *testing.T) {
	record := messaging.TemplateRecord{Components: []messaging.Component{{Type: "BODY", Text: "Hi {{1}}"},
		{Type: "BUTTONS", Buttons: []messaging.ComponentButton{
			{Type: "URL", URL: "https://a/fixed"}, {Type: "URL", URL: "https://a/{{1}}"}, {Type: "PHONE_NUMBER", URL: "{{1}}"},
			{Type: "URL", URL: "https://abc/{{1}}"},
		}}}}
	d := &Definition{Template: TemplateUse{Body: []string{"x"},
		Buttons: []Button{{"quick_reply", "r"}, {"url", "u"}, {"url", "u"}, {"url", "u"}}}}
	r, missing := d.compile([]string{"to"})
	r.HydrateFrom(d, &record)
	if diff := cmp.Diff([]int{0, 10, 12, 0}, r.bases); diff != "" || r.fixed != 3 || len(missing) != 0 {
		t.Errorf("%d units of text, want 3; missing %v; length of the addresses -want +got:\n%s", r.fixed, missing, diff)
	}
	r, _ = d.compile([]string{"to"})
	r.Hydrate("{{1}} {{2}}", []string{"a"}) // texts of a different template
	if r.fixed != -1 || r.bases != nil {
		t.Errorf("got %d units, addresses %v, want neither known", r.fixed, r.bases)
	}
	for text, want := range map[string]string{
		"a{{2}}b{{ 1 }}c{{2}}": "3 [{1 1 1} {2 2 2}]", "{{x": "3 []", "{{name}}\U0001F600": "2 [{name 0 1}]", "a}}b": "4 []", "": "0 []",
	} {
		vs, fixed := templateVariables(text)
		if got := fmt.Sprint(fixed, " ", vs); got != want {
			t.Errorf("templateVariables(%q) = %s, want %s", text, got, want)
		}
	}
}
