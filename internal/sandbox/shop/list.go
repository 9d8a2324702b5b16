package shop

import (
	"cmp"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"

	"campaignd/internal/sandbox/shop/value"
)

// list is how a collection is listed: what filters it, what orders it, what its rows include and
// how a row is shown. A list that has the order created_at names it with birth.
type list[T record] struct {
	filters  map[string]filter[T]
	sorts    map[string]sorter[T]
	includes []string
	view     func(c *call, r T, in includes) any
	// found, if set, finds the one record that a search names by its id.
	found func(c *call, search string) (T, bool)
}

// filter makes the condition of one request from the value of filter[name].
type filter[T any] func(c *call, v criterion) (func(T) bool, error)

// sorter makes the order of one request. It may prepare what it compares.
type sorter[T any] func(c *call) func(a, b T) int

// criterion is filter[name]=value, or filter[name][start] and filter[name][end]. The names of
// filters with a start and an end, and of no others, end in _at.
type criterion struct {
	name, value, start, end string
}

// includes are the values of include.
type includes []string

func (in includes) has(name string) bool { return slices.Contains(in, name) }

// birth is the order by creation. The name lets a list of generated records read only one page.
const birth = "created_at"

// by orders by a value of each record.
func by[T any, V cmp.Ordered](value func(T) V) sorter[T] {
	return func(*call) func(a, b T) int {
		return func(a, b T) int { return cmp.Compare(value(a), value(b)) }
	}
}

// byFold orders by a text, without its case.
func byFold[T any](text func(T) string) sorter[T] {
	return by(func(r T) string { return strings.ToLower(text(r)) })
}

// byCount orders by a count of each record, such as its orders. All are counted once.
func byCount[T any](counts func(*company) map[string]int, key func(T) string) sorter[T] {
	return func(c *call) func(a, b T) int {
		n := counts(c.company)
		return func(a, b T) int { return cmp.Compare(n[key(a)], n[key(b)]) }
	}
}

// byTime orders by an instant.
func byTime[T any](at func(T) value.Stamp) sorter[T] {
	return func(*call) func(a, b T) int {
		return func(a, b T) int { return at(a).Compare(at(b).Time) }
	}
}

// page answers the page of the table that the request asks for.
func (l *list[T]) page(c *call, t *table[T]) (page, error) {
	q, err := l.read(c)
	if err != nil {
		return page{}, err
	}
	rows, total := l.rows(c, t, q)
	in := make([]any, 0, len(rows))
	for _, r := range rows {
		in = append(in, l.view(c, r, q.includes))
	}
	return envelope(c, q.window, in, total), nil
}

// question is what a request asks of a list.
type question[T record] struct {
	window
	conditions []func(T) bool
	orders     []func(a, b T) int
	keys       []string // of sort, with their -
	includes   includes
	exact      T
	found      bool
}

// read reads filters, sort, include and page. Each unknown name is refused.
func (l *list[T]) read(c *call) (q question[T], err error) {
	if q.window, err = c.window(); err != nil {
		return q, err
	}
	all, err := criteria(c)
	if err != nil {
		return q, err
	}
	for _, v := range all {
		f := l.filters[v.name]
		if f == nil {
			return q, unknown("filter", v.name, slices.Sorted(maps.Keys(l.filters)))
		}
		if (v.start != "" || v.end != "") && !strings.HasSuffix(v.name, "_at") {
			return q, badValue(v, "one value, without [start] and [end]")
		}
		if l.found != nil && v.name == "search" {
			if q.exact, q.found = l.found(c, v.value); q.found {
				continue
			}
		}
		condition, err := f(c, v)
		if err != nil {
			return q, err
		}
		q.conditions = append(q.conditions, condition)
	}
	for key := range names(c.query.Get("sort")) {
		name, descending := strings.CutPrefix(key, "-")
		s := l.sorts[name]
		if s == nil {
			return q, unknown("sort", name, slices.Sorted(maps.Keys(l.sorts)))
		}
		order := s(c)
		if descending {
			ascending := order
			order = func(a, b T) int { return ascending(b, a) }
		}
		q.keys, q.orders = append(q.keys, key), append(q.orders, order)
	}
	for name := range names(c.query.Get("include")) {
		if !slices.Contains(l.includes, name) {
			return q, unknown("include", name, l.includes)
		}
		q.includes = append(q.includes, name)
	}
	return q, nil
}

