package ledger

import "iter"

// Rows that one query of a page reads: some milliseconds.
const (
	LinePage        = 1000
	SuppressionPage = 1000
)

// Pages yields the rows of pages of size rows, until one has fewer or an error. read reads the page
// after the row last; nil: the first page.
func Pages[T any](size int, read func(last *T) ([]T, error)) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		for last := (*T)(nil); ; {
			page, err := read(last)
			if err != nil {
				var none T
				yield(none, err)
				return
			}
			for _, row := range page {
				if !yield(row, nil) {
					return
				}
			}
			if len(page) < size {
				return
			}
			last = &page[len(page)-1]
		}
	}
}
