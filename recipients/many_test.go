package recipients

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

// A set in which keys displace each other knows each of them and no other, however full it is.
func TestAKeySetKnowsEachOfManyKeys(t *testing.T) {
	const first, stride = 234_803_0000000, 7
	var s KeySet
	rng := rand.New(rand.NewPCG(9, 10))
	for n := int64(1); n <= 120_000; n++ {
		if !s.Add(first + n*stride) {
			t.Fatalf("Add of key %d = false, want true: it is new", n)
		}
		if other := first + n*stride + 1 + rng.Int64N(stride-1); s.Has(other) {
			t.Fatalf("Has(%d) = true among %d keys, want false: it was never added", other, n)
		}
		if known := first + (1+rng.Int64N(n))*stride; !s.Has(known) || s.Add(known) {
			t.Fatalf("Has(%d) = %v among %d keys, want true, and Add false: it was added", known, s.Has(known), n)
		}
	}
	for i := range s.shards {
		used := 0
		for _, key := range s.shards[i].slots {
			if key != 0 {
				used++
			}
		}
		if got := s.shards[i].n; got != used {
			t.Errorf("shard %d counts %d keys, want the %d that it holds: by their number it grows", i, got, used)
		}
	}
	if s.n != 120_000 {
		t.Errorf("n = %d, want 120000", s.n)
	}
}

// The message about a number that is not possible counts its digits, also where shorter and longer
// numbers are possible.
func TestAnImpossibleNumberIsNamedWithItsDigits(t *testing.T) {
	for _, c := range []struct{ number, region, want string }{
		{"5", "NG", `"5" is not a number as dialled in NG; write + and the country code`},
		{"+659123456", "", `"+659123456" is too short`}, // +65 has numbers of 8, 10 and 11 digits
		{"+65912345678", "", `"+65912345678" has 9 digits after +65, a length that no number there has; check it`},
		{"+659123456789012", "", `"+659123456789012" is too long`},
	} {
		p, err := NewPhones(ValidatePossible, c.region)
		if err != nil {
			t.Fatal(err)
		}
		to, key, fault := p.Parse(c.number)
		if to != "" || key != 0 || fault == nil || !strings.HasPrefix(fault.Message, c.want) {
			t.Errorf("%s: got %q, %d, %+v, want %s", c.number, to, key, fault, c.want)
		}
	}
}

// A set of threads is one state, in whatever order it was found: otherwise a plan would grow with
// every number.
func TestAStateIsKnownInAnyOrder(t *testing.T) {
	plan := newNumbering(1)
	rng := rand.New(rand.NewPCG(11, 12))
	start, states := plan.start, len(plan.states)
	for range 50 {
		threads := slices.Clone(plan.states[start].threads)
		rng.Shuffle(len(threads), func(i, j int) { threads[i], threads[j] = threads[j], threads[i] })
		if got := plan.state(threads); got != start || len(threads) < 2 {
			t.Fatalf("%d threads in another order are state %d of %d, want %d of %d", len(threads), got, len(plan.states), start, states)
		}
	}
}
