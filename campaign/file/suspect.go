package file

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"campaignd/internal/sentence"
	"campaignd/recipients"
)

// suspicion is a kind of value that is in a list by mistake. The list is closed: `check` warns of
// each kind, and Variable.Forbid refuses the kinds that it names.
type suspicion uint8

const (
	unsuspicious suspicion = iota
	errorValue
	formulaValue
	placeholderValue
	encodedTwice
)

// suspicions are the kinds as Variable.Forbid names them, and as a sentence names one of them.
var suspicions = [...]struct{ name, one, remedy string }{
	errorValue:       {"error_values", "an error or empty value of a program", "correct them"},
	formulaValue:     {"formulas", "a formula", "correct them"},
	placeholderValue: {"placeholders", "a variable that was not filled in", "correct them"},
	encodedTwice:     {"double_encoded", "text that was encoded twice", "export the list again as UTF-8"},
}

// forbidKinds are the names of Variable.Forbid that stand for a kind.
func forbidKinds() []string {
	var names []string
	for _, s := range suspicions[errorValue:] {
		names = append(names, s.name)
	}
	return names
}

// errorValues are what programs write where a value is missing: the errors of spreadsheets, and the
// empty values of databases and languages. Null, Nan and Nil with one capital are names of people.
var errorValues = []string{
	"#N/A", "#NA", "#NV", "#REF!", "#VALUE!", "#NAME?", "#DIV/0!", "#NUM!", "#NULL!", "#SPILL!", "#CALC!", "#FIELD!", "#BUSY!",
	"#GETTING_DATA", "#ERROR!", "NULL", "null", "(null)", "<null>", "nan", "NaN", "NAN", "<NA>", "N/A", "n/a", `\N`, "nil", "None",
	"undefined", "[object Object]",
}

var (
	formula = regexp.MustCompile(`^(=\s*[A-Za-z0-9$("'+-]|[+@-][A-Za-z][A-Za-z0-9.]*\()`)
	// "{{name}}", "{name}" and "${name}". A name begins with a letter, so that "{5}" is not one.
	unfilled = regexp.MustCompile(`\{\{[^{}]*\}\}|\{[\pL_][\pL\pN_ .-]*\}`)
)

// suspect returns the kind of a value that was probably not meant.
func suspect(value string) suspicion {
	if value == "" {
		return unsuspicious
	}
	switch value[0] {
	case '=', '+', '-', '@':
		if formula.MatchString(value) {
			return formulaValue
		}
	case '#', 'N', 'n', '(', '<', '\\', 'u', '[':
		if slices.Contains(errorValues, value) {
			return errorValue
		}
	}
	if strings.IndexByte(value, '{') >= 0 && unfilled.MatchString(value) {
		return placeholderValue
	}
	if recipients.EncodedTwice(value) {
		return encodedTwice
	}
	return unsuspicious
}

// forbidden are the values that a variable refuses; nil refuses none.
type forbidden struct {
	variable string
	kinds    [len(suspicions)]bool
	texts    []string
}

func newForbidden(variable string, forbid []string) *forbidden {
	if len(forbid) == 0 {
		return nil
	}
	f := &forbidden{variable: variable}
	for _, text := range forbid {
		if at := slices.Index(forbidKinds(), text); at >= 0 {
			f.kinds[int(errorValue)+at] = true
		} else {
			f.texts = append(f.texts, clean(text))
		}
	}
	return f
}

// refuses says why a value is refused; "" when it is not.
func (f *forbidden) refuses(value string) string {
	if f == nil {
		return ""
	}
	var what string
	if slices.Contains(f.texts, value) {
		what = "a text that the campaign refuses"
	} else if kind := suspect(value); kind != unsuspicious && f.kinds[kind] {
		what = suspicions[kind].one
	} else {
		return ""
	}
	return fmt.Sprintf("holds %s (variables.%s.forbid); correct the cell", what, f.variable)
}

// Suspects counts the sendable rows in which a variable has a suspicious value.
type Suspects struct {
	of    map[suspectKey]*suspectRows
	order []suspectKey
}

type suspectKey struct {
	variable string
	kind     suspicion
}

type suspectRows struct {
	count int64
	last  int64   // the last row counted
	value string  // of the first row
	rows  []int64 // the first of them
}

// Add looks at the values of a row. A variable that several parameters use counts once.
func (s *Suspects) Add(r *Renderer, row int64, cells []string) {
	for i := range r.parameters {
		for j := range r.parameters[i].slots {
			slot := &r.parameters[i].slots[j]
			if slot.column < 0 || slot.column >= len(cells) {
				continue
			}
			value := clean(cells[slot.column])
			if kind := suspect(value); kind != unsuspicious {
				s.note(suspectKey{slot.variable, kind}, row, value)
			}
		}
	}
}

func (s *Suspects) note(key suspectKey, row int64, value string) {
	of := s.of[key]
	if of == nil {
		if s.of == nil {
			s.of = map[suspectKey]*suspectRows{}
		}
		of = &suspectRows{value: strings.Clone(shorten(value))}
		s.of[key], s.order = of, append(s.order, key)
	}
	if of.last == row {
		return
	}
	of.count++
	if of.last = row; of.count <= suspectRowsShown {
		of.rows = append(of.rows, row)
	}
}

// suspectRowsShown is how many rows a finding names.
const suspectRowsShown = 5

// Findings warns of each variable and kind, in the order of the list, which messages call list.
func (s *Suspects) Findings(list string) (all []Finding) {
	for _, key := range s.order {
		of, kind := s.of[key], suspicions[key.kind]
		rows := make([]string, len(of.rows))
		for i, n := range of.rows {
			rows[i] = strconv.FormatInt(n, 10)
		}
		in := "row " + strings.Join(rows, ", ")
		if of.count > 1 {
			in = "rows " + strings.Join(rows, ", ")
		}
		if more := of.count - int64(len(of.rows)); more > 0 {
			in += fmt.Sprintf(" and %d more", more)
		}
		all = append(all, Warning(KindSuspect, of.count, list,
			fmt.Sprintf("variable %s: %s would be sent %s such as %q (%s)",
				key.variable, sentence.Count(of.count, "recipient", "recipients"), kind.one, of.value, in),
			fmt.Sprintf("%s, or skip such rows with variables: {%s: {forbid: [%s]}}", kind.remedy, key.variable, kind.name)))
	}
	return all
}
