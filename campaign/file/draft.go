package file

import (
	"cmp"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"unicode"

	"campaignd/internal/messaging"
	"campaignd/internal/sentence"
	"campaignd/recipients"
)

// Draft is a first campaign file, for a list and a template that exist.
type Draft struct {
	Name               string // of the campaign; "": as the template
	Template, Language string
	Record             *messaging.TemplateRecord // nil: the service was not asked
	Connection         string
	File               string // Audience.File; "" names none
	List               recipients.Sketch
	// Linked says that the medium of a header comes from an address in the list, not from a file.
	Linked bool
}

// YAML writes the file. A variable whose column is not known by its name stays unmapped, so that
// `check` asks for it: no message goes out with a guess.
func (d *Draft) YAML() string {
	var b strings.Builder
	line := func(format string, args ...any) { fmt.Fprintf(&b, format+"\n", args...) }
	line("# `campaignd check` looks at this file and its list; `campaignd config schema campaign` lists every key.")
	line("name: %s", cmp.Or(d.Name, d.Template))
	line("connections: [%s]", recipients.YAMLText(d.Connection))
	line("template:")
	line("  name: %s", d.Template)
	line("  language: %s", d.Language)
	columns, open := map[string]string{}, []string(nil)
	variable := func(name, of string) string {
		as, column := d.column(name)
		if column != "" {
			columns[as] = column
		} else if !slices.Contains(open, as+": COLUMN   # "+of) {
			open = append(open, as+": COLUMN   # "+of)
		}
		return fmt.Sprintf("%q", "{{ ."+as+" }}")
	}
	if d.Record == nil {
		line("  # body: [%s]   # one text for each variable of the template", variable("1", "{{1}} of the body"))
	} else {
		d.fill(line, variable)
	}
	line("recipients:")
	if d.File != "" {
		line("  file: %s", recipients.YAMLText(d.File))
	}
	if d.List.Skip > 0 {
		line("  skip: %d", d.List.Skip)
	}
	if d.List.SkipLast > 0 {
		line("  skip_last: %d", d.List.SkipLast)
	}
	line("  columns:")
	to := make([]string, len(d.List.To))
	for i, name := range d.List.To {
		to[i] = recipients.YAMLText(name)
	}
	if len(to) == 1 {
		line("    to: %s", to[0])
	} else {
		line("    to: [%s]   # the first that is filled", strings.Join(to, ", "))
	}
	if d.List.Country != "" {
		line("    country: %s   # where a number without + is dialled", recipients.YAMLText(d.List.Country))
	}
	for _, name := range slices.Sorted(maps.Keys(columns)) {
		line("    %s: %s", name, recipients.YAMLText(columns[name]))
	}
	for _, missing := range open {
		line("    # %s", missing)
	}
	switch most := d.List.Coded*2 > d.List.Local; {
	case most && d.List.Country == "":
		line("  # %s no + and no country, and %d of them would be read with their country code: set international: true",
			sentence.Count(d.List.Local, "number has", "numbers have"), d.List.Coded)
	case d.List.Local > 0:
		line("  # %s no + and no country: set default_region: DE (where they are dialled), or international: true",
			sentence.Count(d.List.Local, "number has", "numbers have"))
	}
	return b.String()
}

