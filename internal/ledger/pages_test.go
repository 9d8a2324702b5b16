package ledger

import (
	"errors"
	"slices"
	"testing"
)

func TestPagesEndWithTheirRowsOrAnError(t *testing.T) {
	t.Parallel()
	broken := errors.New("broken")
	for name, c := range map[string]struct {
		rows  int
		fail  int // the page that cannot be read, from 1; 0: none
		stop  int // rows after which the reader has enough; 0: never
		pages int
		want  []int
		err   error
	}{
		"None":           {0, 0, 0, 1, nil, nil},
		"OneNotFull":     {2, 0, 0, 1, []int{1, 2}, nil},
		"OneFull":        {3, 0, 0, 2, []int{1, 2, 3}, nil},
		"Three":          {7, 0, 0, 3, []int{1, 2, 3, 4, 5, 6, 7}, nil},
		"BrokenAtOnce":   {7, 1, 0, 1, nil, broken},
		"BrokenAmong":    {7, 2, 0, 2, []int{1, 2, 3}, broken},
		"EnoughOfAPage":  {7, 0, 2, 1, []int{1, 2}, nil},
		"EnoughAtItsEnd": {7, 0, 3, 1, []int{1, 2, 3}, nil},
	} {
		pages := 0
		read := func(last *int) (page []int, err error) {
			if pages++; pages == c.fail {
				return nil, broken
			}
			from := 0
			if last != nil {
				from = *last
			}
			for n := from + 1; n <= min(from+3, c.rows); n++ {
				page = append(page, n)
			}
			return page, nil
		}
		var got []int
		var failed error
		for row, err := range Pages(3, read) {
			if failed = err; err != nil {
				continue
			}
			if got = append(got, row); len(got) == c.stop {
				break
			}
		}
		if !slices.Equal(got, c.want) || !errors.Is(failed, c.err) || pages != c.pages {
			t.Errorf("%s: rows %v of %d pages, %v; want %v of %d, %v", name, got, pages, failed, c.want, c.pages, c.err)
		}
	}
}
