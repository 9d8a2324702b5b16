package launch

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"hash/maphash"
	"io"
	"iter"
	"slices"
	"strings"

	"campaignd/campaign"
	"campaignd/internal/sentence"
	"campaignd/recipients"
)

// ListDifference says how a list differs from that of a run. Rows are matched by the phone key;
// rows without a number by all their cells.
type ListDifference struct {
	Added   int64 `json:"added"`   // rows whose number the run does not have
	Removed int64 `json:"removed"` // rows of the run whose number the list does not have
	Changed int64 `json:"changed"` // rows whose number is in both and whose cells differ
	// Columns says how the columns differ; "" if they do not. Cells are then compared by the names of
	// the columns that both have.
	Columns string `json:"columns,omitempty"`
	// Reordered means that the same rows stand in another order.
	Reordered bool `json:"reordered,omitempty"`
	// Both is how many numbers are in the list and were not skipped in the run.
	Both int64 `json:"both"`
	// Interrupted means that the import of the run did not end. Only the rows that it had reached,
	// Compared, were compared.
	Interrupted bool  `json:"interrupted,omitempty"`
	Compared    int64 `json:"compared"`
}

// String is the difference in words: 1 row changed, 2 added; 38 numbers are in both.
func (d ListDifference) String() string {
	var parts []string
	for _, part := range []struct {
		n    int64
		what string
	}{{d.Changed, "changed"}, {d.Added, "added"}, {d.Removed, "removed"}} {
		if part.n > 0 && len(parts) == 0 {
			parts = append(parts, sentence.Count(part.n, "row", "rows")+" "+part.what)
		} else if part.n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", part.n, part.what))
		}
	}
	if d.Columns != "" {
		parts = append(parts, d.Columns)
	}
	switch {
	case len(parts) > 0:
	case d.Reordered:
		parts = append(parts, "the same rows in another order")
	default:
		parts = append(parts, "the same rows; only the encoding, the line ends or the quotes differ")
	}
	s := strings.Join(parts, ", ") + "; " + sentence.Count(d.Both, "number is", "numbers are") + " in both"
	if d.Interrupted {
		s += fmt.Sprintf("; compared with the %s that its import had reached", sentence.Count(d.Compared, "row", "rows"))
	}
	return s
}

// LineLedger reads the rows of a run.
type LineLedger interface {
	Lines(ctx context.Context, no campaign.RunNo) iter.Seq2[campaign.Line, error]
}

// CompareList compares the list at path with the frozen list of a run. It needs 16 bytes of memory
// a row of both, and reads each of them once.
func CompareList(ctx context.Context, l LineLedger, run campaign.Run, path string, o recipients.Options) (d ListDifference, err error) {
	list, err := OpenList(path, o)
	if err != nil {
		return d, err
	}
	defer func() { err = errors.Join(err, list.Close()) }()
	var cells [2][]int // of each row of the run and of the list: the cells that are compared
	d.Columns, cells[0], cells[1] = compareColumns(run.Header, list.Header())
	was, is := prints{seed: maphash.MakeSeed()}, prints{}
	is.seed = was.seed
	for line, err := range l.Lines(ctx, run.No) {
		if err != nil {
			return d, fmt.Errorf("read %s: %w", run.ID(), err)
		}
		was.add(recipients.Fold(line.Key), line.Cells, cells[0], line.Status != campaign.Skipped)
	}
	d.Interrupted, d.Compared = run.State == campaign.Importing, int64(len(was.rows))
	for !d.Interrupted || len(is.rows) < len(was.rows) {
		row, err := list.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return d, err
		}
		if len(is.rows)&1023 == 0 && ctx.Err() != nil {
			return d, ctx.Err()
		}
		key := row.Key
		if row.Fault != nil {
			key = 0
		}
		is.add(key, row.Cells, cells[1], false)
	}
	same := slices.EqualFunc(was.rows, is.rows, func(a, b rowPrint) bool { return a.key == b.key && a.sum>>1 == b.sum>>1 })
	d.count(was.sorted(), is.sorted())
	d.Reordered = !same && d.Added+d.Removed+d.Changed == 0
	return d, nil
}

