package sqlite

import (
	"slices"
	"strings"
	"testing"

	"campaignd/internal/ledger"
)

// The limits that count people look at each recipient's own rows. Through the index of times each
// row read all later ones.
func TestReachedReadsEachRecipientOnce(t *testing.T) {
	t.Parallel()
	l := openTest(t, ledger.Options{})
	for name, query := range map[string]string{"reached": sqlReachedSince, "next place": sqlNextPlace, "late": sqlCountLate} {
		var steps []string
		err := l.read().each(t.Context(), "EXPLAIN QUERY PLAN "+query, args("main", 0), func(scan scanFunc) error {
			var id, parent, unused int
			var step string
			err := scan(&id, &parent, &unused, &step)
			steps = append(steps, step)
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		if want := "SEARCH n USING PRIMARY KEY (key=? AND portfolio=?)"; !slices.Contains(steps, want) {
			t.Errorf("%s: got the plan\n%s\nwant %s in it", name, strings.Join(steps, "\n"), want)
		}
	}
}
