package records

import (
	"iter"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
)

// The page size of every list (docs/commerce.md#lists).
const (
	defaultSize = 15
	maxSize     = 100
)

// window is the page that a request asks for, from page 1 on.
type window struct {
	number, size int
	bracketed    bool // its links have page[number]
}

func (w window) from() int { return (w.number - 1) * w.size }

// Request is what a list reads of a request.
type Request struct {
	Query url.Values
	URL   string // without the query
	// Bracketed says that the links have page[number] where the request names no page.
	Bracketed bool
}

// Refusal is the answer to a request that a list does not understand, or for which there is no
// room.
type Refusal struct {
	Status  int
	Message string
}

// Error is the message.
func (r *Refusal) Error() string { return r.Message }

func bad(message string) error { return &Refusal{http.StatusBadRequest, message} }

// window reads page or page[number], and per_page or page[size]. A size over 100 is 100.
func (r Request) window() (window, error) {
	query := r.Query
	w := window{number: 1, size: defaultSize, bracketed: query.Has("page[number]") || query.Has("page[size]")}
	if r.Bracketed && !query.Has("page") && !query.Has("per_page") {
		w.bracketed = true
	}
	for _, p := range []struct {
		name string
		into *int
		most int
	}{
		{"per_page", &w.size, maxSize}, {"page[size]", &w.size, maxSize},
		{"page", &w.number, 1 << 40}, {"page[number]", &w.number, 1 << 40},
	} {
		if err := readNumber(p.name, query.Get(p.name), p.into, p.most); err != nil {
			return w, err
		}
	}
	return w, nil
}

// Limit reads the limit of a list without pages. The error is a *Refusal.
func (r Request) Limit() (int, error) {
	n := defaultSize
	err := readNumber("limit", r.Query.Get("limit"), &n, maxSize)
	return n, err
}

// readNumber reads a number from 1 on. Larger ones than the most are the most.
func readNumber(name, text string, into *int, most int) error {
	if text == "" {
		return nil
	}
	n, err := strconv.Atoi(text)
	if strings.Trim(text, "0123456789") == "" && err != nil { // more digits than an int has
		n, err = most, nil
	}
	if err != nil || n < 1 {
		return bad(name + " needs a number from 1 on")
	}
	*into = min(n, most)
	return nil
}

// criteria reads the filters of a query, in the order of their names.
func (r Request) criteria() ([]Criterion, error) {
	found := map[string]*Criterion{}
	for key, values := range r.Query {
		rest, ok := strings.CutPrefix(key, "filter[")
		if !ok {
			continue
		}
		name, part, ok := strings.Cut(rest, "]")
		v := found[name]
		if v == nil {
			v = &Criterion{name: name}
			found[name] = v
		}
		switch value := strings.Join(values, ","); {
		case ok && part == "":
			v.Value = value
		case ok && part == "[start]":
			v.start = value
		case ok && part == "[end]":
			v.end = value
		case ok && part == "[]":
			v.Value = value
		default:
			return nil, bad("Unknown parameter " + Short(key))
		}
	}
	var all []Criterion
	for _, v := range found {
		if v.Value != "" || v.start != "" || v.end != "" { // an empty filter is none
			all = append(all, *v)
		}
	}
	slices.SortFunc(all, func(a, b Criterion) int { return strings.Compare(a.name, b.name) })
	return all, nil
}

// names are the parts of a comma list, without empty ones.
func names(text string) iter.Seq[string] {
	return func(yield func(string) bool) {
		for part := range strings.SplitSeq(text, ",") {
			if part = strings.TrimSpace(part); part != "" && !yield(part) {
				return
			}
		}
	}
}

// Short is at most 60 characters of a text.
func Short(text string) string {
	if r := []rune(text); len(r) > 60 {
		return string(r[:60])
	}
	return text
}

// Page is the envelope of a list (docs/commerce.md#lists).
type Page struct {
	Data  []any     `json:"data"`
	Links pageLinks `json:"links"`
	Meta  pageMeta  `json:"meta"`
}

type pageLinks struct {
	First string  `json:"first"`
	Last  string  `json:"last"`
	Next  *string `json:"next"`
	Prev  *string `json:"prev"`
}

type pageMeta struct {
	CurrentPage int        `json:"current_page"`
	From        *int       `json:"from"`
	LastPage    int        `json:"last_page"`
	Links       []pageLink `json:"links"`
	Path        string     `json:"path"`
	PerPage     int        `json:"per_page"`
	To          *int       `json:"to"`
	Total       int        `json:"total"`
}

// pageLink is a button of the front end's pages.
type pageLink struct {
	Active bool    `json:"active"`
	Label  string  `json:"label"`
	Page   *int    `json:"page"`
	URL    *string `json:"url"`
}

// envelope wraps the rows of a page. The links keep all parameters of the request.
func envelope(r Request, w window, rows []any, total int) Page {
	last := max(1, (total+w.size-1)/w.size)
	link := func(n int) string {
		query := url.Values{}
		for k, v := range r.Query {
			if k != "page" && k != "page[number]" {
				query[k] = v
			}
		}
		name := "page"
		if w.bracketed {
			name = "page[number]"
		}
		query.Set(name, strconv.Itoa(n))
		return r.URL + "?" + query.Encode()
	}
	maybe := func(n int) (*int, *string) {
		if n < 1 || n > last {
			return nil, nil
		}
		to := link(n)
		return &n, &to
	}
	out := Page{Data: rows, Links: pageLinks{First: link(1), Last: link(last)},
		Meta: pageMeta{CurrentPage: w.number, LastPage: last, Path: r.URL, PerPage: w.size, Total: total}}
	_, out.Links.Prev = maybe(w.number - 1)
	_, out.Links.Next = maybe(w.number + 1)
	if len(rows) > 0 {
		from, to := w.from()+1, w.from()+len(rows)
		out.Meta.From, out.Meta.To = &from, &to
	}
	button := func(label string, n int, active bool) {
		b := pageLink{Active: active, Label: label}
		b.Page, b.URL = maybe(n)
		out.Meta.Links = append(out.Meta.Links, b)
	}
	button("&laquo; Previous", w.number-1, false)
	before := 0
	for _, n := range buttons(w.number, last) {
		if n > before+1 {
			button("...", 0, false)
		}
		button(strconv.Itoa(n), n, n == w.number)
		before = n
	}
	button("Next &raquo;", w.number+1, false)
	return out
}

// buttons are the pages that the front end offers: the first two, the last two, and three on each
// side of the current one.
func buttons(current, last int) []int {
	var all []int
	for n := range last {
		switch n++; {
		case n <= 2, n > last-2, n >= current-3 && n <= current+3:
			all = append(all, n)
		}
	}
	return all
}
