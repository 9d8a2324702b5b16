package records

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"time"

	"campaignd/internal/sandbox/shop/value"
)

// List is how a collection is listed: what filters it, what orders it, what its rows include and
// how a row is shown. A list that has the order created_at names it with Birth.
type List[T Record] struct {
	Filters  map[string]Filter[T]
	Sorts    map[string]func(a, b T) int
	Includes []string
	View     func(r T, in Includes) any
	// Found, if set, finds the one record that a search names by its id.
	Found func(search string) (T, bool)
}

// Filter makes the condition of one request from the value of filter[name].
type Filter[T any] func(v Criterion) (func(T) bool, error)

// Criterion is filter[name]=value, or filter[name][start] and filter[name][end]. The names of
// filters with a start and an end, and of no others, end in _at.
type Criterion struct {
	name, Value, start, end string
}

// Includes are the values of include.
type Includes []string

// Has reports whether the request includes a name.
func (in Includes) Has(name string) bool { return slices.Contains(in, name) }

// Birth is the order by creation. The name lets a list of generated records read only one page.
const Birth = "created_at"

// By orders by a value of each record.
func By[T any, V cmp.Ordered](of func(T) V) func(a, b T) int {
	return func(a, b T) int { return cmp.Compare(of(a), of(b)) }
}

// ByFold orders by a text, without its case.
func ByFold[T any](text func(T) string) func(a, b T) int {
	return By(func(r T) string { return strings.ToLower(text(r)) })
}

// ByTime orders by an instant.
func ByTime[T any](at func(T) value.Stamp) func(a, b T) int {
	return func(a, b T) int { return at(a).Compare(at(b).Time) }
}

// Page answers the page of the table that the request asks for. The error is a *Refusal.
func (l *List[T]) Page(r Request, t *Table[T]) (Page, error) {
	q, err := l.read(r)
	if err != nil {
		return Page{}, err
	}
	rows, total := l.rows(t, q)
	in := make([]any, 0, len(rows))
	for _, row := range rows {
		in = append(in, l.View(row, q.includes))
	}
	return envelope(r, q.window, in, total), nil
}

// Count is how many rows of the table the filters of the request leave. The error is a *Refusal.
func (l *List[T]) Count(r Request, t *Table[T]) (int, error) {
	q, err := l.read(r)
	if err != nil {
		return 0, err
	}
	_, n := l.rows(t, q)
	return n, nil
}

// Included reads what the request for one record includes. The error is a *Refusal.
func (l *List[T]) Included(r Request) (Includes, error) {
	q, err := l.read(r)
	return q.includes, err
}

// question is what a request asks of a list.
type question[T Record] struct {
	window
	conditions []func(T) bool
	orders     []func(a, b T) int
	keys       []string // of sort, with their -
	includes   Includes
	exact      T
	found      bool
}

// read reads filters, sort, include and page. Each unknown name is refused.
func (l *List[T]) read(r Request) (q question[T], err error) {
	if q.window, err = r.window(); err != nil {
		return q, err
	}
	all, err := r.criteria()
	if err != nil {
		return q, err
	}
	for _, v := range all {
		f := l.Filters[v.name]
		if f == nil {
			return q, unknown("filter", v.name, slices.Sorted(maps.Keys(l.Filters)))
		}
		if (v.start != "" || v.end != "") && !strings.HasSuffix(v.name, "_at") {
			return q, BadValue(v, "one value, without [start] and [end]")
		}
		if l.Found != nil && v.name == "search" {
			if q.exact, q.found = l.Found(v.Value); q.found {
				continue
			}
		}
		condition, err := f(v)
		if err != nil {
			return q, err
		}
		q.conditions = append(q.conditions, condition)
	}
	for key := range names(r.Query.Get("sort")) {
		name, descending := strings.CutPrefix(key, "-")
		order := l.Sorts[name]
		if order == nil {
			return q, unknown("sort", name, slices.Sorted(maps.Keys(l.Sorts)))
		}
		if descending {
			ascending := order
			order = func(a, b T) int { return ascending(b, a) }
		}
		q.keys, q.orders = append(q.keys, key), append(q.orders, order)
	}
	for name := range names(r.Query.Get("include")) {
		if !slices.Contains(l.Includes, name) {
			return q, unknown("include", name, l.Includes)
		}
		q.includes = append(q.includes, name)
	}
	return q, nil
}

