package recipients

import (
	"slices"
	"strconv"
)

// twoWays is a rule by which two numbers are one person's: a short and a long one, which differ
// only in the digits that the long one has more. docs/service.md#phone-numbers has the sources, and
// says why a rule never joins two people.
type twoWays struct {
	region string
	prefix string // what both numbers begin with
	area   int    // digits of any kind that follow it
	more   string // what only the long number has then
	first  string // which digits may come next; "": any
	second string // which digits may come after that one; "": any
	rest   int    // how many digits come next, first and second included
	long   bool   // Key is the long number, and ledgers of earlier versions have each number under its own digits
}

// spellings are all rules. No number fits two of them, and no number is short by one and long by
// another.
var spellings = []twoWays{
	{region: "AR", prefix: "54", more: "9", first: "123", rest: 10, long: true},
	{region: "BJ", prefix: "229", more: "01", first: "23456789", rest: 8, long: true},
	{region: "BR", prefix: "55", area: 2, more: "9", first: "6789", rest: 8},
	{region: "CI", prefix: "225", more: "01", first: "0", second: "123", rest: 8, long: true},
	{region: "CI", prefix: "225", more: "01", first: "457", second: "0123", rest: 8, long: true},
	{region: "CI", prefix: "225", more: "05", first: "0456789", second: "456", rest: 8, long: true},
	{region: "CI", prefix: "225", more: "07", first: "04578", second: "789", rest: 8, long: true},
	{region: "CI", prefix: "225", more: "07", first: "69", second: "78", rest: 8, long: true},
	{region: "MX", prefix: "52", more: "1", rest: 10},
}

// of returns the other number of the person with these digits, and whether digits are the short
// one; "" if the rule does not hold for them.
func (r *twoWays) of(digits string) (other string, short bool) {
	at := len(r.prefix) + r.area
	if len(digits) < at || digits[:len(r.prefix)] != r.prefix {
		return "", false
	}
	head, tail := digits[:at], digits[at:]
	switch {
	case r.fits(tail):
		return head + r.more + tail, true
	case len(tail) > len(r.more) && tail[:len(r.more)] == r.more && r.fits(tail[len(r.more):]):
		return head + tail[len(r.more):], false
	}
	return "", false
}

// fits reports whether tail may follow the digits that both numbers have before it.
func (r *twoWays) fits(tail string) bool {
	return len(tail) == r.rest && among(tail[0], r.first) && among(tail[1], r.second)
}

func among(digit byte, of string) bool {
	for i := range len(of) {
		if of[i] == digit {
			return true
		}
	}
	return of == ""
}

// ruleOf returns the rule for digits and the other number of their person; nil if there is none.
func ruleOf(digits string) (r *twoWays, other string, short bool) {
	switch digits[:2] { // every list's numbers come through here
	default:
		return nil, "", false
	case "22", "52", "54", "55":
	}
	for i := range spellings {
		if other, short = spellings[i].of(digits); other != "" {
			return &spellings[i], other, short
		}
	}
	return nil, "", false
}

// spelled reports whether the other spelling of the number is good: the platform and older lists
// still have spellings that a numbering plan has given up.
func (p *Phones) spelled(e164 string) bool {
	rule, other, _ := ruleOf(e164[1:])
	if rule == nil {
		return false
	}
	plan, national := p.plan("+" + other)
	return plan != nil && plan.fits(national, p.level)
}

// Other returns the other key under which a ledger of an earlier version may have the person with
// this key, or 0. Earlier versions stored both spellings of some countries as they came, so what
// looks for a stored key asks for both. Other of Other is the key itself.
func Other(key int64) int64 {
	// Two comparisons exclude most numbers of other countries. Intents ask for each recipient.
	switch {
	case key >= 1e12 && key < 1e13: // AR, BJ and CI
		if head := key / 1e10; head != 549 && head != 229 && head != 225 {
			return 0
		}
	case key >= 225e8 && key < 230e8, key >= 54e10 && key < 55e10:
	default:
		return 0
	}
	r, other, _ := ruleOf(strconv.FormatInt(key, 10))
	if r == nil || !r.long {
		return 0
	}
	n, _ := strconv.ParseInt(other, 10, 64)
	return n
}

// Fold returns the Key of the person for whom any version has stored this key.
func Fold(key int64) int64 {
	if other := Other(key); other > max(key, 0) { // the long number
		return other
	}
	return key
}

// Spelled returns keys and the other key of each, if there is one: what to ask a ledger for.
func Spelled(keys []int64) []int64 {
	all := slices.Clip(keys)
	for _, key := range keys {
		if other := Other(key); other != 0 {
			all = append(all, other)
		}
	}
	return all
}
