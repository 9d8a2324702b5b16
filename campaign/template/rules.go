package template

import (
	"fmt"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf16"

	"campaignd/internal/messaging"
	"campaignd/internal/sentence"
)

// The codes with which the platform refuses a template (docs/templates.md#rules). A fault of
// another kind has a code of its own there, and 0 here.
const (
	codeTooLong = 2388040
	codeHeader  = 2388047
	codeBody    = 2388072
	codeFooter  = 2388073
	codeWords   = 2388293
	codeEdge    = 2388299
)

// The largest lengths in UTF-16 units: the platform does not tell its unit, and this one gives the
// largest length.
const (
	mostName   = 512
	mostHeader = 60
	mostFooter = 60
	mostBody   = 1024
	mostLabel  = 25
)

// sayer takes one fault. path is the member of the template that it is about.
type sayer func(path string, code int, what, remedy string)

var (
	namePattern     = regexp.MustCompile(`^[a-z0-9_]+$`)
	languagePattern = regexp.MustCompile(`^[a-z]{2,3}(_[A-Za-z0-9]{2,4})?$`)
	variable        = regexp.MustCompile(`\{\{([^{}]*)\}\}`)
	adjacent        = regexp.MustCompile(`\}\}\s*\{\{`)
	phone           = regexp.MustCompile(`^\+?[0-9]+$`)
)

// The words of a file.
var (
	categories     = []string{"MARKETING", "UTILITY", "AUTHENTICATION"}
	componentTypes = []string{"HEADER", "BODY", "FOOTER", "BUTTONS"}
	formats        = []string{"TEXT", "IMAGE", "VIDEO", "DOCUMENT"}
	buttonTypes    = []string{"URL", "QUICK_REPLY", "PHONE_NUMBER", "COPY_CODE", "OTP"}
)

func isMedia(format string) bool { return slices.Contains(formats[1:], format) }

// judge says each rule that the template breaks. The sandbox has the same rules, written apart.
func judge(t *Template, say sayer) {
	oneOf := func(path string, code int, got string, words []string) {
		if !slices.Contains(words, got) {
			say(path, code, fmt.Sprintf("%q is none of the platform's words", sentence.Shorten(got, 40)), sentence.DidYouMean(got, words))
		}
	}
	switch {
	case t.Name == "":
		say("name", 0, "missing", "name the template, such as spring_sale")
	case !tooLong("name", t.Name, mostName, say) && !namePattern.MatchString(t.Name):
		say("name", 0, fmt.Sprintf("%q is no name of a template", sentence.Shorten(t.Name, 40)), "use a-z, 0-9 and _ only")
	}
	if !languagePattern.MatchString(t.Language) {
		say("language", 0, fmt.Sprintf("%q is no language", sentence.Shorten(t.Language, 40)), "write a code such as en_US, fr or pt_BR")
	}
	if t.Category != "" || t.Library == "" { // the library's own category counts
		oneOf("category", 0, t.Category, categories)
	}
	if t.Library != "" {
		if len(t.Components) > 0 {
			say("libraryName", 0, "the template has components too", "keep libraryName or components")
		}
		return
	}
	seen := map[string]bool{}
	for i, c := range t.Components {
		path := fmt.Sprintf("components[%d]", i)
		again := seen[c.Type]
		seen[c.Type] = true
		switch c.Type {
		case "HEADER":
			if again {
				say(path, codeHeader, "a second header", "keep one")
			}
			oneOf(path+".format", codeHeader, c.Format, formats)
			judgeHeader(t, c, path, say)
		case "BODY":
			if again {
				say(path, codeBody, "a second body", "keep one")
			}
			judgeBody(c, t.Category == "AUTHENTICATION", path, say)
		case "FOOTER":
			if variable.MatchString(c.Text) {
				say(path+".text", codeFooter, "a footer has no variable", "write the text out")
			}
			needsText(path+".text", 0, c.Text, say)
			tooLong(path+".text", c.Text, mostFooter, say)
		case "BUTTONS":
			judgeButtons(c.Buttons, path+".buttons", say)
		default:
			oneOf(path+".type", 0, c.Type, componentTypes)
		}
		if again && (c.Type == "FOOTER" || c.Type == "BUTTONS") {
			say(path, 0, "a second "+strings.ToLower(c.Type), "keep one")
		}
		if t.Media != "" && c.Type == "HEADER" && !isMedia(c.Format) {
			say(path+".file", 0, "only a header of format IMAGE, VIDEO or DOCUMENT has a file", "remove file, or correct format")
		}
	}
	if !seen["BODY"] {
		say("components", codeBody, "the body is missing", "add `- {type: BODY, text: ...}`")
	}
	if t.Media != "" && !seen["HEADER"] {
		say("components", 0, "only a header has a file", "move file to the component of type HEADER")
	}
}

func judgeHeader(t *Template, c messaging.Component, path string, say sayer) {
	switch {
	case c.Format == "TEXT":
		needsText(path+".text", codeHeader, c.Text, say)
		tooLong(path+".text", c.Text, mostHeader, say)
		if len(variable.FindAllString(c.Text, -1)) > 1 {
			say(path+".text", codeHeader, "more than one variable", "write the others out")
		}
	case !isMedia(c.Format):
	case t.Media == "" && !slices.ContainsFunc(c.Example.HeaderHandle, func(h string) bool { return h != "" }):
		say(path, codeHeader, "a media header needs an example", "add `file: banner.jpg`; push uploads it")
	case t.Media != "" && len(c.Example.HeaderHandle) > 0:
		say(path+".example", 0, "file and example.header_handle are both given", "keep file")
	}
}