func unknown(what, name string, known []string) error {
	list := cmp.Or(strings.Join(known, ", "), "none")
	return bad("Unknown " + what + " " + Short(name) + "; known: " + list)
}

// rows returns the rows of the page, and how many rows there are on all pages.
func (l *List[T]) rows(t *Table[T], q question[T]) ([]T, int) {
	from := q.window.from()
	if q.found {
		t = TableOf([]T{q.exact})
	}
	plain := len(q.conditions) == 0
	switch {
	case from >= t.Len():
		if plain {
			return nil, t.Len()
		}
	case plain && len(q.keys) == 0:
		out := make([]T, 0, q.size)
		for i := from; i < min(from+q.size, t.Len()); i++ {
			out = append(out, t.At(i))
		}
		return out, t.Len()
	case plain && t.Made.Born != nil && len(q.keys) == 1 && strings.TrimPrefix(q.keys[0], "-") == Birth:
		return t.ByBirth(from, q.size, q.keys[0] != Birth), t.Len()
	}
	var kept []T
	for r := range t.All() {
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

// Searching finds a text in the texts of a record, in any case.
func Searching[T any](texts func(T) []string) Filter[T] {
	return func(v Criterion) (func(T) bool, error) {
		want := strings.ToLower(strings.TrimSpace(v.Value))
		return func(r T) bool {
			return slices.ContainsFunc(texts(r), func(s string) bool { return strings.Contains(strings.ToLower(s), want) })
		}, nil
	}
}

// Equal compares a text of a record with the value.
func Equal[T any](text func(T) string) Filter[T] {
	return func(v Criterion) (func(T) bool, error) {
		return func(r T) bool { return text(r) == v.Value }, nil
	}
}

// Flag compares a switch of a record with 1 or 0.
func Flag[T any](is func(T) bool) Filter[T] {
	return func(v Criterion) (func(T) bool, error) {
		want := v.Value == "1" || v.Value == "true"
		if !want && v.Value != "0" && v.Value != "false" {
			return nil, BadValue(v, "1 or 0")
		}
		return func(r T) bool { return is(r) == want }, nil
	}
}

// OneOf finds a record by any of the values of a comma list.
func OneOf[T any](texts func(T) []string) Filter[T] {
	return func(v Criterion) (func(T) bool, error) {
		wanted := slices.Collect(names(v.Value))
		return func(r T) bool {
			return slices.ContainsFunc(texts(r), func(s string) bool { return slices.Contains(wanted, s) })
		}, nil
	}
}

// Between compares an instant of a record with start and end, both inclusive. A date as the end
// means the whole day.
func Between[T any](at func(T) value.Stamp) Filter[T] {
	return func(v Criterion) (func(T) bool, error) {
		var start, end value.Stamp
		var err error
		if v.start != "" {
			if start, _, err = value.ParseStamp(v.start); err != nil {
				return nil, BadValue(v, "a time as its start")
			}
		}
		if v.end != "" {
			var date bool
			if end, date, err = value.ParseStamp(v.end); err != nil {
				return nil, BadValue(v, "a time as its end")
			}
			if date {
				end.Time = end.Add(24*time.Hour - time.Nanosecond)
			}
		}
		if v.Value != "" {
			return nil, BadValue(v, "[start] and [end]")
		}
		return func(r T) bool {
			t := at(r)
			return (v.start == "" || !t.Before(start.Time)) && (v.end == "" || !t.After(end.Time))
		}, nil
	}
}

// BadValue refuses the value of a filter.
func BadValue(v Criterion, want string) error {
	return bad("filter[" + v.name + "] needs " + want)
}
