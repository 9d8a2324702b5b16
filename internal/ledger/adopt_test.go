package ledger

import "testing"

// A doubt that was decided between the snapshot and the transaction may be sent again by then. The
// orphan may be its message, so it proves no other doubt.
func TestADoubtDecidedMeanwhileMayHaveSentTheMessage(t *testing.T) {
	o := Orphan{MessageID: "x", First: 2000}
	a, b := Suspect{RowID: 1, IntentAt: 1000, Since: 1500}, Suspect{RowID: 2, IntentAt: 1000, Since: 1500}
	for _, c := range []struct {
		name      string
		now, then []Suspect
		want      int64
	}{
		{"as it was", []Suspect{a}, []Suspect{a}, 1},
		{"decided meanwhile", []Suspect{b}, []Suspect{a, b}, 0},
		{"in doubt meanwhile", []Suspect{a}, []Suspect{{RowID: 1, IntentAt: 1000, Open: true}}, 0},
	} {
		if v := MatchOrphan(o, Suspects(c.now, c.then)); v.RowID != c.want {
			t.Errorf("%s: %+v, want %d", c.name, v, c.want)
		}
	}
}
