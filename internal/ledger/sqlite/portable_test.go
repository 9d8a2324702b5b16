package sqlite

import "testing"

func TestAPortableStatementIsTranslated(t *testing.T) {
	t.Parallel()
	for query, want := range map[string]string{
		`SELECT greatest(a, $1) FROM t WHERE b = $12`: `SELECT max(a, ?1) FROM t WHERE b = ?12`,
		`SELECT least(a, $2), '$', ledger_now()`:      `SELECT min(a, ?2), '$', ledger_now()`,
	} {
		for range 2 { // the second comes from memory
			if got := translated(query); got != want {
				t.Errorf("translated(%q) = %q, want %q", query, got, want)
			}
		}
	}
}
