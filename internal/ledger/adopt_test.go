package ledger

import (
	"slices"
	"testing"
)

// judged is what follows from the orphans, by the row ids of what they prove.
func judged(v Verdict) (rids []int64) {
	for _, a := range v.Adopt {
		rids = append(rids, a.Attempt.RowID)
	}
	return rids
}

// An attempt that ended between the search and the transaction is in flight in one reading and open
// in the other. Its delivery may be the orphan's, so the orphan proves no other.
func TestAnAttemptThatEndsMeanwhileIsWaitedFor(t *testing.T) {
	o := Orphan{MessageID: "x", Key: 7, First: 2000}
	a := Attempt{RowID: 1, Number: 1, Key: 7, IntentAt: 1000, DoubtAt: 1500}
	b := a
	b.RowID = 2
	flying := func(a Attempt) Attempt {
		return Attempt{RowID: a.RowID, Key: a.Key, IntentAt: a.IntentAt, InFlight: true}
	}
	of := func(all ...Attempt) Attempts {
		by := Attempts{}
		for _, a := range all {
			by.Add(a, nil)
		}
		return by
	}
	later := a
	later.Number, later.IntentAt = 2, 1100
	for _, c := range []struct {
		name           string
		then, inFlight Attempts
		now            Attempts
		want           []int64
		ambiguous      int
	}{
		{"as it was", of(a), nil, of(a), []int64{1}, 0},
		{"answered meanwhile", of(a), nil, nil, nil, 0},
		{"another began its doubt meanwhile", of(a), of(flying(b)), of(a, b), nil, 0},
		{"its own doubt began meanwhile", of(b), of(flying(a)), of(a, b), nil, 0},
		{"another in flight", of(a), of(flying(b)), of(a), nil, 0},
		{"two doubts", of(a), nil, of(a, b), nil, 1},
		{"two attempts of one delivery", of(a, later), nil, of(a, later), []int64{1}, 0},
		{"sent again, and in flight", of(a), of(flying(later)), of(a), nil, 0},
	} {
		v := NewSearch([]Orphan{o}, c.then).Match([]Orphan{o}, c.now, c.inFlight)
		if got := judged(v); !slices.Equal(got, c.want) || v.Ambiguous != c.ambiguous {
			t.Errorf("%s: adopted %v, ambiguous %d; want %v, %d", c.name, got, v.Ambiguous, c.want, c.ambiguous)
		}
	}
}

func TestAnOrphanThatCameLaterIsNotJudged(t *testing.T) {
	open := Attempts{}
	open.Add(Attempt{RowID: 1, Number: 1, Key: 7, IntentAt: 1000, DoubtAt: 1500}, nil)
	seen, later := Orphan{MessageID: "x", Key: 7, First: 9_999_999}, Orphan{MessageID: "y", Key: 7, First: 2000}
	if v := NewSearch([]Orphan{seen}, open).Match([]Orphan{seen, later}, open, nil); len(v.Adopt) != 0 {
		t.Errorf("adopted %v; want none", judged(v))
	}
}

// A page is the keys of the shorter list, or of that which reaches further.
func TestASearchTakesTheListThatReachesFurther(t *testing.T) {
	few := []int64{5, 5, 9}
	full := func(step int64) (keys []int64) {
		for i := range int64(AdoptPage) {
			keys = append(keys, (i+1)*step)
		}
		return keys
	}
	for _, c := range []struct {
		name              string
		orphans, attempts []int64
		n                 int
		to                int64
	}{
		{"nothing", nil, nil, 0, 0},
		{"few orphans", few, full(1), 2, 0},
		{"few attempts", full(1), few, 2, 0},
		{"few of both", few, few[:1], 1, 0},
		{"orphans reach further", full(3), full(2), AdoptPage, 3 * AdoptPage},
		{"attempts reach further", full(2), full(3), AdoptPage, 3 * AdoptPage},
	} {
		keys, to := NextKeys(slices.Clone(c.orphans), slices.Clone(c.attempts))
		if len(keys) != c.n || to != c.to {
			t.Errorf("%s: %d keys to %d; want %d to %d", c.name, len(keys), to, c.n, c.to)
		}
	}
}
