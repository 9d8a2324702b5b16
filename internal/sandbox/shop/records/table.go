package records

import (
	"iter"
	"maps"
	"net/http"
	"slices"
	"sort"

	"campaignd/internal/sandbox/shop/value"
)

// Record is what a table keeps: a pointer.
type Record interface {
	comparable
	Key() string // the id
}

// Table keeps records in the order of their creation. The generated ones, if any, stand between
// records of the scenario (head) and records that requests made (tail). The zero value is empty.
type Table[T Record] struct {
	head, tail []T
	byID       map[string]T
	Made       Generated[T]
}

// Generated are records that are computed each time they are read. Each is born later than the one
// before.
type Generated[T Record] struct {
	Size     int
	Compute  func(i int) T
	NumberOf func(id string) int // -1: none of them
	Born     func(T) value.Stamp // the creation, also of a record that is stored
	Kept     map[int]T           // those that were changed; they are stored
}

// At is the i-th generated record.
func (g *Generated[T]) At(i int) T {
	if r, ok := g.Kept[i]; ok {
		return r
	}
	return g.Compute(i)
}

// MaxRecords is the largest number of stored records, of all companies together.
const MaxRecords = 2_000_000

// Room counts the records that are stored. The zero value counts none.
type Room struct{ Used int }

// Take counts a stored record, or returns the 507.
func (r *Room) Take() error {
	if err := r.Has(1); err != nil {
		return err
	}
	r.Used++
	return nil
}

// Free takes back a count of Take.
func (r *Room) Free() { r.Used-- }

// Has returns the 507 if there is no room for n more records.
func (r *Room) Has(n int) error {
	if r.Used+n > MaxRecords {
		return &Refusal{http.StatusInsufficientStorage, "The sandbox keeps 2,000,000 records, and they are used up"}
	}
	return nil
}

// TableOf is a table of records that another table keeps, for a list of some of them.
func TableOf[T Record](rows []T) *Table[T] { return &Table[T]{head: rows} }

// Where has the records that fit, for a list of them.
func Where[T Record](t *Table[T], fits func(T) bool) *Table[T] {
	var rows []T
	for r := range t.All() {
		if fits(r) {
			rows = append(rows, r)
		}
	}
	return TableOf(rows)
}

// Len is how many records the table has.
func (t *Table[T]) Len() int { return len(t.head) + t.Made.Size + len(t.tail) }

// At is the record at a place of the order of creation.
func (t *Table[T]) At(i int) T {
	if i < len(t.head) {
		return t.head[i]
	}
	if i -= len(t.head); i < t.Made.Size {
		return t.Made.At(i)
	}
	return t.tail[i-t.Made.Size]
}

// All are the records in the order of their creation.
func (t *Table[T]) All() iter.Seq[T] {
	return func(yield func(T) bool) {
		for i := range t.Len() {
			if !yield(t.At(i)) {
				return
			}
		}
	}
}

// Stored are the records that are not computed, generated ones that were changed among them.
func (t *Table[T]) Stored() iter.Seq[T] {
	return func(yield func(T) bool) {
		kept := slices.Sorted(maps.Keys(t.Made.Kept))
		for i := range len(t.head) + len(kept) + len(t.tail) {
			var r T
			switch j := i - len(t.head); {
			case j < 0:
				r = t.head[i]
			case j < len(kept):
				r = t.Made.Kept[kept[j]]
			default:
				r = t.tail[j-len(kept)]
			}
			if !yield(r) {
				return
			}
		}
	}
}

// Get finds a record by its id.
func (t *Table[T]) Get(id string) (T, bool) {
	if r, ok := t.byID[id]; ok {
		return r, true
	}
	if t.Made.Size > 0 && len(id) == 26 {
		if i := t.Made.NumberOf(id); i >= 0 {
			return t.Made.At(i), true
		}
	}
	var none T
	return none, false
}

// Add adds a record at the end. The error is the 507.
func (t *Table[T]) Add(in *Room, r T) error {
	if err := t.index(in, r); err != nil {
		return err
	}
	t.tail = append(t.tail, r)
	return nil
}

// Start adds a record of the scenario, after those that it named before.
func (t *Table[T]) Start(in *Room, r T) error {
	if err := t.index(in, r); err != nil {
		return err
	}
	t.head = append(t.head, r)
	return nil
}

// AddFirst adds a record at the beginning.
func (t *Table[T]) AddFirst(in *Room, r T) error {
	if err := t.index(in, r); err != nil {
		return err
	}
	t.head = slices.Insert(t.head, 0, r)
	return nil
}

func (t *Table[T]) index(in *Room, r T) error {
	if err := in.Take(); err != nil {
		return err
	}
	if t.byID == nil {
		t.byID = map[string]T{}
	}
	t.byID[r.Key()] = r
	return nil
}

// Keep is called before a record of the table is changed in place. A generated one is stored from
// then on. The error is the 507.
func (t *Table[T]) Keep(in *Room, r T) error {
	if _, ok := t.byID[r.Key()]; ok || t.Made.Size == 0 {
		return nil
	}
	i := t.Made.NumberOf(r.Key())
	if _, ok := t.Made.Kept[i]; ok || i < 0 {
		return nil
	}
	if err := in.Take(); err != nil {
		return err
	}
	if t.Made.Kept == nil {
		t.Made.Kept = map[int]T{}
	}
	t.Made.Kept[i] = r
	return nil
}

// Remove removes a record that is not generated.
func (t *Table[T]) Remove(in *Room, id string) {
	r, ok := t.byID[id]
	if !ok {
		return
	}
	delete(t.byID, id)
	same := func(x T) bool { return x == r }
	t.head, t.tail = slices.DeleteFunc(t.head, same), slices.DeleteFunc(t.tail, same)
	in.Free()
}

// ByBirth returns n records from a place of the order by creation, which t.Made names. It computes
// few generated records besides those that it returns. Records of one instant are in their order in
// the table.
func (t *Table[T]) ByBirth(from, n int, newestFirst bool) []T {
	type place struct {
		r    T
		tail bool
	}
	stored := make([]place, 0, len(t.head)+len(t.tail))
	for _, r := range t.head {
		stored = append(stored, place{r, false})
	}
	for _, r := range t.tail {
		stored = append(stored, place{r, true})
	}
	order := func(a, b value.Stamp) int {
		if newestFirst {
			return b.Compare(a.Time)
		}
		return a.Compare(b.Time)
	}
	slices.SortStableFunc(stored, func(a, b place) int { return order(t.Made.Born(a.r), t.Made.Born(b.r)) })
	made := func(i int) T {
		if newestFirst {
			i = t.Made.Size - 1 - i
		}
		return t.Made.At(i)
	}
	// first reports whether the i-th generated record stands before the stored one.
	first := func(i int, s place) bool {
		c := order(t.Made.Born(made(i)), t.Made.Born(s.r))
		return c < 0 || c == 0 && s.tail
	}
	at := func(s int) int { // the place of the s-th stored record among all
		return s + sort.Search(t.Made.Size, func(i int) bool { return !first(i, stored[s]) })
	}
	s := sort.Search(len(stored), func(s int) bool { return at(s) >= from })
	i := from - s
	out := make([]T, 0, n)
	for range min(n, t.Len()-from) {
		if s == len(stored) || i < t.Made.Size && first(i, stored[s]) {
			out = append(out, made(i))
			i++
		} else {
			out = append(out, stored[s].r)
			s++
		}
	}
	return out
}
