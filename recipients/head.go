package recipients

import (
	"errors"
	"io"
	"slices"
)

// Head is the beginning of a list, as a person sees it before a campaign knows its columns.
type Head struct {
	Dialect Dialect
	Skip    int      // lines above the header: Options.Skip, or those found above it
	Header  []string // the names of the columns
	// To is the column that the phone number is read from, or the one that probably has it; "": none
	// looks like it.
	To   string
	Rows []HeadRow
}

// HeadRow is a row of a head. A row with a fault has its cells too.
type HeadRow struct {
	Line  int // in the file, from 1
	Cells []string
}

// ReadHead reads the header and at most most rows of a list, whether or not o names columns of the
// list. It reads list from its beginning, and errors call it name. The error is a *FileError, or
// the error of an option. A list whose first line has a phone number is one: it has no header.
func ReadHead(list io.ReadSeeker, name string, o Options, most int) (h Head, err error) {
	r, o, likely, err := openUnmapped(func(o Options) (*Reader, error) {
		if _, err := list.Seek(0, io.SeekStart); err != nil {
			return nil, err
		}
		return NewReader(list, name, o)
	}, o)
	if err != nil {
		return h, err
	}
	defer func() { err = errors.Join(err, r.Close()) }()
	h = Head{Dialect: r.Dialect(), Skip: o.Skip, Header: r.Header()}
	if likely {
		h.To = h.Header[r.Column(FieldTo)]
	}
	for len(h.Rows) < most {
		row, err := r.Next()
		if isEnd(err) {
			break
		}
		if err != nil {
			return h, err
		}
		h.Rows = append(h.Rows, HeadRow{row.Line, row.Cells})
	}
	return h, nil
}

// openUnmapped opens a list whose columns o may not know, and goes on below titles. It returns the
// options that open takes. likely reports whether the phone number is read from the column of o, or
// from one that looks like a phone; otherwise it is read from any column.
func openUnmapped(open func(Options) (*Reader, error), o Options) (r *Reader, with Options, likely bool, err error) {
	r, err = open(o)
	likely = true
	for range 2 { // below titles, and then with the columns named
		var f *FileError
		if !errors.As(err, &f) || f.Skip == 0 && (len(f.Columns) == 0 || slices.ContainsFunc(f.Columns, looksLikePhone)) {
			break
		}
		if o.Skip = max(o.Skip, f.Skip); f.Skip == 0 {
			var to string
			to, likely = proposed(f.Columns, o.Columns[FieldTo])
			o.Columns = map[string]Names{FieldTo: {to}}
		}
		r, err = open(o)
	}
	return r, o, likely, err
}

// proposed returns the column of the phone number: the first of wanted that the list has, else the
// first one that looks like a phone. Otherwise it returns one whose name no other column has, and
// likely is false.
func proposed(columns []string, wanted Names) (to string, likely bool) {
	for _, name := range wanted {
		if slices.Contains(columns, name) {
			return name, true
		}
	}
	if like := likelyPhones(columns); len(like) > 0 {
		return columns[like[0]], true
	}
	for i, name := range columns {
		if slices.Index(columns, name) == i && !slices.Contains(columns[i+1:], name) {
			return name, false
		}
	}
	return columns[0], false
}