func judgeBody(c messaging.Component, code bool, path string, say sayer) {
	text := strings.TrimSpace(c.Text)
	path += ".text"
	if !needsText(path, codeBody, text, say) {
		return
	}
	tooLong(path, c.Text, mostBody, say)
	numbers, wrong := map[int]bool{}, false
	for _, m := range variable.FindAllStringSubmatch(text, -1) {
		n, err := strconv.Atoi(strings.TrimSpace(m[1]))
		wrong = wrong || err != nil
		numbers[n] = true
	}
	for n := range len(numbers) {
		wrong = wrong || !numbers[n+1]
	}
	rest := variable.ReplaceAllString(text, " ")
	switch {
	case wrong || strings.Contains(rest, "{{") || strings.Contains(rest, "}}"):
		say(path, codeBody, "the variables are not numbered from 1 without a gap", "write {{1}}, {{2}} and so on")
	case adjacent.MatchString(text):
		say(path, codeBody, "two variables have no text between them", "write words between them, or make them one variable")
	}
	// Punctuation after the last variable is no text for the platform (2388299).
	if !code && len(numbers) > 0 && (strings.HasPrefix(text, "{{") || strings.HasSuffix(strings.TrimRightFunc(text, isEnding), "}}")) {
		say(path, codeEdge, "the text begins or ends with a variable",
			"write words before the first and after the last variable; punctuation does not count")
	}
	if words, least := countWords(rest), 2*len(numbers)+1; len(numbers) > 0 && words < least {
		say(path, codeWords, fmt.Sprintf("%s beside %s; at least %d are wanted", sentence.Count(words, "word", "words"),
			sentence.Count(len(numbers), "variable", "variables"), least), "write more text, or use fewer variables")
	}
	given := slices.Concat(c.Example.BodyText...)
	if n := len(numbers); n > 0 && (len(given) != n || slices.Contains(given, "")) {
		say(strings.TrimSuffix(path, ".text")+".example.body_text", codeBody,
			fmt.Sprintf("the reviewer needs one example of each of %s", sentence.Count(n, "variable", "variables")),
			"write `example: {body_text: [[...]]}` with a value for each")
	}
}

// isEnding reports whether a rune may end a sentence without being a word of it.
func isEnding(r rune) bool {
	return r != '}' && (unicode.IsSpace(r) || unicode.IsPunct(r) || unicode.IsSymbol(r))
}

// countWords counts the words of a text, which have a letter or a digit.
func countWords(text string) (n int) {
	for _, w := range strings.Fields(text) {
		if strings.ContainsFunc(w, func(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) }) {
			n++
		}
	}
	return n
}

// The largest numbers of buttons, of all types and of single ones.
const mostButtons = 10

var mostOf = map[string]int{"URL": 2, "COPY_CODE": 1, "OTP": 1}

func judgeButtons(all []messaging.ComponentButton, path string, say sayer) {
	if len(all) == 0 || len(all) > mostButtons {
		say(path, 0, fmt.Sprintf("%s; a template has 1 to %d", sentence.Count(len(all), "button", "buttons"), mostButtons),
			"remove the component, or some buttons")
	}
	count := map[string]int{}
	for i, b := range all {
		at := fmt.Sprintf("%s[%d]", path, i)
		count[b.Type]++
		if most := mostOf[b.Type]; most > 0 && count[b.Type] == most+1 {
			say(at, 0, fmt.Sprintf("more than %s of type %s", sentence.Count(most, "button", "buttons"), b.Type), "remove the others")
		}
		if !slices.Contains(buttonTypes, b.Type) {
			say(at+".type", 0, fmt.Sprintf("%q is no type of button", sentence.Shorten(b.Type, 40)), sentence.DidYouMean(b.Type, buttonTypes))
		}
		needsText(at+".text", 0, b.Text, say)
		tooLong(at+".text", b.Text, mostLabel, say)
		if b.Type == "URL" && !isAddress(b.URL) {
			say(at+".url", 0, "want an address with at most one variable, at its end", "write https://shop.example/{{1}}")
		}
		if b.Type == "PHONE_NUMBER" && !phone.MatchString(b.PhoneNumber) {
			say(at+".phone_number", 0, "want a phone number", "write it in international form, such as +2348031234567")
		}
	}
}

// isAddress reports whether the URL of a button is one, with at most one variable, at its end.
func isAddress(text string) bool {
	places := variable.FindAllStringIndex(text, -1)
	u, err := url.Parse(variable.ReplaceAllString(text, "x"))
	return err == nil && u.Host != "" && (u.Scheme == "http" || u.Scheme == "https") &&
		(len(places) == 0 || len(places) == 1 && places[0][1] == len(text))
}

func needsText(path string, code int, text string, say sayer) bool {
	if strings.TrimSpace(text) == "" {
		say(path, code, "missing", "write a text")
		return false
	}
	return true
}

func tooLong(path, text string, most int, say sayer) bool {
	n := len(utf16.Encode([]rune(text)))
	if n > most {
		say(path, codeTooLong, fmt.Sprintf("%d characters; the platform takes %d", n, most), "shorten it")
	}
	return n > most
}