// fill writes what the template needs. variable returns the text for one of its variables.
func (d *Draft) fill(line func(string, ...any), variable func(name, of string) string) {
	if c := d.Record.Category; slices.Contains(categories(), c) {
		line("  category: %s", c)
	}
	body := d.Record.Component("BODY")
	buttons := d.Record.Component("BUTTONS").Buttons
	if slices.ContainsFunc(buttons, func(b messaging.ComponentButton) bool { return b.Type == "OTP" }) {
		line("  otp: %s", variable("code", "the one-time code"))
		return
	}
	if vars := body.Variables(); len(vars) > 0 {
		texts := make([]string, len(vars))
		for i, v := range vars {
			texts[i] = variable(v, "{{"+v+"}} of the body")
		}
		line("  # %s", sentence.Shorten(strings.Join(strings.Fields(body.Text), " "), 200))
		line("  body: [%s]", strings.Join(texts, ", "))
	}
	switch format := d.Record.Component("HEADER").Format; {
	case !slices.Contains([]string{"IMAGE", "VIDEO", "DOCUMENT"}, format):
	case d.Linked:
		line("  header: {%s: {link: %s}}", strings.ToLower(format), variable("header_link", "the address of the header"))
	default:
		line("  header: {%s: {file: CHANGE-ME}}   # a file beside this one", strings.ToLower(format))
	}
	var filled []string
	for i, b := range buttons {
		of := fmt.Sprintf("button %q", b.Text)
		name := fmt.Sprintf("button_%d", i+1)
		switch {
		case b.Type == "URL" && len(b.Variables()) > 0:
			filled = append(filled, "{type: url, text: "+variable(name, "the end of the address of "+of)+"}")
		case b.Type == "COPY_CODE":
			filled = append(filled, "{type: copy_code, text: "+variable(name, "the code of "+of)+"}")
		}
	}
	if len(filled) > 0 {
		line("  buttons: [%s]", strings.Join(filled, ", "))
	}
}

// firstNames are the names of columns with a person's first name, as words.
var firstNames = []string{"firstname", "first", "givenname", "forename", "vorname", "prenom", "nombre", "nome", "name"}

// column returns the name for a variable of the template in the campaign file, and the column of
// the list that has this name; "" if none has. The first of numbered variables is mostly the first
// name.
func (d *Draft) column(variable string) (as, column string) {
	as = variable
	wanted := []string{folded(variable)}
	switch {
	case variable == "1" && (d.Record == nil || greets(d.Record.Component("BODY"))):
		as, wanted = "first_name", firstNames
	case variable == "1":
		wanted = nil
	case !isIdentifier(variable):
		as = "variable_" + strings.Map(func(r rune) rune {
			if isIdentifier("a" + string(r)) {
				return r
			}
			return '_'
		}, variable)
		wanted = nil
	}
	for _, name := range wanted {
		if at := slices.IndexFunc(d.List.Header, func(h string) bool { return folded(h) == name }); at >= 0 {
			return as, d.List.Header[at]
		}
	}
	if variable == "1" {
		as = "variable_1"
	}
	return as, ""
}

// greeting matches the words of a greeting at the end of a text, in the languages of firstNames and
// some more.
var greeting = regexp.MustCompile(`(?i)(^|[^\pL])(hi|hey|hello|dear|good (morning|afternoon|evening)|welcome( back)?|` +
	`thanks|thank you|hallo|liebe[r]?|guten tag|servus|moin|` +
	`bonjour|salut|cher|chère|hola|estimad[oa]|querid[oa]|buenos días|` +
	`olá|oi|prezad[oa]|bom dia|ciao|salve|gentile|buongiorno|beste|merhaba|halo|hai)[ ,]*[*_]*$`)

// greets reports whether the first variable of a text is addressed as a person, and its example, if
// there is one, may be a name.
func greets(body messaging.Component) bool {
	before, after, found := strings.Cut(body.Text, "{{1}}")
	if !found {
		return false
	}
	if all := body.Example.BodyText; len(all) > 0 && len(all[0]) > 0 {
		example := all[0][0]
		if strings.ContainsFunc(example, unicode.IsDigit) || strings.ContainsAny(example, "@%/#") || len(strings.Fields(example)) > 3 {
			return false
		}
	}
	after = strings.TrimLeft(after, "*_ ")
	first := strings.Trim(before, " *_\n") == "" && strings.IndexAny(after, ",!") == 0 // "{{1}}, your order"
	return first || greeting.MatchString(before)
}

// folded is the form in which names are compared here: letters and digits in lower case.
func folded(name string) string {
	return strings.Map(func(r rune) rune {
		if r == 'é' {
			return 'e'
		}
		if strings.ContainsRune(" _-.", r) {
			return -1
		}
		return r
	}, strings.ToLower(name))
}