func unknown(what, name string, known []string) error {
	list := strings.Join(known, ", ")
	if list == "" {
		list = "none"
	}
	return say(http.StatusBadRequest, "Unknown "+what+" "+short(name)+"; known: "+list)
}

// rows returns the rows of the page, and how many rows there are on all pages.
func (l *list[T]) rows(c *call, t *table[T], q question[T]) ([]T, int) {
	from := q.window.from()
	if q.found {
		t = tableOf([]T{q.exact})
	}
	plain := len(q.conditions) == 0
	switch {
	case from >= t.len():
		if plain {
			return nil, t.len()
		}
	case plain && len(q.keys) == 0:
		out := make([]T, 0, q.size)
		for i := from; i < min(from+q.size, t.len()); i++ {
			out = append(out, t.at(i))
		}
		return out, t.len()
	case plain && t.made.born != nil && len(q.keys) == 1 && strings.TrimPrefix(q.keys[0], "-") == birth:
		return t.byBirth(from, q.size, q.keys[0] != birth), t.len()
	}
	var kept []T
	for r := range t.all() {
		if !slices.ContainsFunc(q.conditions, func(fits func(T) bool) bool { return !fits(r) }) {
			kept = append(kept, r)
		}
	}
	if len(q.orders) > 0 {
		slices.SortStableFunc(kept, func(a, b T) int {
			for _, order := range q.orders {
				if n := order(a, b); n != 0 {
					return n
				}
			}
			return 0
		})
	}
	return kept[min(from, len(kept)):min(from+q.size, len(kept))], len(kept)
}

// The filters that several lists have.

// searching finds a text in the texts of a record, in any case.
func searching[T any](texts func(T) []string) filter[T] {
	return func(_ *call, v criterion) (func(T) bool, error) {
		want := strings.ToLower(strings.TrimSpace(v.value))
		return func(r T) bool {
			return slices.ContainsFunc(texts(r), func(s string) bool { return strings.Contains(strings.ToLower(s), want) })
		}, nil
	}
}

// equal compares a text of a record with the value.
func equal[T any](text func(T) string) filter[T] {
	return func(_ *call, v criterion) (func(T) bool, error) {
		return func(r T) bool { return text(r) == v.value }, nil
	}
}

// flag compares a switch of a record with 1 or 0.
func flag[T any](is func(c *call, r T) bool) filter[T] {
	return func(c *call, v criterion) (func(T) bool, error) {
		want := v.value == "1" || v.value == "true"
		if !want && v.value != "0" && v.value != "false" {
			return nil, badValue(v, "1 or 0")
		}
		return func(r T) bool { return is(c, r) == want }, nil
	}
}

// oneOf finds a record by any of the values of a comma list.
func oneOf[T any](texts func(T) []string) filter[T] {
	return func(_ *call, v criterion) (func(T) bool, error) {
		wanted := slices.Collect(names(v.value))
		return func(r T) bool {
			return slices.ContainsFunc(texts(r), func(s string) bool { return slices.Contains(wanted, s) })
		}, nil
	}
}

// between compares an instant of a record with start and end, both inclusive. A date as the end
// means the whole day.
func between[T any](at func(T) value.Stamp) filter[T] {
	return func(_ *call, v criterion) (func(T) bool, error) {
		var start, end value.Stamp
		var err error
		if v.start != "" {
			if start, _, err = value.ParseStamp(v.start); err != nil {
				return nil, badValue(v, "a time as its start")
			}
		}
		if v.end != "" {
			var date bool
			if end, date, err = value.ParseStamp(v.end); err != nil {
				return nil, badValue(v, "a time as its end")
			}
			if date {
				end.Time = end.Add(24*time.Hour - time.Nanosecond)
			}
		}
		if v.value != "" {
			return nil, badValue(v, "[start] and [end]")
		}
		return func(r T) bool {
			t := at(r)
			return (v.start == "" || !t.Before(start.Time)) && (v.end == "" || !t.After(end.Time))
		}, nil
	}
}

func badValue(v criterion, want string) error {
	return say(http.StatusBadRequest, "filter["+v.name+"] needs "+want)
}
