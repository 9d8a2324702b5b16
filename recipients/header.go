package recipients

import (
	"fmt"
	"slices"
	"sort"
	"strings"
	"unicode"
	"unicode/utf8"

	"campaignd/internal/spelling"
	"campaignd/internal/spreadsheet"
)

// The fields of Options.Columns; every other key is a variable of the template.
const (
	FieldTo       = "to"
	FieldTimezone = "timezone"
)

// The names by which a column is recognised as a field when recipients.columns does not map it, in
// the form of foldName. The field's own name comes first and wins over the others.
var (
	toAliases = []string{"to", "phone", "mobile", "msisdn", "phonenumber", "phoneno", "mobilenumber", "mobilephone", "mobileno",
		"cell", "cellphone", "cellnumber", "telephone", "telephonenumber", "tel", "whatsapp", "whatsappnumber", "recipient", "recipientphone"}
	timezoneAliases = []string{"timezone", "tz"}
)

// header is the first record of a list: the names of its columns, and which columns are fields.
type header struct {
	names    []string
	to       int            // column of the phone
	timezone int            // -1: none
	columns  map[string]int // field, variable or column name -> column; -1: several columns have the name
	hide     bool           // Options.HideNames
}

// keys are the names of the columns for gocsv. The list's own names are not used: a second column
// called "to", " to", or "to" with a zero-width space would match the field as well.
func (h *header) keys() []string {
	keys := make([]string, len(h.names))
	for i := range keys {
		switch i {
		case h.to:
			keys[i] = FieldTo
		case h.timezone:
			keys[i] = FieldTimezone
		default:
			keys[i] = fmt.Sprintf("column %d", i+1)
		}
	}
	return keys
}

// readHeader checks the names and maps the columns. record is the first record; it begins on line.
func readHeader(record []string, file string, line int, o Options) (*header, error) {
	h := &header{names: make([]string, len(record)), timezone: -1, columns: make(map[string]int, len(record)+2), hide: o.HideNames}
	fail := func(message, remedy string) error {
		return &FileError{File: file, Line: line, Message: message, Remedy: remedy}
	}
	if len(record) > o.Limits.Columns {
		return nil, fail(fmt.Sprintf("the header has %d columns, more than %d",
			len(record), o.Limits.Columns), "remove columns that the campaign does not use")
	}
	for i, raw := range record {
		// The reports escape names as they escape cells.
		name := strings.TrimFunc(spreadsheet.Unescape(textCell(raw)), func(r rune) bool { return unicode.IsSpace(r) || invisible(r) })
		switch {
		case !utf8.ValidString(raw):
			return nil, fail(fmt.Sprintf("the name of column %d is not UTF-8: %s",
				i+1, h.named(raw)), "set recipients.encoding, for example windows-1252")
		case name == "" && len(record) == 1:
			return nil, fail("the header has no column names", "give the list a first line with a name for each column")
		case name == "": // Excel exports the columns right of the table with the delimiters of empty cells
			name = fmt.Sprintf("column %d", i+1)
		case strings.ContainsRune(name, '\r'):
			return nil, fail("the lines end with a carriage return alone, as on the first Macs", "save the list with LF or CRLF line ends")
		case strings.ContainsFunc(name, func(r rune) bool { return unicode.IsControl(r) && r != '\n' && r != '\t' }):
			return nil, fail(fmt.Sprintf("the name of column %d holds a control character: %s", i+1, h.named(name)), "rename it in the first line")
		}
		h.names[i] = name
		if _, ok := h.columns[name]; ok {
			h.columns[name] = -1 // a fault only where the name is used
			continue
		}
		h.columns[name] = i
	}
	if err := h.mapColumns(o, fail); err != nil {
		return nil, err
	}
	return h, nil
}

