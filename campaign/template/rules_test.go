package template

import (
	"fmt"
	"strings"
	"testing"
)

// faulty are templates that break one rule each: what replaces which part of good, and the code of
// the platform; 0 for a fault whose code docs/templates.md does not name.
var faulty = []struct {
	name, part, with string
	code             int
}{
	{"name too long", "name: sale", "name: " + strings.Repeat("a", 513), codeTooLong},
	{"name in capitals", "name: sale", "name: Sale", 0},
	{"language", "language: en_US", "language: english", 0},
	{"category", "category: MARKETING", "category: PROMOTION", 0},
	{"header too long", "text: Spring", "text: " + strings.Repeat("s", 61), codeTooLong},
	{"body too long", "text: Hi {{1}},", "text: Hi {{1}}, " + strings.Repeat("b", 1024), codeTooLong},
	{"body too long in UTF-16", "text: Hi {{1}},", "text: Hi {{1}}, " + strings.Repeat("\U0001F600", 500), codeTooLong},
	{"footer too long", "text: Bye", "text: " + strings.Repeat("f", 61), codeTooLong},
	{"label too long", "text: Open", "text: " + strings.Repeat("l", 26), codeTooLong},
	{"second header", "  - {type: FOOTER", "  - {type: HEADER, format: TEXT, text: Two}\n  - {type: FOOTER", codeHeader},
	{"unknown format", "format: TEXT, text: Spring", "format: AUDIO", codeHeader},
	{"media without handle", "format: TEXT, text: Spring", "format: IMAGE", codeHeader},
	{"no body", "  - type: BODY\n    text: Hi {{1}}, these are your {{2}} new offers of this week\n" +
		"    example: {body_text: [[Ada, \"12\"]]}\n", "", codeBody},
	{"empty body", "text: Hi {{1}}, these are your {{2}} new offers of this week", `text: ""`, codeBody},
	{"gap in numbers", "your {{2}}", "your {{3}}", codeBody},
	{"named variable", "your {{2}}", "your {{count}}", codeBody},
	{"adjacent", "{{1}}, these are your {{2}} new offers of this week", "friend {{1}} {{2}} here are new offers of this week", codeBody},
	{"no example", `example: {body_text: [[Ada, "12"]]}`, "example: {}", codeBody},
	{"footer with a variable", "text: Bye", `text: "Bye {{1}} all"`, codeFooter},
	{"few words", "these are your {{2}} new offers of this week", "your {{2}} now", codeWords},
	{"variable at the end", "new offers of this week", "new offers of this week {{1}}", codeEdge},
	{"variable before the last mark", "these are your {{2}} new offers of this week", "these are your new offers of this week, {{2}}! :)",
		codeEdge},
	{"variable at the begin", "text: Hi {{1}},", `text: "{{1}},`, codeEdge},
	{"three addresses", "    - {type: QUICK_REPLY, text: No}", "    - {type: URL, text: A, url: \"https://a.example\"}\n" +
		"    - {type: URL, text: B, url: \"https://b.example\"}", 0},
	{"address", "/{{1}}", "/{{1}}/more", 0},
	{"eleven buttons", "    - {type: QUICK_REPLY, text: No}", strings.Repeat("    - {type: QUICK_REPLY, text: No}\n", 10), 0},
}

// good breaks no rule.
const good = `name: sale
language: en_US
category: MARKETING
components:
  - {type: HEADER, format: TEXT, text: Spring}
  - type: BODY
    text: Hi {{1}}, these are your {{2}} new offers of this week
    example: {body_text: [[Ada, "12"]]}
  - {type: FOOTER, text: Bye}
  - type: BUTTONS
    buttons:
    - {type: URL, text: Open, url: "https://shop.example/{{1}}"}
    - {type: QUICK_REPLY, text: No}
`

// spoiltBy returns good with one part replaced.
func spoiltBy(t *testing.T, part, with string) string {
	t.Helper()
	if !strings.Contains(good, part) {
		t.Fatalf("the template is %q, want %q in it", good, part)
	}
	text := strings.Replace(good, part, with, 1)
	if strings.HasPrefix(with, `text: "{{1}}`) { // the quotes end with the line
		text = strings.Replace(text, "of this week", `of this week"`, 1)
	}
	return text
}

