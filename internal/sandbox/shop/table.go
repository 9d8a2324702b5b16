package shop

import (
	"iter"
	"maps"
	"net/http"
	"slices"
	"sort"

	"campaignd/internal/sandbox/shop/value"
)

// record is what a table keeps: a pointer.
type record interface {
	comparable
	key() string // the id
}

// table keeps records in the order of their creation. The generated ones, if any, stand between
// those of the scenario (head) and those that requests made (tail). The zero value is empty.
type table[T record] struct {
	head, tail []T
	byID       map[string]T
	made       generated[T]
}

// generated are records that are computed each time they are read. Each is born later than the one
// before.
type generated[T record] struct {
	size     int
	compute  func(i int) T
	numberOf func(id string) int // -1: none of them
	born     func(T) value.Stamp // the creation, also of a record that is stored
	kept     map[int]T           // those that were changed; they are stored
}

func (g *generated[T]) at(i int) T {
	if r, ok := g.kept[i]; ok {
		return r
	}
	return g.compute(i)
}

// maxRecords is the largest number of stored records, of all companies together.
const maxRecords = 2_000_000

// count counts a stored record, or returns the 507.
func (p *Platform) count() error {
	if p.records >= maxRecords {
		return say(http.StatusInsufficientStorage, "The sandbox keeps 2,000,000 records, and they are used up")
	}
	p.records++
	return nil
}

// tableOf is a table of records that another table keeps, for a list of some of them.
func tableOf[T record](rows []T) *table[T] { return &table[T]{head: rows} }

// those are the records that fit, for a list of them.
func those[T record](t *table[T], fits func(T) bool) *table[T] {
	var rows []T
	for r := range t.all() {
		if fits(r) {
			rows = append(rows, r)
		}
	}
	return tableOf(rows)
}

func (t *table[T]) len() int { return len(t.head) + t.made.size + len(t.tail) }

// at is the record at a place of the order of creation.
func (t *table[T]) at(i int) T {
	if i < len(t.head) {
		return t.head[i]
	}
	if i -= len(t.head); i < t.made.size {
		return t.made.at(i)
	}
	return t.tail[i-t.made.size]
}

func (t *table[T]) all() iter.Seq[T] {
	return func(yield func(T) bool) {
		for i := range t.len() {
			if !yield(t.at(i)) {
				return
			}
		}
	}
}

// stored are the records that are not computed, generated ones that were changed among them.
func (t *table[T]) stored() iter.Seq[T] {
	return func(yield func(T) bool) {
		kept := slices.Sorted(maps.Keys(t.made.kept))
		for i := range len(t.head) + len(kept) + len(t.tail) {
			var r T
			switch j := i - len(t.head); {
			case j < 0:
				r = t.head[i]
			case j < len(kept):
				r = t.made.kept[kept[j]]
			default:
				r = t.tail[j-len(kept)]
			}
			if !yield(r) {
				return
			}
		}
	}
}

// get finds a record by its id.
func (t *table[T]) get(id string) (T, bool) {
	if r, ok := t.byID[id]; ok {
		return r, true
	}
	if t.made.size > 0 && len(id) == 26 {
		if i := t.made.numberOf(id); i >= 0 {
			return t.made.at(i), true
		}
	}
	var none T
	return none, false
}

// add adds a record at the end. The error is the 507.
func (t *table[T]) add(p *Platform, r T) error {
	if err := t.index(p, r); err != nil {
		return err
	}
	t.tail = append(t.tail, r)
	return nil
}

// start adds a record of the scenario, after those that it named before.
func (t *table[T]) start(p *Platform, r T) error {
	if err := t.index(p, r); err != nil {
		return err
	}
	t.head = append(t.head, r)
	return nil
}

// addFirst adds a record at the beginning.
func (t *table[T]) addFirst(p *Platform, r T) error {
	if err := t.index(p, r); err != nil {
		return err
	}
	t.head = slices.Insert(t.head, 0, r)
	return nil
}

func (t *table[T]) index(p *Platform, r T) error {
	if err := p.count(); err != nil {
		return err
	}
	if t.byID == nil {
		t.byID = map[string]T{}
	}
	t.byID[r.key()] = r
	return nil
}

// keep is called before a record of the table is changed in place. A generated one is stored from
// then on. The error is the 507.
func (t *table[T]) keep(p *Platform, r T) error {
	if _, ok := t.byID[r.key()]; ok || t.made.size == 0 {
		return nil
	}
	i := t.made.numberOf(r.key())
	if _, ok := t.made.kept[i]; ok || i < 0 {
		return nil
	}
	if err := p.count(); err != nil {
		return err
	}
	if t.made.kept == nil {
		t.made.kept = map[int]T{}
	}
	t.made.kept[i] = r
	return nil
}

// remove removes a record that is not generated.
func (t *table[T]) remove(p *Platform, id string) {
	r, ok := t.byID[id]
	if !ok {
		return
	}
	delete(t.byID, id)
	same := func(x T) bool { return x == r }
	t.head, t.tail = slices.DeleteFunc(t.head, same), slices.DeleteFunc(t.tail, same)
	p.records--
}

// byBirth returns n records from a place of the order by creation, which t.made names. It computes
// few generated records besides those that it returns. Records of one instant are in their order in
// the table.
func (t *table[T]) byBirth(from, n int, newestFirst bool) []T {
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
	slices.SortStableFunc(stored, func(a, b place) int { return order(t.made.born(a.r), t.made.born(b.r)) })
	made := func(i int) T {
		if newestFirst {
			i = t.made.size - 1 - i
		}
		return t.made.at(i)
	}
	// first reports whether the i-th generated record stands before the stored one.
	first := func(i int, s place) bool {
		c := order(t.made.born(made(i)), t.made.born(s.r))
		return c < 0 || c == 0 && s.tail
	}
	at := func(s int) int { // the place of the s-th stored record among all
		return s + sort.Search(t.made.size, func(i int) bool { return !first(i, stored[s]) })
	}
	s := sort.Search(len(stored), func(s int) bool { return at(s) >= from })
	i := from - s
	out := make([]T, 0, n)
	for range min(n, t.len()-from) {
		if s == len(stored) || i < t.made.size && first(i, stored[s]) {
			out = append(out, made(i))
			i++
		} else {
			out = append(out, stored[s].r)
			s++
		}
	}
	return out
}