// mapColumns sets the fields: as o.Columns maps them, else by the aliases.
func (h *header) mapColumns(o Options, fail func(message, remedy string) error) error {
	mapped := make(map[string]int, len(o.Columns))
	fields := make([]string, 0, len(o.Columns))
	for field := range o.Columns {
		fields = append(fields, field)
	}
	sort.Strings(fields) // so that the same list always gets the same error
	for _, field := range fields {
		want := strings.TrimSpace(o.Columns[field])
		i, ok := h.columns[want]
		if !ok {
			if slices.ContainsFunc(h.names, looksLikePhone) {
				return headless(fail)
			}
			return fail(fmt.Sprintf("recipients.columns maps %q to column %s, which is not in the list; its columns are %s",
				field, named(want), h.list()), h.nearest(field, want))
		}
		if i < 0 {
			return h.shared(want, fail)
		}
		mapped[field] = i
	}
	if i, ok := mapped[FieldTo]; ok {
		h.to = i
	} else {
		found := h.alias(toAliases)
		switch {
		case len(found) == 1:
			h.to = found[0]
		case len(found) > 1:
			if h.hide {
				return fail(fmt.Sprintf("%d columns may be the phone number", len(found)), "say which with recipients.columns: {to: COLUMN}")
			}
			return fail(fmt.Sprintf("columns %s may all be the phone number",
				h.list(found...)), "say which with recipients.columns: {to: "+h.names[found[0]]+"}")
		default:
			if slices.ContainsFunc(h.names, looksLikePhone) {
				return headless(fail)
			}
			return fail("no column holds the phone number under a known name; the columns are "+h.list(),
				"map it with recipients.columns: {to: COLUMN}")
		}
	}
	if i, ok := mapped[FieldTimezone]; ok {
		h.timezone = i
	} else if found := h.alias(timezoneAliases); len(found) == 1 && found[0] != h.to {
		h.timezone = found[0]
	}
	for _, i := range []int{h.to, h.timezone} {
		if i >= 0 && h.columns[h.names[i]] < 0 {
			return h.shared(h.names[i], fail)
		}
	}
	if h.timezone == h.to {
		return fail("recipients.columns maps \"to\" and \"timezone\" to the same column "+h.named(h.names[h.to]), "map them to two columns")
	}
	for field, i := range mapped { // a mapping hides a column of the same name
		h.columns[field] = i
	}
	h.columns[FieldTo] = h.to
	if h.timezone >= 0 {
		h.columns[FieldTimezone] = h.timezone
	}
	return nil
}

// shared is the error of a name that is used and that two columns have.
func (h *header) shared(name string, fail func(message, remedy string) error) error {
	first := slices.Index(h.names, name)
	second := first + 1 + slices.Index(h.names[first+1:], name)
	return fail(fmt.Sprintf("columns %d and %d are both called %s", first+1, second+1, h.named(name)), "rename one of them in the first line")
}

// headless is the error of a list that begins with its first recipient.
func headless(fail func(message, remedy string) error) error {
	return fail("the first line holds a phone number, so the list has no header",
		"give it a first line with a name for each column, such as to,first_name")
}

// alias finds the columns that may be the field: only the first one with the field's own name, if
// there is one.
func (h *header) alias(names []string) (found []int) {
	for i, name := range h.names {
		if name == names[0] {
			return []int{i}
		}
		if slices.Contains(names, foldName(name)) {
			found = append(found, i)
		}
	}
	return found
}

// list names columns for a message: all, or only the given ones; at most twelve.
func (h *header) list(only ...int) string {
	if h.hide {
		return fmt.Sprintf("not shown in a log (%d columns)", len(h.names))
	}
	if len(only) == 0 {
		for i := range h.names {
			only = append(only, i)
		}
	}
	var b strings.Builder
	for n, i := range only {
		if n == 12 {
			fmt.Fprintf(&b, " and %d more", len(only)-n)
			break
		}
		if n > 0 {
			b.WriteString(", ")
		}
		b.WriteString(named(h.names[i]))
	}
	return b.String()
}

// named quotes a column's name for a message.
func (h *header) named(name string) string {
	if h.hide {
		return "not shown in a log"
	}
	return named(name)
}

func (h *header) nearest(field, want string) string {
	if h.hide {
		return "see `campaignd check`"
	}
	if near := spelling.Nearest(want, h.names); near != "" {
		return "did you mean {" + field + ": " + near + "}?"
	}
	return "map it to one of them"
}

// looksLikePhone reports whether s has seven digits or more and only characters that phone numbers
// are written with.
func looksLikePhone(s string) bool {
	digits := 0
	for _, r := range s {
		switch {
		case r >= '0' && r <= '9':
			digits++
		case !strings.ContainsRune("+-(). ", r):
			return false
		}
	}
	return digits >= 7
}
