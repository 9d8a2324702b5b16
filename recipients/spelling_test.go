package recipients

import (
	"slices"
	"strconv"
	"testing"

	"pgregory.net/rapid"
)

// listed draws a number of a country that has a rule: mostly one that a rule is about, else one
// beside it.
func listed(t *rapid.T) string {
	r := rapid.SampledFrom(spellings).Draw(t, "rule")
	digits := func(n int) string {
		return rapid.StringOfN(rapid.RuneFrom([]rune("0123456789")), n, n, -1).Draw(t, "digits")
	}
	n := r.rest + rapid.SampledFrom([]int{0, 0, 0, 0, -1, 1}).Draw(t, "length")
	s := r.prefix + digits(r.area)
	if rapid.Bool().Draw(t, "long") {
		s += r.more
	}
	return s + digits(n)
}

// A key is shared by a number and its other spelling, and by nobody else.
func TestAKeyIsOnePersonInTwoSpellings(t *testing.T) {
	of := map[int64][]string{} // the numbers of each key
	pairs := 0
	rapid.Check(t, func(t *rapid.T) {
		s := listed(t)
		key := Key(s)
		if again := Key(strconv.FormatInt(key, 10)); again != key {
			t.Fatalf("%s: the key of its key %d is %d, want the same", s, key, again)
		}
		fit := 0
		for i := range spellings {
			if other, _ := spellings[i].of(s); other != "" {
				fit++
			}
		}
		if fit > 1 {
			t.Fatalf("%s fits %d rules, want one at most", s, fit)
		}
		_, other, _ := ruleOf(s)
		if other != "" {
			pairs++
			if _, back, _ := ruleOf(other); back != s || Key(other) != key {
				t.Fatalf("%s has the other spelling %s with key %d, which has %s; want key %d and the number itself",
					s, other, Key(other), back, key)
			}
		}
		if !slices.Contains(of[key], s) {
			of[key] = append(of[key], s)
		}
		for _, o := range of[key] {
			if o != s && o != other {
				t.Fatalf("%s and %s have the key %d, want one key for each person", s, o, key)
			}
		}
	})
	if pairs == 0 {
		t.Error("no number with two spellings was drawn, want many")
	}
}

// A key that a ledger of an earlier version stores for either spelling is found from the other.
func TestAStoredKeyIsFoundFromBothSpellings(t *testing.T) {
	for short, long := range map[int64]int64{541123456789: 5491123456789, 22997123456: 2290197123456, 22507123456: 2250707123456} {
		if got := Other(long); got != short {
			t.Errorf("Other(%d) = %d, want %d", long, got, short)
		}
		if got := Other(short); got != long {
			t.Errorf("Other(%d) = %d, want %d", short, got, long)
		}
		if got := [2]int64{Fold(short), Fold(long)}; got != [2]int64{long, long} {
			t.Errorf("Fold of %d and %d = %d, want %d twice", short, long, got, long)
		}
		if got, want := Spelled([]int64{7, short, long}), []int64{7, short, long, long, short}; !slices.Equal(got, want) {
			t.Errorf("Spelled = %d, want %d", got, want)
		}
	}
	// Earlier versions folded Brazil and Mexico already. A pseudonym has no spelling.
	for _, key := range []int64{553187654321, 525512345678, 2348031234567, 22560123456, 2250107123456, 0, -541123456789} {
		if got := Other(key); got != 0 {
			t.Errorf("Other(%d) = %d, want 0", key, got)
		}
		if got := Fold(key); got != key {
			t.Errorf("Fold(%d) = %d, want the same", key, got)
		}
	}
	keys := make([]int64, 1, 8)
	keys[0] = 541123456789
	Spelled(keys)
	if got := keys[:2][1]; got != 0 {
		t.Errorf("Spelled wrote %d behind the keys that it was given, want nothing", got)
	}
}

// FuzzKey: folding is idempotent, joins a number with its other spelling only, and leaves the
// numbers of countries without a rule as they are.
func FuzzKey(f *testing.F) {
	for _, s := range []string{"+541123456789", "5491123456789", "22997123456", "+2250707123456", "22507123456", "+5511987654321",
		"+5215512345678", "+2348031234567", "-1", "0"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		key := Key(s)
		if key == 0 {
			return
		}
		digits := strconv.FormatInt(key, 10)
		if again := Key(digits); again != key {
			t.Fatalf("Key(%q) = %d, and of that %d; want the same", s, key, again)
		}
		own, err := strconv.ParseInt(s, 10, 64)
		if err != nil {
			t.Fatalf("Key(%q) = %d, want 0 for what is no number", s, key)
		}
		_, other, _ := ruleOf(strconv.FormatInt(own, 10))
		if key != own && digits != other {
			t.Fatalf("Key(%q) = %d, want its digits or %q", s, key, other)
		}
		if got := Fold(own); got != own && got != key {
			t.Fatalf("Fold(%d) = %d, want it or %d", own, got, key)
		}
		if o := Other(key); o != 0 && (Other(o) != key || Key(strconv.FormatInt(o, 10)) != key || Fold(o) != key) {
			t.Fatalf("Other(%d) = %d, whose other is %d and whose key is %d; want %d for both", key, o, Other(o), Fold(o), key)
		}
	})
}

func BenchmarkKey(b *testing.B) {
	for _, s := range []string{"+2348031234567", "+5491123456789", "+22507123456"} {
		b.Run(s, func(b *testing.B) {
			for b.Loop() {
				Key(s)
			}
		})
		b.Run("other of "+s, func(b *testing.B) {
			key := Key(s)
			for b.Loop() {
				Other(key)
			}
		})
	}
}
