package file_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"unicode/utf16"

	"github.com/google/go-cmp/cmp"

	"campaignd/campaign"
	"campaignd/campaign/file"
	"campaignd/internal/messaging"
	"campaignd/recipients"
)

// template is a definition with this template, without the checks of a file.
func template(use file.TemplateUse) *file.Definition {
	use.Name, use.Language = "hello_world", "en_US"
	return &file.Definition{Name: "test", Template: use}
}

func compile(t testing.TB, d *file.Definition, header ...string) *file.Renderer {
	t.Helper()
	r, err := d.Compile(header)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func row(cells ...string) *campaign.Delivery {
	return &campaign.Delivery{To: "+2348031234567", Cells: cells}
}

func TestAMessageIsWhatTheServiceDocuments(t *testing.T) {
	d := template(file.TemplateUse{
		Body:    []string{"{{.first}}", "Order {{ .order }} of {{ .first }}"},
		Header:  &file.HeaderUse{Document: &file.MediaUse{Link: "https://example.com/{{ .order }}.pdf", Filename: "offer.pdf"}},
		Buttons: []file.Button{{Type: "url", Text: "track/{{ .order }}"}, {Type: "copy_code", Text: "{{ .code }}"}},
	})
	d.Recipients.Columns = map[string]recipients.Names{"first": {"First Name"}}
	if _, err := compile(t, d, "to", "First Name", "order", "code").Message("conn_1", "",
		row("+2348031234567", "Ada", "A 1", "SPRING26")); err == nil {
		t.Fatal("a space in an address: got no error, want one")
	}
	m, err := compile(t, d, "to", "First Name", "order", "code").Message("conn_1", "", row("+2348031234567", "Ada", "A-1", "SPRING26"))
	if err != nil {
		t.Fatal(err)
	}
	got, err := json.Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	want := `{"connectionId":"conn_1","to":"+2348031234567","template":{"name":"hello_world","language":"en_US","body":["Ada","Order A-1 ` +
		`of Ada"],` +
		`"header":{"document":{"link":"https://example.com/A-1.pdf","filename":"offer.pdf"}},` +
		`"buttons":[{"type":"url","text":"track/A-1"},{"type":"copy_code","text":"SPRING26"}]}}`
	if diff := cmp.Diff(want, string(got)); diff != "" {
		t.Errorf("message -want +got:\n%s", diff)
	}
}

func TestTheHeaderIsTheAssetOfTheRun(t *testing.T) {
	r := compile(t, template(file.TemplateUse{Header: &file.HeaderUse{Image: &file.MediaUse{File: "banner.jpg"}}}), "to")
	if _, err := r.Message("conn_1", "", row("")); !errors.Is(err, file.ErrNotUploaded) {
		t.Errorf("without an upload: got %v, want %v", err, file.ErrNotUploaded)
	}
	m, err := r.Message("conn_1", "ast_9", row(""))
	if err != nil || m.Template.Header.Image.AssetID != "ast_9" {
		t.Errorf("got %+v, %v, want the image ast_9", m, err)
	}
	fixed := compile(t, template(file.TemplateUse{Header: &file.HeaderUse{Video: &file.MediaUse{AssetID: "ast_1"}}}), "to")
	m, err = fixed.Message("conn_1", "ast_9", row(""))
	if err != nil || m.Template.Header.Video.AssetID != "ast_1" {
		t.Errorf("got %+v, %v, want the video ast_1", m, err)
	}
}

// A value is data, whatever it looks like (docs/protocol.md#untrusted-input).
func TestValuesAreDataAndNeverParsed(t *testing.T) {
	r := compile(t, template(file.TemplateUse{Body: []string{"{{ .a }}", "x {{ .a }} y {{ .b }}"}}), "a", "b")
	for _, v := range []string{"{{ .b }}", "{{.Secret}}", "{{printf \"%s\" .b}}", "%s %d %!", "$1 ${HOME}", "{{", "}}", `\1 \n`,
		"<b>&amp;</b>", "'; DROP TABLE runs; --", "=1+1"} {
		m, err := r.Message("c", "", row(v, "B"))
		if err != nil {
			t.Errorf("%q: got %v, want no error", v, err)
			continue
		}
		if got, want := m.Template.Body, []string{v, "x " + v + " y B"}; !cmp.Equal(got, want) {
			t.Errorf("%q arrives as %q, want %q", v, got, want)
		}
	}
}

func TestValuesThatCanBeSentAndThatCannot(t *testing.T) {
	long := strings.Repeat("a", 1024)
	for _, c := range []struct {
		name, use, value, want string // want "" means refused
		says                   string
	}{
		{"plain", "body", "Ada", "Ada", ""},
		{"space around", "body", "  Ada \u00a0\u200b", "Ada", ""},
		{"line break around", "body", "Ada\r\n", "Ada", ""},
		{"composed", "body", "e\u0301", "\u00e9", ""},
		{"four spaces", "body", "a    b", "a    b", ""},
		{"five spaces", "body", "a     b", "", "4 spaces"},
		{"no-break spaces", "body", "a\u00a0\u00a0\u00a0\u00a0\u00a0b", "", "4 spaces"},
		{"line break", "body", "a\nb", "", "line break"},
		{"carriage return", "body", "a\rb", "", "line break"},
		{"line separator", "body", "a\u2028b", "", "line break"},
		{"tab", "body", "a\tb", "", "a tab"},
		{"bell", "body", "a\ab", "", "U+0007"},
		{"delete", "body", "a\x7fb", "", "U+007F"},
		{"C1", "body", "a\u009bb", "", "U+009B"},
		{"wrong encoding", "body", "Ren\ufffd", "", "encoding"},
		{"no UTF-8", "body", "Ren\xe9", "", ""},
		{"emoji with joiner", "body", "\U0001F469\u200D\U0001F680", "\U0001F469\u200D\U0001F680", ""},
		{"arabic", "body", "\u0645\u0631\u062d\u0628\u0627", "\u0645\u0631\u062d\u0628\u0627", ""},
		{"longest", "body", long, long, ""},
		{"too long", "body", long + "a", "", "1025 characters"},
		{"too long in UTF-16", "body", strings.Repeat("\U0001F600", 513), "", "1026 characters"},
		{"slug", "url", "spring/26?a=b&c=%20#x", "spring/26?a=b&c=%20#x", ""},
		{"slug in another script", "url", "\u00e9t\u00e9", "%C3%A9t%C3%A9", ""},
		{"slug with quotes", "url", `a"b|c`, "a%22b%7Cc", ""},
		{"slug with space", "url", "a b", "", "space"},
		{"lone percent", "url", "50%", "", "%25"},
		{"whole address", "url", "https://example.com/x", "", "whole address"},
		{"other host", "url", "//example.com/x", "", "whole address"},
		{"address as parameter", "url", "go?u=https://example.com", "go?u=https://example.com", ""},
		{"coupon", "copy_code", "ABCDEFGHIJ0123456789", "ABCDEFGHIJ0123456789", ""},
		{"long coupon", "copy_code", "ABCDEFGHIJ01234567890", "", "at most 20"},
		{"coupon with sign", "copy_code", "SPRING-26", "", "coupon"},
		{"code", "otp", "123-456", "123-456", ""},
		{"long code", "otp", "1234567890123456", "", "at most 15"},
		{"code with space", "otp", "123 456", "", "one-time"},
		{"code with emoji", "otp", "12\U0001F600", "", "one-time"},
		{"link", "link", "https://example.com/a.jpg", "https://example.com/a.jpg", ""},
		{"link of another scheme", "link", "javascript:alert(1)", "", "not a link"},
		{"link without host", "link", "https:///a.jpg", "", "not a link"},
	} {
		var use file.TemplateUse
		switch c.use {
		case "body":
			use.Body = []string{"{{ .v }}"}
		case "otp":
			use.OTP = "{{ .v }}"
		case "link":
			use.Header = &file.HeaderUse{Image: &file.MediaUse{Link: "{{ .v }}"}}
		default:
			use.Buttons = []file.Button{{Type: c.use, Text: "{{ .v }}"}}
		}
		r := compile(t, template(use), "v")
		m, err := r.Message("c", "", row(c.value))
		if (r.Check([]string{c.value}) == nil) != (err == nil) {
			t.Errorf("%s: Message returns %v, want Check to agree", c.name, err)
		}
		if c.want == "" {
			var bad *file.VariableError
			if !errors.As(err, &bad) || bad.Reason != campaign.InvalidVariable || bad.Column != "v" || !strings.Contains(bad.Sentence, c.says) {
				t.Errorf("%s: got %v, want invalid_variable of column v: %s", c.name, err, c.says)
			} else if strings.Contains(err.Error(), c.value) {
				t.Errorf("%s: got %v, want no value in it", c.name, err)
			}
			continue
		}
		if err != nil {
			t.Errorf("%s: got %v, want %q", c.name, err, c.want)
			continue
		}
		got := ""
		switch tpl := m.Template; c.use {
		case "body":
			got = tpl.Body[0]
		case "otp":
			got = tpl.OTP
		case "link":
			got = tpl.Header.Image.Link
		default:
			got = tpl.Buttons[0].Text
		}
		if got != c.want {
			t.Errorf("%s: got %q, want %q", c.name, got, c.want)
		}
	}
}

func TestAMissingValueTakesItsDefaultOrSkipsTheRow(t *testing.T) {
	d := template(file.TemplateUse{Body: []string{"{{ .a }}", "{{ .b }}"}})
	d.Variables = map[string]file.Variable{"a": {Default: "friend"}}
	r := compile(t, d, "a", "b")
	m, err := r.Message("c", "", row(" \u200b", "x"))
	if err != nil || m.Template.Body[0] != "friend" {
		t.Errorf("got %v, %v, want friend", m, err)
	}
	for _, cells := range [][]string{{"x", ""}, {"x", " \t"}, {"x"}, nil} {
		var bad *file.VariableError
		if err := r.Check(cells); !errors.As(err, &bad) || bad.Reason != campaign.MissingVariable || bad.Column != "b" {
			t.Errorf("%q: got %v, want missing_variable of column b", cells, err)
		}
	}
}

func TestTheColumnAtFaultIsNamed(t *testing.T) {
	r := compile(t, template(file.TemplateUse{Body: []string{"{{ .a }} and {{ .b }} and {{ .c }}"}}), "a", "b", "c")
	var bad *file.VariableError
	if err := r.Check([]string{"x", "y\tz", "w"}); !errors.As(err, &bad) || bad.Column != "b" ||
		bad.Sentence != "has a tab" {
		t.Errorf("got %#v, want a tab in column b", bad)
	}
	half := strings.Repeat("a", 600)
	if err := r.Check([]string{half, half, "w"}); !errors.As(err, &bad) || bad.Column != "" ||
		!strings.Contains(bad.Sentence, "template.body[0] has 1211 characters") {
		t.Errorf("got %#v, want 1211 characters of no single column", bad)
	}
}

func TestAFilledBodyStaysWithinThePlatformsLimit(t *testing.T) {
	r := compile(t, template(file.TemplateUse{
		Body:    []string{"{{ .a }}", "{{ .b }}"},
		Buttons: []file.Button{{Type: "url", Text: "{{ .b }}"}},
	}), "a", "b")
	// {{2}} comes first and twice: 1,000 units of text, 2 x b, 1 x a.
	r.Hydrate(strings.Repeat("x", 1000)+"{{2}}{{1}}{{2}}", []string{"https://example.com/" + strings.Repeat("p", 1970) + "{{1}}"})
	if err := r.Check([]string{"aaaa", "bbbbbbbbbb"}); err != nil {
		t.Errorf("1024 characters: got %v, want no error", err)
	}
	if err := r.Check([]string{"aaaaa", "bbbbbbbbbb"}); err == nil || !strings.Contains(err.Error(), "1025 characters") {
		t.Errorf("got %v, want 1025 characters refused", err)
	}
	if err := r.Check([]string{"a", "bbbbbbbbbbb"}); err == nil || !strings.Contains(err.Error(), "2001 characters") {
		t.Errorf("got %v, want an address of 2001 characters refused", err)
	}
}

func TestAVariableWithoutAColumnNamesTheColumns(t *testing.T) {
	d := template(file.TemplateUse{Body: []string{"{{ .firstname }}", "{{ .discount }}", "{{ .slug }}"}})
	d.Recipients.Columns = map[string]recipients.Names{"slug": {"Slug"}}
	_, err := d.Compile([]string{"to", "First Name", "code"})
	if err == nil {
		t.Fatal("got no error, want one for each variable without a column")
	}
	want := `test: template.body[0]: the list has no column "firstname"; did you mean "First Name"? (the list's columns: to, First Name, code)
test: template.body[1]: the list has no column "discount"; the list's columns: to, First Name, code
test: recipients.columns.slug: the list has no column "Slug"; the list's columns: to, First Name, code`
	if diff := cmp.Diff(want, err.Error()); diff != "" {
		t.Errorf("error -want +got:\n%s", diff)
	}
	if _, err := template(file.TemplateUse{Body: []string{"{{ .a }}"}}).Compile([]string{"a", "a"}); err == nil ||
		!strings.Contains(err.Error(), "several columns") {
		t.Errorf("got %v, want several columns", err)
	}
}

// FuzzRender: for any cell, the parameter is exactly the value, or the row is skipped.
func FuzzRender(f *testing.F) {
	for _, s := range []string{"Ada", "{{ .b }}", "a\nb", "     ", "\xff", "\u00e9", "%zz", "https://x", "\U0001F600", "a\u2028"} {
		f.Add(s, "B")
	}
	d := template(file.TemplateUse{
		Body:    []string{"{{ .a }}", "[{{ .b }}|{{ .a }}]"},
		Buttons: []file.Button{{Type: "url", Text: "{{ .a }}"}},
	})
	r := compile(f, d, "a", "b")
	r.Hydrate("{{1}} {{2}}", []string{"https://example.com/{{1}}"})
	f.Fuzz(func(t *testing.T, a, b string) {
		m, err := r.Message("c", "", row(a, b))
		if err != nil {
			var bad *file.VariableError
			if !errors.As(err, &bad) || bad.Sentence == "" || bad.Reason != campaign.MissingVariable && bad.Reason != campaign.InvalidVariable {
				t.Fatalf("got %#v, want a *VariableError with a sentence", err)
			}
			return
		}
		body := m.Template.Body
		if !strings.HasPrefix(body[1], "[") || !strings.HasSuffix(body[1], "|"+body[0]+"]") {
			t.Fatalf("body = %q, want the first value again at the end of the second", body)
		}
		for _, s := range append(body, m.Template.Buttons[0].Text) {
			if s == "" || strings.ContainsAny(s, "\n\r\t") || strings.Contains(s, "     ") || len(utf16.Encode([]rune(s))) > 1024*3 {
				t.Fatalf("%q is sent, want it refused", s)
			}
		}
		if n := len(utf16.Encode([]rune(body[0] + " " + body[1]))); n > 1024 {
			t.Fatalf("the body has %d units, want at most 1024", n)
		}
		if url := m.Template.Buttons[0].Text; strings.ContainsAny(url, " \"<>\\^`{|}") ||
			strings.ContainsFunc(url, func(r rune) bool { return r > '~' }) {
			t.Fatalf("address = %q, want it percent-encoded", url)
		}
		text, err := json.Marshal(m)
		if err != nil {
			t.Fatal(err)
		}
		var back messaging.Message
		if err := json.Unmarshal(text, &back); err != nil || !cmp.Equal(back.Template.Body, body) {
			t.Fatalf("%q arrives as %q, want it as it was", body, back.Template.Body)
		}
	})
}

func BenchmarkMessage(b *testing.B) {
	r := compile(b, template(file.TemplateUse{
		Body:    []string{"{{ .first_name }}", "Order {{ .order }} of {{ .day }}"},
		Header:  &file.HeaderUse{Image: &file.MediaUse{AssetID: "ast_1"}},
		Buttons: []file.Button{{Type: "url", Text: "{{ .slug }}"}},
	}), "to", "first_name", "order", "day", "slug")
	dl := row("+2348031234567", "Adaeze", "A-10021", "Monday", "spring/10021")
	b.ReportAllocs()
	for b.Loop() {
		if _, err := r.Message("conn_1", "", dl); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkCheck(b *testing.B) {
	r := compile(b, template(file.TemplateUse{Body: []string{"{{ .first_name }}", "{{ .order }}"}}), "to", "first_name", "order")
	cells := []string{"+2348031234567", "Ad\u00e9la\u00efde", "A-10021"}
	b.ReportAllocs()
	for b.Loop() {
		if err := r.Check(cells); err != nil {
			b.Fatal(err)
		}
	}
}

func ExampleDefinition_Compile() {
	d := &file.Definition{Template: file.TemplateUse{Name: "spring_sale", Language: "en_US",
		Body: []string{"{{ .first_name }}", "{{ .discount }}"}}}
	d.Recipients.Columns = map[string]recipients.Names{"first_name": {"First Name"}}
	r, err := d.Compile([]string{"phone", "First Name", "discount"})
	if err != nil {
		panic(err)
	}
	m, err := r.Message("conn_1", "", &campaign.Delivery{To: "+2348031234567", Cells: []string{"0803 123 4567", "Ada", "20 %"}})
	if err != nil {
		panic(err)
	}
	fmt.Println(m.To, m.Template.Body)
	_, err = r.Message("conn_1", "", &campaign.Delivery{To: "+2348031234568", Cells: []string{"0803 123 4568", "", "20 %"}})
	fmt.Println(err)
	// Output:
	// +2348031234567 [Ada 20 %]
	// column "First Name" has no value
}