func TestEachRuleHasItsCodeLineAndRemedy(t *testing.T) {
	if _, err := Parse("sale.en_US.yaml", []byte(spoiltBy(t, "name", "name"))); err != nil {
		t.Fatalf("a good template: got %v, want no fault", err)
	}
	for _, c := range faulty {
		_, err := Parse("sale.en_US.yaml", []byte(spoiltBy(t, c.part, c.with)))
		if err == nil {
			t.Errorf("%s: got no fault, want one with code %d", c.name, c.code)
			continue
		}
		line, _, _ := strings.Cut(err.Error(), "\n")
		code := fmt.Sprintf("(%d)", c.code)
		if !strings.HasPrefix(line, "sale.en_US.yaml:") || !strings.Contains(line, "; ") || (c.code != 0) != strings.Contains(line, "(2388") ||
			c.code != 0 && !strings.Contains(line, code) || strings.HasPrefix(line, "sale.en_US.yaml:1:1: comp") {
			t.Errorf("%s: got %q, want file:line, code %d and a remedy", c.name, line, c.code)
		}
	}
}

// A code of the platform's own has no words around it.
func TestACodeMayBeginWithItsVariable(t *testing.T) {
	text := "name: code\nlanguage: en_US\ncategory: AUTHENTICATION\ncomponents:\n" +
		"  - {type: BODY, text: \"{{1}} is your code.\", example: {body_text: [[\"123456\"]]}}\n"
	if _, err := Parse("code.en_US.yaml", []byte(text)); err != nil {
		t.Errorf("got %v, want no fault", err)
	}
}

func TestEveryFaultOfAFileIsTold(t *testing.T) {
	text := "name: Sale\nlanguage: x\ncategory: PROMO\ncomponents:\n  - {type: FOOTER, text: \"{{1}}\"}\n"
	_, err := Parse("f.yaml", []byte(text))
	if err == nil {
		t.Fatal("got no fault, want five")
	}
	for _, want := range []string{"f.yaml:1:1: name:", "f.yaml:2:1: language:", "f.yaml:3:1: category:", "f.yaml:4:1: components:",
		"f.yaml:5:20: components[0].text:"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("got\n%v\nwant %q in it", err, want)
		}
	}
}

func TestAWrongShapeIsToldWithItsPlace(t *testing.T) {
	for text, want := range map[string]string{
		"nane: sale\n":                         `f.yaml:1:1: unknown key "nane"; did you mean "name"?`,
		"name: [a]\n":                          `f.yaml:1:7: name: want text, not a list`,
		"name: 12\n":                           `f.yaml:1:7: name: want text`,
		"components: yes please\n":             `f.yaml:1:13: components: want a list`,
		"components:\n  - BODY\n":              `f.yaml:2:5: components[0]: want keys with values`,
		"name: a\nname: b\n":                   `f.yaml:2:1:`,
		"components:\n  - {type: BODY, tx: a}": `f.yaml:2:18: unknown key "components[0].tx"`,
		"a: &b c\n":                            `f.yaml:1:4: anchors`,
		"":                                     `f.yaml:1:1: the file holds no template`,
		"name: a\n---\nname: b\n":              `f.yaml:3:1: a second document`,
		"name: \xff\n":                         `f.yaml:1:1: the file is not UTF-8`,
		"name: {{1}\n":                         `f.yaml:1:`,
		strings.Repeat("[", 40):                `nested more than 32 deep`,
	} {
		if _, err := Parse("f.yaml", []byte(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: got %v, want %q", text, err, want)
		}
	}
}

// Two programs may not read one file in two ways, and no file may end the program.
func FuzzTemplateFiles(f *testing.F) {
	f.Add([]byte(good))
	f.Add([]byte("name: sale\nlanguage: en_US\nlibraryName: delivery_update\n"))
	for _, c := range faulty {
		f.Add([]byte(strings.Replace(good, c.part, c.with, 1)))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		got, err := Parse("f.yaml", text)
		switch {
		case err == nil && (got.Name == "" || got.Language == "" || got.Library == "" && len(got.Components) == 0):
			t.Errorf("got %+v, want name, language and components of a file without a fault", got)
		case err != nil:
			for line := range strings.SplitSeq(err.Error(), "\n") {
				if !strings.HasPrefix(line, "f.yaml:") {
					t.Errorf("got %q, want the place first", line)
				}
			}
		}
	})
}
