package template

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"campaignd/campaign/file"
	"campaignd/internal/messaging"
	"campaignd/internal/messaging/service"
	"campaignd/internal/sandbox"
)

// platform returns a client of a sandbox, whose rules were written apart from those of this
// package.
func platform(t *testing.T) *service.Client {
	t.Helper()
	s, err := sandbox.New(sandbox.Demo())
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(s)
	t.Cleanup(server.Close)
	key := messaging.NewSecret(sandbox.DemoKey)
	c, err := service.New(service.Options{BaseURL: server.URL, AllowHTTP: true, APIKey: key, UserAgent: "test"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

// codeOf pushes a template without judging it, and returns the code of the refusal; 0 for none.
func codeOf(t *testing.T, c *service.Client, template *Template) int {
	t.Helper()
	_, err := c.CreateTemplate(t.Context(), "conn_1", template.TemplateRecord, template.Library)
	var refusal *messaging.Error
	if err != nil && (!errors.As(err, &refusal) || refusal.Code != "invalid_template") {
		t.Fatalf("got %v, want invalid_template or no error", err)
	}
	if refusal == nil {
		return 0
	}
	return refusal.Platform
}

func TestTheSandboxRefusesWithTheSameCodes(t *testing.T) {
	c := platform(t)
	for _, f := range faulty {
		template := parse("sale.en_US.yaml", []byte(spoiltBy(t, f.part, f.with)))
		if got := codeOf(t, c, template); got != f.code && f.code != 0 || got/1000 != 2388 {
			t.Errorf("%s: the sandbox refuses it with %d, want %d (0: any code 2388xxx)", f.name, got, f.code)
		}
	}
	if got := codeOf(t, c, parse("sale.en_US.yaml", []byte(good))); got != 0 {
		t.Errorf("a good template: the sandbox refuses it with %d, want no refusal", got)
	}
}

// A template that passes the rules is never refused for its content, and no rule refuses what the
// platform takes. The code of the platform is one of those that the rules name.
func TestRulesAndSandboxAgreeOnRandomTemplates(t *testing.T) {
	c := platform(t)
	accepted := 0
	for seed := range uint64(500) {
		text := randomTemplate(rand.New(rand.NewPCG(seed, 33)), seed)
		template, err := Parse("f.yaml", []byte(text))
		if err == nil {
			accepted++
		} else {
			template = parse("f.yaml", []byte(text))
		}
		if template.Name == "" {
			t.Fatalf("seed %d: got %v, want a file that can be read:\n%s", seed, err, text)
		}
		got := codeOf(t, c, template)
		if (got == 0) != (err == nil) {
			t.Errorf("seed %d: the rules say %v, the sandbox code %d, want the same of\n%s", seed, err, got, text)
			continue
		}
		known := []int{codeTooLong, codeHeader, codeBody, codeWords, codeEdge}
		if fault := (*file.Error)(nil); errors.As(err, &fault) && slices.Contains(known, got) &&
			!strings.Contains(err.Error(), fmt.Sprintf("(%d)", got)) {
			t.Errorf("seed %d: the rules say %v, want the sandbox's code %d among them for\n%s", seed, err, got, text)
		}
	}
	if accepted < 50 || accepted > 450 {
		t.Errorf("got %d accepted templates of 500, want both kinds", accepted)
	}
}

// randomTemplate draws the parts of a template, most of them right.
func randomTemplate(r *rand.Rand, seed uint64) string {
	of := func(all ...string) string { return all[r.IntN(len(all))] }
	often := func(usual string, all ...string) string {
		if r.IntN(6) > 0 {
			return usual
		}
		return of(all...)
	}
	var b strings.Builder
	fmt.Fprintf(&b, "name: t_%d\nlanguage: %s\ncategory: %s\ncomponents:\n", seed, often("en_US", "fr", "EN", "pt_BR"),
		often("MARKETING", "UTILITY", "AUTHENTICATION", "OTHER"))
	if header := often("", "format: TEXT, text: Hello", `format: TEXT, text: "Hi {{1}} or {{2}}"`, "format: IMAGE", "format: TEXT",
		"format: TEXT, text: "+strings.Repeat("h", 61), "format: LOCATION"); header != "" {
		fmt.Fprintf(&b, "  - {type: HEADER, %s}\n", header)
	}
	words := []string{"Hi", "your", "order", "is", "on", ",", "its", "way", "{{1}}", "{{2}}", "{{1}}", "now",
		"{{3}}", "{{ 1 }}", "{{x}}", "until", "-"}
	body := []string{"Dear"}
	for range r.IntN(14) {
		body = append(body, words[r.IntN(len(words))])
	}
	body = append(body, often("today", "{{1}}", strings.Repeat("b", 1024)))
	fmt.Fprintf(&b, "  - {type: BODY, text: \"%s\", example: {body_text: [[%s]]}}\n", strings.Join(body, " "),
		of("a", "a, b", "a, b", "a, b, c", ""))
	if footer := often("", "Bye", "{{1}} bye", strings.Repeat("f", 61)); footer != "" {
		fmt.Fprintf(&b, "  - {type: FOOTER, text: \"%s\"}\n", footer)
	}
	if n := r.IntN(4); n > 0 && r.IntN(2) == 0 {
		b.WriteString("  - type: BUTTONS\n    buttons:\n")
		for range n {
			fmt.Fprintf(&b, "      - {type: %s, text: \"%s\", url: \"%s\", phone_number: \"%s\"}\n",
				often("QUICK_REPLY", "URL", "COPY_CODE", "OTP", "PHONE_NUMBER", "FLOW"), often("Open", "", strings.Repeat("l", 26)),
				often("https://a.example/{{1}}", "https://a.example/b", "a.example", "https://a.example/{{1}}/b", "https://a.example/{{1}}{{2}}"),
				often("+2348031234567", "none", ""))
		}
	}
	return b.String()
}
