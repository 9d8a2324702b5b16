package recipients

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/nyaruka/phonenumbers"
)

// The automaton is an optimisation: its answers are always the library's.
func TestNumberingPlansAgreeWithTheLibrary(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	agreed := map[bool]int{}
	for code := range phonenumbers.GetSupportedCallingCodes() {
		plan := newNumbering(code)
		if plan == nil || plan.library {
			t.Fatalf("+%d: got no compiled plan, want one", code)
		}
		for _, region := range phonenumbers.GetRegionCodesForCountryCode(code) {
			for kind := range phonenumbers.UNKNOWN {
				ex := phonenumbers.GetExampleNumberForType(region, kind)
				if region == phonenumbers.REGION_CODE_FOR_NON_GEO_ENTITY {
					ex = phonenumbers.GetExampleNumberForNonGeoEntity(code)
				}
				if ex == nil {
					continue
				}
				example := phonenumbers.GetNationalSignificantNumber(ex)
				for range 5 {
					agree(t, plan, example, agreed)
					b := []byte(example) // near misses, at the ends of the ranges
					b[rng.IntN(len(b))] = byte('0' + rng.IntN(10))
					agree(t, plan, string(b), agreed)
					agree(t, plan, string(b[:len(b)-1]), agreed)
					agree(t, plan, string(b)+"7", agreed)
					example = string(b)
				}
			}
		}
		for range 50 {
			b := make([]byte, 5+rng.IntN(8))
			for i := range b {
				b[i] = byte('0' + rng.IntN(10))
			}
			agree(t, plan, string(b), agreed)
		}
	}
	if agreed[true] < 10_000 || agreed[false] < 10_000 {
		t.Fatalf("compared %v, want 10,000 or more of each", agreed)
	}
}

func agree(t *testing.T, plan *numbering, national string, agreed map[bool]int) {
	t.Helper()
	e164 := fmt.Sprintf("+%d%s", plan.code, national)
	n, err := phonenumbers.Parse(e164, "")
	if err != nil || phonenumbers.Format(n, phonenumbers.E164) != e164 {
		return // the library read other digits than those given
	}
	want := phonenumbers.IsValidNumber(n)
	got := plan.fits(national, ValidateValid)
	if got != want {
		t.Fatalf("%s: valid %v, want the library's %v", e164, got, want)
	}
	if possible := phonenumbers.IsPossibleNumberWithReason(n) == phonenumbers.IS_POSSIBLE; plan.fits(national, ValidatePossible) != possible {
		t.Fatalf("%s: possible %v, want the library's %v", e164, !possible, possible)
	}
	agreed[want]++
}

func TestNumberingPlanForgetsRatherThanGrows(t *testing.T) {
	plan := newNumbering(1)
	rng := rand.New(rand.NewPCG(3, 4))
	for range 300_000 {
		plan.isValid(fmt.Sprintf("%010d", rng.Int64N(1e10)))
		if len(plan.states) > maxStates+1 {
			t.Fatalf("%d states, want at most %d", len(plan.states), maxStates+1)
		}
	}
	t.Logf("%d states of +1 after 300,000 random numbers", len(plan.states))
}

// A plan keeps 16,384 states. The state after them is the first of an empty plan, with the same
// answer.
func TestAFullPlanStartsAgainWithTheSameAnswer(t *testing.T) {
	const valid, invalid = "2025550123", "1025550123"
	for _, full := range []int{1<<14 - 1, 1 << 14} {
		plan := newNumbering(1)
		plan.states = append(plan.states, make([]state, full-len(plan.states))...)
		if got := plan.isValid(valid); !got {
			t.Errorf("+1%s with %d states: valid %v, want true", valid, full, got)
		}
		if got := plan.isValid(invalid); got {
			t.Errorf("+1%s with %d states: valid %v, want false", invalid, full, got)
		}
		if got := len(plan.states); got > 100 {
			t.Errorf("%d states are kept after the %dth, want a new plan", got, full)
		}
	}
	plan := newNumbering(1)
	before := plan.start
	plan.states = append(plan.states, make([]state, 1<<14-1-len(plan.states))...)
	if plan.step(before, '2'); len(plan.states) != 1<<14 {
		t.Errorf("%d states after one more, want %d: there was capacity for it", len(plan.states), 1<<14)
	}
	if plan.step(before, '3'); len(plan.states) > 3 {
		t.Errorf("%d states after one too many, want a new plan", len(plan.states))
	}
}

// An expression that an automaton over digits cannot match is left to the library.
func TestOnlyPatternsOfDigitsAreCompiled(t *testing.T) {
	long := strings.Repeat(`\d{1000}`, 70) // more instructions than a thread can count
	for expr, want := range map[string]bool{`2\d{3}|[3-5]\d`: true, `(?:[2-9]\d)*`: true, `2\b`: false, `^2`: false,
		`2$`: false, `(2`: false, long: false} {
		if got := automaton(expr) != nil; got != want {
			t.Errorf("%.20s is compiled: %v, want %v", expr, got, want)
		}
	}
}

func BenchmarkPhones(b *testing.B) {
	numbers := make([]string, 0, 1024)
	rng := rand.New(rand.NewPCG(5, 6))
	for len(numbers) < cap(numbers) {
		numbers = append(numbers, fmt.Sprintf("+23480%08d", rng.Int64N(1e8)))
	}
	for _, level := range []string{ValidateNone, ValidatePossible, ValidateValid} {
		b.Run(level, func(b *testing.B) {
			p, _ := NewPhones(level, "")
			b.ReportAllocs()
			for i := 0; b.Loop(); i++ {
				p.Parse(numbers[i%len(numbers)])
			}
		})
	}
	b.Run("library", func(b *testing.B) {
		b.ReportAllocs()
		for i := 0; b.Loop(); i++ {
			n, err := phonenumbers.Parse(numbers[i%len(numbers)], "")
			if err == nil {
				phonenumbers.IsValidNumber(n)
				phonenumbers.Format(n, phonenumbers.E164)
			}
		}
	})
}
