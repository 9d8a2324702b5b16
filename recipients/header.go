package recipients

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"campaignd/internal/sentence"
	"campaignd/internal/spreadsheet"
)

// The fields of Options.Columns; every other key is a variable of the template.
const (
	FieldTo       = "to"
	FieldCountry  = "country"
	FieldTimezone = "timezone"
)

// The names by which a column is recognised as a field when recipients.columns does not map it, in
// the form of foldName. The field's own name comes first and wins over the others.
var (
	toAliases = []string{"to", "phone", "mobile", "msisdn", "phonenumber", "phoneno", "mobilenumber", "mobilephone", "mobileno",
		"cell", "cellphone", "cellnumber", "telephone", "telephonenumber", "tel", "whatsapp", "whatsappnumber", "recipient", "recipientphone"}
	countryAliases  = []string{"country", "countrycode", "countryregion"}
	timezoneAliases = []string{"timezone", "tz"}
)

// header is the first record of a list: the names of its columns, and which columns are fields.
type header struct {
	names    []string
	to       int            // first column of the phone
	more     []int          // further columns of the phone
	country  int            // -1: none
	timezone int            // -1: none
	columns  map[string]int // field, variable or column name -> column; -1: several columns have the name
	unread   []int          // further columns that look like a phone
	hide     bool           // Options.HideNames
	mapped   bool           // Options.Columns maps the phone
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
	h := &header{names: make([]string, len(record)), country: -1, timezone: -1, columns: make(map[string]int, len(record)+3),
		hide: o.HideNames}
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
		var f *FileError
		if errors.As(err, &f) {
			f.Columns = h.names
		}
		return nil, err
	}
	return h, nil
}

// mapColumns sets the fields: as o.Columns maps them, else by the aliases.
func (h *header) mapColumns(o Options, fail func(message, remedy string) error) error {
	mapped := make(map[string][]int, len(o.Columns))
	none := map[string]bool{}
	for _, field := range slices.Sorted(maps.Keys(o.Columns)) { // so that the same list always gets the same error
		for _, name := range o.Columns[field] {
			want := strings.TrimSpace(name)
			if want == "" && field != FieldTo {
				none[field] = true
				continue
			}
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
			mapped[field] = append(mapped[field], i)
		}
	}
	if to := mapped[FieldTo]; len(to) > 0 {
		h.to, h.more, h.mapped = to[0], to[1:], true
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
				h.list(found...)), "say which, or have the first that is filled read, with recipients.columns: "+Suggest(h.names))
		default:
			if slices.ContainsFunc(h.names, looksLikePhone) {
				return headless(fail)
			}
			remedy := "map it with recipients.columns: {to: COLUMN}"
			if like := Suggest(h.names); like != "" && !h.hide {
				remedy = "did you mean recipients.columns: " + like + "?"
			}
			return fail("no column holds the phone number under a known name; the columns are "+h.list(), remedy)
		}
	}
	for _, f := range []struct {
		name    string
		aliases []string
		at      *int
	}{{FieldCountry, countryAliases, &h.country}, {FieldTimezone, timezoneAliases, &h.timezone}} {
		if i := mapped[f.name]; len(i) > 0 {
			*f.at = i[0]
		} else if found := h.alias(f.aliases); !none[f.name] && len(found) == 1 && found[0] != h.to && !slices.Contains(h.more, found[0]) {
			*f.at = found[0]
		}
	}
	used := map[int]string{}
	for _, f := range append([]fieldColumn{{FieldTo, h.to}, {FieldCountry, h.country}, {FieldTimezone, h.timezone}}, h.furtherTo()...) {
		switch at := f.column; {
		case at < 0:
		case h.columns[h.names[at]] < 0:
			return h.shared(h.names[at], fail)
		case used[at] == f.name:
			return fail("recipients.columns maps \"to\" to the column "+h.named(h.names[at])+" twice", "name it once")
		case used[at] != "":
			return fail(fmt.Sprintf("recipients.columns maps %q and %q to the same column %s", used[at], f.name, h.named(h.names[at])),
				"map them to two columns")
		default:
			used[at] = f.name
		}
	}
	for field, i := range mapped { // a mapping hides a column of the same name
		if len(i) > 0 {
			h.columns[field] = i[0]
		}
	}
	for _, i := range likelyPhones(h.names) {
		if used[i] == "" && !h.hide {
			h.unread = append(h.unread, i)
		}
	}
	for name, i := range map[string]int{FieldTo: h.to, FieldCountry: h.country, FieldTimezone: h.timezone} {
		if i >= 0 {
			h.columns[name] = i
		}
	}
	return nil
}

// fieldColumn is a column of a field; -1: the list has none.
type fieldColumn struct {
	name   string
	column int
}

func (h *header) furtherTo() (fields []fieldColumn) {
	for _, i := range h.more {
		fields = append(fields, fieldColumn{FieldTo, i})
	}
	return fields
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

// list names columns for a message: all, or only the given ones.
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
	if near := sentence.Nearest(want, h.names); near != "" {
		return "did you mean {" + field + ": " + YAMLText(near) + "}?"
	}
	if like := Suggest(h.names); like != "" && (field == FieldTo || field == FieldCountry) {
		return "did you mean recipients.columns: " + like + "?"
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