// compareColumns returns the columns that are compared, as indexes into was and is, and says how
// the headers differ.
func compareColumns(was, is []string) (how string, a, b []int) {
	var gone, came []string
	for i, name := range was {
		if j := slices.Index(is, name); j >= 0 {
			a, b = append(a, i), append(b, j)
		} else {
			gone = append(gone, name)
		}
	}
	for _, name := range is {
		if !slices.Contains(was, name) {
			came = append(came, name)
		}
	}
	var parts []string
	if len(came) > 0 {
		parts = append(parts, "columns added: "+namesOf(came))
	}
	if len(gone) > 0 {
		parts = append(parts, "columns removed: "+namesOf(gone))
	}
	if len(parts) == 0 && !slices.Equal(was, is) {
		parts = append(parts, "columns in another order")
	}
	return strings.Join(parts, "; "), a, b
}

// namesOf writes at most three names, each cut to a length that a line holds.
func namesOf(names []string) string {
	var shown []string
	for _, n := range names[:min(len(names), 3)] {
		shown = append(shown, sentence.Shorten(n, 20))
	}
	text := strings.Join(shown, ", ")
	if more := len(names) - len(shown); more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return text
}

// rowPrint is one row: its phone key, and a hash of its cells. The lowest bit of the hash says that
// the row was not skipped.
type rowPrint struct {
	key int64
	sum uint64
}

type prints struct {
	seed maphash.Seed
	rows []rowPrint
}

func (p *prints) add(key int64, cells []string, which []int, sent bool) {
	var h maphash.Hash
	h.SetSeed(p.seed)
	for _, i := range which {
		if i < len(cells) {
			_, _ = h.WriteString(cells[i])
		}
		_ = h.WriteByte(0)
	}
	sum := h.Sum64() &^ 1
	if sent {
		sum |= 1
	}
	p.rows = append(p.rows, rowPrint{key, sum})
}

func (p *prints) sorted() []rowPrint {
	slices.SortFunc(p.rows, func(a, b rowPrint) int { return cmp.Or(cmp.Compare(a.key, b.key), cmp.Compare(a.sum, b.sum)) })
	return p.rows
}

// count merges the rows of both lists, key by key.
func (d *ListDifference) count(was, is []rowPrint) {
	take := func(from *[]rowPrint, key int64) (rows []rowPrint) {
		n := 0
		for n < len(*from) && (*from)[n].key == key {
			n++
		}
		rows, *from = (*from)[:n], (*from)[n:]
		return rows
	}
	for len(was) > 0 || len(is) > 0 {
		key := int64(1<<63 - 1)
		if len(was) > 0 {
			key = was[0].key
		}
		if len(is) > 0 {
			key = min(key, is[0].key)
		}
		a, b := take(&was, key), take(&is, key)
		if key != 0 && len(b) > 0 && slices.ContainsFunc(a, func(r rowPrint) bool { return r.sum&1 != 0 }) {
			d.Both++
		}
		removed, added := unmatched(a, b)
		changed := int64(0)
		if key != 0 {
			changed = min(removed, added)
		}
		d.Changed, d.Removed, d.Added = d.Changed+changed, d.Removed+removed-changed, d.Added+added-changed
	}
}

// unmatched counts the rows of a and of b, both sorted, that the other does not have.
func unmatched(a, b []rowPrint) (onlyA, onlyB int64) {
	for len(a) > 0 && len(b) > 0 {
		switch cmp.Compare(a[0].sum>>1, b[0].sum>>1) {
		case -1:
			a, onlyA = a[1:], onlyA+1
		case 1:
			b, onlyB = b[1:], onlyB+1
		default:
			a, b = a[1:], b[1:]
		}
	}
	return onlyA + int64(len(a)), onlyB + int64(len(b))
}
