package shop

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

// window reads page or page[number], and per_page or page[size]. A size over 100 is 100.
func (c *call) window() (window, error) {
	query := c.query
	w := window{number: 1, size: defaultSize, bracketed: query.Has("page[number]") || query.Has("page[size]")}
	if c.route.right == admin && !query.Has("page") && !query.Has("per_page") {
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
		return say(http.StatusBadRequest, name+" needs a number from 1 on")
	}
	*into = min(n, most)
	return nil
}

// criteria reads the filters of a query, in the order of their names.
func criteria(c *call) ([]criterion, error) {
	found := map[string]*criterion{}
	for key, values := range c.query {
		rest, ok := strings.CutPrefix(key, "filter[")
		if !ok {
			continue
		}
		name, part, ok := strings.Cut(rest, "]")
		v := found[name]
		if v == nil {
			v = &criterion{name: name}
			found[name] = v
		}
		switch value := strings.Join(values, ","); {
		case ok && part == "":
			v.value = value
		case ok && part == "[start]":
			v.start = value
		case ok && part == "[end]":
			v.end = value
		case ok && part == "[]":
			v.value = value
		default:
			return nil, say(http.StatusBadRequest, "Unknown parameter "+short(key))
		}
	}
	var all []criterion
	for _, v := range found {
		if v.value != "" || v.start != "" || v.end != "" { // an empty filter is none
			all = append(all, *v)
		}
	}
	slices.SortFunc(all, func(a, b criterion) int { return strings.Compare(a.name, b.name) })
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

func short(text string) string {
	if r := []rune(text); len(r) > 60 {
		return string(r[:60])
	}
	return text
}

// page is the envelope of a list (docs/commerce.md#lists).
type page struct {
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
func envelope(c *call, w window, rows []any, total int) page {
	path := c.base + c.r.URL.EscapedPath()
	last := max(1, (total+w.size-1)/w.size)
	link := func(n int) string {
		query := url.Values{}
		for k, v := range c.query {
			if k != "page" && k != "page[number]" {
				query[k] = v
			}
		}
		name := "page"
		if w.bracketed {
			name = "page[number]"
		}
		query.Set(name, strconv.Itoa(n))
		return path + "?" + query.Encode()
	}
	maybe := func(n int) (*int, *string) {
		if n < 1 || n > last {
			return nil, nil
		}
		to := link(n)
		return &n, &to
	}
	out := page{Data: rows, Links: pageLinks{First: link(1), Last: link(last)},
		Meta: pageMeta{CurrentPage: w.number, LastPage: last, Path: path, PerPage: w.size, Total: total}}
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
