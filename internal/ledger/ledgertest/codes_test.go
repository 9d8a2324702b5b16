package ledgertest

import (
	"fmt"
	"testing"
)

func TestEachCodeOfAStatementHasItsName(t *testing.T) {
	t.Parallel()
	for sql, want := range map[string]string{
		`UPDATE outcome SET state = 3 /* in doubt */, flags = flags | 2 /* may be a duplicate */`: "2 []",
		`UPDATE outcome SET state = 3, flags = o.flags | 2 /* adopted */`: `2 [state 3 is named ""; want "in doubt"` +
			` flags 2 is named "adopted"; want "may be a duplicate"]`,
		`UPDATE outcome SET state = 9 /* lost */`:                                  `1 [state 9 is named "lost"; want ""]`,
		`UPDATE outcome SET state = 9`:                                             `1 [state 9 is named ""; want ""]`,
		`SELECT 1 FROM outcome o WHERE o.state <> 5 /* accepted */ AND rid > 6`:    "1 []",
		`SELECT 1 FROM outcome WHERE flags & 8 /* ambiguous */ = 0 -- state = 3`:   "1 []",
		`SELECT 1 FROM outcome WHERE state IS NOT 7 AND state = $5 AND state = ?1`: `1 [state 7 is named ""; want "skipped"]`,
		`SELECT 1 FROM run WHERE state = 'paused' AND 'state = 3' <> detail`:       "0 []",
		`WHERE state IN (1, 2, 3) /* open */ AND state IN (3, 4) /* adoptable */`:  "5 []",
		`WHERE state NOT IN (6 /* refused */, 7 /* skipped */) AND rid IN (1, 2)`:  "2 []",
		`WHERE state IN (6, 7 /* skipped */)`:                                      `2 [state 6 is named ""; want "refused"]`,
		`WHERE state IN (2, 3) /* open */`:                                         `2 [state IN [2 3] is named "open"; want ""]`,
		`SET state = CASE WHEN flags & 2 /* may be a duplicate */ THEN 4 /* unknown */ ELSE 7 END, x = 1`: "3 " +
			`[state 7 is named ""; want "skipped"]`,
		`CASE p.rank WHEN 1 /* sent */ THEN least(sent_at, 4) WHEN 4 THEN 0 END`:       `2 [rank 4 is named ""; want "read"]`,
		`SET rank = max(rank, 1 /* sent */), sent_at = max(sent_at, 5)`:                "1 []",
		`SET rank = greatest(o.rank, 2)`:                                               `1 [rank 2 is named ""; want "failed"]`,
		`INSERT INTO outcome (rid, state, code) VALUES (?, 7 /* skipped */, ?)`:        "1 []",
		`INSERT INTO outcome (rid, attempt, state) SELECT max(d.rid, 2), 1, 3 FROM d`:  `1 [state 3 is named ""; want "in doubt"]`,
		`INSERT INTO sweep VALUES (1, -9223372036854775808, '', 0)`:                    "0 []",
		`INSERT INTO outcome (state) SELECT CASE WHEN x THEN 1 END, 2 FROM delivery d`: "0 []",
		`SET wake_at = 0 WHERE wake_at = 253402214400000 /* after the canary */`:       "1 []",
		`WHERE wake_at = 253402214400000`: `1 [253402214400000 is named ""; ` +
			`want "after the canary" for 253402214400000 alone]`,
		`WHERE wake_at = 253402214400001 /* after the canary */`: `0 [253402214400001 is named "after the canary"; ` +
			`want "after the canary" for 253402214400000 alone]`,
	} {
		if n, problems := checkCodes(sql); fmt.Sprint(n, " ", problems) != want {
			t.Errorf("%s: %d codes, %s; want %s", sql, n, problems, want)
		}
	}
}
