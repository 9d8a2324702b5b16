package recipients

import (
	"errors"
	"io"
	"strings"
)

// Sketch is what a first look at a list tells, for a campaign file that does not exist yet.
type Sketch struct {
	Skip    int      // Options.Skip
	Header  []string // the names of the columns
	To      []string // the columns that probably hold the phone
	Country string   // the column that probably holds the country; ""
	// Rows is how many rows were looked at, at most 1000; Local how many of their numbers have neither
	// + nor a country.
	Rows, Local int
	// Coded is how many of the Local ones would be read as a country code and a number.
	Coded int
	// SkipLast is Options.SkipLast; 0 for a list of more than 1000 rows, whose end was not read.
	SkipLast int
}

// Look reads the header and the first rows of the list at path, and finds the header below titles.
// The error is a *FileError; a list without a column that looks like a phone is one.
func Look(path string) (Sketch, error) {
	var s Sketch
	r, o, likely, err := openUnmapped(func(o Options) (*Reader, error) { return Open(path, o) }, Options{})
	if err != nil {
		return s, err
	}
	if !likely { // the error says which names are known
		_ = r.Close() // it was only read
		if r, err = Open(path, Options{Skip: o.Skip}); err != nil {
			return s, err
		}
	}
	s.Skip, s.Header = o.Skip, r.Header()
	if err := r.Close(); err != nil {
		return s, err
	}
	for _, i := range likelyPhones(s.Header) {
		s.To = append(s.To, s.Header[i])
	}
	if len(s.To) == 0 { // it is called to, or recipient
		s.To = []string{s.Header[r.Column(FieldTo)]}
	}
	o.Columns = map[string]Names{FieldTo: s.To}
	if i := likelyCountry(s.Header); i >= 0 {
		s.Country = s.Header[i]
		o.Columns[FieldCountry] = Names{s.Country}
	}
	if r, err = Open(path, o); err != nil {
		return s, err
	}
	for s.Rows < 1000 {
		row, err := r.Next()
		if errors.Is(err, io.EOF) {
			s.SkipLast = r.Remarks()
		}
		if err != nil {
			break // a fault further down is for `check` to tell
		}
		s.Rows++
		country := r.Column(FieldCountry)
		if f := row.Fault; f != nil && f.Kind == InvalidPhone && strings.ContainsAny(row.To, "0123456789") && !strings.Contains(row.To, "+") &&
			(country < 0 || strings.TrimSpace(row.Cells[country]) == "") {
			s.Local++
		}
	}
	s.Coded = int(r.Homeless().Coded)
	return s, r.Close()
}
